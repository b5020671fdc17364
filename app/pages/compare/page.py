"""The page *Compare*: encoders side by side, which differences are real, what a rank is worth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.chart import chart
from app.pages.compare import published, ranking_view, service, views
from app.pages.compare.stability import KINDS
from app.pages.compare.views import MOST_COMPARED, PARTS, RANKS, STABLE
from app.pages.encoders import choices
from app.web import address, parts
from app.web.controls import Answer, Control, Controls, Values, on, on_load
from app.web.parts import ALWAYS_LAST

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Compare"
PATH = "compare"
DESCRIPTION = (
    "Every task with the difference to a baseline and its 95 % interval, and every rank with its "
    "own. A difference that does not survive all the tests is a tie, however large it looks."
)
OWN = ""
BARE = {"show_label": False, "container": False}
CONTROLS = (
    choices.ENCODERS,
    Control("baseline", "Baseline", gr.Dropdown, choices=(), options={"min_width": 200}),
    Control("protocol", "Protocol", gr.Dropdown, OWN, options={"choices": [], "min_width": 200,
                                                              "value": None}),
    Control("tasks", "Tasks", gr.CheckboxGroup, (), "None ticked: every task that was measured.",
            (), key="task"),
    Control("published", "Published rows beside them", gr.Dropdown, (),
            "Printed in papers, not measured here: never part of a test.", (),
            {"multiselect": True}),
    Control("drawn", "What is resampled", gr.Radio, "within", choices=ranking_view.DRAWS,
            options=BARE),
    Control("stability", "What is changed", gr.Radio, "classifier",
            choices=[(label, kind) for kind, label in KINDS.items()],
            options=BARE | {"elem_id": "stability-by"}),
)  # fmt: skip


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    controls = Controls(*CONTROLS)
    with gr.Row():
        controls.render("encoder", scale=3, show_select_all=True)
        controls.render("baseline", "protocol")
    with gr.Accordion("Tasks and published rows", open=False, elem_id="more"):
        controls.render("tasks", "published")
    notice = parts.notice()
    boxes = _parts(controls)

    def filled(shown: views.Shown) -> dict[Any, Any]:
        return {boxes[part]: value for part, value in shown.items()}

    def load(request: gr.Request) -> Answer:
        return _loaded(workspace, controls, request)

    def rebase(asked: Values) -> Answer:
        chosen, base = asked.encoder, asked.baseline
        kept = base if base in chosen else next(iter(chosen), None)
        return {controls["baseline"]: gr.update(choices=chosen, value=kept)}

    def show(asked: Values) -> Iterator[Answer]:
        for shown in views.below(workspace, asked):
            yield filled(shown)

    def redraw(asked: Values) -> Answer:
        return filled(views.ranks(workspace, asked))

    def restage(asked: Values) -> Answer:
        return filled(views.stable(workspace, asked))

    every = (show, controls, list(boxes.values()), notice)
    opened = on_load(load, controls.values(), notice)
    on(opened.then, *every, **ALWAYS_LAST)
    chosen = on(controls["encoder"].input, rebase, controls, [controls["baseline"]], notice,
                **ALWAYS_LAST)  # fmt: skip
    on(chosen.then, *every, **ALWAYS_LAST)
    on([controls[name].input for name in ("baseline", "protocol", "tasks", "published")], *every,
       **ALWAYS_LAST)  # fmt: skip
    on(controls["drawn"].input, redraw, controls, [boxes[part] for part in RANKS], notice,
       **ALWAYS_LAST)  # fmt: skip
    on(controls["stability"].input, restage, controls, [boxes[part] for part in STABLE], notice,
       **ALWAYS_LAST)  # fmt: skip
    controls.keep()


def _parts(controls: Controls) -> dict[str, Any]:
    """Lay out what is below the controls, part by part."""

    def part(name: str) -> Any:
        return chart(elem_id=name) if name in views.CHARTS else parts.static("", elem_id=name)

    boxes = {name: part(name) for name in PARTS if name not in (*RANKS, *STABLE)}
    with gr.Column(elem_id="below"):  # hidden by css while there is nothing to say
        parts.section("Confidence intervals of the ranks", ranking_view.RANKS_LEAD)
        controls.render("drawn")
        boxes |= {name: part(name) for name in RANKS}
        parts.section("Ranking stability", ranking_view.STABILITY_LEAD)
        controls.render("stability")
        boxes |= {name: part(name) for name in STABLE}
    return boxes


def _loaded(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """The controls as the address has them."""
    asked = controls.asked(request)
    chosen = choices.asked(workspace, request, most=MOST_COMPARED)
    known, under = service.measured(workspace)
    protocols = [("Each task's own", OWN), *((name, name) for name in under)]
    offered = published.references()
    rows = [(reference.label, key) for key, reference in offered.items()]
    return {
        controls["encoder"]: choices.filled(workspace, chosen),
        controls["baseline"]: gr.update(
            choices=chosen,
            value=address.choice(request, "baseline", chosen, chosen[0] if chosen else ""),
        ),
        controls["protocol"]: gr.update(
            choices=protocols, value=address.choice(request, "protocol", under, OWN)
        ),
        controls["tasks"]: gr.update(choices=known, value=[t for t in asked.tasks if t in known]),
        controls["published"]: gr.update(
            choices=rows, value=[key for key in asked.published if key in offered]
        ),
        controls["drawn"]: asked.drawn,
        controls["stability"]: asked.stability,
    }
