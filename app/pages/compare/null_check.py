"""Null check: how often Compare tells an encoder from itself, beside the 5 % that a test allows.

Two copies of the encoder, each with 1 % noise, are measured and tested as Compare tests encoders.
They do not differ, so every verdict but a tie is wrong.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from theodolite.app.pages.compare import tested
from theodolite.app.pages.compare.service import Comparison
from theodolite.app.pages.compare.verdicts import ALPHA, verdicts
from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate
from theodolite.engine.encoders.noisy import Noisy
from theodolite.engine.errors import UserError
from theodolite.engine.results import Result

PAIRS, NOISE = 100, 0.01
_SURE = 0.99


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

    def row(self) -> dict[str, Any]:
        """As a flat object, as commands print it."""
        return {
            "task": self.task,
            "protocol": self.protocol,
            "test": self.test,
            "pairs": self.pairs,
            "wrong": self.wrong,
            "nominal": ALPHA,
            "most": self.most,
            "holds": self.holds,
            "error": self.error or None,
        }


def of_comparison(report: Comparison) -> list[tuple[str, str, int]]:
    """Task, protocol and seed of every difference that a comparison tests."""
    rows = {task: report.cells[name, task] for name, task in report.differences}
    return [(t, rows[t]["protocol"], rows[t]["seed"]) for t in report.tasks if t in rows]


def null_check(
    workspace: Workspace,
    encoder: str,
    measured: Sequence[tuple[str, str, int]],
    pairs: int | None = None,
    seconds: float | None = None,
) -> Iterator[NullRate]:
    """Check the verdict of each task; yield its rate after every pair.

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
    loaded, pairs = workspace.load(encoder), PAIRS if pairs is None else pairs
    for task, protocol, seed in measured:
        found, kept = NullRate(task, protocol, "", 0, 0, pairs), dict[Any, Any]()
        watch = partial(_stop_at, None if seconds is None else time.monotonic() + seconds)
        asked: dict[str, Any] = {"protocol": protocol, "seed": seed, "data": workspace.catalog}
        for pair in range(pairs):
            try:
                a, b = (
                    next(
                        evaluate(Noisy(loaded, NOISE, copy, kept), [task], **asked, progress=watch)
                    )
                    for copy in (2 * pair, 2 * pair + 1)
                )
                found = _after(found, a, b)
            except TimeoutError:
                if not found.pairs:
                    yield replace(found, error=f"A pair takes more than {seconds:.0f} seconds.")
                break
            yield found
            if found.error:
                break


def _stop_at(end: float | None, _done: int, _total: int) -> None:
    if end is not None and time.monotonic() > end:
        raise TimeoutError


def _after(before: NullRate, a: Result, b: Result) -> NullRate:
    """The rate with one more pair."""
    if a.error or b.error:
        return replace(before, error=a.error or b.error or "")
    results = {"a": (a.details, a.examples), "b": (b.details, b.examples)}
    known: dict[str, tested.Measured] = {}
    for name, kept in tested.of_results(before.task, results).items():
        if kept is None:
            return replace(before, error=f"Nothing to check: {tested.UNTESTABLE}")
        known[name] = kept
    (verdict,) = verdicts({("a", before.task): tested.differences(known, "b", ["a"])["a"]}).values()
    wrong = before.wrong + (verdict.verdict != "tie")
    return replace(before, test=verdict.test, pairs=before.pairs + 1, wrong=wrong)
