"""What a user of any page does and sees, in the words of the tests."""

import csv
import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.fakes.workers import work_off
from theodolite.app.pages.data.service import keep
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import preview
from theodolite.store.run_rows import RunRow

HERE = "location.pathname.slice(1) + location.search"
"""Path and query as the page has them: what Playwright knows of them may lag behind."""
HOSTILE = "<img src=x onerror=window.pwned=1> a {{window.pwned=2}} boat"


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
    """Press what queues a run, see it wait, and have it done as a worker would; the run."""
    known = set(workspace.store.runs.ids())
    page.locator(button).click()
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


def says(place: Locator, *texts: Any) -> None:
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


def bring(workspace: Workspace, folder: Path, name: str, lines: list[str]) -> str:
    """An upload of these lines."""
    file = folder / f"{name}.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    keep(workspace, file, file.name, name, preview(file, file.name).mapping)
    return f"upload:{name}"


def stays_text(page: Page) -> None:
    """No hostile text was taken for more than text."""
    expect(page.locator("img[src=x], xss-probe")).to_have_count(0)
    assert page.evaluate("window.pwned") is None, page.url
