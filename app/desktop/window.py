"""The app in a window of its own: an installed browser without toolbars, with a separate profile.

The browser remembers the size of the window in the profile.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs
import psutil
from filelock import FileLock, Timeout

from theodolite.app.desktop import browsers
from theodolite.app.desktop.browsers import Browser
from theodolite.engine.errors import UserError

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
_LOOK_EVERY = 0.5
_PATIENCE = 5.0
"""Seconds in which a browser may close its windows and save its profile."""


class Window:
    """An open window."""

    def __init__(self, browser: Browser, process: subprocess.Popen[bytes], profile: Path) -> None:
        self._browser = browser
        self._process = process
        self._profile = profile

    def wait(self) -> None:
        """Return when the window is closed."""
        code = self._process.wait()
        if code:
            text = _log(self._profile).read_text("utf-8", "replace").strip().splitlines()
            raise UserError(
                f"{self._browser.name} ended with code {code}{f': {text[-1]}' if text else '.'}",
                "Start the app without --window, or name another browser by "
                f"{browsers.VARIABLE}=/path/to/browser.",
                code="failed",
            )
        while self._processes():  # the page was handed to a running browser with this profile
            time.sleep(_LOOK_EVERY)

    def close(self) -> None:
        """Close the window, if it is open."""
        found = self._processes()
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.terminate()
        for process in psutil.wait_procs(found, timeout=_PATIENCE)[1]:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()

    def _processes(self) -> list[psutil.Process]:
        """All processes with the profile, whoever started them."""
        own = _with_profile(self._profile)
        return [
            process
            for process in psutil.process_iter(["cmdline"])
            if own in (process.info["cmdline"] or ())
        ]


def find_browser() -> Browser:
    """The browser that will show a window."""
    browser = browsers.get()
    screen = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    headless = any(word.startswith("--headless") for word in browser.command)
    if sys.platform.startswith("linux") and not (screen or headless):
        raise UserError(
            "There is no screen for a window: neither DISPLAY nor WAYLAND_DISPLAY is set.",
            "Start the app without --window and open its address in a browser elsewhere.",
            code="unsupported",
        )
    return browser


@contextlib.contextmanager
def opened(browser: Browser, address: str, folder: Path | None = None) -> Iterator[Window]:
    """Show a page in a window, which is closed when the context exits."""
    # Chromium stores the size by host name, and does not find it again for a name with dots.
    address = address.replace("//127.0.0.1:", "//localhost:", 1)
    with _free_profile(folder or _folder(browser)) as profile:
        size = () if profile.exists() else (f"--window-size={FIRST_SIZE}",)
        command = (*browser.command, f"--app={address}", _with_profile(profile), *FLAGS, *size)
        with _log(profile).open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - a browser that is installed here
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        window = Window(browser, process, profile)
        try:
            yield window
        finally:
            window.close()


@contextlib.contextmanager
def _free_profile(folder: Path) -> Iterator[Path]:
    """Lock the first profile without a window: a browser joins the windows of one profile."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in itertools.count(1):
        with contextlib.suppress(Timeout), FileLock(folder / f"{number}.lock", timeout=0):
            yield folder / str(number)
            return


def _folder(browser: Browser) -> Path:
    if browser.confined:
        return Path.home() / "snap" / Path(browser.command[0]).name / "common" / "theodolite"
    return platformdirs.user_state_path("theodolite", appauthor=False) / "window"


def _with_profile(profile: Path) -> str:
    return f"--user-data-dir={profile}"


def _log(profile: Path) -> Path:
    return profile.with_suffix(".log")
