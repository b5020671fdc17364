"""The tab *Fairness* of Compare: what makes a comparison unfair, in words, with the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.actions import actions, button
from theodolite.app.components.chart import chart
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.fair import service
from theodolite.app.pages.fair.points import CLASSIFIERS, PROJECTIONS, Point
from theodolite.app.pages.fair.service import Advice
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_open
from theodolite.app.web.events import PageEvent
from theodolite.app.web.frozen import Frozen
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace

TITLE = "Fairness"
PATH = "fair-play"
FROZEN = Frozen()
DESCRIPTION = (
    "Seven ways in which comparisons of sentence encoders mislead, checked on yours. After "
    "Eger, Rücklé and Gurevych, Pitfalls in the Evaluation of Sentence Embeddings (2019)."
)
CHARTS = {
    "size": 2,
    "normalisation": 1,
    "classifier": 2,
    "similarity": 1,
    "baselines": 1,
    "transfer-probing": 1,
    "seeds": 1,
}
"""Point -> most charts of its evidence."""
CONTROLS = (
    choices.CHIPS,
    Control(
        "tasks",
        "Tasks",
        gr.CheckboxGroup,
        (),
        "None selected: evaluated tasks, and the usual suites whose data is available.",
        (),
        key="task",
    ),
    Control(
        "projection",
        "Reduced to one size by",
        gr.Radio,
        service.PROJECTION,
        choices=[(label, name) for name, label in PROJECTIONS.items()],
    ),
    Control("curve", "Task for the curve", gr.Dropdown, choices=(), options={"min_width": 220}),
    Control(
        "classifier",
        "Classifier",
        gr.Radio,
        service.CLASSIFIER,
        choices=[(label, name) for name, label in CLASSIFIERS.items()],
        options={"elem_id": "classifier-of-points"},
    ),
)
SWITCHES = {"size": ("projection", "curve"), "transfer-probing": ("classifier",)}
"""Point -> the controls shown with its evidence."""
TAGS = {"fine": "good", "look": "warn", "missing": ""}


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("encoder")
        with parts.more():
            controls.render("tasks")
    notice = parts.notice()
    summary = parts.static("", elem_id="advice")
    panel = RunPanel(workspace)
    cards, charts = _points(controls)
    boxes = list(controls.values())
    run = controls.add("run", panel.run)
    pictures = [box for room in charts.values() for box in room]

    def load(request: gr.Request) -> Answer:
        return {**_loaded(workspace, controls, request), run: address.first(request, "run")}

    def show(values: Values) -> Iterator[Answer]:
        """Yield the text first, then the charts of the evidence."""
        if not values.encoder:
            nothing = parts.empty(
                "No encoder chosen",
                "Choose the encoders to compare.",
                ("Encoders", address.link("encoders")),
            )
            yield {summary: nothing} | dict.fromkeys(cards.values(), "") | dict.fromkeys(pictures)
            return
        advice = _advice(workspace, values)
        may = not workspace.read_only
        yield {
            summary: _summary(advice),
            **{cards[p.key]: _card(i, p, not may) for i, p in enumerate(advice.points, 1)},
        }
        yield _pictures(advice, charts)

    def act(values: Values, event: PageEvent) -> Answer:
        if event.act == "add":
            name = encoders.add(workspace, event.id)["name"]
            ticked = list(dict.fromkeys([*(values.encoder or []), name]))
            return {controls["encoder"]: choices.filled(workspace, ticked)}
        return {run: service.evaluate(workspace, _advice(workspace, values), event.id)}

    every = (show, controls, [summary, *cards.values(), *pictures], notice)
    on_open(load, lambda values, _: show(values), controls, every[2], notice)
    on([*(box.input for box in boxes), panel.moved.change], *every, **ALWAYS_LAST)
    controls.keep()
    for card in () if workspace.read_only else cards.values():
        done = on(
            card.act,
            act,
            controls,
            [controls["encoder"], run],
            notice,
            scroll_to_output=True,
            **HIDE_PROGRESS,
        )
        on(done.then, *every, **ALWAYS_LAST)


def _points(controls: Controls) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """A card for each point, and the charts of its evidence.

    The fold is our own `details`, opened by CSS alone (`advice.css`): Gradio's accordion takes
    its content off the page when closed, and charts filled meanwhile lose their script.
    """
    cards, charts = {}, {}
    for key, count in CHARTS.items():
        with gr.Column(elem_classes=["t-point", "t-answer"], elem_id=key):
            cards[key] = actions()
            about = "Evidence and settings" if key in SWITCHES else "The evidence"
            parts.static(f'<details class="t-evidence"><summary>{about}</summary></details>')
            with gr.Column(elem_classes=["t-fold"]):
                if key in SWITCHES:
                    with gr.Row():
                        controls.render(*SWITCHES[key])
                charts[key] = [chart() for _ in range(count)]
    return cards, charts


def _loaded(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """The values of the controls from the address."""
    most = service.MAX_ENCODERS
    chosen = choices.from_address(workspace, request, choices.names(workspace)[:most], most)
    if not chosen:
        return {}
    values = controls.from_address(request)
    read = [name for name in chosen if choices.read(name)]
    found = service.advise(workspace, read, curve=values.curve or "")
    tasks = list(found.tasks)
    wanted = [task for task in values.tasks if task in found.tasks]
    return {
        controls["encoder"]: choices.filled(workspace, chosen),
        controls["tasks"]: gr.update(choices=tasks, value=wanted),
        controls["projection"]: values.projection,
        controls["curve"]: gr.update(choices=tasks, value=found.curve or None),
        controls["classifier"]: values.classifier,
    }


def _advice(workspace: Workspace, values: Values) -> Advice:
    return service.advise(
        workspace,
        values.encoder or [],
        values.tasks or [],
        projection=values.projection,
        curve=values.curve or "",
        classifier=values.classifier,
    )


def _pictures(advice: Advice, charts: dict[str, list[Any]]) -> dict[Any, Any]:
    from theodolite.app.pages.fair.figures import show

    drawn: dict[Any, Any] = {}
    for point in advice.points:
        shown = [show(exhibit) for exhibit in point.exhibits]
        room = charts[point.key]
        drawn |= dict(zip(room, [*shown, *[None] * len(room)], strict=False))
    return drawn


def _summary(advice: Advice) -> str:
    """The verdicts counted in a line, and the results left out of the numbers."""
    count: Counter[str] = Counter(point.verdict for point in advice.points)
    words = {
        "look": ("needs a look", "need a look"),
        "missing": ("lacks results", "lack results"),
        "fine": ("is fine", "are fine"),
    }
    counts = [f"{count[v]} {few[count[v] > 1]}" for v, few in words.items() if count[v]]
    whole = f"All {len(advice.points)} points {words[advice.points[0].verdict][1]}."
    text = whole if len(counts) == 1 else f"Of {len(advice.points)} points {', '.join(counts)}."
    return (
        f'<div class="t-section" role="status"><h2>{escape(text)}</h2></div>'
        f"{parts.warn(advice.cautions)}"
    )


def _card(number: int, point: Point, read_only: bool) -> str:
    """One point: its verdict and sentences, and buttons for missing results."""
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in point.words)
    press = "" if read_only else _buttons(point)
    lines = "".join(
        f'<pre class="t-command" tabindex="0">{escape(run.command)}</pre>'
        for run in point.missing_runs
    )
    commands = (
        f'<details class="t-twin"><summary>{"" if read_only else "The same "}on the command line'
        f"</summary>{lines}</details>"
        if lines
        else ""
    )
    link = ""
    if point.see:
        link = f'<p><a href="{escape(address.link("compare"))}">{escape(point.see)}</a></p>'
    # The controls of sizes also decide what is measured, so they show before any result.
    shown = point.exhibits or (point.key == "size" and point.missing_runs)
    head = "t-point-head t-shown" if shown else "t-point-head"
    return (
        f'<div class="{head}"><h2><span>{number}</span> {escape(point.title)}</h2>'
        f"{parts.tag(point.verdict, TAGS[point.verdict])}</div>"
        f"{words}{link}{press}{commands}"
    )


def _buttons(point: Point) -> str:
    made = [
        button(f"Add {spec}", "add", spec, about=f"Add {spec} to the comparison")
        for spec in point.add
    ]
    if point.missing_runs:
        made.append(
            button(
                "Evaluate",
                "evaluate",
                point.key,
                about=f"Evaluate what is missing for {point.title}",
            )
        )
        runs = formats.plural(len(point.missing_runs), "run")
        count = formats.plural(point.missing, "result")
        made.append(f'<span class="t-muted t-small">{count} in {runs}</span>')
    return f'<p class="t-actions">{"".join(made)}</p>' if made else ""
