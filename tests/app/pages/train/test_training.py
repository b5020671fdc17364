"""Trainings as runs, of encoders and decoders: stopped, gone on with, swept, listed, deleted."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.main import get_command

from tests.errors import refused
from tests.fakes.decoders import small_spec
from tests.fakes.small_training import small, write_sentences
from tests.fakes.stores import starter_store
from tests.fakes.workers import happened
from theodolite.app import decoders
from theodolite.app.cli import app
from theodolite.app.jobs import submit
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.jobs.views import about
from theodolite.app.pages.train.job import AGAIN, LEFT_OUT, SweepJob, TrainDecoderJob, TrainJob
from theodolite.app.pages.trainings import service as runs
from theodolite.app.pages.trainings.page import facts
from theodolite.app.web.progress import card, how_far
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.facts import facts_of
from theodolite.engine.decoding.presets import PRESETS
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training import Evaluated, Event, Finished, Noted, Started, TrainSpec
from theodolite.engine.training.base_spec import settings
from theodolite.engine.training.events import Encoded, Stepped
from theodolite.store import StoreError
from theodolite.store.run_rows import STOP


@pytest.fixture
def spec(tmp_path: Path) -> TrainSpec:
    """A training that takes a second."""
    return small(write_sentences(tmp_path / "sentences.txt"), tmp_path / "out")


def here(workspace: Workspace, spec: TrainSpec) -> Iterator[Event]:
    """Train in this process."""
    for _, event in happened(workspace, TrainJob(spec)):
        yield event


def column(events: list[dict], name: str) -> list:
    """One field of each event."""
    return [event[name] for event in events]


def test_a_training_is_a_run_with_curves_and_an_encoder(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """What was said is in the store, by step; the encoder is listed."""
    events, encoder = list(here(workspace, spec)), f"dir:{spec.out}"
    (run,) = workspace.store.runs.list()
    assert (run["kind"], run["state"], run["fraction"]) == ("train", "done", 1.0)
    assert workspace.store.encoders.names() == [encoder]
    assert workspace.load(encoder).encode(["the cat sleeps"]).shape == (1, 32)
    found = runs.curves(workspace, run["id"])
    looks = [event for event in events if isinstance(event, Evaluated)]
    assert [(event["step"], event["score"], event["uniformity"]) for event in found.evals] == [
        (step, look.score, look.uniformity) for step, look in zip((10, 20, 30), looks, strict=True)
    ]
    assert found.steps[-1]["step"] == 30
    (row,) = runs.table(workspace)
    best = max(looks, key=lambda look: look.score)
    assert row == replace(
        row,
        key=run["id"],
        state="done",
        why="done",
        score=best.score,
        best_step=best.step,
        step=30,
        out=spec.out,
        encoder=encoder,
        settings=row.settings | {"batch_size": 8},
    )
    assert row.seconds is not None and row.seconds > 0
    # A process may be killed between the last event and the note that its unit ended.
    workspace.store.encoders.remove(encoder)
    reporter = Reporter(workspace.store, run["id"], run["attempt"], 0, "small")
    assert list(TrainJob(spec).work(workspace, 0, reporter)) == []
    assert workspace.store.encoders.names() == [encoder]


def test_what_follows_the_last_update_is_said(workspace: Workspace, spec: TrainSpec) -> None:
    """The last dev score may take longer than all updates; no time is guessed for it."""
    events = here(workspace, spec)
    next(event for event in events if isinstance(event, Stepped) and event.step == spec.steps)
    (run,), (row,) = workspace.store.runs.list(), runs.table(workspace)
    assert run["message"].startswith("update 30 of 30, ")
    assert run["message"].endswith(", scoring on starter-pairs")
    assert run["message"] in facts(row, run) and "left" not in facts(row, run) + how_far(run)
    begun = run | {"message": run["title"]}  # the label of its only unit
    assert "starting" in facts(row, begun) and row.label not in facts(row, begun)
    assert "t-present" in card(run) and "t-present" not in card(begun)
    assert about(run).endswith(run["message"]) and run["title"] not in about(begun)
    events.close()


def test_an_interrupted_training_goes_on_in_its_row(workspace: Workspace, spec: TrainSpec) -> None:
    """Its curves go on too, and hold no step twice."""
    spec = replace(spec, steps=100)
    events = here(workspace, spec)
    checkpoints = Path(f"{spec.out}.training")
    next(event for event in events if [*checkpoints.glob("step-*[0-9]")])
    events.close()
    (run,) = workspace.store.runs.list()
    assert run["state"] == "cancelled"
    started, *_, finished = here(workspace, spec)
    assert isinstance(started, Started) and 0 < started.step < 100
    assert isinstance(finished, Finished)
    assert [(again["id"], again["state"]) for again in workspace.store.runs.list()] == [
        (run["id"], "done")
    ]
    found = runs.curves(workspace, run["id"])
    assert column(found.evals, "step") == list(range(10, 101, 10))
    assert len(set(column(found.steps, "step"))) == len(found.steps)


def test_what_has_no_checkpoint_says_that_it_starts_again(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """As a static encoder always does, which is made in one go."""
    events = here(workspace, spec)
    next(events)
    events.close()
    assert AGAIN in [event.message for event in here(workspace, spec) if isinstance(event, Noted)]


def test_stopped_now_it_keeps_the_best(workspace: Workspace, spec: TrainSpec) -> None:
    """The word is in the store, so that any page or terminal can give it."""
    events = here(workspace, replace(spec, steps=100_000))
    next(event for event in events if isinstance(event, Evaluated))
    (run,) = workspace.store.runs.list()
    jobs.act(workspace, "stop", run["id"])
    (row,) = runs.table(workspace)
    assert (row.state, row.stopping) == ("running", True)
    *_, last = events
    assert isinstance(last, Finished) and (last.why, last.step < 100_000) == ("stopped", True)
    (row,) = runs.table(workspace)
    assert (row.state, row.stopping, row.why) == ("done", False, "stopped")
    with refused("conflict"):
        jobs.act(workspace, "stop", run["id"])


def test_one_trains_at_a_time(workspace: Workspace, spec: TrainSpec) -> None:
    """What another terminal is at is followed, event by event; a dead worker's is refused."""
    run = submit.queue(workspace, TrainJob.of(workspace, spec))
    workspace.store.runs.start(run, 1, "local-0", ["small"])
    with pytest.raises(StoreError, match=run):
        next(here(workspace, spec))
    workspace.store.runs.cancel(run)
    mine, followed = here(workspace, spec), here(workspace, spec)
    first = next(mine)
    assert isinstance(first, Started) and next(followed) == first
    assert [*mine] == [*followed]
    assert [row["id"] for row in workspace.store.runs.list()] == [run]


