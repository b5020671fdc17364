"""A test that fails is tried once more; one that passes then is reported as flaky, not as failed.

For the tests in a browser alone, where a busy machine can make a page late:

    python -m pytest -p tests.flaky tests/ui -m 'ui and not long'

Whoever reads the report mends the test. More than `ALLOWED` in one run are failures.
"""

import contextlib
from collections.abc import Generator

import pytest
from _pytest.runner import runtestprotocol

ALLOWED = 2
REPORT = "artifacts/flaky.txt"
"""The flaky tests of the last run, below the folder of the project; empty where there were none."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """Run a test, and where it fails run it again with all its fixtures made anew."""
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    errors = [report.longreprtext for report in reports if report.failed]
    if errors:
        with contextlib.suppress(Exception):  # what fails here has failed before
            item.session._setupstate.teardown_exact(None)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        called = [report for report in reports if report.when == "call"]
        if called and not any(report.failed for report in reports):
            called[0].flaky = "\n\n".join(errors)  # travels with the report from a worker of xdist
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class Flaky:
    """What was flaky in the whole run, of all workers together."""

    def __init__(self, config: pytest.Config) -> None:
        self.found: dict[str, str] = {}
        self.file = config.rootpath / REPORT

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_logreport(self, report) -> Generator[None, None, None]:
        """Note a flaky test; from one too many on it has failed."""
        if hasattr(report, "flaky"):
            self.found[report.nodeid] = report.flaky
            if len(self.found) > ALLOWED:
                report.outcome, report.longrepr = "failed", report.flaky
        return (yield)

    def pytest_sessionfinish(self) -> None:
        """Write the report."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("".join(f"{n}\n{e}\n\n" for n, e in self.found.items()), "utf-8")

    def pytest_terminal_summary(self, terminalreporter) -> None:
        """Say which."""
        if self.found:
            terminalreporter.section(f"{len(self.found)} flaky, {ALLOWED} allowed: {REPORT}")
            for name in self.found:
                terminalreporter.write_line(name)


def pytest_configure(config: pytest.Config) -> None:
    """Count where all reports come together."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Flaky(config))
