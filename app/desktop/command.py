"""`theodolite --window` and `theodolite desktop`: the app in a window, and in the menu."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    done,
    plain_errors,
    say,
    verbs,
)
from theodolite.app.workspace import Workspace, default_data, default_store
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.desktop.window import Window

desktop = verbs("The app in the menu of a Linux desktop.")
_LOOK_EVERY = 1.0


@desktop.command()
@plain_errors
def install(
    store: StoreOption = None, data: DataOption = None, as_json: JsonOption = False
) -> None:
    """Put the app into the menu: a click opens it in a window of its own.

    theodolite desktop install --data ~/senteval

    The launcher starts this installation with this store and data, whatever a shell would have set.
    It and its icon lie in your own data folder (XDG_DATA_HOME); install again to change it.
    """
    from theodolite.app.desktop import launcher

    files = launcher.install(store or default_store(), data or default_data())
    done(
        {"files": list(map(str, files))},
        f"Theodolite is in the menu: {files[0]}. Take it away with `theodolite desktop remove`.",
        as_json,
    )


@desktop.command()
@plain_errors
def remove(as_json: JsonOption = False) -> None:
    """Take the app out of the menu again; the store stays.

    theodolite desktop remove --json
    """
    from theodolite.app.desktop import launcher

    files = launcher.remove()
    text = "It is out of the menu." if files else "It was not in the menu."
    done({"files": list(map(str, files))}, text, as_json)


def stay(window: Window, workspace: Workspace, address: str) -> None:
    """Wait until the window is closed, and then until no run is alive."""
    window.wait()
    runs = workspace.store.runs.list(LIVE)
    if not runs:
        return
    titles = formats.listed([f'"{run["title"]}"' for run in runs], most=2)
    are = "is" if len(runs) == 1 else "are"
    _notify(
        f"The window is closed, but {formats.plural(len(runs), 'run')} {are} not over: {titles}. "
        f"The app stays at {address} until then. Ctrl+C ends it now; runs continue next time."
    )
    while workspace.store.runs.list(LIVE, limit=1):
        time.sleep(_LOOK_EVERY)


def _notify(text: str) -> None:
    """Show a desktop notification too: started from a menu, the app has no terminal."""
    say(text)
    program = shutil.which("notify-send")
    if program and not sys.stderr.isatty():
        command = [program, "--app-name=Theodolite", "--icon=theodolite", "Theodolite", text]
        subprocess.run(command, check=False)  # noqa: S603 - found on the PATH
