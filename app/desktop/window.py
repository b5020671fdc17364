"""The app in a window of its own: an installed browser without toolbars, with a separate profile.

The browser is based on Chromium: Chrome, Chromium, Edge, or another one that `THEODOLITE_BROWSER`
names, as a command with its options if it needs any. It remembers the window's size in the profile.
"""

import contextlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
import psutil
from filelock import FileLock, Timeout

from theodolite.app import formats
from theodolite.app.terminal import say
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

VARIABLE = "THEODOLITE_BROWSER"
CLASS = "theodolite"
"""Window class by which a desktop matches the window to our launcher."""
FIRST_SIZE = "1360,900"
FLAGS = (
    f"--class={CLASS}",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--disable-features=Translate",
)
_PROGRAMS = (
    "google-chrome-stable",
    "google-chrome",
    "chromium",
    "chromium-browser",
    "microsoft-edge-stable",
    "microsoft-edge",
    *(
        f"{folder}/{name}.app/Contents/MacOS/{name}"
        for folder in ("/Applications", "~/Applications")
        for name in ("Google Chrome", "Chromium", "Microsoft Edge")
    ),
    *(
        f"${{{folder}}}/{name}.exe"
        for folder in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        for name in (
            "Google/Chrome/Application/chrome",
            "Chromium/Application/chrome",
            "Microsoft/Edge/Application/msedge",
        )
    ),
)
"""Commands and files of browsers, on all systems; the first that is installed is used."""
_LOOK_EVERY = 0.5
_PATIENCE = 5.0
"""Seconds in which a browser may close its windows and save its profile."""


@dataclass(frozen=True)
class Browser:
    """A browser that can be started."""

    command: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its profiles are: a snap may not write into hidden folders of the home folder."""
        program = Path(self.command[0])
        if "snap" in program.parts or program.resolve().name == "snap":
            return Path.home() / "snap" / program.name / "common" / "theodolite"
        return platformdirs.user_state_path("theodolite", appauthor=False) / "window"


def find_browser() -> Browser:
    """The browser that THEODOLITE_BROWSER names, else the first that is installed."""
    if text := os.environ.get(VARIABLE):
        words = [text] if Path(text).is_file() else shlex.split(text)
        if words and (program := shutil.which(words[0])):
            return Browser((program, *words[1:]))
        raise UserError(
            f"{VARIABLE} is {text!r}, which is not a program here.",
            "Set it to the path of a browser like Chrome, or unset it.",
            code="no-file",
        )
    for name in _PROGRAMS:
        if program := shutil.which(os.path.expanduser(os.path.expandvars(name))):  # noqa: PTH111
            return Browser((program,))
    raise UserError(
        "Neither Chrome, Chromium nor Edge was found on this machine.",
        f"Install one of them, or name one like it by {VARIABLE}=/path/to/browser.",
        code="unsupported",
    )


def for_window() -> Browser:
    """The browser that will show a window."""
    browser = find_browser()
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    is_headless = any(word.startswith("--headless") for word in browser.command)
    if sys.platform.startswith("linux") and not (screen or is_headless):
        raise UserError(
            "There is no screen for a window: neither DISPLAY nor WAYLAND_DISPLAY is set.",
            "Start the app without --window and open its address in a browser elsewhere.",
            code="unsupported",
        )
    return browser


class Window:
    """An open window.

    Args:
        browser: to start.
        address: of the page.
        profile: the folder of its profile.
    """

    def __init__(self, browser: Browser, address: str, profile: Path) -> None:
        self._program, self._profile = Path(browser.command[0]).stem, f"--user-data-dir={profile}"
        self._log = profile.with_suffix(".log")
        size = () if profile.exists() else (f"--window-size={FIRST_SIZE}",)
        command = (*browser.command, f"--app={address}", self._profile, *FLAGS, *size)
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a browser that is installed here
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def wait(self) -> None:
        """Return when the window is closed."""
        if code := self._process.wait():
            text = self._log.read_text("utf-8", "replace").strip().splitlines()
            raise UserError(
                f"{self._program} ended with code {code}{f': {text[-1]}' if text else '.'}",
                "Start the app without --window, or name another browser by "
                f"{VARIABLE}=/path/to/browser.",
                code="failed",
            )
        while self._processes():  # the page was handed to a running browser with this profile
            time.sleep(_LOOK_EVERY)

    def close(self) -> None:
        """Close the window, if it is open."""
        processes = self._processes()
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        for process in psutil.wait_procs(processes, timeout=_PATIENCE)[1]:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()

    def _processes(self) -> list[psutil.Process]:
        """All processes with the profile, whoever started them."""
        running = psutil.process_iter(["cmdline"])
        return [one for one in running if self._profile in (one.info["cmdline"] or ())]


@contextlib.contextmanager
def open_window(browser: Browser, address: str, folder: Path | None = None) -> Iterator[Window]:
    """Show a page in a window, which is closed when the context exits."""
    folder = folder or browser.folder
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):  # a browser joins the windows of one profile
        with contextlib.suppress(Timeout), FileLock(folder / f"{number}.lock", timeout=0):
            # Chromium stores the size by host name, and does not find it for a name with dots.
            local = address.replace("//127.0.0.1:", "//localhost:", 1)
            window = Window(browser, local, folder / str(number))
            try:
                yield window
            finally:
                window.close()
            return


def stay(window: Window, workspace: Workspace, address: str) -> None:
    """Wait until the window is closed, and then until no run is alive."""
    window.wait()
    if runs := workspace.store.runs.list(LIVE):
        titles = formats.listed([f'"{run["title"]}"' for run in runs], most=2)
        text = (
            f"The window is closed, but {formats.plural(len(runs), 'run')} "
            f"{'is' if len(runs) == 1 else 'are'} still at work: {titles}. The app stays at "
            f"{address} until then. Ctrl+C ends it now; runs continue next time."
        )
        say(text)
        program = shutil.which("notify-send")
        if program and not sys.stderr.isatty():  # started from a menu, the app has no terminal
            command = [program, "--app-name=Theodolite", "--icon=theodolite", "Theodolite", text]
            subprocess.run(command, check=False)  # noqa: S603 - found on the PATH
    while workspace.store.runs.list(LIVE, limit=1):
        time.sleep(_LOOK_EVERY)
