"""Null check: how often Compare tells an encoder from itself, beside the 5 % that a test allows.

Two copies of the encoder, each with 1 % noise, are measured and tested as Compare tests encoders.
They do not differ, so every verdict but a tie is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from theodolite.app import formats, significance
from theodolite.app.blocks import Block, Finding, Problem, Progress, Table
from theodolite.app.question import Answer
from theodolite.app.significance import ALPHA, verdicts
from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate
from theodolite.engine.encoders.noisy import Noisy
from theodolite.engine.errors import UserError

PAIRS, NOISE = 100, 0.01
_SURE = 0.99
_TESTS = {"McNemar": "McNemar's test", "bootstrap": "paired bootstrap"}


@dataclass(frozen=True)
class NullRate:
    """How often a verdict on equal encoders was wrong.

    Attributes:
        task, protocol: what was measured.
        test: `McNemar` or `bootstrap`; empty where nothing was tested.
        pairs: pairs of noisy copies tested so far.
        wrong: those that a verdict told apart.
        error: why nothing was tested, for people.
    """

    task: str
    protocol: str
    test: str = ""
    pairs: int = 0
    wrong: int = 0
    error: str | None = None

    @property
    def most(self) -> int:
        """The most wrong verdicts that 5 % give in 99 of 100 checks (binomial)."""
        from scipy.stats import binom

        return int(binom.ppf(_SURE, self.pairs, ALPHA))

    @property
    def holds(self) -> bool:
        """Whether the rate is compatible with 5 % or less."""
        return self.wrong <= self.most


@dataclass(frozen=True, repr=False)
class NullCheck(Answer):
    """The rates of the tasks so far.

    Attributes:
        encoder: whose copies are tested.
        rates: one for each task.
        pairs: pairs to test of each task.
        tasks: number of all tasks.
        is_over: whether all pairs are tested.
    """

    columns: ClassVar[Mapping[str, Any]] = dict.fromkeys(
        ("task", "protocol", "test", "pairs", "wrong", "most", "holds", "error")
    )

    encoder: str
    rates: Sequence[NullRate]
    pairs: int
    tasks: int
    is_over: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per task."""
        return [
            asdict(rate) | {"nominal": ALPHA, "most": rate.most, "holds": rate.holds}
            for rate in self.rates
        ]

    def blocks(self) -> list[Block]:
        """What the rates say, and a row for each task."""
        if not self.is_over:
            last = self.rates[-1]
            text = f"Checking {last.task}, {last.pairs} of {self.pairs} pairs done"
            done = (len(self.rates) - 1 + last.pairs / self.pairs) / self.tasks
            return [Progress(text, None, done)]
        checked = sum(rate.pairs > 0 for rate in self.rates)
        text = (
            f"On {formats.plural(checked, 'task')}, copies of {self.encoder} are told apart no "
            "more often than chance allows at 5 %."
        )
        heads = ("Task", "Test", "Pairs", "Told apart", "Rate", "Chance allows")
        rows = [
            (
                r.task,
                _TESTS[r.test],
                r.pairs,
                r.wrong,
                formats.percent(r.wrong / r.pairs),
                f"up to {r.most}",
            )
            if r.pairs
            else (r.task, r.error, None, None, None, None)
            for r in self.rates
        ]
        finding = [Finding(text if checked else "No verdict could be checked.")]
        return [*(self.problems() or finding), Table("null-check", heads, rows)]

    def problems(self) -> list[Problem]:
        """Tasks whose verdicts are not to be trusted."""
        off = [rate.task for rate in self.rates if not rate.holds]
        error = UserError(
            f"Do not trust the verdicts on {formats.listed(off, 4)}.",
            "Equal encoders are told apart more often than chance allows.",
            code="failed",
        )
        return [Problem(error)] if off else []

    def complete(self) -> NullCheck:
        """An answer whatever the rates are."""
        return self


def null_check(
    workspace: Workspace,
    encoder: str,
    measured: Sequence[tuple[str, str, int]],
    pairs: int | None = None,
    seconds: float | None = None,
) -> Iterator[NullCheck]:
    """Check the verdict of each task; yield the rates after every pair.

    Args:
        workspace: for the encoder and the data; nothing is stored.
        encoder: spec string.
        measured: task, protocol and seed.
        pairs: pairs of noisy copies for each task; None for `PAIRS`.
        seconds: after which a task is left, with the pairs tested until then.
    """
    if not measured:
        raise UserError(
            "No difference is tested here, so there is no verdict to check.",
            "Evaluate two encoders on the same tasks first.",
            code="no-result",
        )
    loaded, rates = workspace.load(encoder), dict[str, NullRate]()
    most = PAIRS if pairs is None else pairs
    for task, protocol, seed in measured:
        rates[task] = NullRate(task, protocol)
        cache = dict[Any, Any]()
        end = None if seconds is None else time.monotonic() + seconds
        for pair in range(most):
            copies = [Noisy(loaded, NOISE, 2 * pair + side, cache) for side in (0, 1)]
            rates[task] = _after(workspace, rates[task], copies, seed, end)
            yield NullCheck(encoder, tuple(rates.values()), most, len(measured))
            if rates[task].pairs <= pair:
                break
    yield NullCheck(encoder, tuple(rates.values()), most, len(measured), is_over=True)


def _after(
    workspace: Workspace, rate: NullRate, copies: Sequence[Noisy], seed: int, end: float | None
) -> NullRate:
    """The rate with one more pair; the same, or with an error, where that cannot be tested."""

    def watch(_done: int, _total: int) -> None:
        if end is not None and time.monotonic() > end:
            raise TimeoutError

    values = {}
    for name, copy in zip("ab", copies, strict=True):
        options: Any = {"protocol": rate.protocol, "seed": seed, "data": workspace.catalog}
        try:
            result = next(evaluate(copy, [rate.task], **options, progress=watch))
        except TimeoutError:
            return rate if rate.pairs else replace(rate, error="A pair takes too long.")
        if result.error:
            return replace(rate, error=result.error)
        values[name] = (result.details, result.examples)
    known = {n: one for n, one in significance.of_results(rate.task, values).items() if one}
    if len(known) < len(values):
        return replace(rate, error=f"Nothing to check: {significance.UNTESTABLE}")
    differences = significance.differences(known, "b", ["a"])
    (verdict,) = verdicts({("a", rate.task): differences["a"]}).values()
    wrong = rate.wrong + (verdict.verdict != "tie")
    return replace(rate, test=verdict.test, pairs=rate.pairs + 1, wrong=wrong)
