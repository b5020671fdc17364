"""The functions of `import theodolite`: the services, with plain arguments.

An encoder given by a spec string is loaded as in the app and the command line: results, maps and
trainings are kept in your store and appear on the pages. An encoder given as an object
(`load(spec)`, or anything with `name`, `dim`, `fingerprint` and `encode`) is used directly, and no
store is opened.

`workspace` is, everywhere, the store and the data to use: `Workspace(folder, data)`. None means
your own: THEODOLITE_HOME, else the platform's folder, with the data of THEODOLITE_DATA.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import Block, Finding
from theodolite.app.jobs.submit import Move, perform
from theodolite.app.pages.choose.answer import CHOOSE
from theodolite.app.pages.compare.answer import COMPARE
from theodolite.app.pages.decode.answer import DECODE
from theodolite.app.pages.evaluate.answer import Results
from theodolite.app.pages.evaluate.gate import GATE, save, write
from theodolite.app.pages.map.answer import MAP
from theodolite.app.pages.search.answer import SEARCH, SearchAnswer, SearchSpec, among
from theodolite.app.question import Answer
from theodolite.app.surfaces.notebook import asks, checked, function, own, performed
from theodolite.app.terminal import check_writable
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import is_encoder, load, with_checks
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.given import text, texts
from theodolite.engine.progress import Progress
from theodolite.engine.results import Result, Score
from theodolite.engine.training.events import Event, Finished, headline
from theodolite.engine.training.spec import TrainSpec


@checked
def evaluate(
    encoders: str | Encoder | Sequence[str | Encoder],
    tasks: str | Sequence[str] | None = None,
    *,
    protocol: str | None = None,
    seed: int | None = None,
    workspace: Workspace | None = None,
    progress: Progress | None = None,
) -> Results:
    """Evaluate encoders; stored results are read, not computed again.

        for result in theodolite.evaluate("wordllama", "starter"):
            print(result.task, result.error or result.main.score)

    Args:
        encoders: one or several spec strings, whose results are stored, or objects, whose results
            are not.
        tasks: names or suites (`starter`, `sts`, `transfer`, `probing`, …), as a list or with
            commas; None as for `engine.tasks.expand`.
        protocol: protocol of all tasks; None for each task's own.
        seed: random seed; None for the protocol's own.
        workspace: store and data; None for your own.
        progress: called with (done, total) of each task of an encoder given as an object.

    Returns:
        A result for each encoder and task. A task which fails has the reason in its `error`.

    Warns:
        UserWarning: settings that a model's files deny, and texts that it will cut, before it runs.
    """
    several = _several(encoders)
    if not several:
        raise UserError("No encoder given.", 'Give one, such as "minilm".', code="missing")
    if tasks is not None and not isinstance(tasks, str):
        tasks = texts(tasks, "tasks")
    results: list[Result] = []
    for encoder in several:
        if not is_encoder(encoder):
            results += _stored_results(own(workspace), encoder, tasks, protocol, seed)
        else:
            from theodolite.engine import evaluate as run

            data = workspace.catalog if workspace else None
            results += run(
                encoder, tasks, protocol=protocol, seed=seed, data=data, progress=progress
            )
    return Results(tuple(results))


def _stored_results(
    workspace: Workspace,
    encoder: str,
    tasks: str | Sequence[str] | None,
    protocol: str | None,
    seed: int | None,
) -> list[Result]:
    """Evaluate an encoder as `theodolite evaluate` does."""
    from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate as run

    job = EvaluateJob.of(workspace, [encoder], tasks, protocol, seed)
    for warning in job.warnings(workspace):
        warnings.warn(warning, stacklevel=4)
    return [_result(workspace, row) for row in run(workspace, job)]


def _result(workspace: Workspace, row: dict[str, Any]) -> Result:
    """Restore the engine's result from a row of the store."""
    full = workspace.store.results.in_full([row["id"]])[row["id"]]
    names = {field.name for field in fields(Score)}
    scores = tuple(
        Score(**{name: value for name, value in score.items() if name in names})
        for score in full["scores"]
    )
    same = ("encoder", "fingerprint", "dim", "task", "protocol", "seed", "data_hash")
    return Result(
        **{name: row[name] for name in (*same, "seconds", "error")},
        scores=scores,
        details=full["details"],
        examples=workspace.store.results.examples(row["id"]),
        hint=row["hint"] or "",
    )


compare = function(COMPARE)


