"""What the form of the page *Train* is filled with: from the address, a preset, what is here."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.pages.train import form
from app.pages.train.form_parts import shown
from app.web import address

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.training.spec import TrainSpec

STARTER = "starter"
OWN = "own"
NONE = "none"
LAST = ("none: keep the last weights", NONE)
TRAINABLE = ("minilm", "hf", "dir")
SCORED = "pairs"
FITTING = {
    "sup": ("pairs", "labelled-pairs", "triplets"),
    "next-sentence": ("sentences",),
}
"""Objective -> kinds of data sets that hold what it learns from; the others take any."""
NAMES = (
    "objective", "base_kind", "known", *(name for name, _, _ in form.NEW), "base_spec", "source",
    "dataset", "file", "dev", *form.BY_NAME,
)  # fmt: skip
"""Every control of the form, in the order in which handlers are given their values."""


def load(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """Fill the form from the address: what it names, over its preset, over what is usual."""
    offered = _presets(workspace)
    named = bool(request.request and request.request.query_params)
    name = address.choice(request, "preset", [*offered, OWN], OWN if named else next(iter(offered)))
    values = form.usual() | of_preset(workspace, name)
    for other in ("objective", "base", "train", "dev", *form.BY_NAME):
        if address.every(request, other):
            given = address.first(request, other)
            flag = other in form.BY_NAME and form.BY_NAME[other].kind == "flag"
            values[other] = given == "true" if flag else given
    choices = [(preset.label, key) for key, preset in offered.items()]
    chosen = gr.update(choices=[*choices, ("My own settings", OWN)], value=name)
    return (chosen, about(workspace, name), *_filled(workspace, values), name)


def picked(workspace: Workspace, name: str) -> tuple[Any, ...]:
    """Fill the form with a preset; with my own settings it stays as it is."""
    if name == OWN:
        return (*(gr.skip() for _ in range(len(NAMES) + 1)), OWN)
    values = form.usual() | of_preset(workspace, name)
    return (about(workspace, name), *_filled(workspace, values), name)


def _filled(workspace: Workspace, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Updates of every control, in the order of NAMES."""
    known, sets, scored = bases(workspace), datasets(workspace), _scored(workspace)
    base, train = values.get("base") or known[0], values.get("train") or STARTER
    kind = "known" if base in known else "new" if base.startswith("new:") else "spec"
    here = train in [name for _, name in sets]
    dev = values.get("dev", _usual_dev(scored))
    known_base = gr.update(choices=known, value=base if kind == "known" else known[0])
    updates = {
        "objective": values.get("objective", "unsup"),
        "base_kind": kind,
        "known": known_base,
        **dict(zip([name for name, _, _ in form.NEW], form.sizes(base), strict=True)),
        "base_spec": base if kind == "spec" else "",
        "source": "here" if here else "file",
        "dataset": gr.update(choices=sets, value=train if here else STARTER),
        "file": "" if here else train,
        "dev": gr.update(choices=[*scored, LAST], value=dev if dev in scored else NONE),
        **{name: values[name] for name in form.BY_NAME},
    }
    return tuple(updates[name] for name in NAMES)


def bases(workspace: Workspace) -> list[str]:
    """Encoders that can be trained: models as they are, without steps; MiniLM is always there."""
    rows = workspace.store.encoders.list()
    names = [
        row["name"]
        for row in rows
        if row["info"].get("kind") in TRAINABLE and not set("|+?") & set(row["name"])
    ]
    return list(dict.fromkeys([*names, "minilm"]))


def datasets(workspace: Workspace) -> list[tuple[str, str]]:
    """(label, name) of what can be trained on, the starter set first."""
    listed = workspace.catalog.list()
    return [("Starter set", STARTER), *((i.name, i.name) for i in listed)]


def fitting(workspace: Workspace, values: Mapping[str, Any]) -> Any:
    """The data sets that fit the objective; what is chosen stays if it is one of them."""
    kinds = FITTING.get(values["objective"])
    listed = {info.name: info.kind for info in workspace.catalog.list()}
    offered = [
        pair
        for pair in datasets(workspace)
        if pair[1] == STARTER or kinds is None or listed[pair[1]] in kinds
    ]
    chosen = values["dataset"]
    here = [name for _, name in offered]
    return gr.update(choices=offered, value=chosen if chosen in here else STARTER)


def _scored(workspace: Workspace) -> list[str]:
    """Data sets whose pairs are graded: they can choose the best weights."""
    return [info.name for info in workspace.catalog.list() if info.kind == SCORED]


def _usual_dev(scored: list[str]) -> str:
    return next((name for name in ("STSBenchmark", "starter-pairs") if name in scored), NONE)


@functools.cache
def _machine() -> Any:
    """What this machine has, looked at once; torch is loaded only where there may be a GPU."""
    import psutil

    from engine.training.presets import Machine

    if sys.platform == "darwin" or shutil.which("nvidia-smi") or "torch" in sys.modules:
        return Machine.here()
    return Machine("cpu", psutil.virtual_memory().available)


def _presets(workspace: Workspace) -> dict[str, Any]:
    from engine.training.presets import presets

    return {preset.name: preset for preset in presets(workspace.catalog, _machine())}


def changes_of(workspace: Workspace, name: str) -> dict[str, Any]:
    """The fields of a TrainSpec that a preset sets."""
    return dict(_presets(workspace)[name].changes)


def of_preset(workspace: Workspace, name: str) -> dict[str, Any]:
    """What a preset says, as the controls show it."""
    return {
        key: shown(form.BY_NAME[key], value) if key in form.BY_NAME else value
        for key, value in (changes_of(workspace, name) if name != OWN else {}).items()
    }


def is_still(workspace: Workspace, preset: str, spec: TrainSpec, values: Mapping[str, Any]) -> bool:
    """Whether the form says what its preset says, in every field that applies."""
    if preset == OWN:
        return True
    said = form.usual() | of_preset(workspace, preset)
    asked = form.applying(values)
    return (spec.objective, spec.base, spec.train, spec.dev) == tuple(
        said[name] for name in ("objective", "base", "train", "dev")
    ) and all(values[name] == said[name] for name in form.BY_NAME if asked[name])


def about(workspace: Workspace, name: str) -> str:
    """A preset in a sentence; nothing of my own settings."""
    if name == OWN:
        return ""
    return f'<p class="t-small t-muted">{escape(_presets(workspace)[name].about)}</p>'
