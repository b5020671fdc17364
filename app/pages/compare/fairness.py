"""What makes a comparison of encoders unfair: seven checks in depth, with their evidence.

After Eger, Rücklé, Gurevych 2019, "Pitfalls in the Evaluation of Sentence Embeddings".
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    Text,
)
from theodolite.app.pages.compare.checks import CHECKS
from theodolite.app.pages.compare.evidence import Check, Evidence, FairSpec, gather
from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.app.question import Answer, Do, Question
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

TAGS = {
    "fine": ("fine", "good"),
    "look": ("needs a look", "warn"),
    "missing": ("needs results", ""),
}


@dataclass(frozen=True, eq=False, repr=False)
class Fairness(Answer):
    """The checks in reading order.

    Attributes:
        evidence: the results behind it.
        checks: key of `CHECKS` -> the check.
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
    in_terminal: ClassVar = ("point", "verdict", "missing", "advice")

    evidence: Evidence
    checks: Mapping[str, Check]
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

    def notes(self) -> list[str]:
        """What evaluates the missing results."""
        commands = dict.fromkeys(command for row in self.rows() for command in row["commands"])
        return ["These commands evaluate what is missing:", *commands] if commands else []

    def blocks(self) -> list[Block]:
        """The verdicts counted, and a card for each check."""
        count = Counter(check.verdict for check in self.checks.values())
        passing = "passes" if count["fine"] == 1 else "pass"
        counted = [f"{count['fine']} of {len(self.checks)} checks {passing}"]
        for verdict, what in {"look": "a look", "missing": "more results"}.items():
            if number := count[verdict]:
                counted.append(f"{number} {'needs' if number == 1 else 'need'} {what}")
        left_out = [Caveat(text) for text in self.evidence.caveats]
        return [
            Finding(f"{'; '.join(counted)}."),
            *([Caveats(left_out)] if left_out else []),
            *(_card(key, check, self.visitor) for key, check in self.checks.items()),
        ]


def _card(key: str, check: Check, visitor: bool) -> Card:
    title, note = CHECKS[key][0], ""
    blocks: list[Block] = [Text("", words) for words in check.words]
    actions = [
        Action(f"Add {spec}", "add", spec, f"Add {spec} to the comparison") for spec in check.add
    ]
    if check.runs and not visitor:
        actions.append(Action("Evaluate", "evaluate", key, f"Evaluate what is missing for {title}"))
        note = (
            f"{formats.plural(check.missing, 'result')} in {formats.plural(len(check.runs), 'run')}"
        )
    if actions:
        blocks.append(Actions(actions, note))
    if check.runs:
        blocks.append(Fold("On the command line", [Code([run.command for run in check.runs])]))
    if check.evidence:
        parts: list[Block] = []
        for one in check.evidence:
            parts += [Text("", one.label), one] if isinstance(one, Chart) else [one]
        blocks.append(Fold("Evidence", parts))
    return Card(title, blocks, key, *TAGS[check.verdict])


def answer(workspace: Workspace, spec: FairSpec, do: Do) -> Iterator[Fairness]:
    """Check the stored results of the encoders; nothing is computed."""
    evidence = gather(workspace, spec)
    checks = {key: check(evidence) for key, (_, check) in CHECKS.items()}
    yield Fairness(evidence, checks, workspace.read_only)


def evaluate(workspace: Workspace, report: Fairness, key: str) -> str:
    """Queue the missing runs of a check; return the id of the last, which is done when all are."""
    workspace.refuse_visitors()
    if key not in report.checks:
        raise UserError(f"There is no check {key[:40]!r}.", "Reload the page.", code="unknown")
    run = ""
    for one in report.checks[key].runs:
        run = queue_evaluation(
            workspace,
            one.job.encoders,
            one.job.tasks,
            one.job.protocol,
            title=f"Fairness, {CHECKS[key][0].lower()}: {formats.plural(one.results, 'result')}",
            seeds=one.job.seeds,
            listed=one.listed,
        )
    return run


FAIR = Question("fair", FairSpec, answer, Fairness, ("fair minilm wordllama random:256",))
