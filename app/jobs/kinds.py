"""The kinds of jobs and where each is defined. Modules are imported when they are needed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from theodolite.app.pages import FOLDERS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.jobs.job import Job, Spec

KINDS: dict[str, str] = {
    kind: f"theodolite.app.pages.{folder}.{where}"
    for folder in FOLDERS
    for kind, where in getattr(import_module(f"theodolite.app.pages.{folder}"), "JOBS", {}).items()
}


def kind_of(name: str, kinds: Mapping[str, str] = KINDS) -> type[Job]:
    """The class of the jobs of a kind."""
    if name not in kinds:
        raise UserError(f"No work is called {name!r}.", "A newer Theodolite may know it.")
    module, _, attribute = kinds[name].partition(":")
    found: type[Job] = getattr(import_module(module), attribute)
    return found


def spec_of(run: Mapping[str, Any], kinds: Mapping[str, str] = KINDS) -> Spec:
    """The spec of a run in the current version, whichever version of Theodolite wrote it.

    Args:
        run: its row in the store.
        kinds: name of each kind -> its class, as `module:name`.
    """
    kind = kind_of(run["kind"], kinds)
    spec: Spec = run["spec"]
    version = spec.get("version", 1)
    if version > kind.version:
        raise UserError(
            f"This was asked in version {version} of its kind; up to {kind.version} can be read.",
            "Update Theodolite, or ask for it again.",
        )
    for number in range(version, kind.version):
        spec = {**kind.upgrades[number](spec), "version": number + 1}
    return spec


def job_of(run: Mapping[str, Any], kinds: Mapping[str, str] = KINDS) -> Job:
    """The job of a run."""
    kind, spec = kind_of(run["kind"], kinds), spec_of(run, kinds)
    try:
        return kind.from_spec(spec)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The spec cannot be read: {error}.") from error
