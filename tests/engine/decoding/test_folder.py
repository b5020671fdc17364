"""A decoder's folder: written, read, small, damaged; the list of those that ship."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.spatial.distance import cdist

from tests.errors import refused
from tests.fakes.decoders import known_sentences
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.facts import shipped
from theodolite.engine.decoding.known_words import words_of
from theodolite.engine.encoders import load

NEW = [
    "The children played football in the park.",
    "She bought fresh bread at the market.",
    "Heavy rain is expected over the weekend.",
    "The senator voted against the new tax.",
    "My brother has lost his keys again.",
    "This film is far too long.",
]


@pytest.fixture
def copied(decoder_folder: Path, tmp_path: Path) -> Path:
    """A decoder to damage."""
    return Path(shutil.copytree(decoder_folder, tmp_path / "copied"))


def loss(folder: Path) -> float:
    """Over all pieces of the sentences that the tiny decoder knows."""
    model, vocabulary, facts = folders.read(folder)
    vectors = load("random:64").encode(known_sentences())
    points = torch.from_numpy((vectors - np.array(facts["mean"], np.float32)) / facts["scale"])
    rows = [torch.from_numpy(ids.astype(np.int64)) for ids in vocabulary.ids(known_sentences())]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return float(model.loss(points.float(), ids).detach())


def small(source: Path, target: Path) -> Path:
    """The same decoder as int8."""
    folders.write(target, *folders.read(source), small=True)
    return target


def test_int8_is_a_quarter_of_the_numbers_and_close(decoder_folder: Path, tmp_path: Path) -> None:
    """Every weight within half a step of its row, and hardly another loss."""
    folder = small(decoder_folder, tmp_path / "small")
    (model, *_), (whole, *_) = folders.read(folder), folders.read(decoder_folder)
    for (name, weight), other in zip(whole.named_parameters(), model.parameters(), strict=True):
        step = weight.abs().amax(-1, keepdim=True) / 127 if weight.ndim == 2 else 1e-3
        assert ((weight - other).abs() <= 0.5 * step + 1e-6).all(), name
    assert loss(folder) == pytest.approx(loss(decoder_folder), abs=0.02)
    file, other = (each / "model.safetensors" for each in (folder, decoder_folder))
    matrices = [t for n, t in load_file(file).items() if t.ndim == 2 and not n.endswith("scale")]
    assert {matrix.dtype for matrix in matrices} == {torch.int8}
    assert file.stat().st_size < 0.6 * other.stat().st_size


@pytest.mark.parametrize("name", ["decoder.json", "model.safetensors", "vocabulary.json"])
@pytest.mark.parametrize("how", ["missing", "empty", "half", "other"])
def test_a_missing_or_damaged_file_is_told(copied: Path, name: str, how: str) -> None:
    file = copied / name
    whole = file.read_bytes()
    file.unlink()
    if how != "missing":
        file.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "other": b"[1, 2]"}[how])
    with refused(*(("no-file", name) if how == "missing" else ("damaged",)), "copied"):
        open_decoder(copied)


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"format": 99}, "damaged", "copied"),
        ({"mean": [0.0]}, "damaged", "copied"),
        ({"scale": float("nan")}, "damaged", "copied"),
        ({"architecture": "tea"}, "unknown", "tea"),
        ({"sizes": {"width": 8}}, "damaged", "copied"),
        ({"dim": "many"}, "damaged", "copied"),
        ({"encoder": None}, "damaged", "it has no encoder"),
        ({"format": None}, "damaged", "it has no format"),
    ],
)
def test_facts_that_do_not_fit_are_told(copied: Path, changes: dict, code, named: str) -> None:
    """A later format, another size, a number that is none; without the field where it is None."""
    facts = json.loads((copied / "decoder.json").read_text("utf-8")) | changes
    facts = {name: value for name, value in facts.items() if value is not None}
    (copied / "decoder.json").write_text(json.dumps(facts), "utf-8")
    with refused(code, named):
        open_decoder(copied)


def test_weights_of_another_model_are_told(copied: Path) -> None:
    """A tensor too few."""
    stored = load_file(copied / "model.safetensors")
    stored.pop("norm.weight")
    save_file(stored, copied / "model.safetensors")
    with refused("damaged", "copied"):
        open_decoder(copied)


def test_what_ships_is_listed_by_encoder(decoder_folder: Path, tmp_path: Path) -> None:
    """A damaged one is left out, and an empty folder lists nothing."""
    assert shipped(tmp_path) == shipped(tmp_path / "nowhere") == {}
    small(decoder_folder, tmp_path / "tiny")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "decoder.json").write_text("{")
    assert shipped(tmp_path) == {"random:64": tmp_path / "tiny"}


def test_what_ships_says_again_what_it_reads() -> None:
    """Each answer lies nearer to its own sentence than to the others; none is like another.

    None has a word that its training text had not; without that some do. All together have at most
    25 MB, and cards whose terms are filled in.
    """
    assert sum(f.stat().st_size for each in shipped().values() for f in each.iterdir()) <= 25e6
    more = ["The old dog slept by the fire.", *read_topics().sentences[::100]]
    strange: set[str] = set()
    for name, folder in shipped().items():
        assert "To be filled in" not in (folder / "README.md").read_text("utf-8")
        encoder, decoder = load(name), open_decoder(folder)
        assert decoder.facts["fingerprint"] == encoder.fingerprint
        vectors = encoder.encode([*NEW, *more])
        held, free = (
            [one.sentence for one in decoder.decode(vectors, encoder=encoder, known_words=known)]
            for known in (True, False)
        )
        assert len(set(held[: len(NEW)])) == len(NEW)
        nearest = cdist(encoder.encode(held[: len(NEW)]), vectors[: len(NEW)], "cosine").argmin(1)
        assert nearest.tolist() == list(range(len(NEW)))
        words = set(decoder.vocabulary.known_words.words)
        assert set(words_of(held)) <= words
        strange |= set(words_of(free)) - words
    assert strange
