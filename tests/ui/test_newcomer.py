"""A newcomer's whole path, in a browser, on real data: launch, add, evaluate, compare, look.

The first walk is on a few pairs of each set, so that it takes no minutes; the second, a long one,
is on all of them.
The app is the command that the README names, in a process of its own with its worker; the second
walk kills all of them with SIGKILL, several times, while they work.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.fakes.terminals import heed_interrupts
from tests.ui.conftest import Visit
from tests.ui.steps import address_of, says
from tests.waiting import wait_until
from theodolite.engine.datasets.senteval import PLACES, downstream
from theodolite.store import Store

pytestmark = pytest.mark.data
TASKS = {"STSBenchmark": 0, "SICKRelatedness": 1}
"""What is evaluated, and how many lines of heads its files have."""
FEW = 100


class App:
    """`theodolite serve` on a store, with everything it starts."""

    def __init__(self, store: Path, data: Path) -> None:
        self.store = store
        self.command = [
            sys.executable,
            "-m",
            "theodolite.app",
            "serve",
            "--store",
            str(store),
            "--data",
            str(data),
            "--no-browser",
            "--json",
        ]
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> str:
        """Launch it and return its address once the page is up."""
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
        )
        self.url = json.loads(self.process.stdout.readline())["url"].rstrip("/")
        return self.url

    def running(self, module: str) -> list[psutil.Process]:
        """Processes of ours that run a module, such as `app.jobs.worker`."""
        if self.process is None or self.process.poll() is not None:
            return []
        family = psutil.Process(self.process.pid).children(recursive=True)
        return [process for process in family if module in process.cmdline()]

    def kill(self, module: str) -> bool:
        """SIGKILL the worker, its child or the app; say whether there was one."""
        found = [psutil.Process(self.process.pid)] if module == "app" else self.running(module)
        for process in found:
            os.kill(process.pid, signal.SIGKILL)
        if module == "app":
            self.process.wait()
        return bool(found)

    def stop(self) -> None:
        """End it as Ctrl+C does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()


@pytest.fixture
def app(tmp_path: Path, data_root: Path) -> Iterator[App]:
    """The app on an empty store and the real data."""
    made = App(tmp_path / "store", data_root)
    yield made
    made.stop()


@pytest.fixture
def small_app(tmp_path: Path, data_root: Path) -> Iterator[App]:
    """The same with nothing but what the walk takes: a few pairs of each part of STS-B and SICK."""
    whole, mine = downstream(data_root), tmp_path / "data" / "downstream"
    for name, heads in TASKS.items():
        folder = mine / PLACES[name]
        folder.mkdir(parents=True)
        for file in (whole / PLACES[name]).iterdir():
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            (folder / file.name).write_text("".join(lines[: FEW + heads]), encoding="utf-8")
    made = App(tmp_path / "store", mine.parent)
    yield made
    made.stop()


def first_number(store: Store, page: Page) -> None:
    """Wait until the overview tells what random words are worth."""
    wait_until(lambda: store.results.table(encoders=["random:256"]))
    cell = page.locator(".t-heat-table tbody tr", has_text="random:256").locator("td.t-more").first
    expect(cell).to_have_text("26.18")  # on StarterSTS


def pick_tasks(page: Page) -> None:
    """Tick exactly STS-B and SICK-R on the page Evaluate."""
    page.get_by_role("button", name="Single tasks").click()
    page.locator("#tasks-sts").get_by_label(next(iter(TASKS)), exact=True).wait_for()
    for box in page.locator("[id^=tasks-] input[type=checkbox]").all():
        if box.is_visible() and box.is_checked():
            box.uncheck()
    for task in TASKS:
        page.locator("#tasks-sts").get_by_label(task, exact=True).check()


def test_from_the_first_page_to_the_last(small_app: App, visitor: Callable[..., Visit]) -> None:
    """Everything the first hour holds, each step as a person would take it."""
    visit = visitor(small_app.start())
    store = Store.open(small_app.store)

    # The overview fills by itself.
    first_number(store, visit.open())

    # They add an encoder of their own.
    page = visit.open("encoders")
    page.get_by_label("Spec", exact=True).fill("wordllama | center:starter | normalise")
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator("body"), "wordllama | center:starter | normalise")

    # They evaluate it, and close the tab while it runs.
    page = visit.open("evaluate?encoder=wordllama+%7C+center%3Astarter+%7C+normalise")
    pick_tasks(page)
    page.locator("#evaluate").click()
    address = address_of(page, "run=")
    page.close()

    # They come back to the same address and find it done.
    visit = visitor(small_app.url)
    page = visit.open(address)
    wait_until(lambda: not store.runs.list(["queued", "running"]))
    says(page.locator("body"), "Results", "Compare them")
    expect(page.locator("table", has_text="SICKRelatedness")).to_be_visible()

    # They see which differences are real.
    says(visit.open().locator("body"), "minilm")
    page = visit.open("compare?encoder=wordllama&encoder=random%3A256&encoder=minilm")
    says(page.locator("body"), "STSBenchmark", "SICKRelatedness", "better", str(FEW))

    # They search with both, and look at the cosines.
    page = visit.open("search?q=A+telescope+shows+the+moons&encoder=minilm&encoder=wordllama")
    says(page.locator("#hits"), "moon")
    page = visit.open("distributions?encoder=minilm&encoder=wordllama")
    page.wait_for_selector(".main-svg >> nth=0")
    says(page.locator("body"), "Two random sentences have cosine")
    assert [run["state"] for run in store.runs.list()] == ["done"] * 7
    assert store.check() == []


@pytest.mark.long
def test_nothing_is_lost_when_everything_is_killed(app: App, visitor: Callable[..., Visit]) -> None:
    """Child, worker and app get SIGKILL while they work; each result is there, once."""
    page = visitor(app.start()).open()
    store = Store.open(app.store)
    first_number(store, page)
    page.goto("about:blank")  # what a page says of an app that was killed is no fault
    wait_until(lambda: len(store.results.table()) >= 2)
    for module in (
        "theodolite.app.jobs.child",
        "theodolite.app.jobs.worker",
        "app",
        "theodolite.app.jobs.child",
        "app",
    ):
        done = len(store.results.table())
        wait_until(lambda module=module: app.kill(module))
        if module == "app":
            app.start()
        wait_until(lambda done=done: len(store.results.table()) > done)
    wait_until(lambda: not store.runs.list(["queued", "running"]))

    runs = store.runs.list()
    assert [run["state"] for run in runs] == ["done"] * 6, [run["error"] for run in runs]
    rows = store.results.table(all_versions=True)
    assert len(rows) == sum(run["total"] for run in runs) == 15
    assert all(row["error"] is None for row in rows)
    assert store.check() == []
    page = visitor(app.url).open()
    expect(page.locator(".t-heat-table")).not_to_contain_text("waiting")