@asks(SEARCH)
def search(
    queries: str | Sequence[str],
    data: str | Sequence[str] = "starter-topics",
    encoders: str | Encoder | Sequence[str | Encoder] = "minilm",
    *,
    workspace: Workspace | None = None,
    move: Move | None = None,
    **options: Any,
) -> SearchAnswer:
    """The sentences and the encoders may also be given as objects.

    theodolite.search("a dog runs", "flickr30k", ["minilm", "random:256"], k=5)
    theodolite.search("a dog runs", ["cats sleep", "dogs run"], theodolite.load("wordllama"))
    """
    models = _several(encoders)
    names = [model.name if is_encoder(model) else text(model, "encoder") for model in models]
    collection = data if isinstance(data, str) else ""
    spec = SearchSpec(
        [queries] if isinstance(queries, str) else texts(queries, "queries"),
        collection,
        names,
        **options,
    )
    if collection and not any(is_encoder(model) for model in models):
        return SEARCH.last(own(workspace), spec, performed(own(workspace), move))
    if not spec.is_near or spec.only:
        raise UserError(
            "Words, patterns and labels are looked for in data sets that are named.",
            "Name the data set and the encoders, or search by meaning or examples.",
            code="conflict",
        )
    sentences = (
        own(workspace).catalog.sentences(collection)[0] if collection else texts(data, "data")
    )
    if not sentences:
        raise UserError(
            "data holds no text.", "Give a list of texts, or name a data set.", code="missing"
        )
    opened = [model if is_encoder(model) else load(model) for model in models]
    return SearchAnswer(spec, [among(model, sentences, spec) for model in opened])


map = function(MAP)


@dataclass(frozen=True, eq=False, repr=False)
class Training(Answer):
    """A finished training.

    Attributes:
        events: all its events, `Finished` last.
    """

    events: tuple[Event, ...]

    @property
    def encoder(self) -> str:
        """Spec string of the trained encoder."""
        last: Any = self.events[-1]
        finished: Finished = last
        return finished.encoder

    def rows(self) -> list[dict[str, Any]]:
        """A row per event: its `kind`, and its fields."""
        return [{"kind": event.kind, **asdict(event)} for event in self.events]

    def blocks(self) -> list[Block]:
        """Its outcome, and its curves."""
        from theodolite.app.pages.trainings.answer import charts
        from theodolite.app.pages.trainings.service import Curves

        curves, last = Curves(), self.events[-1]
        for event in self.events:
            data = event.to_dict()
            curves.add(data.pop("kind"), data)
        if not isinstance(last, Finished):
            return charts([("training", None, curves)])
        best = "" if last.best_score is None else f", best dev score {last.best_score:.2f}"
        outcome = f"Trained in {formats.duration(last.seconds)}{best}."
        verdict = headline(last.best_score, last.base_score)
        finding = Finding(
            verdict or outcome, f"{outcome if verdict else ''} It is loaded as {last.encoder}."
        )
        return [finding, *charts([("training", last.best_step, curves)])]


@checked
def train(
    spec: TrainSpec,
    *,
    watch: Callable[[Event], object] | None = None,
    workspace: Workspace | None = None,
) -> Training:
    """Train an encoder to the end, or resume a training; the pages Jobs and Trainings show it.

        theodolite.train(theodolite.TrainSpec("unsup", "minilm", "wiki.txt", ""), watch=print)

    Args:
        spec: the training; with an empty `out` the encoder is saved in a folder of the store.
        watch: called with every event at once. An exception from it stops the training, which can
            be resumed.
        workspace: store which lists the encoder; None for your own.
    """
    from theodolite.app.pages.train.job import TrainJob

    if not isinstance(spec, TrainSpec):
        raise UserError(
            f"The training is of type {type(spec).__name__}.",
            "Give a theodolite.TrainSpec(…).",
            code="wrong-kind",
        )
    place, events = own(workspace), []
    for _, _, event in perform(place, TrainJob.of(place, spec)):
        if isinstance(event, Event):
            events.append(event)
            if watch is not None:
                watch(event)
    return Training(tuple(events))


decode = function(DECODE)
choose = function(CHOOSE)
gate_check = function(GATE)


@checked
def gate_save(
    baseline: str | Path,
    encoder: str,
    tasks: str | Sequence[str] = "starter",
    *,
    workspace: Workspace | None = None,
) -> None:
    """Save an encoder's value of every example, and a few vectors, for `gate_check`.

        theodolite.gate_save("baseline.json", "minilm")
        assert theodolite.gate_check("baseline.json", "my-new-model").exit_code != 1

    Args:
        baseline: file to write.
        encoder: spec string.
        tasks: tasks, suites or files of your own, as a list or with commas.
        workspace: store and data; None for your own.
    """
    check_writable(Path(baseline))
    *_, saved = save(own(workspace), encoder, tasks)
    write(saved, Path(baseline))


def _several(value: Any) -> list[Any]:
    """Wrap a single encoder in a list; one of sentence-transformers is iterable itself."""
    single = isinstance(value, str | bytes) or is_encoder(value) or not isinstance(value, Iterable)
    several = [value] if single else list(value)
    for one in filter(is_encoder, several):
        missing = [name for name in ("name", "fingerprint", "dim") if not hasattr(one, name)]
        if missing:
            raise UserError(
                f"A {type(one).__name__} has no {' and no '.join(missing)}, as encoders do.",
                "Load a model of sentence-transformers by theodolite.load('hf:ID') or "
                "('dir:FOLDER'), and give these to an encoder of your own.",
                code="wrong-kind",
            )
    return [with_checks(one) for one in several]
