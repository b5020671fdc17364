"""What page and verb of a training share: defaults, presets, and what is said of a slip."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.fakes.decoders import small_spec
from tests.fakes.small_training import small, write_sentences
from theodolite.app.cli import app
from theodolite.app.pages.train import choices
from theodolite.app.pages.train.service import DecoderTraining, EncoderTraining, Training
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

ENCODER = ("train", "unsup", "minilm", "--train", "starter", "--out", "never")
DECODER = ("train-decoder", "random:16", "--train", "starter")


def values(training: Training[Any, Any], **changed: Any) -> dict[str, Any]:
    """A form that is filled in as the verbs above."""
    named: dict[str, Any] = {"objective": "unsup", "base": "minilm", "train": "starter"}
    if isinstance(training, DecoderTraining):
        named = {"encoder": "random:16", "train": ["starter"]}
    return training.defaults() | named | changed


def refused(workspace: Workspace, *words: str) -> str:
    """What a verb says of what it cannot do, without line breaks."""
    done = CliRunner().invoke(app, [*words, "--store", str(workspace.store.folder)])
    assert done.exit_code == 2
    return " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("kind", "verb", "field", "typed"),
    [
        (EncoderTraining, ENCODER, "learning_rate", "1e"),
        (EncoderTraining, ENCODER, "learning_rate", "nan"),
        (EncoderTraining, ENCODER, "batch_size", "2.5"),
        (EncoderTraining, ENCODER, "temperature", "0"),
        (EncoderTraining, ENCODER, "seed", ""),
        (DecoderTraining, DECODER, "words", "many"),
        (DecoderTraining, DECODER, "width", "30"),
        (DecoderTraining, DECODER, "epochs", "0"),
    ],
)
def test_page_and_verb_say_the_same_of_a_slip(
    workspace: Workspace,
    kind: type[Training[Any, Any]],
    verb: tuple[str, ...],
    field: str,
    typed: str,
) -> None:
    """In the same sentences, hint and all."""
    training = kind(workspace)
    with pytest.raises(UserError) as raised:
        training.spec(values(training, **{field: typed}))
    text = refused(workspace, *verb, f"--{field.replace('_', '-')}", typed)
    assert text.endswith(f"error: {raised.value.message} {raised.value.hint}")


def test_data_that_do_not_fit_are_refused_before_they_wait(
    workspace: Workspace, tmp_path: Path
) -> None:
    """By the page and by both verbs that queue, in the same sentence."""
    lines = tmp_path / "lines.txt"
    lines.write_text("One sentence.\nAnother one.\n", encoding="utf-8")
    training = EncoderTraining(workspace)
    spec = training.spec(values(training, objective="sup", train=str(lines), dev="none"))
    with pytest.raises(UserError, match=r"lines\.txt") as raised:
        training.start(spec)
    command = ("sup", "minilm", "--train", str(lines), "--out", "never", "--dev", "none", "--queue")
    assert raised.value.message in refused(workspace, "train", *command)
    assert raised.value.message in refused(workspace, "sweep", *command, "--set", "seed=1,2")
    assert workspace.store.runs.list() == []


def test_the_dev_set_is_one_that_is_here(workspace: Workspace) -> None:
    """On the form, and of a verb that names none."""
    assert choices.default_dev(workspace) == "starter-pairs"
    assert EncoderTraining(workspace).defaults()["dev"] == "starter-pairs"
    done = CliRunner().invoke(app, [*ENCODER, "--queue", "--store", str(workspace.store.folder)])
    assert done.exit_code == 0
    assert "STSBenchmark is not available" in done.stderr
    (run,) = workspace.store.runs.list()
    assert run["spec"]["dev"] == "starter-pairs"


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_what_a_training_takes_is_said_before(
    workspace: Workspace, tmp_path: Path, kind: str
) -> None:
    """By either verb, in the words of the page; nothing is trained for that, and no run is left."""
    out = tmp_path / "out"
    spec = small_spec(out) if kind == "decoder" else small(write_sentences(tmp_path / "s.txt"), out)
    words = [*spec.command()[1:], "--estimate", "--store", str(workspace.store.folder)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert done.stdout.startswith("Time: about ")
    result = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert result["seconds"] > 0
    assert result["steps"] > 0
    assert not out.exists()
    assert workspace.store.runs.list() == []


def test_what_a_sweep_takes_is_said_before(workspace: Workspace, tmp_path: Path) -> None:
    """Child by child, then in all; those that differ in the seed alone share a probe."""
    spec = small(write_sentences(tmp_path / "s.txt"), tmp_path / "out")
    words = [
        "sweep",
        *spec.command()[2:],
        "--set",
        "batch_size=4,8",
        "--set",
        "seed=1,2",
        "--estimate",
        "--store",
        str(workspace.store.folder),
    ]
    done = CliRunner().invoke(app, [*words, "--json"])
    *children, total = [json.loads(line) for line in done.stdout.splitlines()]
    assert [child["steps"] for child in children] == [30] * 4
    assert len({child["seconds"] for child in children}) == 2
    assert total["seconds"] == pytest.approx(sum(child["seconds"] for child in children))
    assert total["bytes"] == max(child["bytes"] for child in children)
    assert "All: about " in CliRunner().invoke(app, words).stdout
    assert not (tmp_path / "out").exists()
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize("kind", [EncoderTraining, DecoderTraining])
def test_a_form_knows_the_preset_it_says(
    workspace: Workspace, kind: type[Training[Any, Any]]
) -> None:
    """Each of them, and none after a change; what does not apply changes nothing."""
    training = kind(workspace)
    for preset in training.presets():
        fields = values(training) | training.preset(preset.name)
        assert training.preset_of(fields) == preset
        assert training.preset_of(fields | {"seed": "7"}) is None
    fields = values(training) | training.preset(training.usual)
    unasked = "next_sentences" if kind is EncoderTraining else "base"
    assert training.preset_of(fields | {unasked: "3"}) is not None


def test_what_a_training_will_do_is_said_before_it_is_begun(workspace: Workspace) -> None:
    """It follows the settings, and names what comes of it."""
    training = EncoderTraining(workspace)
    usual = training.plan(training.spec(values(training, dev="starter-pairs", limit="500")))
    assert usual["Reads"] == "The starter set, at most 500 examples."
    assert usual["Learns for"] == "1 epoch, 64 examples per batch."
    assert "starter-pairs, evaluated every" in usual["Keeps"]
    assert usual["Leaves"].startswith("unsup-minilm, among the encoders")
    other = training.plan(training.spec(values(training, dev="none", steps="30")))
    assert other["Keeps"] == "The last weights." and other["Learns for"].startswith("30 steps")
    decoder = DecoderTraining(workspace)
    made = decoder.plan(decoder.spec(values(decoder, epochs="0.5")))
    assert made["Learns for"].startswith("0.5 epochs") and "random:16" in made["Leaves"]
