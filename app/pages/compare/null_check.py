"""Null check: how often Compare tells an encoder from itself, beside the 5 % that a test allows.

Two copies of the encoder, each with 1 % noise, are measured and tested as Compare tests encoders.
They do not differ, so every verdict but a tie is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Finding, Problem, Progress, Table
from theodolite.app.pages.compare import service
from theodolite.app.pages.compare.service import ALPHA, verdicts
from theodolite.app.question import Answer
from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate
from theodolite.engine.encoders.noisy import Noisy
from theodolite.engine.errors import UserError
from theodolite.engine.results import Result

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
        of: pairs to test.
        error: why nothing was tested, for people.
    """

    task: str
    protocol: str
    test: str
    pairs: int
    wrong: int
    of: int
    error: str = ""

    @property
    def most(self) -> int:
        """The most wrong verdicts that 5 % give in 99 of 100 checks (binomial)."""
        from scipy.stats import binom

        return int(binom.ppf(_SURE, self.pairs, ALPHA))

    @property
    def holds(self) -> bool:
        """Whether the rate is compatible with 5 % or less."""
        return self.wrong <= self.most

    @property
    def cells(self) -> tuple[Any, ...]:
        """As a row of the table."""
        if not self.pairs:
            return (self.task, self.error, None, None, None, None)
        rate, most = f"{100 * self.wrong / self.pairs:.0f} %", f"up to {self.most}"
        return (self.task, _TESTS[self.test], self.pairs, self.wrong, rate, most)


@dataclass(frozen=True, repr=False)
class NullCheck(Answer):
    """The rates of the tasks so far.

    Attributes:
        encoder: whose copies are tested.
        rates: one for each task.
        tasks: number of all tasks.
        is_over: whether all pairs are tested.
    """

    columns: ClassVar[Mapping[str, Any]] = dict.fromkeys(
        ("task", "protocol", "test", "pairs", "wrong", "most", "holds", "error")
    )

    encoder: str
    rates: Sequence[NullRate]
    tasks: int
    is_over: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per task."""
        return [
            {
                "task": rate.task,
                "protocol": rate.protocol,
                "test": rate.test,
                "pairs": rate.pairs,
                "wrong": rate.wrong,
                "nominal": ALPHA,
                "most": rate.most,
                "holds": rate.holds,
                "error": rate.error or None,
            }
            for rate in self.rates
        ]

    def blocks(self) -> list[Block]:
        """What the rates say, and a row for each task."""
        if not self.is_over:
            last = self.rates[-1]
            words = f"Checking {last.task}, {last.pairs} of {last.of} pairs done"
            done = (len(self.rates) - 1 + last.pairs / last.of) / self.tasks
            return [Progress(words, None, done)]
        checked = [rate for rate in self.rates if rate.pairs]
        text = "No verdict could be checked."
        if checked:
            text = (
                f"On {formats.plural(len(checked), 'task')}, copies of {self.encoder} are told "
                "apart no more often than chance allows at 5 %."
            )
        finding: list[Block] = [*self.problems()] or [Finding(text)]
        heads = ("Task", "Test", "Pairs", "Told apart", "Rate", "Chance allows")
        return [*finding, Table("null-check", heads, [rate.cells for rate in self.rates])]

    def problems(self) -> list[Problem]:
        """Tasks whose verdicts are not to be trusted."""
        off = [rate.task for rate in self.rates if not rate.holds]
        text = f"Do not trust the verdicts on {formats.listed(off, 4)}."
        hint = "Equal encoders are told apart more often than chance allows."
        return [Problem(UserError(text, hint, code="failed"))] if off else []

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
    for task, protocol, seed in measured:
        rate = NullRate(task, protocol, "", 0, 0, PAIRS if pairs is None else pairs)
        kept = dict[Any, Any]()
        watch = partial(_stop_at, None if seconds is None else time.monotonic() + seconds)
        asked: dict[str, Any] = {"protocol": protocol, "seed": seed, "data": workspace.catalog}
        while rate.pairs < rate.of and not rate.error:
            copies = [Noisy(loaded, NOISE, 2 * rate.pairs + side, kept) for side in (0, 1)]
            try:
                a, b = (next(evaluate(copy, [task], **asked, progress=watch)) for copy in copies)
                rate = _after(rate, a, b)
            except TimeoutError:
                if not rate.pairs:
                    words = f"A pair takes more than {seconds:.0f} seconds."
                    rates[task] = replace(rate, error=words)
                break
            rates[task] = rate
            yield NullCheck(encoder, tuple(rates.values()), len(measured))
    yield NullCheck(encoder, tuple(rates.values()), len(measured), is_over=True)


def _stop_at(end: float | None, _done: int, _total: int) -> None:
    if end is not None and time.monotonic() > end:
        raise TimeoutError


def _after(before: NullRate, a: Result, b: Result) -> NullRate:
    """The rate with one more pair."""
    if a.error or b.error:
        return replace(before, error=a.error or b.error or "")
    results = {"a": (a.details, a.examples), "b": (b.details, b.examples)}
    known: dict[str, service.Measured] = {}
    for name, kept in service.of_results(before.task, results).items():
        if kept is None:
            return replace(before, error=f"Nothing to check: {service.UNTESTABLE}")
        known[name] = kept
    difference = service.differences(known, "b", ["a"])["a"]
    (verdict,) = verdicts({("a", before.task): difference}).values()
    wrong = before.wrong + (verdict.verdict != "tie")
    return replace(before, test=verdict.test, pairs=before.pairs + 1, wrong=wrong)
