"""The null check of the page Compare as a table."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from theodolite.app.formats import listed, plural
from theodolite.app.web import parts

if TYPE_CHECKING:
    from theodolite.app.pages.compare.null_check import NullRate

LEAD = (
    "Tests pairs of copies of the baseline, each with 1 % noise, on the tasks above. The copies do "
    "not differ, so at most 5 % of the verdicts should say that they do."
)
_HEADS = ("Task", "Test", "Pairs", "Told apart", "Rate", "Chance allows")
_TESTS = {"McNemar": "McNemar's test", "bootstrap": "paired bootstrap"}


def table(base: str, rates: Sequence[NullRate]) -> str:
    """The finding in a sentence, and a row for each task."""
    checked = [rate for rate in rates if rate.pairs]
    off = [rate.task for rate in checked if not rate.holds]
    if off:
        text = f"Do not trust the verdicts on {listed(off, 4)}: equal encoders are told apart."
    elif checked:
        text = (
            f"On {plural(len(checked), 'task')}, copies of {base} are told apart no more often "
            "than chance allows at 5 %."
        )
    else:
        text = "No verdict could be checked."
    rows = [
        [escape(rate.task), _TESTS.get(rate.test, escape(rate.error)), *_numbers(rate)]
        for rate in rates
    ]
    said = parts.warn([text]) if off else f'<p class="t-said">{escape(text)}</p>'
    return said + parts.table(_HEADS, rows, "Null check", numbers=(2, 3, 4, 5), stacked=True)


def _numbers(rate: NullRate) -> list[str]:
    if not rate.pairs:
        return [""] * 4
    share = f"{100 * rate.wrong / rate.pairs:.0f} %"
    return [str(rate.pairs), str(rate.wrong), share, f"up to {rate.most}"]
