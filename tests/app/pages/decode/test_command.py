"""The verbs of decoding, as a person or a script meets them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.app.pages.train.test_training import parsed
from tests.fakes.decoders import known_sentences, small_spec
from tests.fakes.small_training import small, write_sentences
from theodolite.app import decoders
from theodolite.app.cli import app
from theodolite.app.jobs import submit
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.train.service import DecoderTraining, EncoderTraining
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.presets import PRESETS
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training.events import Evaluated
from theodolite.engine.training.fields import defaults, read

ENCODER = "random:64"
Run = Callable[..., Result]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, decoder_folder: Path) -> Iterator[Path]:
    """A store with one decoder, and no data folder."""
    folder = tmp_path_factory.mktemp("cli") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEODOLITE_HOME", str(folder))
        patch.delenv("THEODOLITE_DATA", raising=False)
        workspace = Workspace(folder)
        decoders.register(workspace, decoder_folder)
        workspace.close()
        yield folder


@pytest.fixture
def theodolite(home: Path) -> Run:
    """Run a command and check its exit code."""

    def run(*arguments: str, code: int = 0) -> Result:
        done = CliRunner().invoke(app, list(arguments))
        assert done.exit_code == code, (done.output, done.exception)
        assert "Traceback" not in done.stderr
        return done

    return run


def objects(done: Result) -> list[dict]:
    """One JSON object a line, nothing else."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_sentence_is_decoded(theodolite: Run) -> None:
    """As a table, and as an object with what became of each word."""
    known = known_sentences()[0]
    assert known in theodolite("decode", known, "-e", ENCODER).stdout
    (output,) = objects(theodolite("decode", known, "--encoder", ENCODER, "--beams", "3", "--json"))
    assert (output["encoder"], output["sentence"], output["cut"]) == (ENCODER, known, False)
    assert output["cosine"] == pytest.approx(1.0, abs=1e-4)
    assert {word["fate"] for word in output["words"]} == {"kept"}
    assert len(output["others"]) <= 2


def test_one_of_several_that_cannot_answer(theodolite: Run) -> None:
    """The others do, and the exit code says it."""
    known = known_sentences()[0]
    done = theodolite("decode", known, "-e", ENCODER, "-e", "random:32", "--json", code=1)
    output, without = objects(done)
    assert output["sentence"] == known
    assert "random:32" in without["error"]


def test_without_a_decoder_it_offers_to_train_one(theodolite: Run) -> None:
    """With the time it takes, and the command."""
    for verb in (
        ("decode", "A cat."),
        ("interpolate", "A cat.", "A dog."),
        ("analogy", "a", "--let", "a=A cat."),
        ("diagnose",),
    ):
        named = ["random:32"] if verb == ("diagnose",) else ["-e", "random:32"]
        done = theodolite(*verb, *named, code=2)
        assert "theodolite train-decoder random:32 --train FILE --out FOLDER" in done.stderr
        assert "in about" in done.stderr


def test_a_way_is_walked(theodolite: Run) -> None:
    """From one sentence to the other, with real sentences nearby."""
    first, second = known_sentences()[:2]
    steps = objects(
        theodolite(
            "interpolate",
            first,
            second,
            "-e",
            ENCODER,
            "--steps",
            "5",
            "--spherical",
            "--in",
            "starter-topics",
            "--near",
            "2",
            "--json",
        )
    )
    assert [step["share"] for step in steps] == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert (steps[0]["sentence"], steps[-1]["sentence"]) == (first, second)
    assert steps[0]["point_first"] == pytest.approx(1.0, abs=1e-5)
    assert [len(step["near"]) for step in steps] == [2] * 5
    assert second in theodolite("interpolate", first, second, "-e", ENCODER, "--steps", "2").stdout


