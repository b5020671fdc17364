"""The page *Leaks*: which texts of the tasks were in an encoder's training data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages.board import leaks, leaks_views, trained
from theodolite.app.pages.board.leaks import LeakJob
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Control, Controls, Values

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Leaks"
PATH = "leaks"
DESCRIPTION = (
    "Which texts of the tasks were in an encoder's training data, as far as it is known and "
    "available here. A score on texts that were seen says little about unseen ones."
)
_SEVERAL: dict[str, Any] = {"multiselect": True, "choices": [], "elem_classes": ["t-wide"]}
CONTROLS = (
    choices.ENCODER,
    Control(
        "trained_on",
        "Trained on",
        gr.Dropdown,
        (),
        "Empty: those its files or MTEB name.",
        (),
        {"multiselect": True, "choices": []},
        key="in",
    ),
    Control(
        "tasks",
        "Tasks",
        gr.Dropdown,
        (),
        "Empty: those it was evaluated on, or all.",
        (),
        _SEVERAL,
        key="task",
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "trained_on")
        with parts.more():
            controls.render("tasks")
    notice = parts.notice()
    shown = {"headline": parts.static("", elem_id="headline", elem_classes=["t-answer"])}
    shown["look"] = gr.Button("Look", variant="primary", visible=False, elem_id="look")
    panel = RunPanel(workspace)
    shown["table"] = parts.static("", elem_id="leaks")
    shown["examples"] = parts.static("", elem_id="examples")

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        if not values.encoder:
            yield {"headline": choices.nothing()}
            return
        first = f"Looking up what {values.encoder} was trained on"
        yield from background_call.changes(
            lambda say: _shown(workspace, values), first, session, "headline"
        )
        # Importing mteb takes seconds, once, and seldom knows more.
        for _, more in background_call.followed(
            lambda say: [trained.look_up(workspace, [values.encoder])], first, session
        ):
            if more and more[0]:
                yield _shown(workspace, values)

    panel.connect(
        controls,
        shown,
        shown["headline"],
        shown["look"],
        notice,
        load=partial(_loaded, workspace),
        show=show,
        make=lambda values: leaks.run_look(workspace, LeakJob.of(*_chosen(workspace, values))),
    )


def _chosen(workspace: Workspace, values: Values) -> tuple[list[str], list[str]]:
    """The chosen tasks and training sets, or the default ones."""
    there = leaks.here(workspace, leaks.known(workspace, values.encoder))
    usual = list(dict.fromkeys(name for those in there.values() for name in those))
    return (
        list(values.tasks) or leaks.tasks(workspace, values.encoder),
        list(values.trained_on) or usual,
    )


def _shown(workspace: Workspace, values: Values) -> dict[str, Any]:
    names = leaks.known(workspace, values.encoder)
    summary = leaks.summary(values.encoder, names, leaks.here(workspace, names))
    tasks, sets = _chosen(workspace, values)
    example = [] if values.tasks or values.trained_on else leaks.example(workspace, values.encoder)
    shown = {
        "headline": leaks_views.finding(example, values.encoder, summary, shipped=True),
        "look": gr.update(visible=False),
        "table": leaks_views.table(example),
        "examples": "",
    }
    if not tasks or not sets:
        hint = parts.next_step(
            workspace.read_only,
            "see on the Board which tasks' data it was trained on",
            "Choose its training data above.",
        )
        empty = parts.empty("None of its training data is available here", f"{summary} {hint}")
        return shown if example else shown | {"headline": empty}
    found = leaks.found(workspace, LeakJob.of(tasks, sets))
    left = sum(leak is None for leak in found.values())
    there = leaks.ordered(found.values())
    go = gr.update(
        visible=bool(left) and not workspace.read_only,
        value=(
            f"Search for {len(tasks)} {'task' if len(tasks) == 1 else 'tasks'} in {len(sets)} "
            f"training {'set' if len(sets) == 1 else 'sets'}"
        ),
    )
    if not there:
        empty = parts.empty("Not checked for leaks yet", summary)
        return shown | {"look": go} | ({} if example else {"headline": empty})
    return {
        "headline": leaks_views.finding(there, values.encoder, summary),
        "look": go,
        "table": leaks_views.table(there),
        "examples": leaks_views.examples(there),
    }


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """Values of the controls from the address."""
    sets = [info.name for info in workspace.catalog.list()]
    offered = leaks.tasks(workspace)
    return {
        "encoder": choices.one(workspace, choices.first(workspace, values.encoder)),
        "trained_on": gr.update(
            choices=sets, value=[name for name in values.trained_on if name in sets]
        ),
        "tasks": gr.update(
            choices=offered, value=[name for name in values.tasks if name in offered]
        ),
    }
