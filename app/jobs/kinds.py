"""The kinds of jobs and where each is defined. Modules are imported when they are needed."""

from collections.abc import Mapping
from typing import Any

from theodolite.app.jobs.job import Job, Spec
from theodolite.app.pages import declared, load
from theodolite.engine.errors import UserError

KINDS = declared("JOBS")


def kind_of(name: str, kinds: Mapping[str, str] = KINDS) -> type[Job]:
    """The class of the jobs of a kind."""
    if name not in kinds:
        raise UserError(
            f"There is no kind of job {name!r}.",
            "Update Theodolite: a newer version may know it.",
            code="unknown",
        )
    kind: type[Job] = load(kinds[name])
    return kind


def spec_of(run: Mapping[str, Any], kinds: Mapping[str, str] = KINDS) -> Spec:
    """The spec of a run, whose version must be that of its kind.

    Args:
        run: its row in the store.
        kinds: name of each kind -> its class, as `module:name`.
    """
    spec: Spec = run["spec"]
    version, current = spec.get("version", 1), kind_of(run["kind"], kinds).version
    if version != current:
        raise UserError(
            f"The spec has version {version} of the kind {run['kind']}; this Theodolite reads"
            f" version {current}.",
            "Update Theodolite, or start the work again.",
            code="unsupported",
        )
    return spec


def job_of(run: Mapping[str, Any], kinds: Mapping[str, str] = KINDS) -> Job:
    """The job of a run."""
    kind, spec = kind_of(run["kind"], kinds), spec_of(run, kinds)
    try:
        return kind.from_spec(spec)
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The spec cannot be read: {error}.", code="damaged") from error
