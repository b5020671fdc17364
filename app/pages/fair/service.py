"""Whether a comparison of encoders is fair: seven points of advice from stored results.

After Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings. Used by the
page *Fairness* and by `theodolite fair`. Computes nothing that `engine.stats.agreement` could.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from theodolite.app import formats
from theodolite.app.pages.encoders.service import names as listed
from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.app.pages.fair.points import CLASSIFIERS, LOGISTIC, PROJECTIONS, Point
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import expand

MAX_ENCODERS = 32
"""Most encoders judged together; with more, charts become unreadable."""
PROJECTION = "pca"
CLASSIFIER = LOGISTIC


@dataclass(frozen=True, eq=False)
class Advice:
    """The points of advice in reading order.

    Attributes:
        encoders: the judged encoders, canonical.
        tasks: names of all tasks that can be chosen.
        curve: the task of the size curve; empty for none.
        cautions: results left out of the numbers, and why.
    """

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    curve: str
    points: tuple[Point, ...]
    cautions: tuple[str, ...]


def advise(
    workspace: Workspace,
    encoders: Sequence[str] = (),
    tasks: str | Sequence[str] | None = None,
    *,
    projection: str = PROJECTION,
    curve: str = "",
    classifier: str = CLASSIFIER,
) -> Advice:
    """Judge how fair a comparison of these encoders would be.

    Args:
        workspace: its store holds the results.
        encoders: spec strings; empty for every listed one.
        tasks: names or suites for the advice; None or empty for evaluated tasks and the usual
            suites.
        projection: how encoders are brought to one size.
        curve: task of the score-against-size curve; empty for a quick one.
        classifier: protocol whose correlations of transfer and probing tasks are shown.
    """
    from theodolite.app.pages.fair import context, evidence, scoring, size
    from theodolite.engine import encoders as engine_encoders

    by: Any = _known("projection", projection, PROJECTIONS)
    _known("classifier", classifier, CLASSIFIERS)
    wanted = list(encoders) or listed(workspace)[:MAX_ENCODERS]
    names = list(dict.fromkeys(str(engine_encoders.parse(spec)) for spec in wanted))
    if not names:
        raise UserError(
            "No encoders listed yet.", "Add one on the page Encoders, or name one.", code="missing"
        )
    if len(names) > MAX_ENCODERS:
        raise UserError(
            f"{len(names)} encoders are too many.",
            f"Choose at most {MAX_ENCODERS}.",
            code="too-large",
        )
    found = evidence.gather(
        workspace, names, expand(tasks, workspace.catalog) if tasks else (), [curve]
    )
    return Advice(
        encoders=found.encoders,
        tasks=tuple(found.tasks),
        curve=size.curve_task(found, curve),
        points=(
            size.point(found, by, curve),
            scoring.normalisation(found),
            scoring.classifier(found),
            scoring.similarity(found),
            context.baselines(found),
            context.relations(found, classifier),
            context.seeds(found),
        ),
        cautions=found.cautions,
    )


def _known(what: str, name: str, choices: Mapping[Any, str]) -> str:
    if name not in choices:
        raise UserError(
            f"There is no {what} named {name!r}.",
            f"Known are {', '.join(choices)}.",
            code="unknown",
        )
    return name


def evaluate(workspace: Workspace, advice: Advice, key: str) -> str:
    """Queue the missing runs of a point; return the id of the last, which is done when all are."""
    workspace.refuse_visitors()
    point = next((point for point in advice.points if point.key == key), None)
    if point is None:
        raise UserError(f"There is no advice {key[:40]!r}.", "Reload the page.", code="unknown")
    run = ""
    for runs in point.missing_runs:
        title = f"Fairness, {point.title.lower()}: {formats.plural(runs.results, 'result')}"
        run = queue_evaluation(
            workspace,
            runs.encoders,
            runs.tasks,
            runs.protocol,
            title=title,
            seeds=runs.seeds,
            listed=runs.listed,
        )
    return run