def test_what_cannot_be_read_is_marked(theodolite: Run) -> None:
    """A caret under the place, also behind letters of two columns; its number in words and JSON."""
    arguments = (
        "analogy",
        "a - 猫 / dog",
        "--let",
        "a=A cat.",
        "--let",
        "猫=A dog.",
        "-e",
        ENCODER,
    )
    output = theodolite(*arguments, code=2).stderr.splitlines()
    assert "'dog', at place 9" in output[0]
    assert output[1:3] == ["  a - 猫 / dog", "           ^^^"]
    (printed,) = objects(theodolite(*arguments, "--json", code=2))
    assert (printed["text"], printed["place"]) == ("a - 猫 / dog", 9)
    assert theodolite("analogy", "(a", "--let", "a=A.", code=2).stderr.splitlines()[1:3] == [
        "  (a",
        "  ^",
    ]


def test_every_training_and_diagnosis_is_a_row(theodolite: Run, home: Path, tmp_path: Path) -> None:
    """One list of all kinds, the newest first; the curve of a decoder is its losses."""
    workspace = Workspace(home)
    encoder = small(write_sentences(tmp_path / "s.txt"), tmp_path / "enc")
    trained = EncoderTraining(workspace).queue(encoder)
    first = DecoderTraining(workspace).queue(small_spec(tmp_path / "one"))
    second = DecoderTraining(workspace).queue(small_spec(tmp_path / "two", seed=7))
    diagnosed = submit.queue(workspace, DiagnoseJob.of(workspace, ENCODER, sentences=50))
    for step, loss in ((20, 3.5), (40, 3.25)):
        data = Evaluated(step, True, loss=loss).to_dict()
        workspace.store.events.add(first, data.pop("kind"), data)
    workspace.close()
    rows = objects(theodolite("runs", "--json"))
    assert [(row["key"], row["kind"]) for row in rows] == [
        (diagnosed, "diagnose"),
        (second, "train-decoder"),
        (first, "train-decoder"),
        (trained, "train"),
    ]
    assert len({tuple(sorted(row)) for row in rows}) == 1
    assert (rows[2]["loss"], rows[2]["score"], rows[2]["encoder"]) == (3.25, None, "random:32")
    assert rows[0]["settings"]["sentences"] == 50
    assert "train-decoder" in theodolite("runs").stdout
    looks = objects(theodolite("runs", first, "--json"))
    assert [(look["kind"], look["step"], look["loss"]) for look in looks] == [
        ("looked", 20, 3.5),
        ("looked", 40, 3.25),
    ]
    side = theodolite("runs", first, second).stdout
    assert side.split("\n")[0].split() == ["run", "label", "seed", "score", "loss"]
    assert "loss by update: 20: 3.50, 40: 3.25" in side
    assert "is a diagnosis" in theodolite("runs", diagnosed, code=2).stderr
    for run in (trained, first, second, diagnosed):
        theodolite("jobs", "cancel", run)


