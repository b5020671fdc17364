"""The stored results that the fairness checks are made on, and what a check finds in them."""

import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from theodolite.app.blocks import Chart, Table
from theodolite.app.pages.encoders.service import names as listed
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.results import Row, has_score, of_one_question
from theodolite.app.spec import Field, Spec, Tasks
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks as registry
from theodolite.engine.errors import UserError
from theodolite.engine.rankers import canonical
from theodolite.engine.tasks import PROBING, SEVEN, STARTER, TASKS, TRANSFER, Task, in_order

MAX_ENCODERS = 32
"""Most encoders checked together; with more, charts become unreadable."""
LOGISTIC, MLP = "pitfalls", "pitfalls-mlp"
CLASSIFIERS = {LOGISTIC: "logistic regression", MLP: "MLP"}
"""Protocol -> the classifier that it trains."""
PROJECTIONS = {"pca": "PCA", "random": "random projection"}
"""How encoders are brought to one size."""


@dataclass(frozen=True)
class FairSpec(Spec):
    """Say what would make a comparison of these encoders unfair.

    Size, normalisation, classifier, similarity, baselines, transfer against probing, seeds: each
    with a verdict, and the commands that evaluate what is missing. After Eger, Rücklé, Gurevych
    2019. With --json every check is one object, with its numbers under `evidence`.
    """

    encoders: Annotated[
        Sequence[str],
        Field(
            "Encoders",
            "Spec strings; default: every listed encoder.",
            names="encoder",
            key="encoder",
            argument=True,
        ),
    ] = ()
    tasks: Tasks = ()
    projection: Annotated[
        str,
        Field(
            "Reduced to one size by", "How encoders are brought to one size.", choices=PROJECTIONS
        ),
    ] = "pca"
    curve: Annotated[
        str, Field("Task for the curve", "Of scores by size; default: one that is quick.")
    ] = ""
    classifier: Annotated[
        str,
        Field(
            "Classifier", "By which transfer and probing tasks are correlated.", choices=CLASSIFIERS
        ),
    ] = LOGISTIC

    def check(self) -> None:
        """Each encoder once, in its canonical form, and not too many."""
        names = canonical(self.encoders)
        vars(self).update(encoders=names)
        if len(names) > MAX_ENCODERS:
            raise UserError(
                f"{len(names)} encoders are too many.",
                f"Choose at most {MAX_ENCODERS}.",
                code="too-large",
            )


class MissingRun(NamedTuple):
    """Results that are missing, as one run.

    Attributes:
        job: every encoder on every task; stored results are not computed again.
        results: number of missing results.
        listed: whether the encoders are added to the list. Size variants are not.
    """

    job: EvaluateJob
    results: int
    listed: bool = True

    @property
    def command(self) -> str:
        """The equivalent command."""
        return shlex.join(self.job.command(listed=self.listed))


@dataclass(frozen=True, eq=False)
class Check:
    """What one check found.

    Attributes:
        words: sentences made from the numbers.
        look: whether the comparison misleads; None for lack of results.
        runs: would compute missing results.
        evidence: charts and tables, with their numbers.
        add: encoders that ought to be among those compared.
    """

    words: Sequence[str]
    look: bool | None = None
    runs: Sequence[MissingRun] = ()
    evidence: Sequence[Chart | Table] = ()
    add: Sequence[str] = ()

    @property
    def verdict(self) -> str:
        """`fine`, `look`, or `missing` for lack of results."""
        return "missing" if self.look is None else "look" if self.look else "fine"

    @property
    def missing(self) -> int:
        """Number of missing results."""
        return sum(run.results for run in self.runs)

    @property
    def numbers(self) -> dict[str, list[dict[Any, Any]]]:
        """The rows of each chart and table, by its name."""
        return {
            one.name: [dict(zip(one.columns, row, strict=True)) for row in one.rows]
            for one in self.evidence
        }


