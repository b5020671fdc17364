"""A corpus cut into shards, encoded one by one, and read where it lies."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import refused
from tests.fakes.folder import files, parquet
from theodolite.engine.corpus.cut import Cut, cut, texts_of
from theodolite.engine.corpus.encode import encode_shard, finish
from theodolite.engine.corpus.reading import EncodedCorpus
from theodolite.engine.encoders import load
from theodolite.engine.encoders.vectors import files_of, missing

SENTENCES = ["A cat.", "", "Ein Hund läuft.", "two  spaces", "中文", "A cat."]


LINES = "\n".join([*SENTENCES, ""])
FORMATS = {
    "c.txt": LINES,
    "c.txt.gz": gzip.compress(LINES.encode()),
    "c.jsonl": "\n".join(json.dumps({"id": i, "text": s}) for i, s in enumerate(SENTENCES)),
    "c.csv": "id,text\n" + "\n".join(f'{i},"{s}"' for i, s in enumerate(SENTENCES)),
    "c.tsv": "id\ttext\n" + "\n".join(f"{i}\t{s}" for i, s in enumerate(SENTENCES)),
    "c.parquet": parquet(pa.table({"id": range(6), "text": SENTENCES})),
    # A sentence of a table stays on one line: shards have one a line.
    "odd.jsonl": json.dumps({"text": "one\r\n two\0three"}),
}


def text(folder: Path) -> Path:
    """A sentence a line."""
    return files(folder, {"c.txt": LINES}) / "c.txt"


def encoded(folder: Path, *corpus: Path, rows: int = 4, **form: str) -> Cut:
    """A corpus by `random:8`, whole."""
    encoder = load("random:8")
    made = cut(corpus, None, folder, encoder, rows=rows, **form)
    for shard in made.shards:
        encode_shard(folder, made, shard, encoder)
    assert finish(folder, made)
    return made


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_read_row_by_row(name, tmp_path):
    """Empty sentences too: row i of the corpus is row i of the file."""
    file = files(tmp_path, {name: FORMATS[name]}) / name
    expected = ["one  two three"] if name == "odd.jsonl" else SENTENCES
    assert list(texts_of(file, None if ".txt" in name else "text")) == expected


@pytest.mark.parametrize(
    ("name", "content", "column", "code", "named"),
    [
        ("c.csv", "id,text\n1,a\n", None, "ambiguous", "2 columns"),
        ("c.csv", "id,text\n1,a\n", "body", "unknown", "'body'"),
        ("c.csv", "id,text\n1,a,b\n", "text", "damaged", "line 2 has 3 cells"),
        ("c.jsonl", '{"text": "a"}\n{"body": "b"}\n', "text", "missing", "line 2 has no 'text'"),
        ("c.jsonl", '{"text": 3}\n', "text", "damaged", "'text' is of type int"),
        ("c.jsonl", '{"text": "\\ud800"}\n', "text", "damaged", "'text'"),
        ("c.pdf", "x", None, "wrong-kind", "c.pdf"),
    ],
)
def test_what_cannot_be_read_is_named(name, content, column, code, named, tmp_path):
    """With the row and what is wrong with it."""
    with refused(code, named):
        list(texts_of(files(tmp_path, {name: content}) / name, column))


@pytest.mark.parametrize("form", [{}, {"format": "parquet"}, {"dtype": "float16"}])
def test_every_row_has_the_vector_of_its_sentence(form, tmp_path):
    """In order, whatever the form of the shards; and the folder is an encoder for its sentences."""
    encoded(out := tmp_path / "out", text(tmp_path), **form)
    corpus, encoder = EncodedCorpus(out), load(f"vectors:{out}")
    assert (corpus.size, corpus.dim, corpus.encoder) == (6, 8, "random:8")
    assert list(corpus.sentences()) == SENTENCES
    precise, rows = 1e-3 if form.get("dtype") == "float16" else 0.0, np.array([5, 0, 3, 4, 1, 2])
    expected = load("random:8").encode(SENTENCES)
    np.testing.assert_allclose(corpus.vectors(rows), expected[rows], atol=precise, rtol=0)
    assert corpus.vectors(rows).dtype == np.float32
    found = encoder.encode(["中文", "A cat.", " A   cat. ", ""])
    np.testing.assert_allclose(found, expected[[4, 0, 0, 1]], atol=precise, rtol=0)
    assert encoder.encode([]).shape == (0, 8)


def test_the_manifest_says_what_is_there(tmp_path):
    """Anybody can check it with sha256sum and NumPy alone."""
    encoded(tmp_path / "out", text(tmp_path))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest == manifest | {
        "fingerprint": load("random:8").fingerprint,
        "dim": 8,
        "dtype": "float32",
        "count": 6,
    }
    assert [shard["rows"] for shard in manifest["shards"]] == [[0, 4], [4, 6]]
    for shard in manifest["shards"]:
        file = tmp_path / "out" / shard["file"]
        lines = file.with_suffix(".txt").read_bytes()
        hashes = [hashlib.sha256(raw).hexdigest() for raw in (file.read_bytes(), lines)]
        assert hashes == [shard["sha256"], shard["sentences"]]
        expected = load("random:8").encode(lines.decode().split("\n")[:-1])
        np.testing.assert_array_equal(np.load(file), expected)


def test_what_a_killed_process_was_writing_is_removed(tmp_path):
    """A shard, or the manifest; the corpus is whole all the same."""
    folder = tmp_path / "out"
    encoded(folder, text(tmp_path))
    files(
        folder, dict.fromkeys(("manifest.json.0badc0de.tmp", "shards/a.npy.0badc0de.tmp"), "half")
    )
    (folder / "manifest.json").unlink()
    encoded(folder, text(tmp_path))
    assert not list(folder.rglob("*.tmp")) and (folder / "manifest.json").is_file()


def test_a_shard_that_says_the_same_is_not_encoded_again(tmp_path):
    """Neither within a corpus, nor when a file is added before the others."""
    files(tmp_path, {"a.txt": "one\ntwo\n" * 4, "b.txt": "three\n"})
    encoded(tmp_path / "out", tmp_path / "a.txt")
    (shard,) = (tmp_path / "out" / "shards").glob("*.npy")
    before = shard.stat().st_mtime_ns
    encoded(tmp_path / "out", tmp_path / "b.txt", tmp_path / "a.txt")
    assert shard.stat().st_mtime_ns == before
    assert list(EncodedCorpus(tmp_path / "out").sentences()) == ["three", *["one", "two"] * 4]


def test_an_unfinished_corpus_says_how_far_it_is(tmp_path):
    """And so does one whose shard was cut short, which is made anew."""
    out, encoder = tmp_path / "out", load("random:8")
    made = cut([text(tmp_path)], None, out, encoder, rows=4)
    encode_shard(out, made, made.shards[1], encoder)
    assert not finish(out, made)
    with refused("no-result", "1 of 2 shards"):
        load(f"vectors:{out}")
    first = out / "shards" / f"{made.shards[0].name}.npy"
    encode_shard(out, made, made.shards[0], encoder)
    whole = first.read_bytes()
    first.write_bytes(whole[:100])
    encode_shard(out, made, made.shards[0], encoder)
    assert first.read_bytes() == whole


def test_another_encoder_or_another_folder_is_refused(tmp_path):
    """Nothing of theirs is written over."""
    encoded(tmp_path / "out", text(tmp_path))
    for folder, spec, named in (
        (tmp_path / "out", "random:16", "random:8"),
        (tmp_path, "random:8", tmp_path),
    ):
        with refused("conflict", named):
            cut([tmp_path / "c.txt"], None, folder, load(spec))


def test_damaged_sentences_are_not_encoded(tmp_path):
    """They are put back by cutting again."""
    out, encoder = tmp_path / "out", load("random:8")
    made = cut([text(tmp_path)], None, out, encoder)
    lines = out / "shards" / f"{made.shards[0].name}.txt"
    lines.write_text("something else\n")
    with refused("damaged", lines.name):
        encode_shard(out, made, made.shards[0], encoder)
    cut([text(tmp_path)], None, out, encoder)
    encode_shard(out, made, made.shards[0], encoder)
    assert finish(out, made) and list(EncodedCorpus(out).sentences()) == SENTENCES


def test_other_sentences_than_its_own_are_refused(tmp_path):
    encoded(out := tmp_path / "out", text(tmp_path))
    assert missing(files_of(f"vectors:{out}"), ["A cat.", "A bird."]) == ["A bird."]
    with refused("missing", "1 of 2 sentences"):
        load(f"vectors:{out}").encode(["A cat.", "A bird."])
    with refused("invalid", out.name):
        load(f"vectors:{out}?text=s")