def test_decoders_are_listed_and_removed(theodolite: Run, home: Path, decoder_folder: Path) -> None:
    """A folder of one's own stays; what was done is said."""
    listed = objects(theodolite("decoders", "list", "--json"))
    (row,) = [row for row in listed if not row["shipped"]]
    assert row["encoder"] == ENCODER
    assert row["name"] in theodolite("decoders", "list").stdout
    assert theodolite("decoders", "card", row["name"]).stdout.startswith("# A decoder for")
    (printed,) = objects(theodolite("decoders", "remove", row["name"], "--json"))
    assert (printed["removed"], printed["deleted"]) == (row["name"], False)
    assert decoder_folder.exists()
    output = theodolite("decoders", "remove", row["name"], code=2).stderr
    assert "There is no decoder" in output
    workspace = Workspace(home)
    decoders.register(workspace, decoder_folder)
    assert "folder is kept" in theodolite("decoders", "remove", row["name"]).stderr
    decoders.register(workspace, decoder_folder)
    workspace.close()


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("decode", "  ", "-e", ENCODER), "missing", ""),
        (("decode", "A cat.", "-e", ENCODER, "--method", "guess"), "unknown", "'guess'"),
        (("interpolate", "A", "B", "-e", ENCODER, "--steps", "1"), "invalid", "1 steps"),
        (("analogy", "a - d", "--let", "a=A cat.", "-e", ENCODER), "damaged", "'d'"),
        (("analogy", "a", "--let", "A cat.", "-e", ENCODER), "damaged", "A cat."),
        (("analogy", "a", "--let", "a=x", "--let", "a=y", "-e", ENCODER), "conflict", "a "),
        (("diagnose",), "conflict", "--across"),
        (("diagnose", "--across"), "no-result", ""),
        (("diagnose", ENCODER, "--sentences", "1"), "invalid", "got 1"),
        (("train-decoder", ENCODER, "--preset", "best"), "unknown", "'best'"),
        (("train-decoder", ENCODER, "--epochs", "0"), "invalid", "epochs cannot be 0"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    theodolite: Run, arguments: tuple[str, ...], code: str, named: str
) -> None:
    """With exit code 2, and as an object with --json."""
    assert named in " ".join(theodolite(*arguments, code=2).stderr.split())
    (output,) = objects(theodolite(*arguments, "--json", code=2))
    assert (output["code"], named in output["error"]) == (code, True)


def test_a_decoder_is_trained_and_used(theodolite: Run, tmp_path: Path) -> None:
    """Every event is an object, the last the outcome; then it decodes and is diagnosed."""
    spec = small_spec(tmp_path / "mine", encoder="random:32", epochs=0.5)
    words = spec.command()[1:]
    events = objects(theodolite(*words, "--json"))
    assert [events[0]["kind"], events[-1]["kind"]] == ["noted", "finished"]
    assert events[-1]["out"] == spec.out
    assert theodolite("decode", "A cat sleeps.", "-e", "random:32").stdout
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"The fox number {n} sleeps." for n in range(9)), encoding="utf-8")
    output = objects(theodolite("diagnose", "random:32", "--in", str(text), "--json"))
    assert {row["what"] for row in output} >= {"figure", "sample"}
    main = [
        row
        for row in output
        if row["what"] == "figure"
        and row["metric"] == "token_f1"
        and row["giver"] == "decoder"
        and not row["length"]
    ]
    assert [row["n"] for row in main] == [9]
    done = theodolite("diagnose", "random:32", "--in", str(text))
    assert "Nearest training sentence" in done.stdout.replace("nearest", "Nearest")
    assert spec.out in "".join(theodolite(*words).stderr.split())


def test_it_is_left_to_the_worker(theodolite: Run, home: Path) -> None:
    """And stopped there."""
    (output,) = objects(theodolite("train-decoder", ENCODER, "--queue", "--json"))
    workspace = Workspace(home)
    assert workspace.store.runs.get(output["id"])["kind"] == "train-decoder"
    assert "Cancelled" in theodolite("jobs", "stop", output["id"]).stderr
    (printed,) = objects(theodolite("diagnose", ENCODER, "--queue", "--json"))
    assert workspace.store.runs.get(printed["id"])["kind"] == "diagnose"
    theodolite("jobs", "stop", printed["id"], code=2)
    theodolite("jobs", "cancel", printed["id"])
    workspace.close()


@pytest.mark.parametrize("preset", [preset.name for preset in PRESETS])
def test_the_command_of_a_training_trains_the_same(preset: str) -> None:
    """Pasted into a terminal it says every field that is not as usual."""
    changes = next(one.changes for one in PRESETS if one.name == preset)
    spec = DecoderSpec("minilm | normalise", ("a file.txt", "starter"), "out", seed=7, **changes)
    given = parsed(spec.command())
    for name in defaults(DecoderSpec).keys() & given.keys():
        given[name] = read(DecoderSpec, name, str(given[name]))
    given = {name: value for name, value in given.items() if name in spec.to_dict()}
    assert DecoderSpec.from_dict(given) == spec
