"""What makes a comparison of encoders unfair: the caveats of Compare, and seven checks in depth.

After Eger, Rücklé, Gurevych 2019, "Pitfalls in the Evaluation of Sentence Embeddings".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import (
    Action,
    Actions,
    Block,
    Card,
    Caveat,
    Caveats,
    Chart,
    Code,
    Finding,
    Fold,
    Link,
    Text,
)
from theodolite.app.metrics import METRICS
from theodolite.app.pages.compare.checks import BASELINES, CHECKS
from theodolite.app.pages.compare.evidence import MAX_ENCODERS, Check, FairSpec, gather
from theodolite.app.pages.encoders.service import names as listed
from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.app.question import Answer, Do, Question
from theodolite.app.results import Cells, Row
from theodolite.app.significance import UNTESTABLE, TaskTests
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols, tasks
from theodolite.engine.encoders import canonical
from theodolite.engine.encoders.variants import baseline
from theodolite.engine.errors import UserError
from theodolite.engine.stats.spread import spreads
from theodolite.store.results import REPAIR

TAGS = {
    "fine": ("fine", "good"),
    "look": ("needs a look", "warn"),
    "missing": ("needs results", ""),
}
_LUCK_COUNTED = ("few-shot", "clustering")
"""Task types whose intervals cover what is drawn by the seed."""
_DIFFERING = {"protocol": "protocols", "seed": "seeds", "data_hash": "versions of the data"}


@dataclass(frozen=True, eq=False, repr=False)
class Fairness(Answer):
    """The checks in reading order.

    Attributes:
        encoders: those checked, canonical.
        tasks: names of all tasks that can be chosen.
        curve: the task of the size curve; empty for none.
        checks: key of `CHECKS` -> the check.
        left_out: sentences on results left out of the numbers.
        visitor: whether whoever reads it cannot evaluate what is missing.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "point": str,
        "verdict": str,
        "missing": int,
        "advice": str,
        "add": list[str],
        "commands": list[str],
    }

    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    curve: str
    checks: Mapping[str, Check]
    left_out: tuple[str, ...]
    visitor: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per check."""
        return [
            {
                "point": key,
                "verdict": check.verdict,
                "missing": check.missing,
                "advice": " ".join(check.words),
                "add": list(check.add),
                "commands": [run.command for run in check.runs],
                "evidence": check.numbers,
            }
            for key, check in self.checks.items()
        ]

    def table_columns(self) -> list[str]:
        """Without what cannot be read in a table."""
        return ["point", "verdict", "missing", "advice"]

    def notes(self) -> list[str]:
        """What evaluates the missing results."""
        commands = dict.fromkeys(command for row in self.rows() for command in row["commands"])
        return ["What is missing is evaluated by:", *commands] if commands else []

    def blocks(self) -> list[Block]:
        """The verdicts counted, and a card for each check."""
        count = Counter(check.verdict for check in self.checks.values())
        counted = (
            f"Of {len(self.checks)} checks {count['fine']} pass, {count['look']} need a look and "
            f"{count['missing']} need more results."
        )
        left_out = [Caveats([Caveat(text) for text in self.left_out])] if self.left_out else []
        cards = [_card(key, check, self.visitor) for key, check in self.checks.items()]
        return [Finding(counted), *left_out, *cards]


def _card(key: str, check: Check, visitor: bool) -> Card:
    title, note = CHECKS[key][0], ""
    blocks: list[Block] = [Text("", words) for words in check.words]
    actions = [
        Action(f"Add {spec}", "add", spec, f"Add {spec} to the comparison") for spec in check.add
    ]
    if check.runs and not visitor:
        actions.append(Action("Evaluate", "evaluate", key, f"Evaluate what is missing for {title}"))
        runs = formats.plural(len(check.runs), "run")
        note = f"{formats.plural(check.missing, 'result')} in {runs}"
    if actions:
        blocks.append(Actions(actions, note))
    if check.runs:
        blocks.append(Fold("On the command line", [Code([run.command for run in check.runs])]))
    if check.evidence:
        parts: list[Block] = []
        for one in check.evidence:
            parts += [Text("", one.drawing["label"]), one] if isinstance(one, Chart) else [one]
        blocks.append(Fold("Evidence", parts))
    return Card(title, blocks, key, *TAGS[check.verdict])


def answer(workspace: Workspace, spec: FairSpec, do: Do) -> Iterator[Fairness]:
    """Check the stored results of the encoders; nothing is computed."""
    names = spec.encoders or canonical(listed(workspace)[:MAX_ENCODERS])
    if not names:
        raise UserError(
            "No encoders listed yet.", "Add one on the page Encoders, or name one.", code="missing"
        )
    chosen = tasks.expand(",".join(spec.tasks), workspace.catalog) if spec.tasks else ()
    evidence = gather(workspace, names, chosen, spec)
    yield Fairness(
        tuple(names),
        tuple(evidence.tasks),
        evidence.curve,
        {key: check(evidence) for key, (_, check) in CHECKS.items()},
        evidence.caveats,
        workspace.read_only,
    )


def evaluate(workspace: Workspace, report: Fairness, key: str) -> str:
    """Queue the missing runs of a check; return the id of the last, which is done when all are."""
    workspace.refuse_visitors()
    if key not in report.checks:
        raise UserError(f"There is no check {key[:40]!r}.", "Reload the page.", code="unknown")
    run = ""
    for one in report.checks[key].runs:
        results = formats.plural(one.results, "result")
        run = queue_evaluation(
            workspace,
            one.job.encoders,
            one.job.tasks,
            one.job.protocol,
            title=f"Fairness, {CHECKS[key][0].lower()}: {results}",
            seeds=one.job.seeds,
            listed=one.listed,
        )
    return run


def caveats(
    names: Sequence[str],
    cells: Cells,
    rows: Sequence[Row],
    tests: Mapping[str, TaskTests],
    remarks: Sequence[tuple[str, str]],
) -> Iterator[Caveat]:
    """Yield what a reader should know before trusting the comparison.

    Args:
        names: the encoders.
        cells: (encoder, task) -> the result shown.
        rows: every result of these encoders and tasks, other seeds and protocols included.
        tests: task -> its tests.
        remarks: (encoder, warning from when it was added).
    """
    for name, task in sorted((name, t) for t, one in tests.items() for name in one.unreadable):
        yield Caveat(
            f"The values per example of {name} on {task} cannot be read: its score stands, and no "
            f"difference is tested. {REPAIR}"
        )
    for task, one in tests.items():
        if one.untested:
            who = ", ".join(one.untested)
            yield Caveat(f"No difference of {who} on {task} is tested: {UNTESTABLE}")
    dims = {name: cells[name, task]["dim"] for name, task in cells if cells[name, task]["dim"]}
    if len(set(dims.values())) > 1:
        sizes = ", ".join(f"{name} {dims[name]}" for name in names if name in dims)
        yield Caveat(
            f"The vectors differ in size ({sizes} dimensions): larger ones tend to score higher "
            "for their size alone. The step dims:k,pca,DATA brings them to one size.",
            Link("Compare at one size", "fair-play", {"encoder": names}),
        )
    kinds = {baseline(name) for name in names}
    for kind, spec in BASELINES.items():
        if kind not in kinds:
            yield Caveat(
                f"There is no {kind} baseline, so nothing shows what shared words alone achieve.",
                Link(f"Evaluate {spec}", "evaluate", {"encoder": spec, "task": [*tests]}),
            )
    yield from _of_training(names, cells, rows, tests)
    yield from _mismatches(names, cells, tests)
    for name, remark in remarks:
        yield Caveat(f"{name}: {remark}")


def _mismatches(
    names: Sequence[str], cells: Cells, tests: Mapping[str, TaskTests]
) -> Iterator[Caveat]:
    """Reasons why single tasks are left out of the comparison."""
    for task in tests:
        scored = {n: cells[n, task] for n in names if (n, task) in cells}
        scored = {name: row for name, row in scored.items() if row["error"] is None}
        for key, word in _DIFFERING.items():
            if len({row[key] for row in scored.values()}) > 1:
                yield Caveat(f"{task} was evaluated under different {word}: not compared.")
        absent = [name for name in names if name not in scored]
        if absent:
            link = Link("Evaluate", "evaluate", {"encoder": absent, "task": task})
            yield Caveat(f"{task} has no score for {', '.join(absent)}.", link)


def _of_training(
    names: Sequence[str], cells: Cells, rows: Sequence[Row], tests: Mapping[str, TaskTests]
) -> Iterator[Caveat]:
    """Caveats on scores of trained classifiers that are of one protocol, or of one seed."""
    trained = dict.fromkeys(
        row["task"]
        for (_, task), row in cells.items()
        if task in tests
        and row["error"] is None
        and draws(task, row["protocol"])
        and scored_as(task, row["protocol"]) not in _LUCK_COUNTED
    )
    scored = [row for row in rows if row["task"] in trained and row["error"] is None]
    kinds = ("transfer", "probing")
    classified = [row for row in scored if scored_as(row["task"], row["protocol"]) in kinds]
    under = {row["protocol"] for row in classified}
    if len(under) == 1:
        tasks_of = list(dict.fromkeys(row["task"] for row in classified))
        query = {"encoder": names, "task": tasks_of, "protocol": "senteval-mlp"}
        yield Caveat(
            f"One protocol trained all classifiers, {under.pop()}. With another "
            "classifier the order may change.",
            Link("Evaluate with a hidden layer", "evaluate", query),
        )
    if scored and not spreads(scored):
        yield Caveat(
            "Every trained score is from a single seed. Its interval covers the choice of "
            "examples, not the randomness of training.",
            Link(
                "Evaluate five seeds",
                "evaluate",
                {"encoder": names, "task": [*trained], "seeds": "5"},
            ),
        )


@lru_cache(maxsize=4096)
def draws(task: str, protocol: str) -> bool:
    """Whether a score depends on the seed of a training."""
    try:
        return len(tasks.seeds_of(task, protocol, None, 2)) > 1
    except ValueError:
        return False


def learned(row: Row) -> str:
    """What a regressor was selected by, if the score is of one; else empty."""
    metric = row["metric"] if scored_as(row["task"], row["protocol"]) == "relatedness" else None
    return f"learned, {METRICS.get(metric, metric)}" if metric else ""


@lru_cache(maxsize=4096)
def scored_as(task: str, protocol: str) -> str:
    """The task type by which a result was scored; empty if task or protocol is unknown."""
    try:
        return tasks.get(task).type_under(protocols.get(protocol).types) or ""
    except ValueError:
        return ""


FAIR = Question("fair", FairSpec, answer, Fairness, ("fair minilm wordllama random:256",))
