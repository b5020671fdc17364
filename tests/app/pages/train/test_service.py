"""What page and verb of a training share: defaults, presets, paces, and what is said of a slip."""

from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from tests.fakes.command_line import objects, said, theodolite
from tests.fakes.decoders import small_spec
from tests.fakes.small_training import small, write_sentences
from tests.fakes.workers import happened
from theodolite.app.blocks import Fold, Table
from theodolite.app.jobs import submit
from theodolite.app.pages.train.decoder_page import DecoderForm
from theodolite.app.pages.train.form import Form
from theodolite.app.pages.train.job import TrainDecoderJob, TrainJob
from theodolite.app.pages.train.page import EncoderForm
from theodolite.app.web.controls import Values
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

ENCODER = ("train", "unsup", "minilm", "--train", "starter", "--out", "never")
DECODER = ("train-decoder", "random:16", "--train", "starter")


def values(form: Form, **changed) -> dict:
    """A form that is filled in as the verbs above."""
    named = {"objective": "unsup", "base": "minilm", "train": "starter"}
    if isinstance(form, DecoderForm):
        named = {"encoder": "random:16", "train": ["starter"]}
    return form.defaults() | named | changed


def refused(workspace: Workspace, *words: str) -> str:
    """What a verb says of what it cannot do, without line breaks."""
    return " ".join(theodolite(*words, "--store", str(workspace.store.folder), code=2)[-1].split())


@pytest.mark.parametrize(
    ("kind", "verb", "field", "typed"),
    [
        (EncoderForm, ENCODER, "learning_rate", "1e"),
        (EncoderForm, ENCODER, "learning_rate", "nan"),
        (EncoderForm, ENCODER, "batch_size", "2.5"),
        (EncoderForm, ENCODER, "temperature", "0"),
        (EncoderForm, ENCODER, "seed", ""),
        (DecoderForm, DECODER, "words", "many"),
        (DecoderForm, DECODER, "width", "30"),
        (DecoderForm, DECODER, "epochs", "0"),
    ],
)
def test_page_and_verb_say_the_same_of_a_slip(
    workspace: Workspace, kind: type[Form], verb: tuple[str, ...], field: str, typed: str
) -> None:
    """In the same sentences, hint and all."""
    form = kind(workspace)
    with pytest.raises(UserError) as raised:
        form.spec(values(form, **{field: typed}))
    text = refused(workspace, *verb, f"--{field.replace('_', '-')}", typed)
    assert text.endswith(f"error: {raised.value.message} {raised.value.hint}")


def test_only_settings_that_are_read_are_shown(workspace: Workspace) -> None:
    """Nor is a fold without any."""
    form = EncoderForm(workspace)
    with gr.Blocks():
        form.controls.render("train")
        form.place_settings()
    said = form.reshape(Values(preset="own", **values(form, objective="static")))
    settings = {"Dimensions", "Dev set", "First examples only", "Name"}
    shown = {box.label for box, update in said.items() if update.get("visible")}
    assert shown == settings | {"Optimiser and batches"}


def test_data_that_do_not_fit_are_refused_before_they_wait(
    workspace: Workspace, tmp_path: Path
) -> None:
    """By the form as it is filled in, by the page and by both verbs that queue, in one sentence."""
    file, form = tmp_path / "lines.txt", EncoderForm(workspace)
    file.write_text("One sentence.\nAnother one.\n", encoding="utf-8")
    filled = values(form, objective="sup", train=str(file), dev="none")
    with pytest.raises(UserError, match=r"lines\.txt") as raised:
        submit.queue(workspace, TrainJob.of(workspace, form.spec(filled)))
    with pytest.raises(UserError) as seen:
        form.examples(filled)
    assert seen.value.message == raised.value.message
    command = ("sup", "minilm", "--train", str(file), "--out", "never", "--dev", "none", "--queue")
    for verb in (("train", *command), ("sweep", *command, "--set", "seed=1,2")):
        assert raised.value.message in refused(workspace, *verb)
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"objective": "st", "loss": "TripletLoss"}, "wrong-kind"),
        ({"objective": "st", "loss": "CoSENTLoss", "limit": "1"}, "too-few"),
        ({"objective": "st", "loss": "BatchAllTripletLoss", "limit": "100"}, "too-few"),
        ({"limit": "1"}, "too-few"),
        ({"train": "no/such/file.csv"}, "no-file"),
    ],
)
def test_the_form_says_what_cannot_be_learned_from(
    workspace: Workspace, changed: dict[str, str], code: str
) -> None:
    """Other columns than the loss needs, one example, one label."""
    form = EncoderForm(workspace)
    with pytest.raises(UserError) as raised:
        form.examples(values(form, **changed))
    assert raised.value.code == code


