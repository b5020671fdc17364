"""What page and verb of a training share: defaults, presets, and what is said of a slip."""

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command_line import objects, said, theodolite
from tests.fakes.decoders import small_spec
from tests.fakes.small_training import small, write_sentences
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
    return " ".join(theodolite(*words, "--store", str(workspace.store.folder), code=2)[-1].split())


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
    file, training = tmp_path / "lines.txt", EncoderTraining(workspace)
    file.write_text("One sentence.\nAnother one.\n", encoding="utf-8")
    spec = training.spec(values(training, objective="sup", train=str(file), dev="none"))
    with pytest.raises(UserError, match=r"lines\.txt") as raised:
        training.start(spec)
    command = ("sup", "minilm", "--train", str(file), "--out", "never", "--dev", "none", "--queue")
    for verb in (("train", *command), ("sweep", *command, "--set", "seed=1,2")):
        assert raised.value.message in refused(workspace, *verb)
    assert workspace.store.runs.list() == []


def test_the_dev_set_is_one_that_is_here(workspace: Workspace) -> None:
    """On the form, and of a verb that names none."""
    assert EncoderTraining(workspace).defaults()["dev"] == "starter-pairs"
    text = said(*ENCODER, "--queue", "--store", str(workspace.store.folder))
    assert "STSBenchmark is not available" in text
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
    assert theodolite(*words)[0].startswith("Time: about ")
    (result,) = objects(theodolite(*words, "--json"))
    assert result["seconds"] > 0 and result["steps"] > 0
    assert not out.exists() and workspace.store.runs.list() == []


def test_what_a_sweep_takes_is_said_before(workspace: Workspace, tmp_path: Path) -> None:
    """Child by child, then in all; those that differ in the seed alone share a probe."""
    spec = small(write_sentences(tmp_path / "s.txt"), tmp_path / "out")
    settings = ("--set", "batch_size=4,8", "--set", "seed=1,2", "--estimate", "--json")
    command = ["sweep", *spec.command()[2:], *settings, "--store", str(workspace.store.folder)]
    *children, total = objects(theodolite(*command))
    assert [child["steps"] for child in children] == [30] * 4
    assert len({child["seconds"] for child in children}) == 2
    assert total["seconds"] == pytest.approx(sum(child["seconds"] for child in children))
    assert total["bytes"] == max(child["bytes"] for child in children)
    assert not (tmp_path / "out").exists() and workspace.store.runs.list() == []


@pytest.mark.parametrize(
    ("kind", "unasked"), [(EncoderTraining, "next_sentences"), (DecoderTraining, "base")]
)
def test_a_form_knows_the_preset_it_says(
    workspace: Workspace, kind: type[Training[Any, Any]], unasked: str
) -> None:
    """Each of them, and none after a change; what does not apply changes nothing."""
    training = kind(workspace)
    for preset in training.presets():
        fields = values(training) | training.preset(preset.name)
        assert training.preset_of(fields) == training.preset_of(fields | {unasked: "3"}) == preset
        assert training.preset_of(fields | {"seed": "7"}) is None