def test_what_cannot_be_trained_leaves_no_run(workspace: Workspace, spec: TrainSpec) -> None:
    """The terminal says why, and the list of runs stays clean."""
    with refused("no-file", "/nowhere/at/all"):
        list(here(workspace, replace(spec, train="/nowhere/at/all.txt")))
    assert workspace.store.runs.list() == []


def test_a_sweep_trains_its_children_and_tells_the_best(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """One that fails does not end it."""
    children = [
        ("hot", {"temperature": 1.0}),
        ("alone", {"batch_size": 1}),
        ("cold", {"temperature": 0.05}),
    ]
    events = list(happened(workspace, SweepJob.of(workspace, spec, children)))
    scores = {at: event.best_score for at, event in events if isinstance(event, Finished)}
    best = max(scores, key=lambda at: scores[at])
    (run,) = workspace.store.runs.list()
    assert (run["state"], run["done"], run["failed"]) == ("partly failed", 2, 1)
    assert f"{children[best][0]}, {scores[best]:.2f} on starter-pairs dev" in run["message"]
    rows = runs.table(workspace)
    assert [(row.key, row.state, row.score, Path(row.out).name) for row in rows] == [
        (f"{run['id']}:0", "done", scores[0], "1-hot"),
        (f"{run['id']}:1", "failed", None, "2-alone"),
        (f"{run['id']}:2", "done", scores[2], "3-cold"),
    ]
    assert "batch size of 1" in (rows[1].error or "")
    assert len(workspace.store.encoders.list()) == 2
    assert column(runs.curves(workspace, rows[2].key).evals, "step") == [10, 20, 30]
    differences = {"batch_size": [8, 1, 8], "temperature": [1.0, 0.05, 0.05]}
    assert runs.differences([row.settings for row in rows]) == differences


def test_a_sweep_goes_on_with_the_child_that_was_at_work(
    workspace: Workspace, spec: TrainSpec
) -> None:
    """A child that is done is not trained again."""
    sweep = SweepJob.of(workspace, spec, [("one", {"seed": 1}), ("two", {"seed": 2})])
    events = happened(workspace, sweep)
    next(None for at, _ in events if at == 1)
    events.close()
    assert [row.state for row in runs.table(workspace)] == ["done", "cancelled"]
    assert {at for at, _ in happened(workspace, sweep)} == {1}
    assert [row.state for row in runs.table(workspace)] == ["done", "done"]
    assert len(workspace.store.runs.list()) == 1


def test_a_stopped_sweep_leaves_the_rest_out(workspace: Workspace, spec: TrainSpec) -> None:
    """The child at work keeps its best."""
    children = [(f"seed {n}", {"seed": n, "steps": 100_000}) for n in (1, 2, 3)]
    events = happened(workspace, SweepJob.of(workspace, spec, children))
    next(None for _, event in events if isinstance(event, Evaluated))
    (run,) = workspace.store.runs.list()
    jobs.act(workspace, "stop", run["id"])
    heard = [event for _, event in events]
    assert [event.why for event in heard if isinstance(event, Finished)] == ["stopped"]
    assert [event.message for event in heard if isinstance(event, UserError)] == [LEFT_OUT] * 2
    ended = workspace.store.runs.get(run["id"])
    assert (ended["state"], ended["done"], ended["failed"]) == ("done", 1, 0)
    assert [row.state for row in runs.table(workspace)] == ["done", "left out", "left out"]


def test_a_page_names_no_folder(workspace: Workspace, spec: TrainSpec) -> None:
    """It is one of the store, the same for the same question."""
    wanted = replace(spec, out="")
    folders = workspace.store.folder / "encoders"

    def queued(**changes) -> tuple[str, Path]:
        run = submit.queue(workspace, TrainJob.of(workspace, replace(wanted, **changes)))
        return run, Path(workspace.store.runs.get(run)["spec"]["out"])

    run, out = queued()
    assert out.parent == folders and queued() == (run, out) != queued(seed=7)
    sweep = submit.queue(workspace, SweepJob.of(workspace, wanted, [("a", {}), ("b", {"seed": 7})]))
    children = workspace.store.runs.get(sweep)["spec"]["children"]
    assert {Path(child["spec"]["out"]).parent.parent for child in children} == {folders}


def test_relative_paths_become_whole(
    workspace: Workspace, spec: TrainSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker has another folder; the name of a data set stays a name."""
    monkeypatch.chdir(tmp_path)
    made = TrainJob.of(workspace, replace(spec, train="sentences.txt", base="dir:b", out="o")).spec
    paths = (str(tmp_path / "sentences.txt"), f"dir:{tmp_path / 'b'}", str(tmp_path / "o"))
    assert (made.train, made.base, made.out) == paths
    made = TrainJob.of(workspace, replace(spec, train="starter-topics")).spec
    assert made.train == "starter-topics"


@pytest.mark.parametrize(
    "children", [[], [("cold", {"temperature": 0.0})], [("odd", {"temprature": 1.0})]]
)
def test_a_child_that_cannot_be_is_refused_at_once(
    workspace: Workspace, spec: TrainSpec, children
) -> None:
    """Before anything is queued."""
    with pytest.raises(UserError):
        submit.queue(workspace, SweepJob.of(workspace, spec, children))
    assert workspace.store.runs.list() == []


def test_curves_forget_the_steps_that_are_done_over(workspace: Workspace) -> None:
    """A run that went on repeats what came after its checkpoint; each read adds a little."""
    run = workspace.store.runs.create("train", {"objective": "unsup"}, title="by hand")

    def told(begin: int, *steps: int) -> runs.Curves:
        workspace.store.events.add(run, "started", {"step": begin, "steps": 9})
        for step in steps:
            workspace.store.events.add(run, "stepped", {"step": step, "loss": 1.0 / step})
        return runs.curves(workspace, run)

    first, second = told(0, 2, 4, 6), told(4, 5)
    assert column(first.steps, "step") == [2, 4, 6]  # what was given out stays as it was
    assert [(event["step"], event["loss"]) for event in second.steps] == [
        (2, 0.5),
        (4, 0.25),
        (5, 0.2),
    ]
    assert second.cursor > first.cursor
    assert runs.curves(workspace, run).cursor == second.cursor
    assert runs.curves(workspace, f"{run}:1").steps == []


UNSUP = TrainSpec("unsup", "minilm", "s.txt", "out")
DECODER = DecoderSpec("minilm | normalise", ("a file.txt", "starter"), "out", seed=7)


@pytest.mark.parametrize(
    "spec",
    [
        UNSUP,
        replace(UNSUP, hard_negatives=False, dual=True, dev=None, steps=None, epochs=2.5),
        replace(UNSUP, train="/a folder/it's a file.txt", base="new:layers=2", dropout=0.0),
        replace(UNSUP, objective="sup", micro_batch=4, learning_rate=1e-5, head="mlp", patience=3),
        *(replace(DECODER, **preset.changes) for preset in PRESETS),
    ],
    ids=["usual", "other", "odd", "sup", *(preset.name for preset in PRESETS)],
)
def test_the_command_of_a_training_trains_the_same(spec: TrainSpec | DecoderSpec) -> None:
    """Pasted into a terminal it says every field that is not as usual."""
    program, verb, *rest = spec.command()
    assert program == "theodolite"
    context = get_command(app).commands[verb].make_context(verb, rest)
    kind, known = type(spec), settings(type(spec))
    given = {n: v for n, v in context.params.items() if v is not None and n in spec.to_dict()}
    fields = {n: v if known[n].required else known[n].read(str(v)) for n, v in given.items()}
    assert kind.from_dict(fields) == spec


# Decoders: trained in a terminal, gone on with, stopped, listed, found for an encoder.


@pytest.fixture
def decoder_spec(tmp_path: Path) -> DecoderSpec:
    """A training that takes seconds, of a decoder that knows next to nothing."""
    return small_spec(tmp_path / "out")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, list]:
    """A store in which a decoder of random:32 was trained, and all that was said of it."""
    made = starter_store(tmp_path_factory.mktemp("trained"))
    job = TrainDecoderJob(small_spec(made.store.folder.with_name("out")))
    return made, [event for _, event in happened(made, job)]


@pytest.fixture(scope="module")
def trained(course: tuple[Workspace, list]) -> Path:
    """That decoder, to be copied."""
    return course[0].store.folder.with_name("out")


@pytest.fixture
def out(trained: Path, decoder_spec: DecoderSpec, workspace: Workspace) -> Path:
    """The same in a folder of its own, and in the list."""
    decoders.register(workspace, Path(shutil.copytree(trained, decoder_spec.out)))
    return Path(decoder_spec.out)


def own(workspace: Workspace) -> list[decoders.DecoderInfo]:
    """The decoders that did not come with the app."""
    return [row for row in decoders.list_all(workspace) if not row.shipped]


def test_a_decoder_to_start_from_has_the_name_of_the_list(
    workspace: Workspace, decoder_spec: DecoderSpec, out: Path, tmp_path: Path
) -> None:
    """Or is a folder; one that ships goes by its encoder."""
    listed = {row.name: row.folder for row in decoders.list_all(workspace)}
    for named, folder in (*listed.items(), (str(out), out), ("other", Path.cwd() / "other")):
        assert TrainDecoderJob.of(workspace, replace(decoder_spec, start=named)).spec.start == str(
            folder
        )
    assert TrainDecoderJob.of(workspace, decoder_spec).spec.start is None
    assert len(listed) == 4


def test_a_training_is_a_run_with_a_course_and_a_decoder(
    course: tuple[Workspace, list],
) -> None:
    """What was said is in the store, by step; the decoder is listed, its encoder too."""
    workspace, events = course
    (run,) = workspace.store.runs.list()
    found = runs.curves(workspace, run["id"])
    looks = [event for event in events if isinstance(event, Evaluated)]
    assert [list(pair) for pair in looks[-1].samples] == found.evals[-1]["samples"]
    (row,) = runs.table(workspace, kinds=runs.DECODERS)
    assert row == replace(
        row,
        run=run["id"],
        state="done",
        why="done",
        loss=min(look.loss for look in looks),
        step=looks[-1].step,
        steps=looks[-1].step,
    )
    (listed,) = own(workspace)
    assert listed == replace(
        listed,
        name="out",
        encoder="random:32",
        dim=32,
        architecture="prefix",
        words=14,
        trained_on="starter",
    )
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
    # A fingerprint that nobody has any more does not hide a decoder of that very spec.
    facts = facts_of(out) | {"fingerprint": "0" * 32}
    (out / decoders.FACTS).write_text(json.dumps(facts), "utf-8")
    decoders.register(workspace, out)
    found = decoders.decoder_of(workspace, "random:32")
    assert found is not None and found.fingerprint == "0" * 32


def begun(workspace: Workspace, decoder_spec: DecoderSpec) -> tuple[str, Reporter]:
    """A run at work; its id, and what the process that does it speaks to."""
    run = submit.queue(workspace, TrainDecoderJob.of(workspace, decoder_spec))
    workspace.store.runs.start(run, 1, "local-0", ["small"])
    return run, Reporter(workspace.store, run, 1, 0, "small")


def test_stopped_while_it_encodes_there_is_nothing_to_keep(
    workspace: Workspace, decoder_spec: DecoderSpec
) -> None:
    """The run says so; tried again it trains."""
    run, reporter = begun(workspace, decoder_spec)
    workspace.store.runs.ask(run, STOP)
    with refused("no-result"):
        list(TrainDecoderJob(decoder_spec).work(workspace, 0, reporter))
    assert own(workspace) == []


def crashed_twice(workspace: Workspace, decoder_spec: DecoderSpec) -> tuple[str, Reporter]:
    """A run whose process crashed twice already; its id, and what the third one speaks to."""
    run, reporter = begun(workspace, decoder_spec)
    workspace.store.events.add(run, Encoded.kind, {"done": 100, "sentences": 300})
    workspace.store.events.add(run, Started.kind, {"step": 0, "steps": 60})
    workspace.store.runs.progress(run, 1, 1.0, "at a share of time that is guessed anew each time")
    assert [workspace.store.runs.lost_unit(run, 0) for _ in range(2)] == [1, 2]
    return run, reporter


@pytest.mark.parametrize(("already", "lost"), [(100, 1), (0, 3)])
def test_sentences_encoded_between_crashes_begin_their_count_anew(
    workspace: Workspace,
    decoder_spec: DecoderSpec,
    monkeypatch: pytest.MonkeyPatch,
    already: int,
    lost: int,
) -> None:
    """A third one is then the first; those that were encoded before are no step further."""
    monkeypatch.setattr("theodolite.engine.decoding.train.AT_ONCE", 60)
    run, reporter = crashed_twice(workspace, decoder_spec)
    events = TrainDecoderJob(decoder_spec).work(workspace, 0, reporter)
    next(event for event in events if isinstance(event, Encoded) and event.done > already)
    events.close()
    assert workspace.store.runs.lost_unit(run, 0) == lost


@pytest.mark.parametrize(("seconds", "lost"), [(0.0, 1), (1e9, 3)])
def test_a_checkpoint_between_crashes_begins_their_count_anew(
    workspace: Workspace,
    decoder_spec: DecoderSpec,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
    lost: int,
) -> None:
    """Updates that no checkpoint keeps do not: the next process would have to make them again."""
    limits = {"CHECKPOINT_SECONDS": seconds, "CHECKPOINT_SHARE": -1.0, "REPORT_SECONDS": 0.0}
    for name, value in limits.items():
        monkeypatch.setattr(f"theodolite.engine.training.loop.{name}", value)
    run, reporter = crashed_twice(workspace, decoder_spec)
    workspace.store.events.add(run, Encoded.kind, {"done": 300, "sentences": 300})
    events = TrainDecoderJob(decoder_spec).work(workspace, 0, reporter)
    for _ in range(4):
        next(event for event in events if isinstance(event, Stepped))
    events.close()
    assert workspace.store.runs.lost_unit(run, 0) == lost


def test_without_a_folder_it_is_one_of_the_store(
    workspace: Workspace, decoder_spec: DecoderSpec
) -> None:
    """The same for the same question."""
    first, again = (TrainDecoderJob.of(workspace, replace(decoder_spec, out="")).spec for _ in "ab")
    assert first == again and Path(first.out).parent == workspace.store.decoders.folder


def test_one_of_the_store_is_deleted(workspace: Workspace, trained: Path) -> None:
    """Its files with it, though it was open, which is read once; it can be trained anew."""
    home = workspace.store.decoders.folder / "mine"
    decoders.register(workspace, Path(shutil.copytree(trained, home)))
    (row,) = own(workspace)
    assert decoders.load(workspace, row)[0] is decoders.load(workspace, row)[0]
    assert decoders.remove(workspace, "mine").deleted and not home.exists()
    assert own(workspace) == []
    for again in (
        lambda: decoders.load(workspace, row),
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
    monkeypatch.setattr("theodolite.app.decoders.shipped_decoders", lambda: {"random:32": out})
    workspace.store.decoders.remove("out")
    with pytest.raises(UserError, match="ships with"):
        decoders.remove(workspace, "random:32")
    assert [row.shipped for row in decoders.list_all(workspace)] == [True]
