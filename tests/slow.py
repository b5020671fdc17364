"""Which tests `make quick` leaves out: those in `slow.txt`, made anew from what pytest prints.

Run `pytest -n 4 --dist loadfile --durations=0 --durations-min=0.05 | python -m tests.slow`.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

LIST = Path(__file__).with_name("slow.txt")
LEAST = 0.3
"""Seconds of a slow test, four at a time on two cores."""

_LINE = re.compile(r"^([0-9.]+)s (?:call|setup|teardown) +(\S+?::[^\[\s]+)(\[.*)?$")


def slow(lines: Iterable[str]) -> list[str]:
    """Functions with a test that is slow, of what pytest prints about durations."""
    seconds: Counter[tuple[str, str]] = Counter()
    for line in lines:
        if match := _LINE.match(line.rstrip("\n")):
            took, function, case = match.groups()
            seconds[function, case or ""] += float(took)  # type: ignore[assignment]
    return sorted({function for (function, _), took in seconds.items() if took >= LEAST})


if __name__ == "__main__":
    LIST.write_text("\n".join(slow(sys.stdin)) + "\n", encoding="utf-8")
