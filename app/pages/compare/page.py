"""The page *Compare*: encoders side by side, significant differences, uncertainty of ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import gradio as gr

from theodolite.app.components.board import board
from theodolite.app.components.chart import chart
from theodolite.app.pages.compare import published, ranking_view, service, views
from theodolite.app.pages.compare.stability import KINDS
from theodolite.app.pages.compare.views import DIFFERENCES, FINDING, MAX_COMPARED, RANKS, STABLE
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders.service import STARTERS
from theodolite.app.report import answers
from theodolite.app.report.button import report_button
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, opening, poll
from theodolite.app.web.frozen import Frozen
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace

TITLE = "Compare"
PATH = "compare"
DESCRIPTION = (
    "For every task the difference to a baseline with its 95 % interval, and for every rank "
    "an interval. A difference that is not significant after correction is a tie, however "
    "large it looks."
)
VIEWS = {"Ranks": "ranks", "Stability": "stability"}
"""Further tabs of this page, shown below the finding one at a time."""
FROZEN = Frozen(controls=("drawn", "stability-by"))
OWN = ""
POLL_SECONDS = 2.0
SAVE = """(numbers) => {
  const { csv, download } = window.theodolite;
  if (numbers) download("theodolite-comparison.csv", csv(JSON.parse(numbers)));
  return "";
}"""
BARE = {"show_label": False, "container": False}
CONTROLS = (
    choices.CHIPS,
    Control("baseline", "Baseline", gr.Dropdown, choices=()),
    Control(
        "protocol",
        "Protocol",
        gr.Dropdown,
        OWN,
        options={"choices": [], "min_width": 200, "value": None},
    ),
    Control(
        "tasks",
        "Tasks",
        gr.CheckboxGroup,
        (),
        "None selected: every evaluated task.",
        (),
        key="task",
    ),
    Control(
        "published",
        "Published rows",
        gr.Dropdown,
        (),
        "From papers, not evaluated here: never part of a test.",
        (),
        {"multiselect": True},
    ),
    Control(
        "drawn", "What is resampled", gr.Radio, "within", choices=ranking_view.DRAWS, options=BARE
    ),
    Control(
        "stability",
        "What is changed",
        gr.Radio,
        "classifier",
        choices=[(label, kind) for kind, label in KINDS.items()],
        options=BARE | {"elem_id": "stability-by"},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder", "baseline")
        with parts.more():
            controls.render("protocol", "tasks", "published")
    notice = parts.notice()
    boxes, check = _parts(controls, visible=not workspace.read_only)
    seen = gr.State(None)  # edition of the results shown; None until the page is filled
    newer = gr.State(None)  # a newer edition
    numbers = _numbers(workspace, controls, notice)
    report_button(controls, notice, lambda v: answers.comparison(views.spec(workspace, v)))

    def filled(shown: views.Shown) -> dict[Any, Any]:
        many = {numbers: gr.update(visible=bool(shown["board"]))} if "board" in shown else {}
        return {boxes[part]: value for part, value in shown.items()} | many

    def redrawn(view: Callable[[Workspace, Values], views.Shown]) -> Callable[[Values], Answer]:
        return lambda values: filled(view(workspace, values))

    def rebase(values: Values) -> Answer:
        return {controls["baseline"]: _baselines(values)}

    def show(values: Values) -> Iterator[Answer]:
        yield from map(filled, views.below(workspace, values))

    def renew(values: Values, request: gr.Request) -> Iterator[Answer]:
        """Fill the page when it opens, and again when there are newer results."""
        known = {seen: workspace.store.results.edition()}
        if values.seen is None:
            loaded = _loaded(workspace, controls, request)
            yield known | {box: parts.left(box, value) for box, value in loaded.items()}
            filled_in = {name: loaded[box] for name, box in controls.items()}
            values = Values(
                **{n: v["value"] if isinstance(v, dict) else v for n, v in filled_in.items()}
            )
        else:
            tasks = gr.update(choices=service.evaluated(workspace)[0])
            yield known | {controls["tasks"]: tasks}
        yield from show(values)

    def refresh(known: Any) -> Answer:
        edition = workspace.store.results.edition()
        return None if tuple(known or ()) == edition else {newer: edition}

    _null_checks(workspace, controls, check, boxes[views.NULL], notice)
    shown = [*boxes.values(), numbers]
    every = (show, controls, shown, notice)
    # One event for both: with two, the older answer could arrive after the newer one.
    opened = on(
        [opening(), newer.change],
        renew,
        {**controls, "seen": seen},
        [seen, *controls.values(), *shown],
        notice,
        **ALWAYS_LAST,
    )
    if not workspace.read_only:
        poll(POLL_SECONDS, opened, refresh, [seen], [newer])
    chosen = on(
        controls["encoder"].input, rebase, controls, [controls["baseline"]], notice, **ALWAYS_LAST
    )
    on(chosen.then, *every, **ALWAYS_LAST)
    on(
        [controls[name].input for name in ("baseline", "protocol", "tasks", "published")],
        *every,
        **ALWAYS_LAST,
    )
    for name, view, filled_by in (
        ("drawn", views.ranks, RANKS),
        ("stability", views.stable, STABLE),
    ):
        places = [boxes[part] for part in filled_by]
        on(controls[name].input, redrawn(view), controls, places, notice, **ALWAYS_LAST)
    controls.keep()


def _baselines(values: Values) -> Any:
    """Offer the chosen encoders as baselines; the current one stays if it is among them."""
    chosen, base = values.encoder, values.baseline
    kept = base if base in chosen else next(iter(chosen), None)
    return gr.update(choices=chosen, value=kept)


def _parts(controls: Controls, *, visible: bool) -> tuple[dict[str, Any], gr.Button]:
    """Lay out the parts below the controls: the finding, and a column for each tab.

    The button, for all but visitors, starts the null check.
    """

    def part(name: str) -> Any:
        if name == "board":
            return board(elem_id=name)
        if name in views.CHARTS:
            return chart(elem_id=name, elem_classes=["t-answer"] if name == "forest" else [])
        return parts.static("", elem_id=name)

    boxes = {name: part(name) for name in FINDING}
    with gr.Column(elem_classes=["t-view", "t-differences"]):
        boxes |= {name: part(name) for name in DIFFERENCES}
        with gr.Column(visible=visible):
            parts.section("Null check", views.NULL_LEAD)
            check = gr.Button("Check the verdicts", size="md", elem_id="check-verdicts")
            boxes[views.NULL] = part(views.NULL)
    with gr.Column(elem_classes=["t-view", "t-ranks"]):
        parts.section("Confidence intervals of the ranks", ranking_view.RANKS_LEAD)
        controls.render("drawn")
        boxes |= {name: part(name) for name in RANKS}
    with gr.Column(elem_classes=["t-view", "t-stability"]):
        parts.section("Ranking stability", ranking_view.STABILITY_LEAD)
        controls.render("stability")
        boxes |= {name: part(name) for name in STABLE}
    return boxes, check


def _null_checks(
    workspace: Workspace, controls: Controls, button: Any, box: Any, notice: Any
) -> None:
    def check(values: Values) -> Iterator[Answer]:
        for shown in views.null_checked(workspace, values):
            yield {box: shown[views.NULL]}

    on(button.click, check, controls, [box], notice, **HIDE_PROGRESS)


def _numbers(workspace: Workspace, controls: Controls, notice: Any) -> Any:
    """A button for all numbers of a large table, which are fetched when it is pressed."""
    button = gr.Button("Download all numbers as CSV", size="md", visible=False, elem_id="numbers")
    fetched = gr.Textbox(visible="hidden", label="Numbers")

    def fetch(values: Values) -> Answer:
        return {fetched: views.numbers(workspace, values)}

    done = on(button.click, fetch, controls, [fetched], notice, **HIDE_PROGRESS)
    done.then(None, fetched, fetched, js=SAVE)
    return button


def _scored(workspace: Workspace) -> list[str]:
    """The encoders that the page starts with: what ships first, as far as there are scores."""
    known = {row["encoder"] for row in workspace.store.results.table() if row["error"] is None}
    every = dict.fromkeys([*STARTERS, *choices.names(workspace)])
    return [name for name in every if name in known][: len(STARTERS)] or list(STARTERS)


def _loaded(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """The values of the controls from the address."""
    values = controls.from_address(request)
    chosen = choices.from_address(workspace, request, _scored(workspace), MAX_COMPARED)
    known, under = service.evaluated(workspace)
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
        controls["tasks"]: gr.update(choices=known, value=[t for t in values.tasks if t in known]),
        controls["published"]: gr.update(
            choices=rows, value=[key for key in values.published if key in offered]
        ),
        controls["drawn"]: values.drawn,
        controls["stability"]: values.stability,
    }
