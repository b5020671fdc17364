"""A newcomer's whole path, in a browser, on real data: launch, add, evaluate, compare, look.

It is on a few pairs of each set, so that it takes no minutes. The app is the command that the
README names, in a process of its own with its worker.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

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
def app(tmp_path: Path, data: Path) -> Iterator[tuple[Path, str]]:
    """Store and address of `theodolite serve` over the data, which ends as by Ctrl+C."""
    store = tmp_path / "store"
    command = [sys.executable, "-m", "theodolite.app", "serve", "--no-browser", "--json"]
    command += ["--store", str(store), "--data", str(data)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True, preexec_fn=heed_interrupts) as serving:
        yield store, json.loads(serving.stdout.readline())["url"].rstrip("/")
        serving.send_signal(signal.SIGINT)


def first_number(store: Store, page: Page) -> None:
    """Wait until the overview tells what random words are worth."""
    wait_until(lambda: store.results.table(encoders=["random:256"]))
    cell = page.locator(".t-heat-table tbody tr", has_text="random:256").locator("td.t-more").first
    expect(cell).to_have_text("26.18")  # on StarterSTS


def test_from_the_first_page_to_the_last(
    app: tuple[Path, str], visitor: Callable[..., Visit]
) -> None:
    """Everything the first hour holds, each step as a person would take it."""
    folder, url = app
    visit, store = visitor(url), Store.open(folder)

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
    visit = visitor(url)
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
