"""Imports of the package `mteb`, and the errors when it is missing or of an unknown version."""

from collections.abc import Collection
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from theodolite.engine.errors import UserError, first_line
from theodolite.engine.protocols.package import version

TESTED = "2.26.24"
"""The version that this release was tested with."""
INSTALL = "Install it: pip install 'theodolite[mteb]'."


def check_installed() -> None:
    """Check that mteb is installed, in a version known here, without importing it."""
    here = version()
    if here is None:
        raise UserError(
            "This needs the package mteb, which is not installed.", INSTALL, code="unsupported"
        )
    if here.partition(".")[0] != TESTED.partition(".")[0]:
        raise UserError(
            f"mteb {here} is installed; this release knows mteb {TESTED} and others of its line.",
            INSTALL,
            code="unsupported",
        )


def package() -> ModuleType:
    """Import mteb, which takes seconds."""
    check_installed()
    try:
        return import_module("mteb")
    except ImportError as error:
        raise UserError(
            f"mteb {version()} is installed but cannot be imported: {first_line(error)}.",
            INSTALL,
            code="unsupported",
        ) from error


def lazy_import(path: str) -> Any:
    """Return an attribute of mteb by its dotted name, such as `abstasks.AbsTaskSTS`."""
    package()
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(f"mteb.{module}" if module else "mteb"), name)
    except (ImportError, AttributeError) as error:
        raise UserError(
            f"mteb {version()} has no {path}, which Theodolite asks it for.",
            f"This release was tested with mteb {TESTED}: pip install mteb=={TESTED}.",
            code="unsupported",
        ) from error


def unlisted(models: Collection[str]) -> set[str]:
    """Return the models whose names are nowhere in the source of mteb's list; imports nothing."""
    spec = find_spec("mteb")
    folders = (spec and spec.submodule_search_locations) or []
    files = [file for folder in folders for file in Path(folder, "models").rglob("*.py")]
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    return {model for model in models if files and f'"{model}"' not in source}


def caution() -> list[str]:
    """Return a note if the installed version is not the one this release was tested with."""
    here = version()
    return (
        []
        if here == TESTED
        else [f"Scored by mteb {here}; this release of Theodolite was tested with {TESTED}."]
    )
