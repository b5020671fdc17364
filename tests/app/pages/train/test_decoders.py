"""Decoders: trained in a terminal, gone on with, stopped, listed, found for an encoder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.decoders import small_spec
from theodolite.app import decoders
from theodolite.app.jobs import submit
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.decode.form import first_encoders
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.pages.train.service import DecoderTraining
from theodolite.app.pages.trainings import service as runs
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import (
    Encoded,
    Evaluated,
    Event,
    Started,
    Stepped,
)
from theodolite.store.run_rows import STOP


@pytest.fixture
def spec(tmp_path: Path) -> DecoderSpec:
    """A training that takes seconds, of a decoder that knows next to nothing."""
    return small_spec(tmp_path / "out")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder of random:32, to be copied."""
    out = tmp_path_factory.mktemp("trained") / "out"
    for _ in train_decoder(small_spec(out), Catalog(None)):
        pass
    return out


@pytest.fixture
def out(trained: Path, spec: DecoderSpec, workspace: Workspace) -> Path:
    """The same in a folder of its own, and in the list."""
    decoders.register(workspace, Path(shutil.copytree(trained, spec.out)))
    return Path(spec.out)


def here(workspace: Workspace, spec: DecoderSpec) -> Iterator[Event]:
    """Train in this process."""
    for _, _, event in perform(workspace, TrainDecoderJob(spec)):
        if event is not None:
            assert isinstance(event, Event)
            yield event


def own(workspace: Workspace) -> list[decoders.DecoderInfo]:
    """The decoders that did not come with the app."""
    return [row for row in decoders.listed(workspace) if not row.shipped]


def test_a_decoder_to_start_from_has_the_name_of_the_list(
    workspace: Workspace, spec: DecoderSpec, out: Path, tmp_path: Path
) -> None:
    """Or is a folder; one that ships goes by its encoder."""
    listed = {row.name: row.folder for row in decoders.listed(workspace)}
    for named, folder in (*listed.items(), (str(out), out), ("other", Path.cwd() / "other")):
        job = TrainDecoderJob.of(workspace, replace(spec, start=named))
        assert job.spec.start == str(folder)
        assert TrainDecoderJob.from_spec(json.loads(json.dumps(job.to_spec()))) == job
    assert TrainDecoderJob.of(workspace, spec).spec.start is None
    assert len(listed) == 4


def test_a_training_is_a_run_with_a_course_and_a_decoder(
    workspace: Workspace, spec: DecoderSpec
) -> None:
    """What was said is in the store, by step; the decoder is listed, its encoder too."""
    events = list(here(workspace, spec))
    (run,) = workspace.store.runs.list()
    assert (run["kind"], run["state"], run["fraction"]) == ("train-decoder", "done", 1.0)
    found = runs.curves(workspace, run["id"])
    steps = [event for event in events if isinstance(event, Stepped)]
    looks = [event for event in events if isinstance(event, Evaluated)]
    assert [event["loss"] for event in found.steps] == [event.loss for event in steps]
    assert [event["loss"] for event in found.evals] == [event.loss for event in looks]
    assert [list(pair) for pair in looks[-1].samples] == found.evals[-1]["samples"]
    assert found.started is not None
    assert found.finished is not None
    (row,) = runs.table(workspace, kinds=runs.DECODERS)
    assert (row.run, row.state, row.why) == (run["id"], "done", "done")
    assert row.loss == min(look.loss for look in looks)
    assert (row.step, row.steps) == (found.finished["step"], found.started["steps"])
    (listed,) = own(workspace)
    assert (listed.name, listed.encoder, listed.dim) == ("out", "random:32", 32)
    assert (listed.architecture, listed.words, listed.trained_on) == ("prefix", 14, "starter")
    assert workspace.store.encoders.names() == ["random:32"]


def test_a_decoder_is_found_by_the_weights_of_its_encoder(workspace: Workspace, out: Path) -> None:
    """Whatever they are called; of two the newer; never one of another dimension."""
    found = decoders.decoder_of(workspace, "random:32")
    assert found is not None
    assert found.encoder == "random:32"
    assert decoders.decoder_of(workspace, "random:64") is None
    workspace.store.decoders.remove("out")
    assert decoders.decoder_of(workspace, "random:32") is None
    decoders.register(workspace, out)
    other = out.with_name("other")
    shutil.copytree(out, other)
    decoders.register(workspace, other)
    found = decoders.decoder_of(workspace, "random:32")
    assert found is not None
    assert found.name == "other"
    shutil.rmtree(other)
    found = decoders.decoder_of(workspace, "random:32")
    assert found is not None
    assert found.name == "out"


