"""A newcomer's first hour in a browser: the app fills itself, works alone, and is come back to.

The app is the command that the README names, in a process of its own with its worker.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.fakes.command_line import heed_interrupts
from tests.ui.conftest import Visit
from tests.ui.steps import address_of, says
from tests.waiting import wait_until
from theodolite.store import Store
from theodolite.store.check import check

OWN = "random:32 | center:starter | normalise"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, str]]:
    """Store and address of `theodolite serve`, which ends as by Ctrl+C."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    store = tmp_path / "store"
    command = [sys.executable, "-m", "theodolite.app", "serve", "--no-browser", "--json"]
    command += ["--store", str(store)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    ) as serving:
        yield store, json.loads(serving.stdout.readline())["url"].rstrip("/")
        serving.send_signal(signal.SIGINT)


def test_from_the_first_page_to_a_result_of_ones_own(
    app: tuple[Path, str], visitor: Callable[..., Visit]
) -> None:
    folder, url = app
    visit, store = visitor(url), Store.open(folder)

    # The overview fills by itself. They do not wait for the largest encoder, and nor does this.
    page = visit.open()
    wait_until(lambda: store.results.table(encoders=["random:256"]))
    row = page.locator(".t-heat-table tbody tr", has_text="random:256")
    expect(row.locator("td.t-more").first).to_have_text("26.18")  # on StarterSTS
    for run in store.runs.list():
        if run["title"].endswith(" minilm"):
            store.runs.cancel(run["id"])

    # They add an encoder of their own, evaluate it, and close the tab while it runs.
    page = visit.open("encoders")
    page.get_by_label("Spec", exact=True).fill(OWN)
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator("#encoders"), OWN)
    page = visit.open(f"evaluate?encoder={quote(OWN)}")
    says(page.locator("#encoders .token").first, OWN)
    page.locator("#evaluate").click()
    address = address_of(page, "run=")
    page.close()

    # They come back to the same address and find it done.
    page = visitor(url).open(address)
    wait_until(lambda: not store.runs.list(["queued", "running"]))
    says(page.locator("body"), "Results", "Compare them")
    expect(page.locator("table", has_text="StarterTopics")).to_be_visible()
    assert {run["state"] for run in store.runs.list()} == {"done", "cancelled"}
    assert check(store) == []
