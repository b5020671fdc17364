"""The verbs of decoding, as a person or a script meets them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.command_line import objects, theodolite
from tests.fakes.decoders import known_sentences, small_spec
from tests.fakes.small_training import small, write_sentences
from theodolite.app import decoders
from theodolite.app.jobs import submit
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.train.job import TrainDecoderJob, TrainJob
from theodolite.app.workspace import Workspace
from theodolite.engine.training.events import Evaluated

ENCODER = "random:64"


@pytest.fixture(scope="module", autouse=True)
def workspace(decoding: Workspace) -> Iterator[Workspace]:
    """A store with one decoder, and no data folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEODOLITE_HOME", str(decoding.store.folder))
        patch.delenv("THEODOLITE_DATA", raising=False)
        yield decoding


def test_a_sentence_is_decoded() -> None:
    """With what became of each word; the exit code says that one of two cannot answer."""
    known = known_sentences()[0]
    assert known in "\n".join(theodolite("decode", known, "-e", ENCODER))
    both = ("decode", known, "-e", ENCODER, "-e", "random:32", "--beams", "3", "--json")
    *lines, _ = theodolite(*both, code=1)
    output, without = objects(lines)
    assert (output["encoder"], output["sentence"], output["cut"]) == (ENCODER, known, False)
    assert output["cosine"] == pytest.approx(1.0, abs=1e-4)
    assert {word["fate"] for word in output["words"]} == {"kept"} and len(output["others"]) <= 2
    assert "random:32" in without["error"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("decode", "A cat.", "-e"),
        ("interpolate", "A cat.", "A dog.", "-e"),
        ("analogy", "a", "--let", "a=A cat.", "-e"),
        ("diagnose",),
    ],
)
def test_without_a_decoder_it_offers_to_train_one(arguments: tuple[str, ...]) -> None:
    error = theodolite(*arguments, "random:32", code=2)[-1]
    assert "theodolite train-decoder random:32 --train FILE --out FOLDER" in error


def test_what_cannot_be_read_is_marked() -> None:
    """A caret under the place, also behind letters of two columns; its number in words and JSON."""
    named = ("--let", "a=A cat.", "--let", "猫=A dog.", "-e", ENCODER)
    for text, place, caret in (("a - 猫 / dog", 9, "           ^^^"), ("(a", 1, "  ^")):
        lines = theodolite("analogy", text, *named, code=2)[-1].splitlines()
        assert lines[1:3] == [f"  {text}", caret]
        (printed, *_) = theodolite("analogy", text, *named, "--json", code=2)
        output = json.loads(printed)
        assert (output["text"], output["place"]) == (text, place)


def test_every_training_and_diagnosis_is_a_row(workspace: Workspace, tmp_path: Path) -> None:
    """One list of all kinds, the newest first; the curve of a decoder is its losses."""
    encoder = small(write_sentences(tmp_path / "s.txt"), tmp_path / "enc")
    trained = submit.queue(workspace, TrainJob.of(workspace, encoder))
    decoder = submit.queue(workspace, TrainDecoderJob(small_spec(tmp_path / "one")))
    diagnosed = submit.queue(workspace, DiagnoseJob.of(workspace, ENCODER, sentences=50))
    for step, loss in ((20, 3.5), (40, 3.25)):
        data = Evaluated(step, True, loss=loss).to_dict()
        workspace.store.events.add(decoder, data.pop("kind"), data)
    rows = objects(theodolite("runs", "--json"))
    kinds = [(diagnosed, "diagnose"), (decoder, "train-decoder"), (trained, "train")]
    assert [(row["key"], row["kind"]) for row in rows] == kinds
    assert rows[0].keys() == rows[1].keys() == rows[2].keys()
    assert (rows[1]["loss"], rows[1]["score"], rows[1]["encoder"]) == (3.25, None, "random:32")
    assert rows[0]["settings"]["sentences"] == 50
    looks = objects(theodolite("runs", decoder, "--json"))
    assert [(look["kind"], look["step"]) for look in looks] == [("looked", 20), ("looked", 40)]
    assert "20: 3.50, 40: 3.25" in "\n".join(theodolite("runs", decoder, trained))
    assert diagnosed in theodolite("runs", diagnosed, code=2)[-1]


def test_decoders_are_listed_and_removed(workspace: Workspace, decoder_folder: Path) -> None:
    """A folder of one's own stays; what was done is said."""
    (row,) = [r for r in objects(theodolite("decoders", "list", "--json")) if not r["shipped"]]
    name = row["name"]
    assert row["encoder"] == ENCODER
    assert theodolite("decoders", "card", name)[0].startswith("# A decoder for")
    assert "nobody" in theodolite("decoders", "card", "nobody", code=2)[-1]
    (printed,) = objects(theodolite("decoders", "remove", name, "--json"))
    assert (printed["removed"], printed["deleted"]) == (name, False) and decoder_folder.exists()
    assert name in theodolite("decoders", "remove", name, code=2)[-1]
    decoders.register(workspace, decoder_folder)


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("decode", "  ", "-e", ENCODER), "missing", ""),
        (("decode", "A cat.", "-e", ENCODER, "--method", "guess"), "unknown", "'guess'"),
        (("decode", "word " * 500, "-e", ENCODER), "too-large", "2,499"),
        (("interpolate", "A", "B", "-e", ENCODER, "--steps", "1"), "invalid", "Steps"),
        (("interpolate", "A", " ", "-e", ENCODER), "missing", "second sentence"),
        (("analogy", "1 + 1", "--let", "a=A cat.", "-e", ENCODER), "invalid", "1 + 1"),
        (("analogy", "a - d", "--let", "a=A cat.", "-e", ENCODER), "damaged", "'d'"),
        (("analogy", "a", "--let", "A cat.", "-e", ENCODER), "damaged", "A cat."),
        (("analogy", "a", "--let", "a=x", "--let", "a=y", "-e", ENCODER), "conflict", "a "),
        (("diagnose",), "conflict", "--across"),
        (("diagnose", "--across"), "no-result", ""),
        (("diagnose", ENCODER, "--sentences", "1"), "invalid", "How many"),
        (("train-decoder", ENCODER, "--preset", "best"), "unknown", "'best'"),
        (("train-decoder", ENCODER, "--epochs", "0"), "invalid", "epochs cannot be 0"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    arguments: tuple[str, ...], code: str, named: str
) -> None:
    """With exit code 2, and as an object with --json."""
    assert named in " ".join(theodolite(*arguments, code=2)[-1].split())
    output = json.loads(theodolite(*arguments, "--json", code=2)[0])
    assert (output["code"], named in output["error"]) == (code, True)


def test_a_decoder_is_trained_and_used(tmp_path: Path) -> None:
    """Every event is an object, the last the outcome; then it decodes and is diagnosed."""
    spec, text = small_spec(tmp_path / "mine", encoder="random:32", epochs=0.5), tmp_path / "t.txt"
    first, *_, last = objects(theodolite(*spec.command()[1:], "--json"))
    assert (first["kind"], last["kind"], last["out"]) == ("noted", "finished", spec.out)
    assert theodolite("decode", "A cat sleeps.", "-e", "random:32")
    text.write_text("\n".join(f"The fox number {n} sleeps." for n in range(9)), encoding="utf-8")
    rows = objects(theodolite("diagnose", "random:32", "--in", str(text), "--json"))
    assert {row["what"] for row in rows} >= {"figure", "sample"}
    main = {"what": "figure", "metric": "token_f1", "giver": "decoder", "n": 9}
    assert len([row for row in rows if main.items() <= row.items() and not row["length"]]) == 1
