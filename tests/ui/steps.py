"""What tests of pages share: an app to visit, and what a user does and sees, in their words."""

import contextlib
import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.fakes.started import launched
from tests.fakes.workers import work_off
from theodolite.app.workspace import Workspace
from theodolite.store.run_rows import RunRow

# A busy machine may take its time; what is there is seen at once all the same.
PATIENCE = 120_000
WIDE, NARROW = (1440, 900), (390, 844)
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # What asks another host is told so at once, and says it in the console.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE *localhost",
)
HERE = "location.pathname.slice(1) + location.search"
"""Path and query as the page has them: what Playwright knows of them may lag behind."""
HOSTILE = "<img src=x onerror=window.pwned=1> a {{window.pwned=2}} boat"


@contextlib.contextmanager
def served(workspace: Workspace) -> Iterator[str]:
    """Address of an app over a store, without a slash at its end."""
    with launched(workspace) as client:
        yield str(client.base_url).rstrip("/")


@contextlib.contextmanager
def served_to_visitors(workspace: Workspace) -> Iterator[str]:
    """Address of an app over the same store for visitors, who can only look."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        looking = Workspace(workspace.store.folder, read_only=True)
    with served(looking) as address:
        yield address


def address_of(page: Page, *parts: str) -> str:
    """Path and query of a page, once each of these stands in it: what one would copy."""
    has_all = f"parts => parts.every(part => ({HERE}).includes(part)) && ({HERE})"
    return str(page.wait_for_function(has_all, arg=list(parts)).json_value())


def gone_from_address(page: Page, part: str) -> None:
    """Wait until this stands in the address no longer."""
    page.wait_for_function(f"part => !({HERE}).includes(part)", arg=part)


def run_in_address(page: Page) -> str:
    """The run that the page follows."""
    return address_of(page, "run=").split("run=")[1].split("&")[0]


def done(page: Page, workspace: Workspace, button: str) -> RunRow:
    """Press what queues a run, twice as some do, and have it done as a worker would; the run."""
    known = set(workspace.store.runs.ids())
    page.locator(button).dblclick()
    says(page.locator("#following"), re.compile("queued|waiting for its turn"))
    (run,) = set(workspace.store.runs.ids()) - known
    row = work_off(workspace, run)
    assert row["state"] == "done"
    return row


class Held:
    """Requests to addresses of this pattern, which stay where they are until they are let go.

    `page.route` would have every file of the page fetched anew: it leaves no cache.
    """

    def __init__(self, page: Page, pattern: str) -> None:
        self.requests: list[str] = []
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.on("Fetch.requestPaused", lambda r: self.requests.append(r["requestId"]))
        self._devtools.send("Fetch.enable", {"patterns": [{"urlPattern": pattern}]})

    def let_go(self) -> None:
        """Have them go on, the last one first, and hold no others."""
        for request in reversed(self.requests):
            self._devtools.send("Fetch.continueRequest", {"requestId": request})
        self._devtools.send("Fetch.disable")


def says(place: Locator, *texts) -> None:
    """Wait until each of these stands there."""
    for text in texts:
        expect(place).to_contain_text(text)


def saved(button: Locator) -> Path:
    """The file that a button gives."""
    with button.page.expect_download() as waiting:
        button.click()
    return Path(waiting.value.path())


def rows_saved(button: Locator) -> list[dict[str, str]]:
    """The rows of the CSV file that a button gives."""
    with saved(button).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def box(page: Page, name: str) -> Locator:
    """Where one writes in the control of this id."""
    return page.locator(f"#{name} textarea, #{name} input").first


def write(page: Page, name: str, text: str) -> None:
    """Write by keyboard, in place of what was there, and press Enter."""
    box(page, name).focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
    page.keyboard.press("Enter")


def tab_to(page: Page, reached: str) -> None:
    """Press Tab until this holds of `document.activeElement`, called `at`."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate(f"(at => {reached})(document.activeElement)"):
            return
    raise AssertionError(f"Tab leads nowhere where {reached}")


def stays_text(page: Page) -> None:
    """No hostile text was taken for more than text."""
    expect(page.locator("img[src=x], xss-probe")).to_have_count(0)
    assert page.evaluate("window.pwned") is None, page.url


# Of a map: opening it, where its points are, what Save gives.

MAPPED = "random:64"
MAP = f"map?encoder={MAPPED}&method=pca"


def drawn(visit, query=MAP, points="2,040"):
    """Open the page, with its motion, and wait until its map is there."""
    visit.page.emulate_media(reduced_motion="no-preference")
    page = visit.open(query)
    expect(said(page)).to_contain_text(f"{points} points")
    over(page).scroll_into_view_if_needed()
    return page


def said(page):
    """What the map says of itself."""
    return page.locator(".t-map-said")


def over(page):
    """The canvas that takes pointer and keys."""
    return page.locator(".t-map-over")


def on_screen(page, points):
    """Where points lie on the screen when all are seen, worked out from the canvas alone."""
    box = over(page).bounding_box()
    size = over(page).evaluate("(canvas) => [canvas.clientWidth, canvas.clientHeight]")
    box |= dict(zip(("width", "height"), size, strict=True))  # whole pixels, as it draws
    low, high = points.min(axis=0), points.max(axis=0)
    unit = min(box["width"], box["height"]) / (float((high - low).max()) * 1.08)
    middle = (low + high) / 2
    x = box["x"] + box["width"] / 2 + (points[:, 0] - middle[0]) * unit
    y = box["y"] + box["height"] / 2 - (points[:, 1] - middle[1]) * unit
    return np.stack([x, y], axis=1)


def table(page, kind="CSV"):
    """What Save gives."""
    with page.expect_download() as waiting:
        page.get_by_label("Save", exact=True).select_option(kind)
    data = open(waiting.value.path(), "rb").read()  # noqa: PTH123
    return pd.read_csv(io.BytesIO(data)) if kind == "CSV" else data
