"""Which evaluations other machines can do, and what they need for that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.fleet.needs import PACKAGES, Needs
from engine.encoders.spec import SOURCES, EncoderSpec, parse

if TYPE_CHECKING:
    from engine.datasets import Catalog

_FETCHED = ("hub:", "mteb:")


def stays(encoders: Sequence[str], tasks: Sequence[str], catalog: Catalog) -> str:
    """Why an evaluation is done at home, in words; empty where any machine can do it.

    A file of this machine is never opened elsewhere under its name, and an endpoint may be asked
    only by the machine where a person has allowed it.

    Raises:
        UserError: an encoder or a task that cannot be read.
    """
    for encoder in encoders:
        for source in (spec := parse(encoder)).sources:
            value_is = SOURCES[source.kind].value_is
            if value_is == "path" or source.option("words") not in (None, "wordllama"):
                return f"{encoder} is a file of this machine, so it is done here."
            if value_is == "address":
                return f"{encoder} may be asked from this machine only, so it is done here."
        for name in _fitted(spec):
            if why := _data_stays(name):
                return why
    for task in tasks:
        if why := _data_stays(_dataset(task, catalog)):
            return why
    return ""


def needs(encoder: str, task: str, catalog: Catalog) -> Needs:
    """What one encoder on one task needs of a machine.

    Raises:
        UserError: an encoder, a task or data that cannot be read here.
    """
    spec = parse(encoder)
    data = [catalog.load(name) for name in (_dataset(task, catalog), *_fitted(spec))]
    kinds = dict.fromkeys(
        "wordllama" if source.kind == "borep" else source.kind for source in spec.sources
    )
    return Needs(
        {dataset.name: dataset.hash for dataset in data},
        tuple(PACKAGES[kind] for kind in kinds if kind in PACKAGES),
    )


def _data_stays(name: str) -> str:
    if name.startswith("upload:"):
        return f"{name} was given to this machine only, so it is done here."
    if name.startswith(_FETCHED):
        return f"{name} is fetched, and not known by its contents before, so it is done here."
    return ""


def _dataset(task: str, catalog: Catalog) -> str:
    from engine import tasks

    return tasks.get(task, catalog).dataset


def _fitted(spec: EncoderSpec) -> list[str]:
    """Data sets that word weights and steps are fitted on, beside the task's own."""
    named = [source.option("data") for source in spec.sources] + [s.data for s in spec.steps]
    return [name for name in named if name and not name.startswith("@")]
