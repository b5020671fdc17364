"""Whether a comparison of encoders is fair: seven checks on stored results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

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
    Text,
)
from theodolite.app.pages.encoders.service import names as listed
from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.app.pages.fair import checks
from theodolite.app.pages.fair.checks import PROJECTIONS, Check, Verdict
from theodolite.app.pages.fair.evidence import CLASSIFIERS, LOGISTIC, gather
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec, Tasks
from theodolite.engine.encoders import parse
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import expand

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

MAX_ENCODERS = 32
"""Most encoders checked together; with more, charts become unreadable."""
TAGS = {
    "fine": ("fine", "good"),
    "look": ("needs a look", "warn"),
    "missing": ("needs results", ""),
}
_COUNTED: dict[Verdict, tuple[str, str]] = {
    "fine": ("passes", "pass"),
    "look": ("needs a look", "need a look"),
    "missing": ("needs more results", "need more results"),
}


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
        names = tuple(dict.fromkeys(str(parse(encoder)) for encoder in self.encoders))
        object.__setattr__(self, "encoders", names)
        if len(names) > MAX_ENCODERS:
            raise UserError(
                f"{len(names)} encoders are too many.",
                f"Choose at most {MAX_ENCODERS}.",
                code="too-large",
            )


@dataclass(frozen=True, eq=False, repr=False)
class Fairness(Answer):
    """The checks in reading order.

    Attributes:
        encoders: those checked, canonical.
        tasks: names of all tasks that can be chosen.
        curve: the task of the size curve; empty for none.
        checks: each with its verdict and evidence.
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
    checks: tuple[Check, ...]
    left_out: tuple[str, ...]
    visitor: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per check."""
        return [
            {
                "point": check.key,
                "verdict": check.verdict,
                "missing": check.missing,
                "advice": " ".join(check.words),
                "add": list(check.add),
                "commands": [run.command for run in check.runs],
                "evidence": check.evidence,
            }
            for check in self.checks
        ]

    def table_columns(self) -> list[str]:
        """Without what cannot be read in a table."""
        return ["point", "verdict", "missing", "advice"]

    def notes(self) -> list[str]:
        """What evaluates the missing results."""
        commands = dict.fromkeys(run.command for check in self.checks for run in check.runs)
        return ["What is missing is evaluated by:", *commands] if commands else []

    def blocks(self) -> list[Block]:
        """The verdicts counted, and a card for each check."""
        count = Counter(check.verdict for check in self.checks)
        parts = [f"{count[v]} {few[count[v] > 1]}" for v, few in _COUNTED.items() if count[v]]
        first, *others = parts
        counted = first.replace(" ", f" of {len(self.checks)} checks ", 1)
        blocks: list[Block] = [Finding(f"{'; '.join([counted, *others])}.")]
        if self.left_out:
            blocks.append(Caveats([Caveat(text) for text in self.left_out]))
        return [*blocks, *(_card(check, self.visitor) for check in self.checks)]


def _card(check: Check, visitor: bool) -> Card:
    blocks: list[Block] = [Text("", words) for words in check.words]
    actions = [
        Action(f"Add {spec}", "add", spec, f"Add {spec} to the comparison") for spec in check.add
    ]
    note = ""
    if check.runs and not visitor:
        about = f"Evaluate what is missing for {check.title}"
        actions.append(Action("Evaluate", "evaluate", check.key, about))
        runs, results = len(check.runs), formats.plural(check.missing, "result")
        note = f"{results} in {formats.plural(runs, 'run')}"
    if actions:
        blocks.append(Actions(actions, note))
    if check.runs:
        blocks.append(Fold("On the command line", [Code([run.command for run in check.runs])]))
    if check.charts:
        charts = [part for one in check.charts for part in (Text("", one["label"]), Chart(one))]
        blocks.append(Fold("Evidence", charts))
    return Card(check.title, blocks, check.key, *TAGS[check.verdict])


def answer(workspace: Workspace, spec: FairSpec, do: Do) -> Iterator[Fairness]:
    """Check the stored results of the encoders; nothing is computed."""
    names = tuple(spec.encoders or (str(parse(one)) for one in listed(workspace)[:MAX_ENCODERS]))
    if not names:
        raise UserError(
            "No encoders listed yet.", "Add one on the page Encoders, or name one.", code="missing"
        )
    chosen = expand(",".join(spec.tasks), workspace.catalog) if spec.tasks else ()
    evidence = gather(workspace, names, chosen, spec.curve)
    projection: Any = spec.projection
    yield Fairness(
        names,
        tuple(evidence.tasks),
        checks.curve_task(evidence, spec.curve),
        (
            checks.size(evidence, projection, spec.curve),
            checks.normalisation(evidence),
            checks.classifier(evidence),
            checks.similarity(evidence),
            checks.baselines(evidence),
            checks.relations(evidence, spec.classifier),
            checks.seeds(evidence),
        ),
        evidence.caveats,
        workspace.read_only,
    )


def evaluate(workspace: Workspace, report: Fairness, key: str) -> str:
    """Queue the missing runs of a check; return the id of the last, which is done when all are."""
    workspace.refuse_visitors()
    check = next((check for check in report.checks if check.key == key), None)
    if check is None:
        raise UserError(f"There is no check {key[:40]!r}.", "Reload the page.", code="unknown")
    run = ""
    for runs in check.runs:
        results = formats.plural(runs.results, "result")
        run = queue_evaluation(
            workspace,
            runs.job.encoders,
            runs.job.tasks,
            runs.job.protocol,
            title=f"Fairness, {check.title.lower()}: {results}",
            seeds=runs.job.seeds,
            listed=runs.listed,
        )
    return run


FAIR = Question("fair", FairSpec, answer, Fairness, ("fair minilm wordllama random:256",))
