"""Find an installed Chromium-based browser: Chrome, Chromium or Edge.

`THEODOLITE_BROWSER` names another one, as a command with its options if it needs any.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from theodolite.engine.errors import UserError

VARIABLE = "THEODOLITE_BROWSER"

_COMMANDS = {
    "google-chrome-stable": "Chrome",
    "google-chrome": "Chrome",
    "chromium": "Chromium",
    "chromium-browser": "Chromium",
    "microsoft-edge-stable": "Edge",
    "microsoft-edge": "Edge",
}
"""Command on the PATH -> the browser's name; the first installed is used."""
_MAC = {"Google Chrome": "Chrome", "Chromium": "Chromium", "Microsoft Edge": "Edge"}
_WINDOWS = {
    "Google/Chrome/Application/chrome.exe": "Chrome",
    "Chromium/Application/chrome.exe": "Chromium",
    "Microsoft/Edge/Application/msedge.exe": "Edge",
}


@dataclass(frozen=True)
class Browser:
    """A browser that can be started."""

    name: str
    command: tuple[str, ...]

    @property
    def confined(self) -> bool:
        """Whether it is a snap, which may not write into hidden folders of the home folder."""
        file = Path(self.command[0])
        return "snap" in file.parts or file.resolve().name == "snap"


def find() -> Browser | None:
    """The browser that THEODOLITE_BROWSER names, else the first that is installed."""
    named = os.environ.get(VARIABLE)
    return _named(named) if named else next(_installed(), None)


def get() -> Browser:
    """The browser that `find` finds."""
    found = find()
    if found is None:
        raise UserError(
            "Neither Chrome, Chromium nor Edge was found on this machine.",
            f"Install one of them, or name one like it by {VARIABLE}=/path/to/browser.",
            code="unsupported",
        )
    return found


def _named(text: str) -> Browser:
    words = [text] if Path(text).is_file() else shlex.split(text)
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise UserError(
            f"{VARIABLE} is {text!r}, which is no program here.",
            "Set it to the path of a browser like Chrome, or unset it.",
            code="no-file",
        )
    return Browser(Path(program).stem, (program, *words[1:]))


def _installed() -> Iterator[Browser]:
    for command, name in _COMMANDS.items():
        program = shutil.which(command)
        if program:
            yield Browser(name, (program,))
    for folder, files in _folders():
        for file, name in files.items():
            if (folder / file).is_file():
                yield Browser(name, (str(folder / file),))


def _folders() -> Iterator[tuple[Path, dict[str, str]]]:
    """Folders of programs that are not on the PATH, each with the browsers' files in it."""
    system: str = sys.platform  # a plain string: types are checked for every system at once
    if system == "darwin":
        files = {f"{app}.app/Contents/MacOS/{app}": name for app, name in _MAC.items()}
        yield Path("/Applications"), files
        yield Path.home() / "Applications", files
    if system == "win32":
        for variable in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"):
            if folder := os.environ.get(variable):
                yield Path(folder), _WINDOWS
