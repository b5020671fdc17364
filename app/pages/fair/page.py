"""The page *Fair play*: what makes a comparison of encoders unfair, in words, with the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.actions import actions, button
from app.components.chart import chart
from app.pages.encoders import choices
from app.pages.evaluate.job import queue_evaluation
from app.pages.jobs.run_panel import RunPanel
from app.web import address, parts
from app.web.events import PageEvent
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.pages.fair.points import Point
    from app.pages.fair.service import Advice
    from app.workspace import Workspace

TITLE = "Fair play"
PATH = "fair-play"
DESCRIPTION = (
    "Seven ways in which a comparison of sentence encoders misleads, checked on yours. After Eger, "
    "Rücklé and Gurevych, Pitfalls in the Evaluation of Sentence Embeddings (2019)."
)
CHARTS = {"size": 2, "normalisation": 1, "classifier": 2, "similarity": 1, "baselines": 1,
          "transfer-probing": 1, "seeds": 1}  # fmt: skip
"""Point -> how many pictures its evidence has room for."""
SWITCHED = ("size", "transfer-probing")
TAGS = {"fine": "good", "look": "warn", "missing": ""}
PROJECTIONS = {"pca": "PCA", "random": "random projection"}
CLASSIFIERS = {"pitfalls": "logistic regression", "pitfalls-mlp": "MLP"}
DEFAULTS = {"projection": "pca", "classifier": "pitfalls"}


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    encoders = choices.encoder_box()
    with gr.Accordion("Tasks", open=False, elem_id="fair-tasks"):
        tasks = gr.CheckboxGroup([], label="Tasks", elem_id="tasks", info="None ticked: what was "
                                 "measured, and the usual suites whose data is here.")  # fmt: skip
    notice = parts.notice()
    summary = parts.static("", elem_id="advice")
    following = RunPanel(workspace)
    switches, texts, charts = _points()
    controls = [encoders, tasks, *switches]
    views = [summary, *texts, *charts]

    def load(request: gr.Request) -> tuple[Any, ...]:
        from app.pages.fair.service import MOST, advise

        asked = choices.asked(workspace, request, choices.names(workspace)[:MOST], MOST)
        if not asked:
            return (gr.update(), gr.update(), *(gr.update() for _ in switches), "")
        projection = address.choice(request, "projection", list(PROJECTIONS), "pca")
        classifier = address.choice(request, "classifier", list(CLASSIFIERS), "pitfalls")
        read = [name for name in asked if choices.read(name)]
        found = advise(workspace, read, curve=address.first(request, "curve"))
        wanted = [task for task in address.every(request, "task") if task in found.tasks]
        return (
            choices.filled(workspace, asked),
            gr.update(choices=list(found.tasks), value=wanted),
            gr.update(value=projection),
            gr.update(choices=list(found.tasks), value=found.curve or None),
            gr.update(value=classifier),
            address.first(request, "run"),
        )

    def show(*values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _show(workspace, *values)

    def act(
        names: list[str], about: list[str], projection: str, curve: str, classifier: str,
        event: PageEvent,
    ) -> tuple[Any, ...]:  # fmt: skip
        workspace.refuse_visitors()
        if event.act == "add":
            name = workspace.add_encoder(event.id)["name"]
            return choices.filled(workspace, list(dict.fromkeys([*names, name]))), gr.skip()
        advice = _advice(workspace, names, about, projection, curve, classifier)
        return gr.skip(), _queue(workspace, advice, event.id)

    drawn = parts.telling(show, len(views))
    opened = parts.on_load(parts.telling(load, 6), None, [*controls, following.run, notice])

    opened.then(drawn, controls, [*views, notice], **ALWAYS_LAST)
    gr.on([*(box.input for box in controls), following.moved.change], drawn, controls,
          [*views, notice], **ALWAYS_LAST)  # fmt: skip
    names = ("encoder", "task", "projection", "curve", "classifier")
    kept = dict(zip(names, controls, strict=True))
    address.keep({**kept, "run": following.run}, DEFAULTS)
    if not workspace.read_only:
        for text in texts:
            done = text.act(parts.telling(act, 2), controls, [encoders, following.run, notice],
                            scroll_to_output=True, **HIDE_PROGRESS)  # fmt: skip
            done.then(drawn, controls, [*views, notice], **ALWAYS_LAST)


def _points() -> tuple[list[Any], list[Any], list[Any]]:
    """A card for each point: its switches, its words and the pictures of its evidence.

    The fold is a `details` of ours, opened by style alone (`advice.css`): Gradio's accordion takes
    its content off the page when closed, and charts that are filled then lose their script.
    """
    switches: list[Any] = []
    texts, charts = [], []
    for key, count in CHARTS.items():
        with gr.Column(elem_classes=["t-point"], elem_id=key):
            texts.append(actions())
            about = "The evidence and its choices" if key in SWITCHED else "The evidence"
            parts.static(f'<details class="t-evidence"><summary>{about}</summary></details>')
            with gr.Column(elem_classes=["t-fold"]):
                switches += _switches(key)
                charts += [chart() for _ in range(count)]
    return switches, texts, charts


def _switches(key: str) -> list[Any]:
    """The choices that belong to one point's evidence."""
    if key == "size":
        with gr.Row():
            return [
                gr.Radio([(label, name) for name, label in PROJECTIONS.items()], value="pca",
                         label="Brought to one size by", elem_id="projection"),
                gr.Dropdown([], label="Task of the curve", elem_id="curve", min_width=220),
            ]  # fmt: skip
    if key == "transfer-probing":
        return [
            gr.Radio([(label, name) for name, label in CLASSIFIERS.items()], value="pitfalls",
                     label="Classifier", elem_id="classifier")
        ]  # fmt: skip
    return []


