"""Whether differences are significant when several are tested at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from theodolite.engine.stats.significance import Difference, holm

ALPHA = 0.05


@dataclass(frozen=True)
class Verdict:
    """Whether one difference is real, when several are tested at once.

    Attributes:
        p: p-value of the test alone.
        test: McNemar's where examples are right or wrong, else the paired bootstrap.
        adjusted: p after Holm's correction over the tasks of this encoder's column.
        tasks: number of those tasks; with one there is nothing to correct.
        verdict: `a`, the encoder is better, `b`, the baseline is, or `tie`.
    """

    p: float
    test: Literal["McNemar", "bootstrap"]
    adjusted: float
    tasks: int
    verdict: Literal["a", "b", "tie"]

    def words(self, a: str, b: str) -> str:
        """The verdict in words."""
        better = {"a": f"{a} is better", "b": f"{b} is better"}
        return better.get(self.verdict, "no real difference")


def verdicts(
    differences: Mapping[tuple[str, str], tuple[Difference, float | None]],
) -> dict[tuple[str, str], Verdict]:
    """Holm's correction over the tasks of each encoder's column."""
    made = {}
    for name in dict.fromkeys(name for name, _ in differences):
        mine = {pair: found for pair, found in differences.items() if pair[0] == name}
        tests = [found.p if exact is None else exact for found, exact in mine.values()]
        for (pair, (found, exact)), p, adjusted in zip(
            mine.items(), tests, holm(tests).tolist(), strict=True
        ):
            # Not by the interval: where few examples differ, percentiles leave out 0 too soon.
            verdict: Literal["a", "b", "tie"] = "a" if found.delta > 0 else "b"
            if adjusted >= ALPHA:
                verdict = "tie"
            test: Literal["McNemar", "bootstrap"] = "bootstrap" if exact is None else "McNemar"
            made[pair] = Verdict(p, test, adjusted, len(mine), verdict)
    return made
