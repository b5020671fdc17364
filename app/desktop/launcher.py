"""`theodolite desktop`: the menu entry on a Linux desktop, following freedesktop.org.

The launcher and its icons lie in the user's own data folder (XDG_DATA_HOME); no system files are
changed.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import platformdirs

from theodolite.app.desktop.window import CLASS, VARIABLE, find_browser
from theodolite.app.terminal import DataOption, JsonOption, StoreOption, done, plain_errors, verbs
from theodolite.app.web.routes import ICON_SIZES
from theodolite.app.web.theme import STATIC
from theodolite.app.workspace import default_data, default_store
from theodolite.engine.errors import UserError

NAME = "theodolite"

desktop = verbs("The app in the menu of a Linux desktop.")


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
    files = _files()
    find_browser()
    text = entry(store or default_store(), data or default_data())
    for file, icon in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        if icon is None:
            file.write_text(text, "utf-8")
        else:
            shutil.copyfile(icon, file)
    launcher = next(iter(files))
    done(
        {"files": list(map(str, files))},
        f"Theodolite is in the menu: {launcher}. Remove it with `theodolite desktop remove`.",
        as_json,
    )


@desktop.command()
@plain_errors
def remove(as_json: JsonOption = False) -> None:
    """Take the app out of the menu again; the store stays.

    theodolite desktop remove --json
    """
    files = [file for file in _files() if file.exists()]
    for file in files:
        file.unlink()
    text = "It was removed from the menu." if files else "It was not in the menu."
    done({"files": list(map(str, files))}, text, as_json)


def entry(store: Path, data: Path | None) -> str:
    """The text of a launcher that opens the app; a menu has no variables of a shell."""
    program = Path(sys.executable).parent / "theodolite"
    if not program.exists():
        raise UserError(
            f"There is no program {str(program)!r} that a menu could start.",
            "Install the package into this Python: pip install theodolite.",
            code="no-file",
        )
    browser = os.environ.get(VARIABLE)
    command = [
        *(["env", f"{VARIABLE}={browser}"] if browser else []),
        *(str(program), "--window", "--store", str(store.expanduser().absolute())),
        *(["--data", str(data.expanduser().absolute())] if data else []),
    ]
    # An unescaped `%` would begin a field code.
    words = [re.sub(r'(["`$\\])', r"\\\1", word).replace("%", "%%") for word in command]
    lines = {
        "Type": "Application",
        "Version": "1.1",
        "Name": "Theodolite",
        "GenericName": "Workbench for sentence embeddings",
        "Comment": "Evaluate, compare, search and train sentence encoders",
        "Exec": " ".join(f'"{word}"' for word in words),
        "TryExec": str(program),  # the entry disappears when the environment is deleted
        "Icon": NAME,
        "Categories": "Science;ArtificialIntelligence;DataVisualization;",
        "Keywords": "embeddings;encoders;sentences;",
        "StartupWMClass": CLASS,
    }
    written = (f"{key}={value.replace(chr(92), chr(92) * 2)}" for key, value in lines.items())
    return "\n".join(["[Desktop Entry]", *written, ""])


def _files() -> dict[Path, Path | None]:
    """The files of the menu entry: the launcher, then each icon with the file to copy."""
    if not sys.platform.startswith("linux"):
        raise UserError(
            "A launcher can be added to the menu on Linux only.",
            "Here, open the app in Chrome or Edge and install it from there, "
            "or start it with theodolite --window.",
            code="unsupported",
        )
    base = platformdirs.user_data_path()
    icons = base / "icons" / "hicolor"
    return {
        base / "applications" / f"{NAME}.desktop": None,
        icons / "scalable" / "apps" / f"{NAME}.svg": STATIC / "mark.svg",
        **{
            icons / f"{size}x{size}" / "apps" / f"{NAME}.png": STATIC / f"icon-{size}.png"
            for size in ICON_SIZES
        },
    }