def _advice(workspace: Workspace, encoders: list[str], tasks: list[str], *switches: Any) -> Advice:
    from app.pages.fair.service import advise

    projection, curve, classifier = switches
    return advise(workspace, encoders, tasks, projection=projection or "pca", curve=curve or "",
                  classifier=classifier or "pitfalls")  # fmt: skip


def _show(workspace: Workspace, encoders: list[str], *values: Any) -> Iterator[tuple[Any, ...]]:
    """Words first; the pictures of the evidence follow."""
    room = sum(CHARTS.values())
    if not encoders:
        nothing = parts.empty("No encoder is chosen", "Tick the ones you would compare.",
                              ("Encoders", address.link("encoders")))  # fmt: skip
        yield nothing, *[""] * len(CHARTS), *[None] * room
        return
    advice = _advice(workspace, encoders, *values)
    texts = [
        _text(place, point, workspace.read_only) for place, point in enumerate(advice.points, 1)
    ]
    yield _summary(advice), *texts, *[gr.skip()] * room
    yield *[gr.skip()] * (1 + len(CHARTS)), *_pictures(advice)


def _pictures(advice: Advice) -> Iterator[Any]:
    from app.pages.fair.figures import show

    for point in advice.points:
        room = CHARTS[point.key]
        yield from (show(exhibit) for exhibit in point.exhibits[:room])
        yield from [None] * (room - len(point.exhibits))


def _summary(advice: Advice) -> str:
    """How it stands, in a line, and what was left out of the numbers."""
    count: Counter[str] = Counter(point.verdict for point in advice.points)
    words = {
        "look": ("needs a look", "need a look"),
        "missing": ("lacks measurements", "lack measurements"),
        "fine": ("is fine", "are fine"),
    }
    said = [f"{count[v]} {few[count[v] > 1]}" for v, few in words.items() if count[v]]
    whole = f"All {len(advice.points)} points {words[advice.points[0].verdict][1]}."
    text = whole if len(said) == 1 else f"Of {len(advice.points)} points {', '.join(said)}."
    return (
        f'<div class="t-section" role="status"><h2>{escape(text)}</h2></div>'
        f"{parts.warn(advice.cautions)}"
    )


def _text(place: int, point: Point, read_only: bool) -> str:
    """One point: its verdict and words, and what to press when something is missing."""
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in point.words)
    press = "" if read_only else _buttons(point)
    lines = "".join(f'<pre class="t-command" tabindex="0">{escape(run.command)}</pre>'
                    for run in point.wanted)  # fmt: skip
    commands = (
        f'<details class="t-twin"><summary>{"" if read_only else "The same "}on the command line'
        f"</summary>{lines}</details>"
        if lines
        else ""
    )
    link = ""
    if point.see:
        link = f'<p><a href="{escape(address.link("compare"))}">{escape(point.see)}</a></p>'
    # The choices of sizes also decide what is measured, so they are there before anything is.
    shown = point.exhibits or (point.key == "size" and point.wanted)
    head = "t-point-head t-shown" if shown else "t-point-head"
    return (
        f'<div class="{head}"><h2><span>{place}</span> {escape(point.title)}</h2>'
        f"{parts.tag(point.verdict, TAGS[point.verdict])}</div>"
        f"{words}{link}{press}{commands}"
    )


def _buttons(point: Point) -> str:
    made = [
        button(f"Add {spec}", "add", spec, about=f"Add {spec} to the comparison")
        for spec in point.add
    ]
    if point.wanted:
        made.append(button("Measure it", "measure", point.key,
                           about=f"Measure what is missing for {point.title}"))  # fmt: skip
        runs = formats.plural(len(point.wanted), "run")
        count = formats.plural(point.missing, "result")
        made.append(f'<span class="t-muted t-small">{count} in {runs}</span>')
    return f'<p class="t-actions">{"".join(made)}</p>' if made else ""


def _queue(workspace: Workspace, advice: Advice, key: str) -> str:
    """Queue everything a point lacks; return the last run, which is done when all are.

    Raises:
        UserError: there is no such point.
    """
    point = next((point for point in advice.points if point.key == key), None)
    if point is None:
        raise UserError(f"There is no advice {key[:40]!r}.", "Load the page again.")
    run = ""
    for wanted in point.wanted:
        title = f"Fair play, {point.title.lower()}: {formats.plural(wanted.results, 'result')}"
        run = queue_evaluation(
            workspace, wanted.encoders, wanted.tasks, wanted.protocol, title=title,
            seeds=wanted.seeds, listed=wanted.listed,
        )  # fmt: skip
    return run
