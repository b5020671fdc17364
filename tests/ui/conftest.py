"""A running app over a small store, and a browser that forgives nothing.

A visit fails the test on any error of the page or its console and on any request to another host.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    Error,
    Page,
    Playwright,
    TimeoutError as PlaywrightTimeout,
    expect,
    sync_playwright,
)

from tests.fakes.stores import evaluate_all, starter_store
from tests.ui.steps import FLAGS, NARROW, PATIENCE, WIDE, served
from theodolite.app.workspace import Workspace

expect.set_options(timeout=PATIENCE)

STICKING_OUT = """() => [...document.querySelectorAll("body *")]
  .map((node) => [node, node.getBoundingClientRect().right])
  .filter(([, right]) => right > innerWidth + 1)
  .map(([node, right]) => `${node.tagName} #${node.id} .${node.classList} ${right}`).join("\\n")"""
# Gradio says so when a page is left while its stream of events is open.
LEAVING = ("signal is aborted", "Connection errored out", "BodyStreamBuffer was aborted")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here is a test of the user interface; what takes long comes first.

    Side by side, a file each (`--no-loadscope-reorder`), the newcomer's one long walk would be left
    for last and alone.
    """
    mine = [item for item in items if Path(__file__).parent in item.path.parents]
    tests = Counter(item.path for item in mine)
    mine.sort(key=lambda item: (item.path.name != "test_newcomer.py", -tests[item.path]))
    for item in mine:
        item.add_marker(pytest.mark.ui)
    items[:] = [*(item for item in items if item.path not in tests), *mine]


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """What drives browsers, once: there is one event loop a thread."""
    with sync_playwright() as driver:
        yield driver


@pytest.fixture(scope="session")
def chromium() -> str:
    """Its path; one with windows, which the one that `CHROMIUM` names may lack."""
    path = shutil.which("chromium") or shutil.which("google-chrome") or os.environ.get("CHROMIUM")
    if path is None:
        pytest.skip("chromium is not installed")
    return path


@pytest.fixture(scope="session")
def browser(playwright: Playwright, chromium: str) -> Iterator[Browser]:
    """Chromium, without a window."""
    path = os.environ.get("CHROMIUM", chromium)
    with playwright.chromium.launch(executable_path=path, args=list(FLAGS)) as launched:
        yield launched


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A store with two baselines evaluated on the starter set."""
    made = starter_store(tmp_path_factory.mktemp("ui"))
    evaluate_all(made, ["random:256"], "StarterSTS", "StarterSearch")
    evaluate_all(made, ["random:64"], "StarterSTS")
    return made


@pytest.fixture(scope="module", autouse=True)
def left_as_it_was(workspace: Workspace) -> Iterator[None]:
    """Nothing gets into the next file's pages: no run that waits, encoder, result or upload."""
    store = workspace.store
    known, results = set(store.encoders.names()), {row["id"] for row in store.results.table()}
    yield
    for run in store.runs.list(("queued", "running")):
        store.runs.cancel(run["id"])
    for name in set(store.encoders.names()) - known:
        store.encoders.remove(name)
    store.results.remove([row["id"] for row in store.results.table() if row["id"] not in results])
    for upload in store.uploads.list():
        store.uploads.remove(upload["name"])


@pytest.fixture(scope="session")
def site(workspace: Workspace) -> Iterator[str]:
    """Address of the running app."""
    with served(workspace) as address:
        yield address


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder and its address, as `python -m http.server` gives it."""
    root = tmp_path_factory.mktemp("web")
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    with subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        found = re.search(r"port (\d+)", server.stdout.readline())
        yield root, f"http://127.0.0.1:{found[1]}"
        server.terminate()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A store of the module's own; a module that wants one with results fills it."""
    return starter_store(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="module")
def place(desk: Workspace) -> Iterator[str]:
    """Address of an app over it."""
    with served(desk) as address:
        yield address


@pytest.fixture
def stranger(browser: Browser) -> Iterator[Page]:
    """A tab of somebody who was never here, whose page may do as it likes."""
    context = browser.new_context(viewport={"width": WIDE[0], "height": WIDE[1]})
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