def test_the_form_shows_what_is_learned_from(workspace: Workspace) -> None:
    """The first examples as the loss has them, which may all have one label."""
    form = EncoderForm(workspace)
    filled = values(form, objective="st", loss="BatchAllTripletLoss", train="starter-topics")
    (fold,) = form.examples(filled)
    assert isinstance(fold, Fold) and isinstance(fold.blocks[0], Table)
    assert fold.blocks[0].columns == ("sentence", "label")
    assert [row[1] for row in fold.blocks[0].rows] == ["0", "0", "0"]


def test_the_dev_set_is_one_that_is_here(workspace: Workspace) -> None:
    """On the form, and of a verb that names none."""
    assert EncoderForm(workspace).defaults()["dev"] == "starter-pairs"
    text = said(*ENCODER, "--queue", "--store", str(workspace.store.folder))
    assert "STSBenchmark is not available" in text
    (run,) = workspace.store.runs.list()
    assert run["spec"]["dev"] == "starter-pairs"


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_what_a_training_takes_is_told_by_the_one_before(
    workspace: Workspace, tmp_path: Path, kind: str
) -> None:
    """Unknown until one was done here; twice the epochs take twice as long."""
    out = tmp_path / "out"
    spec = small_spec(out)
    job = TrainDecoderJob
    if kind == "encoder":
        spec, job = replace(small(write_sentences(tmp_path / "s.txt"), out), steps=None), TrainJob
    words = [*spec.command()[1:], "--estimate", "--json", "--store", str(workspace.store.folder)]
    (before,) = objects(theodolite(*words))
    assert before["seconds"] is None and workspace.store.runs.list() == []
    *_, (_, over) = happened(workspace, job(spec))
    (after,) = objects(theodolite(*words))
    assert (after["steps"], after["seconds"]) == (over.step, pytest.approx(over.seconds))
    twice = job(replace(spec, epochs=2 * spec.epochs)).pace(workspace)
    assert twice.seconds == pytest.approx(2 * over.seconds)
    assert job(replace(spec, precision="bf16")).pace(workspace) is None


def test_what_a_sweep_takes_is_said_child_by_child(workspace: Workspace, tmp_path: Path) -> None:
    """Of those that are as costly as one that was done; of the others nothing is known."""
    spec = small(write_sentences(tmp_path / "s.txt"), tmp_path / "out")
    list(happened(workspace, TrainJob(spec)))
    settings = ("--set", "batch_size=4,8", "--set", "seed=1,2", "--estimate", "--json")
    command = ["sweep", *spec.command()[2:], *settings, "--store", str(workspace.store.folder)]
    children = objects(theodolite(*command))
    assert [child["seconds"] is None for child in children] == [True, True, False, False]
    assert len(workspace.store.runs.list()) == 1


@pytest.mark.parametrize("kind", [EncoderForm, DecoderForm])
def test_every_preset_can_be_trained(workspace: Workspace, kind: type[Form]) -> None:
    """Its settings are shown as they are read."""
    form = kind(workspace)
    for preset in form.presets():
        filled = values(form) | form.preset(preset.name)
        spec = form.spec(filled)
        applies = {
            one.name for one in form.settings if kind.job_type.spec_type.applies(one, filled)
        }
        changes = {name: preset.changes[name] for name in applies & preset.changes.keys()}
        assert spec.to_dict() | changes == spec.to_dict()
        assert form.preset_of(filled) == preset
        assert form.preset_of(filled | {"seed": "7"}) is None