@dataclass(frozen=True, eq=False)
class Evidence:
    """Stored results of some encoders and of their smaller variants, read once for all checks.

    Only results of one protocol, one seed and one version of the data are combined. Missing results
    are absent.

    Attributes:
        spec: what was asked.
        encoders: names, canonical.
        dims: encoder -> dimensions, where known.
        tasks: name -> task: the usual suites, and all that were evaluated or asked for, in order.
        chosen: the requested tasks; empty for no choice.
        here: tasks of the usual suites whose data is installed.
        rows: (protocol, task, encoder) -> the result.
        full: result id -> its details and all its numbers, of the protocols of Pitfalls.
        seeds: results of every seed, on the data that `rows` have.
        caveats: sentences on results left out.
    """

    spec: FairSpec
    encoders: Sequence[str]
    dims: Mapping[str, int]
    tasks: Mapping[str, Task]
    chosen: Sequence[str]
    here: frozenset[str]
    rows: Mapping[tuple[str, str, str], Row]
    full: Mapping[int, Mapping[str, Any]]
    seeds: Sequence[Row]
    caveats: tuple[str, ...]

    def of_type(self, kind: str, suite: Sequence[str]) -> list[str]:
        """Tasks of one type for a check.

        The chosen ones; without a choice, those of the suite whose data is here, and those on which
        one of the encoders was evaluated under a protocol of Pitfalls.
        """
        names = set(self.chosen) or {
            *(t for p, t, name in self.rows if p in CLASSIFIERS and name in self.encoders),
            *self.here.intersection(suite),
        }
        return [t for t, task in self.tasks.items() if task.type == kind and t in names]

    @property
    def trained(self) -> list[str]:
        """Tasks that train a classifier: transfer tasks, or probing tasks if there are none."""
        return self.of_type("transfer", TRANSFER) or self.of_type("probing", PROBING)

    @property
    def own(self) -> list[str]:
        """Tasks on which encoders are compared under each task's own protocol.

        The chosen ones; else, except probing, those on which two of the encoders were evaluated;
        else one available similarity task.
        """
        names = [name for name, task in self.tasks.items() if task.type != "probing"]
        scores = self.scores(names)
        evaluated = [t for t in names if sum(t in of for of in scores.values()) > 1]
        usual = [name for name in (STARTER[0], *SEVEN) if name in self.here]
        return list(self.chosen) or evaluated or usual[-1:]

    @property
    def curve(self) -> str:
        """The task of the size curve: the requested one, else the first similarity task: quick."""
        if self.spec.curve in self.tasks:
            return self.spec.curve
        own = self.own
        return next((name for name in own if self.tasks[name].type == "sts"), *own[:1] or [""])

    def why_none(self, what: str) -> str:
        """Why there is no task of a type: none was chosen, or its data is not installed."""
        if self.chosen:
            return f"None of the chosen tasks is a {what} task."
        return (
            f"No {what} task has its data here: SentEval's files belong in the data folder, "
            "and labelled sentences with splits can be added on the page Data."
        )

    def scores(
        self,
        tasks: Sequence[str],
        protocol: str | None = None,
        names: Iterable[str] | None = None,
        pick: Callable[[Row], float | None] = lambda row: row["score"],
    ) -> dict[str, dict[str, float]]:
        """Encoder -> task -> points; results without the number are absent.

        Args:
            tasks: names.
            protocol: None for each task's own.
            names: encoders, if they are others.
            pick: a number of a result, if it is not the main score.
        """
        scores: dict[str, dict[str, float]] = {name: {} for name in names or self.encoders}
        for name in scores:
            for task in tasks:
                row = self.rows.get((protocol or self.tasks[task].protocol, task, name))
                value = None if row is None else pick(row)
                if value is not None and math.isfinite(value):
                    scores[name][task] = value
        return scores

    def part(
        self, tasks: Sequence[str], metric: str, aggregation: str | None = None
    ) -> dict[str, dict[str, float]]:
        """Another number of the results under Pitfalls, on the split of their main score.

        Without an aggregation, it is aggregated as the main score if there is such a number.
        """

        def pick(row: Row) -> float | None:
            known = {
                (score["metric"], score["split"], score["aggregation"]): float(score["score"])
                for score in self.full.get(row["id"], {}).get("scores", ())
            }
            plain = known.get((metric, row["split"], aggregation))
            return known.get((metric, row["split"], aggregation or row["aggregation"]), plain)

        return self.scores(tasks, LOGISTIC, pick=pick)

    def missing(
        self,
        tasks: Sequence[str],
        protocol: str | None = None,
        encoders: Iterable[str] = (),
        *,
        listed: bool = True,
    ) -> list[MissingRun]:
        """The run that evaluates missing pairs of encoder and task; none if none is missing."""
        have = self.scores(tasks, protocol, encoders)
        gaps = [(name, task) for name in have for task in tasks if task not in have[name]]
        who = tuple(dict.fromkeys(name for name, _ in gaps))
        what = tuple(task for task in tasks if any(task == gap for _, gap in gaps))
        return [MissingRun(EvaluateJob(who, what, protocol), len(gaps), listed)] if gaps else []


def gather(workspace: Workspace, spec: FairSpec) -> Evidence:
    """Read everything the checks need, in a handful of queries whatever the number of encoders."""
    names = spec.encoders or canonical(listed(workspace)[:MAX_ENCODERS])
    if not names:
        raise UserError(
            "No encoders listed yet.", "Add one on the page Encoders, or name one.", code="missing"
        )
    chosen = registry.expand(",".join(spec.tasks), workspace.catalog) if spec.tasks else ()
    table = workspace.store.results.table()
    usual = [task for task in (*STARTER, *SEVEN, *TRANSFER, *PROBING) if task in TASKS]
    present = workspace.catalog.has(TASKS[task].dataset for task in usual)
    here = frozenset(task for task in usual if TASKS[task].dataset in present)
    tasks: dict[str, Task] = {}
    named = [*here, *chosen, spec.curve, *(row["task"] for row in table)]
    for name in in_order(dict.fromkeys(filter(None, named))):
        with suppress(UserError):  # its data set was removed
            tasks[name] = registry.get(name, workspace.catalog)
    table = [row for row in table if row["task"] in tasks and has_score(row)]
    rows = of_one_question(table, set(names))
    hashes = {(row["protocol"], row["task"]): row["data_hash"] for row in rows.values()}
    mine = [row for row in table if row["encoder"] in names]
    same, other = (
        [r for r in mine if (r["data_hash"] == hashes[r["protocol"], r["task"]]) is stored_only]
        for stored_only in (True, False)
    )
    dims = {name: info.get("dim") for name, info in workspace.store.encoders.infos().items()}
    dims |= {name: row["dim"] for (_, _, name), row in rows.items() if row["dim"]}
    return Evidence(
        spec=spec,
        encoders=names,
        dims={name: int(dim) for name in names if (dim := dims.get(name))},
        tasks=tasks,
        chosen=chosen,
        here=here,
        rows=rows,
        full=workspace.store.results.in_full(
            [row["id"] for row in rows.values() if row["protocol"] in CLASSIFIERS]
        ),
        seeds=same,
        caveats=tuple(
            f"{task} ({protocol}): left out {name}, evaluated on another version of the data."
            for task, protocol, name in sorted(
                {(row["task"], row["protocol"], row["encoder"]) for row in other}
            )
        ),
    )
