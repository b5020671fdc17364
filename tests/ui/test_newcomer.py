"""A newcomer's whole path, in a browser, on real data: launch, add, evaluate, compare, look.

The first walk is on a few pairs of each set, so that it takes no minutes; the second, a long one,
is on all of them.
The app is the command that the README names, in a process of its own with its worker; the second
walk kills all of them with SIGKILL, several times, while they work.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from playwright.sync_api import Page, expect

from tests.fakes.terminals import heed_interrupts
from tests.ui.conftest import Visit
from tests.ui.steps import address_of, says
from tests.waiting import wait_until
from theodolite.engine.datasets.senteval import PLACES, downstream
from theodolite.store import Store
from theodolite.store.check import check

pytestmark = pytest.mark.data
TASKS = {"STSBenchmark": 0, "SICKRelatedness": 1}
"""What is evaluated, and how many lines of heads its files have."""
FEW = 100
OWN = "wordllama | center:starter | normalise"


class App:
    """`theodolite serve` on a store, with everything it starts."""

    def __init__(self, store: Path, data: Path) -> None:
        self.store = store
        command = [sys.executable, "-m", "theodolite.app", "serve", "--no-browser", "--json"]
        self.command = [*command, "--store", str(store), "--data", str(data)]
        self.process: subprocess.Popen[str] | None = None
        self.url = ""

    def start(self) -> str:
        """Launch it and return its address once the page is up."""
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
        )
        self.url = json.loads(self.process.stdout.readline())["url"].rstrip("/")
        return self.url

    def kill(self, module: str) -> bool:
        """SIGKILL the worker, its child or the app; say whether there was one."""
        found = [psutil.Process(self.process.pid)]
        if module != "app":
            family = found[0].children(recursive=True)
            found = [process for process in family if module in process.cmdline()]
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
def data(tmp_path: Path, data_root: Path) -> Path:
    """Nothing but what the walk takes: a few pairs of each part of STS-B and SICK."""
    whole, mine = downstream(data_root), tmp_path / "data" / "downstream"
    for name, heads in TASKS.items():
        folder = mine / PLACES[name]
        folder.mkdir(parents=True)
        for file in (whole / PLACES[name]).iterdir():
            lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
            (folder / file.name).write_text("".join(lines[: FEW + heads]), encoding="utf-8")
    return mine.parent


@pytest.fixture
def app(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[App]:
    """The app on an empty store and real data, a few of them or all."""
    made = App(tmp_path / "store", request.getfixturevalue(request.param))
    yield made
    made.stop()


def first_number(store: Store, page: Page) -> None:
    """Wait until the overview tells what random words are worth."""
    wait_until(lambda: store.results.table(encoders=["random:256"]))
    cell = page.locator(".t-heat-table tbody tr", has_text="random:256").locator("td.t-more").first
    expect(cell).to_have_text("26.18")  # on StarterSTS


@pytest.mark.parametrize("app", ["data"], indirect=True)
def test_from_the_first_page_to_the_last(app: App, visitor: Callable[..., Visit]) -> None:
    """Everything the first hour holds, each step as a person would take it."""
    visit = visitor(app.start())
    store = Store.open(app.store)

    # The overview fills by itself. They do not wait for the largest encoder, and nor does this.
    first_number(store, visit.open())
    for run in store.runs.list():
        if run["title"].endswith(" minilm"):
            store.runs.cancel(run["id"])

    # They add an encoder of their own.
    page = visit.open("encoders")
    page.get_by_label("Spec", exact=True).fill(OWN)
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator("body"), OWN)

    # They evaluate it, and close the tab while it runs.
    page = visit.open(f"evaluate?encoder={quote(OWN)}")
    page.locator("#tasks .remove-all").click()
    for task in TASKS:
        page.locator("#tasks input").fill(task)
        page.get_by_role("option", name=f"{task} · ").click()
    page.locator("#evaluate").click()
    address = address_of(page, "run=")
    page.close()

    # They come back to the same address and find it done.
    visit = visitor(app.url)
    page = visit.open(address)
    wait_until(lambda: not store.runs.list(["queued", "running"]))
    says(page.locator("body"), "Results", "Compare them")
    expect(page.locator("table", has_text="SICKRelatedness")).to_be_visible()

    # They see which differences are real.
    page = visit.open(f"compare?encoder=wordllama&encoder=random:256&encoder={quote(OWN)}")
    says(page.locator("body"), *TASKS, "worse", str(FEW))

    # They search with both, and look at the cosines.
    page = visit.open("search?q=A+telescope+shows+the+moons&encoder=wordllama&encoder=random:256")
    says(page.locator("#hits"), "moon")
    page = visit.open("distributions?encoder=wordllama&encoder=random:256")
    page.wait_for_selector(".main-svg >> nth=0")
    says(page.locator("body"), "Two random sentences have cosine")
    assert {run["state"] for run in store.runs.list()} == {"done", "cancelled"}
    assert check(store) == []


@pytest.mark.long
@pytest.mark.parametrize("app", ["data_root"], indirect=True)
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
    assert check(store) == []
    page = visitor(app.url).open()
    expect(page.locator(".t-heat-table")).not_to_contain_text("waiting")
