"""Which tests `make quick` leaves out: those in `slow.txt`, found by measuring.

Loaded as a plugin, it adds to the list what does not fit into `BUDGET`, the most expensive first.
It counts processor time, which other programs on the machine hardly change:

    pytest -p tests.slow --ignore=tests/ui -m 'not ui and not long and not slow'

To make the list from scratch, empty it first. Running twice counts imports where they belong: the
first test that needs a package pays for it.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).with_name("slow.txt")
"""Tests without their parameters, and files whose tests are all slow."""
BUDGET = 42.0
"""Seconds of processor time for quick tests and their fixtures, beside collecting them."""

Fixture = tuple[str, str]
"""The name of a fixture that several tests share, and the file it is made for."""


def names() -> set[str]:
    """What the list names."""
    return set(LIST.read_text(encoding="utf-8").split())


def function(test: str) -> str:
    """The name of a test without its parameters."""
    return test.split("[")[0]


def over_budget(
    own: Mapping[str, float],
    shared: Mapping[Fixture, float],
    uses: Mapping[str, list[Fixture]],
    budget: float,
) -> set[str]:
    """Functions to leave out so that the rest stays within the budget.

    Args:
        own: seconds of each test without what it shares with others.
        shared: seconds of each shared fixture, divided among the tests that use it.
        uses: the shared fixtures of each test.
        budget: seconds.
    """
    cases: dict[str, list[str]] = defaultdict(list)
    for test in own:
        cases[function(test)].append(test)
    dropped: set[str] = set()
    while True:
        users = Counter(
            fixture for name, tests in cases.items() for test in tests for fixture in uses[test]
        )
        seconds = {
            name: sum(
                own[test] + sum(shared.get(fixture, 0.0) / users[fixture] for fixture in uses[test])
                for test in tests
            )
            for name, tests in cases.items()
        }
        if sum(seconds.values()) <= budget:
            return dropped
        worst = max(seconds, key=lambda name: seconds[name] / len(cases[name]))
        dropped.add(worst)
        del cases[worst]


class Measurement:
    """A plugin that measures what is run, and writes the list at the end."""

    def __init__(self) -> None:
        self.own: Counter[str] = Counter()
        self.shared: Counter[Fixture] = Counter()
        self.uses: dict[str, list[Fixture]] = {}
        self.collected: list[Any] = []

    @pytest.hookimpl(trylast=True)
    def pytest_itemcollected(self, item: Any) -> None:
        """Remember every test, run or not."""
        self.collected.append(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Generator[None, Any, Any]:
        """Measure a shared fixture apart from the test that happens to be its first."""
        before = _cpu()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                test, seconds = request._pyfuncitem.nodeid, _cpu() - before
                self.shared[_fixture(fixturedef, test)] += seconds
                self.own[test] -= seconds

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """Measure a test with what is set up and torn down for it."""
        before = _cpu()
        result = yield
        self.own[item.nodeid] += _cpu() - before
        used = (known[-1] for known in item._fixtureinfo.name2fixturedefs.values())
        self.uses[item.nodeid] = [
            _fixture(each, item.nodeid) for each in used if each.scope != "function"
        ]
        return result

    def pytest_sessionfinish(self) -> None:
        """Add what does not fit, and name files as a whole where nothing quick is left."""
        slow = names() | over_budget(self.own, self.shared, self.uses, BUDGET)
        quick = {
            item.nodeid.split("::")[0]
            for item in self.collected
            if function(item.nodeid) not in slow
            and not any(item.get_closest_marker(mark) for mark in ("slow", "long"))
        }
        files = {item.nodeid.split("::")[0] for item in self.collected} - quick
        kept = {name for name in slow if name.split("::")[0] not in files}
        LIST.write_text("\n".join(sorted(kept | files)) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Measure, when loaded as a plugin."""
    config.pluginmanager.register(Measurement())


def _cpu() -> float:
    """Seconds of processor time of this process and its children that have ended."""
    return sum(os.times()[:4])


def _fixture(fixture: Any, test: str) -> Fixture:
    for_all = fixture.scope in ("session", "package")
    return fixture.argname, "" if for_all else test.split("::")[0]