def test_of_other_weights_the_name_decides(workspace: Workspace, out: Path) -> None:
    """A fingerprint that nobody has any more does not hide a decoder of that very spec."""
    facts = decoders.facts_of(out) | {"fingerprint": "0" * 32}
    (out / decoders.FACTS).write_text(json.dumps(facts), "utf-8")
    decoders.register(workspace, out)
    found = decoders.decoder_of(workspace, "random:32")
    assert found is not None
    assert found.fingerprint == "0" * 32


def test_an_opened_decoder_stays_open(workspace: Workspace, out: Path) -> None:
    """It is read once, and decodes vectors of its encoder."""
    (row,) = own(workspace)
    assert row.folder == out
    decoder, encoder = decoders.opened(workspace, row)
    assert decoders.opened(workspace, row)[0] is decoder
    (decoded,) = decoder.decode(encoder.encode(["A boat on the river."]), method="greedy")
    assert isinstance(decoded.sentence, str)
    shutil.rmtree(row.folder)
    with pytest.raises(UserError, match=row.name):
        decoders.opened(workspace, row)


def test_stopped_while_it_encodes_there_is_nothing_to_keep(
    workspace: Workspace, spec: DecoderSpec
) -> None:
    """The run says so; tried again it trains."""
    run = DecoderTraining(workspace).queue(spec)
    workspace.store.runs.start(run, 1, "local-0", ["small"])
    workspace.store.runs.ask(run, STOP)
    reporter = Reporter(workspace.store, run, 1, 0, "small")
    with refused("no-result"):
        list(TrainDecoderJob(spec).work(workspace, 0, reporter))
    assert own(workspace) == []


def crashed_twice(workspace: Workspace, spec: DecoderSpec) -> tuple[str, Reporter]:
    """A run whose process crashed twice already; its id, and what the third one speaks to."""
    run = DecoderTraining(workspace).queue(spec)
    workspace.store.runs.start(run, 1, "local-0", ["small"])
    workspace.store.events.add(run, Encoded.kind, {"done": 100, "sentences": 300})
    workspace.store.events.add(run, Started.kind, {"step": 0, "steps": 60})
    workspace.store.runs.progress(run, 1, 1.0, "at a share of time that is guessed anew each time")
    assert [workspace.store.runs.lost_unit(run, 0) for _ in range(2)] == [1, 2]
    return run, Reporter(workspace.store, run, 1, 0, "small")


