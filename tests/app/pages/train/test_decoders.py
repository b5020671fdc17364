"""Decoders: trained in a terminal, gone on with, stopped, listed, found for an encoder."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.errors import refused
from tests.fakes.decoders import small_spec
from tests.fakes.stores import starter_store
from tests.fakes.workers import happened
from theodolite.app import decoders
from theodolite.app.jobs import submit
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.pages.trainings import service as runs
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.facts import facts_of
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import (
    Encoded,
    Evaluated,
    Started,
    Stepped,
)
from theodolite.store.run_rows import STOP


@pytest.fixture
def spec(tmp_path: Path) -> DecoderSpec:
    """A training that takes seconds, of a decoder that knows next to nothing."""
    return small_spec(tmp_path / "out")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, list[Any]]:
    """A store in which a decoder of random:32 was trained, and all that was said of it."""
    made = starter_store(tmp_path_factory.mktemp("trained"))
    job = TrainDecoderJob(small_spec(made.store.folder.with_name("out")))
    return made, [event for _, event in happened(made, job)]


@pytest.fixture(scope="module")
def trained(course: tuple[Workspace, list[Any]]) -> Path:
    """That decoder, to be copied."""
    return course[0].store.folder.with_name("out")


@pytest.fixture
def out(trained: Path, spec: DecoderSpec, workspace: Workspace) -> Path:
    """The same in a folder of its own, and in the list."""
    decoders.register(workspace, Path(shutil.copytree(trained, spec.out)))
    return Path(spec.out)


def own(workspace: Workspace) -> list[decoders.DecoderInfo]:
    """The decoders that did not come with the app."""
    return [row for row in decoders.listed(workspace) if not row.shipped]


def test_a_decoder_to_start_from_has_the_name_of_the_list(
    workspace: Workspace, spec: DecoderSpec, out: Path, tmp_path: Path
) -> None:
    """Or is a folder; one that ships goes by its encoder."""
    listed = {row.name: row.folder for row in decoders.listed(workspace)}
    for named, folder in (*listed.items(), (str(out), out), ("other", Path.cwd() / "other")):
        assert TrainDecoderJob.of(workspace, replace(spec, start=named)).spec.start == str(folder)
    assert TrainDecoderJob.of(workspace, spec).spec.start is None
    assert len(listed) == 4


def test_a_training_is_a_run_with_a_course_and_a_decoder(
    course: tuple[Workspace, list[Any]],
) -> None:
    """What was said is in the store, by step; the decoder is listed, its encoder too."""
    workspace, events = course
    (run,) = workspace.store.runs.list()
    assert (run["kind"], run["state"], run["fraction"]) == ("train-decoder", "done", 1.0)
    found = runs.curves(workspace, run["id"])
    steps = [event for event in events if isinstance(event, Stepped)]
    looks = [event for event in events if isinstance(event, Evaluated)]
    assert [event["loss"] for event in found.steps] == [event.loss for event in steps]
    assert [event["loss"] for event in found.evals] == [event.loss for event in looks]
    assert [list(pair) for pair in looks[-1].samples] == found.evals[-1]["samples"]
    (row,) = runs.table(workspace, kinds=runs.DECODERS)
    assert (row.run, row.state, row.why) == (run["id"], "done", "done")
    assert row.loss == min(look.loss for look in looks)
    assert row.step == row.steps == steps[-1].steps
    (listed,) = own(workspace)
    assert (listed.name, listed.encoder, listed.dim) == ("out", "random:32", 32)
    assert (listed.architecture, listed.words, listed.trained_on) == ("prefix", 14, "starter")
    assert workspace.store.encoders.names() == ["random:32"]


def test_a_decoder_is_found_by_the_weights_of_its_encoder(workspace: Workspace, out: Path) -> None:
    """Whatever they are called; of two the newer; never one of another dimension."""

    def name(encoder: str) -> str | None:
        return getattr(decoders.decoder_of(workspace, encoder), "name", None)

    assert (name("random:32"), name("random:64")) == ("out", None)
    workspace.store.decoders.remove("out")
    assert name("random:32") is None
    other = Path(shutil.copytree(out, out.with_name("other")))
    for folder in (out, other):
        decoders.register(workspace, folder)
        assert name("random:32") == folder.name
    shutil.rmtree(other)
    assert name("random:32") == "out"


def test_of_other_weights_the_name_decides(workspace: Workspace, out: Path) -> None:
    """A fingerprint that nobody has any more does not hide a decoder of that very spec."""
    facts = facts_of(out) | {"fingerprint": "0" * 32}
    (out / decoders.FACTS).write_text(json.dumps(facts), "utf-8")
    decoders.register(workspace, out)
    found = decoders.decoder_of(workspace, "random:32")
    assert found is not None and found.fingerprint == "0" * 32


def test_an_opened_decoder_stays_open(workspace: Workspace, out: Path) -> None:
    """It is read once, with its encoder; not when its folder is gone."""
    (row,) = own(workspace)
    decoder, encoder = decoders.opened(workspace, row)
    assert (row.folder, encoder.dim) == (out, 32)
    assert decoders.opened(workspace, row)[0] is decoder
    shutil.rmtree(out)
    with pytest.raises(UserError, match="out"):
        decoders.opened(workspace, row)


def begun(workspace: Workspace, spec: DecoderSpec) -> tuple[str, Reporter]:
    """A run at work; its id, and what the process that does it speaks to."""
    run = submit.queue(workspace, TrainDecoderJob.of(workspace, spec))
    workspace.store.runs.start(run, 1, "local-0", ["small"])
    return run, Reporter(workspace.store, run, 1, 0, "small")


def test_stopped_while_it_encodes_there_is_nothing_to_keep(
    workspace: Workspace, spec: DecoderSpec
) -> None:
    """The run says so; tried again it trains."""
    run, reporter = begun(workspace, spec)
    workspace.store.runs.ask(run, STOP)
    with refused("no-result"):
        list(TrainDecoderJob(spec).work(workspace, 0, reporter))
    assert own(workspace) == []


def crashed_twice(workspace: Workspace, spec: DecoderSpec) -> tuple[str, Reporter]:
    """A run whose process crashed twice already; its id, and what the third one speaks to."""
    run, reporter = begun(workspace, spec)
    workspace.store.events.add(run, Encoded.kind, {"done": 100, "sentences": 300})
    workspace.store.events.add(run, Started.kind, {"step": 0, "steps": 60})
    workspace.store.runs.progress(run, 1, 1.0, "at a share of time that is guessed anew each time")
    assert [workspace.store.runs.lost_unit(run, 0) for _ in range(2)] == [1, 2]
    return run, reporter


@pytest.mark.parametrize(("already", "lost"), [(100, 1), (0, 3)])
def test_sentences_encoded_between_crashes_begin_their_count_anew(
    workspace: Workspace,
    spec: DecoderSpec,
    monkeypatch: pytest.MonkeyPatch,
    already: int,
    lost: int,
) -> None:
    """A third one is then the first; those that were encoded before are no step further."""
    monkeypatch.setattr("theodolite.engine.decoding.train.AT_ONCE", 60)
    run, reporter = crashed_twice(workspace, spec)
    events = TrainDecoderJob(spec).work(workspace, 0, reporter)
    next(event for event in events if isinstance(event, Encoded) and event.done > already)
    events.close()
    assert workspace.store.runs.lost_unit(run, 0) == lost


@pytest.mark.parametrize(("seconds", "lost"), [(0.0, 1), (1e9, 3)])
def test_a_checkpoint_between_crashes_begins_their_count_anew(
    workspace: Workspace,
    spec: DecoderSpec,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    lost: int,
) -> None:
    """Updates that no checkpoint keeps do not: the next process would have to make them again."""
    limits = {"CHECKPOINT_SECONDS": seconds, "CHECKPOINT_SHARE": -1.0, "REPORT_SECONDS": 0.0}
    for name, value in limits.items():
        monkeypatch.setattr(f"theodolite.engine.training.loop.{name}", value)
    run, reporter = crashed_twice(workspace, spec)
    workspace.store.events.add(run, Encoded.kind, {"done": 300, "sentences": 300})
    events = TrainDecoderJob(spec).work(workspace, 0, reporter)
    for _ in range(4):
        next(event for event in events if isinstance(event, Stepped))
    events.close()
    assert workspace.store.runs.lost_unit(run, 0) == lost


def test_without_a_folder_it_is_one_of_the_store(workspace: Workspace, spec: DecoderSpec) -> None:
    """The same for the same question."""
    first, again = (TrainDecoderJob.of(workspace, replace(spec, out="")).spec for _ in "ab")
    assert first == again and Path(first.out).parent == workspace.store.decoders.folder


def test_one_of_the_store_is_deleted(workspace: Workspace, trained: Path) -> None:
    """Its files with it, and it is not kept in memory; it can be trained anew."""
    home = workspace.store.decoders.folder / "mine"
    decoders.register(workspace, Path(shutil.copytree(trained, home)))
    (row,) = own(workspace)
    decoders.opened(workspace, row)
    assert decoders.remove(workspace, "mine").deleted and not home.exists()
    assert own(workspace) == []
    for again in (
        lambda: decoders.opened(workspace, row),
        lambda: decoders.remove(workspace, "mine"),
    ):
        with pytest.raises(UserError, match="mine"):
            again()


def test_a_folder_of_ones_own_only_leaves_the_list(workspace: Workspace, out: Path) -> None:
    """Wherever it lies, and however it is named or linked into the store."""
    kept = workspace.store.decoders.folder
    kept.mkdir(exist_ok=True)
    (kept / "linked").symlink_to(out)
    for folder in (out, kept / "linked", kept / ".." / ".." / out.name):
        name = decoders.register(workspace, folder).name
        assert not decoders.remove(workspace, name).deleted and (out / decoders.FACTS).exists()
    assert own(workspace) == []


def test_one_that_came_with_the_app_stays(
    workspace: Workspace, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was trained under its very name is meant first."""
    monkeypatch.setattr("theodolite.app.decoders.shipped", lambda: {"random:32": out})
    workspace.store.decoders.remove("out")
    with pytest.raises(UserError, match="ships with"):
        decoders.remove(workspace, "random:32")
    assert [row.shipped for row in decoders.listed(workspace)] == [True]
