"""The menu entry on a Linux desktop: a launcher and its icon, following freedesktop.org.

They are stored in the user's own data folder (XDG_DATA_HOME); no system files are changed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import platformdirs

from theodolite.app.desktop import browsers
from theodolite.app.desktop.window import CLASS
from theodolite.app.web.routes import ICON_SIZES
from theodolite.app.web.theme import STATIC
from theodolite.engine.errors import UserError

NAME = "theodolite"


def install(store: Path, data: Path | None) -> list[Path]:
    """Put the launcher into the menu, replacing an earlier one.

    Args:
        store: store folder that the app will open; a menu has no variables of a shell.
        data: folder with evaluation data, if any.

    Returns:
        The files that were written, the launcher first.
    """
    _check_system()
    browsers.get()
    text = entry(_command(store, data))
    launcher, *icons = _files()
    for source, icon in zip(_icons(), icons, strict=True):
        icon.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, icon)
    launcher.parent.mkdir(parents=True, exist_ok=True)
    launcher.write_text(text, "utf-8")
    return [launcher, *icons]


def remove() -> list[Path]:
    """Remove the launcher and its icons.

    Returns:
        The files that were removed.
    """
    _check_system()
    found = [file for file in _files() if file.exists()]
    for file in found:
        file.unlink()
    return found


def entry(command: Sequence[str]) -> str:
    """The text of a launcher that starts a command."""
    program = next(word for word in command if Path(word).is_absolute())
    lines = {
        "Type": "Application",
        "Version": "1.1",
        "Name": "Theodolite",
        "GenericName": "Workbench for sentence embeddings",
        "Comment": "Evaluate, compare, search and train sentence encoders",
        "Exec": " ".join(map(_quoted, command)),
        "TryExec": program,  # the entry disappears when the environment is deleted
        "Icon": NAME,
        "Categories": "Science;ArtificialIntelligence;DataVisualization;",
        "Keywords": "embeddings;encoders;sentences;",
        "StartupWMClass": CLASS,
    }
    written = (f"{key}={value.replace(chr(92), chr(92) * 2)}" for key, value in lines.items())
    return "\n".join(["[Desktop Entry]", *written, ""])


def _quoted(word: str) -> str:
    """Quote a word of `Exec`; an unescaped `%` would begin a field code."""
    escaped = re.sub(r'(["`$\\])', r"\\\1", word).replace("%", "%%")
    return f'"{escaped}"'


def _command(store: Path, data: Path | None) -> list[str]:
    program = Path(sys.executable).parent / "theodolite"
    if not program.exists():
        raise UserError(
            f"There is no program {str(program)!r} that a menu could start.",
            "Install the package into this Python: pip install theodolite.",
            code="no-file",
        )
    named = os.environ.get(browsers.VARIABLE)
    return [
        *(["env", f"{browsers.VARIABLE}={named}"] if named else []),
        *(str(program), "--window", "--store", str(store.expanduser().absolute())),
        *(["--data", str(data.expanduser().absolute())] if data else []),
    ]


def _files() -> list[Path]:
    """Paths of the launcher and the icons, these in the order of `_icons`."""
    base = platformdirs.user_data_path()
    icons = base / "icons" / "hicolor"
    return [
        base / "applications" / f"{NAME}.desktop",
        icons / "scalable" / "apps" / f"{NAME}.svg",
        *(icons / f"{size}x{size}" / "apps" / f"{NAME}.png" for size in ICON_SIZES),
    ]


def _icons() -> list[Path]:
    return [STATIC / "mark.svg", *(STATIC / f"icon-{size}.png" for size in ICON_SIZES)]


def _check_system() -> None:
    if not sys.platform.startswith("linux"):
        raise UserError(
            "A launcher in the menu can be made on Linux only.",
            "Here, open the app in Chrome or Edge and install it from there, "
            "or start it with theodolite --window.",
            code="unsupported",
        )
