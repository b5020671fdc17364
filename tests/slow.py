"""Which tests `make quick` leaves out: those in `slow.txt`, found by measuring.

Loaded as a plugin, it adds to the list what does not fit into `BUDGET`, the most expensive first,
and takes away what is no longer there. It counts processor time, which other programs on the
machine hardly change:

    python -m pytest -p tests.slow --ignore=tests/ui -m 'not ui and not long and not slow'

The first test that needs a package or a shared fixture pays for it: run it until it adds nothing.
To make the list from scratch, empty it first.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("slow.txt")
"""Tests without their parameters, and files whose tests are all slow."""
BUDGET = 36.0
"""Seconds of processor time for quick tests and their fixtures, beside collecting them."""


def names() -> set[str]:
    """What the list names."""
    return set(LIST.read_text(encoding="utf-8").split())


def function(test: str) -> str:
    """The name of a test without its parameters."""
    return test.split("[")[0]


class Measurement:
    """A plugin that measures what is run, and writes the list at the end."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.collected: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_itemcollected(self, item) -> None:
        """Remember every test, run or not."""
        if not item.get_closest_marker("long"):
            self.collected.add(function(item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        """Measure a test with what is set up and torn down for it."""
        before = _cpu()
        result = yield
        self.seconds[function(item.nodeid)] += _cpu() - before
        return result

    def pytest_sessionfinish(self) -> None:
        """Add what does not fit, and name files as a whole where nothing quick is left."""
        whole = {name for name in names() if name.endswith(".py") and Path(name).exists()}
        slow, spent = names() & self.collected, self.seconds.total()
        for name, seconds in self.seconds.most_common():
            if spent > BUDGET:
                slow.add(name)
                spent -= seconds
        quick = {name.split("::")[0] for name in self.collected - slow}
        whole |= {name.split("::")[0] for name in slow} - quick
        slow = {name for name in slow if name.split("::")[0] not in whole}
        LIST.write_text("\n".join(sorted(slow | whole)) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Measure, when loaded as a plugin."""
    config.pluginmanager.register(Measurement())


def _cpu() -> float:
    """Seconds of processor time of this process and its children that have ended."""
    return sum(os.times()[:4])