@pytest.mark.parametrize(
    ("moved_on", "until"),
    [
        (True, lambda event: isinstance(event, Encoded) and event.done > 100),
        (False, lambda event: isinstance(event, Encoded)),
    ],
)
def test_sentences_encoded_between_crashes_begin_their_count_anew(
    workspace: Workspace, spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch, moved_on, until
) -> None:
    """A third one is then the first; those that were encoded before are no step further."""
    monkeypatch.setattr("theodolite.engine.decoding.dataset.AT_ONCE", 60)
    run, reporter = crashed_twice(workspace, spec)
    events = TrainDecoderJob(spec).work(workspace, 0, reporter)
    next(event for event in events if until(event))
    events.close()
    assert workspace.store.runs.lost_unit(run, 0) == (1 if moved_on else 3)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_a_checkpoint_between_crashes_begins_their_count_anew(
    workspace: Workspace, spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """Updates that no checkpoint keeps do not: the next process would have to make them again."""
    monkeypatch.setattr("theodolite.engine.training.loop.CHECKPOINT_SECONDS", seconds)
    monkeypatch.setattr("theodolite.engine.training.loop.CHECKPOINT_SHARE", -1.0)
    monkeypatch.setattr("theodolite.engine.training.loop.REPORT_SECONDS", 0.0)
    run, reporter = crashed_twice(workspace, spec)
    workspace.store.events.add(run, Encoded.kind, {"done": 300, "sentences": 300})
    events = TrainDecoderJob(spec).work(workspace, 0, reporter)
    for _ in range(4):
        next(event for event in events if isinstance(event, Stepped))
    events.close()
    assert workspace.store.runs.lost_unit(run, 0) == (1 if seconds == 0.0 else 3)


def test_a_page_names_no_folder(workspace: Workspace, spec: DecoderSpec) -> None:
    """It is one of the store, and a decoder there is not trained again."""
    wanted = replace(spec, out="")
    run = DecoderTraining(workspace).queue(wanted)
    out = Path(workspace.store.runs.get(run)["spec"]["out"])
    assert out.parent == workspace.store.decoders.folder
    out.mkdir(parents=True)
    with refused("conflict", out.name):
        DecoderTraining(workspace).queue(wanted)


def test_one_of_the_store_is_deleted(workspace: Workspace, trained: Path) -> None:
    """Its files with it, and it is not kept in memory; it can be trained anew."""
    home = workspace.store.decoders.folder / "mine"
    decoders.register(workspace, Path(shutil.copytree(trained, home)))
    (row,) = own(workspace)
    decoders.opened(workspace, row)
    found = decoders.remove(workspace, "mine")
    assert (found.deleted, home.exists()) == (True, False)
    assert "files are deleted" in decoders.removal_notice(found)
    assert own(workspace) == []
    with pytest.raises(UserError, match=row.name):
        decoders.opened(workspace, row)
    with pytest.raises(UserError, match="'mine'"):
        decoders.remove(workspace, "mine")


def test_a_folder_of_ones_own_only_leaves_the_list(workspace: Workspace, out: Path) -> None:
    """Wherever it lies, and however it is named or linked into the store."""
    kept = workspace.store.decoders.folder
    kept.mkdir(exist_ok=True)
    (kept / "linked").symlink_to(out)
    for folder in (out, kept / "linked", kept / ".." / ".." / out.name):
        name = decoders.register(workspace, folder).name
        found = decoders.remove(workspace, name)
        assert not found.deleted
        assert "folder is kept" in decoders.removal_notice(found)
        assert (out / decoders.FACTS).exists()
    assert own(workspace) == []


def test_one_that_came_with_the_app_stays(
    workspace: Workspace, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was trained under its very name is meant first."""
    monkeypatch.setattr("theodolite.engine.decoding.shipped.shipped", lambda: {"random:32": out})
    workspace.store.decoders.remove("out")
    with pytest.raises(UserError, match="ships with"):
        decoders.remove(workspace, "random:32")
    assert [row.shipped for row in decoders.listed(workspace)] == [True]


def test_a_card_says_what_a_decoder_is(workspace: Workspace, out: Path) -> None:
    """As it lies beside the weights; without one, or a decoder, that is said."""
    assert decoders.card_of(workspace, "out").startswith("# A decoder for `random:32`")
    (out / "README.md").unlink()
    with pytest.raises(UserError, match="no card"):
        decoders.card_of(workspace, "out")
    with pytest.raises(UserError, match="'nobody'"):
        decoders.card_of(workspace, "nobody")


def test_pages_begin_with_a_persons_own_encoders_and_then_the_starters(
    workspace: Workspace, out: Path
) -> None:
    """Three at most, in the order of the other pages; what has no decoder is left out."""
    for name in ("random:256", "random:64", "wordllama", "minilm", "random:32"):
        workspace.store.encoders.add(name)
    assert first_encoders(workspace) == ["random:32", "minilm", "wordllama"]
    workspace.store.encoders.remove("random:32")
    assert first_encoders(workspace) == ["minilm", "wordllama", "random:256"]


def test_visitors_start_and_stop_nothing(workspace: Workspace, spec: DecoderSpec) -> None:
    """They may look."""
    run = DecoderTraining(workspace).queue(spec)
    visiting = Workspace(workspace.store.folder, read_only=True)
    for attempt in (
        lambda: DecoderTraining(visiting).queue(spec),
        lambda: submit.queue(visiting, DiagnoseJob("random:32", "out", "text", 10)),
        lambda: jobs.stop(visiting, run),
        lambda: decoders.remove(visiting, "out"),
    ):
        with pytest.raises(UserError, match="Visitors"):
            attempt()
    assert len(runs.table(visiting, kinds=runs.DECODERS)) == 1