@dataclass
class Visit:
    """A browser tab and what went wrong in it."""

    page: Page
    site: str
    wrong: list[str] = field(default_factory=list)
    listeners: list[tuple[str, Callable[..., None]]] = field(default_factory=list)

    def open(self, path: str = "") -> Page:
        """Open a page of ours and wait until it is laid out; load what is asked about first."""
        self.page.goto(f"{self.site}/{path}")
        if self.page.locator("body.t-question").count():
            self.page.locator("#load").click()
        self.page.wait_for_selector(".t-header")
        return self.page

    def scrolls_sideways(self) -> bool:
        """Whether the page stays wider than the window; what sticks out is printed.

        A chart is drawn again a moment after its window has changed.
        """
        with contextlib.suppress(PlaywrightTimeout):
            self.page.wait_for_function("() => document.documentElement.scrollWidth <= innerWidth")
            return False
        print(self.page.evaluate(STICKING_OUT))  # noqa: T201
        return True

    def fits(self) -> None:
        """See the page as it is now on a phone and on a wide screen again."""
        for size in (NARROW, WIDE):
            self.page.set_viewport_size({"width": size[0], "height": size[1]})
            assert not self.scrolls_sideways(), f"{size[0]} pixels are too few"

    def listen(self, event, heard: Callable[..., None]) -> None:
        """Hear of something until the visit ends."""
        self.page.on(event, heard)
        self.listeners.append((event, heard))

    def watch(self) -> None:
        """Note every error, and with them every request that would leave this machine.

        Listening to all requests would take a tenth of the processor's time of these tests.
        """
        self.listen("pageerror", lambda error: self.wrong.append(f"page error: {error}"))
        self.listen("console", self._said)

    def leave(self) -> bool:
        """Forget everything; whether the tab is good for another visit."""
        for event, received in self.listeners:
            self.page.remove_listener(event, received)
        try:
            self.page.unroute_all(behavior="ignoreErrors")
            self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
            self.page.goto("about:blank")
        except Error:  # it was closed, or went nowhere
            self.page.context.close()
            return False
        self.page.mouse.move(-1, -1)
        self.page.context.clear_cookies()
        self.page.context.clear_permissions()
        return True

    def _said(self, message) -> None:
        if message.type == "error" and not any(text in message.text for text in LEAVING):
            self.wrong.append(f"console error: {message.text} ({message.location['url']})")


@pytest.fixture(scope="session")
def tabs() -> list[Page]:
    """Tabs of people who come back, one each: the pages' scripts are loaded, as they are for them.

    A new tab for every test would have Chromium begin a process and read all scripts again, which
    takes it longer than most tests take.
    """
    return []


@pytest.fixture
def visitor(browser: Browser, tabs: list[Page]) -> Iterator[Callable[..., Visit]]:
    """Make visits: `visitor(site, dark=False, size=WIDE)`. Each is checked when the test ends.

    Every visit of a test is of somebody else, who forgets it afterwards. They want no motion: what
    turns while one waits takes a seventh of the browser's time. What is about motion asks for it.
    """
    visits: list[Visit] = []

    def come(site: str, *, dark: bool = False, size: tuple[int, int] = WIDE) -> Visit:
        if len(visits) == len(tabs):
            tabs.append(browser.new_context().new_page())
        page = tabs[len(visits)]
        page.set_default_timeout(PATIENCE)
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.emulate_media(color_scheme="dark" if dark else "light", reduced_motion="reduce")
        visits.append(Visit(page, site))
        visits[-1].watch()
        return visits[-1]

    yield come
    # Before any page is left: what a page says of a server that has gone is no fault.
    wrong = [text for visit in visits for text in visit.wrong]
    tabs[:] = [*(visit.page for visit in visits if visit.leave()), *tabs[len(visits) :]]
    assert wrong == []


@pytest.fixture
def visit(visitor: Callable[..., Visit], site: str) -> Visit:
    """A wide, light tab on the app."""
    return visitor(site)
