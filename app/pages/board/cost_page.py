"""The page *Cost*: quality against cost on this machine, and smaller vectors."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Text
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.board import cost, standings
from theodolite.app.pages.board.cost import COST, CostJob, CostSpec
from theodolite.app.pages.board.standings import BoardSpec
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.pages.layout import fill
from theodolite.app.suites import ALL
from theodolite.app.vectors import sources, uncached
from theodolite.app.web import parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.figures import axis, draw, log_axis, plain, scatter, style
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.encoders.steps import Compressed, smaller
from theodolite.engine.encoders.variants import ladder
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import bind, needed_sentences, vectors_for
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import available, clusters, get, type_of

TITLE = "Cost"
PATH = "cost"
DESCRIPTION = (
    "Quality against cost on this machine. The line is the Pareto front: no encoder is "
    "better than those on it in both."
)
METHODS = {"first": "first dimensions", "pca": "PCA", "int8": "int8", "binary": "binary"}
MAX_SENTENCES = 40_000
"""Maximum for a task that is scored while the page waits."""
_SUITE, _AXIS = web.controls(CostSpec, without=("encoders", "again"))
CONTROLS = (
    _SUITE,
    replace(_AXIS, box=gr.Dropdown, options={"min_width": 260}),
    Control("encoder", "Encoder for the curves", gr.Dropdown, options={"choices": []}),
    Control("task", "Task for the curves", gr.Dropdown, options={"choices": [], "value": None}),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("suite", "axis")
        go = gr.Button("Measure", variant="primary", visible=False, elem_id="measure")
    notice = parts.notice()
    panel = RunPanel(workspace)
    answer = web.answer(charts=True, elem_id="costs", elem_classes=["t-answer"])
    parts.section(
        "Smaller vectors",
        "A task scored again on vectors with fewer dimensions or fewer bits: the first "
        "dimensions (what Matryoshka training is for), principal components fitted on the task's "
        "sentences, and the first dimensions in 8 bits or by their signs alone. Nothing is "
        "encoded again.",
    )
    with gr.Row():
        controls.render("encoder", "task")
    curves = web.answer(elem_id="curves")

    def load(values: Values, request: gr.Request) -> dict[str, Any]:
        encoder = choices.first(workspace, values.encoder)
        every, first = _tasks(workspace), next(iter(_tasks(workspace, encoder)), None)
        return {
            **fill(workspace, CostSpec, values, request),
            "encoder": choices.one(workspace, encoder),
            "task": gr.update(choices=every, value=values.task or first),
        }

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        names = _encoders(workspace, values)
        costs = COST.last(workspace, CostSpec(names, values.suite, values.axis), lambda job: False)
        left = len(names) - len(costs.rows())
        label = f"Measure the cost of {formats.plural(left, 'encoder')}"
        yield {
            "answer": web.value(costs.blocks()),
            "go": gr.update(
                visible=not workspace.read_only, value=label if left else "Measure again"
            ),
        }
        yield {"curves": web.value(_curves(workspace, values.encoder, values.task))}

    def make(values: Values) -> str:
        names = _encoders(workspace, values)
        left = cost.unmeasured(workspace, names)
        return queue(workspace, CostJob(tuple(left or names), again=not left))

    outputs = {"answer": answer, "go": go, "curves": curves}
    panel.connect(controls, outputs, answer, go, notice, load=load, show=show, make=make)


def _encoders(workspace: Workspace, values: Values) -> list[str]:
    """The encoders on the suite's board, or all listed ones if there are no results."""
    try:
        return list(standings.board(workspace, BoardSpec(values.suite or ALL)).encoders)
    except UserError:
        return choices.names(workspace)


def _tasks(workspace: Workspace, encoder: str = "") -> list[str]:
    """Tasks without long training; of an encoder, those on which it was evaluated."""
    rows = workspace.store.results.table(encoders=[encoder]) if encoder else []
    done = {row["task"] for row in rows if row["error"] is None}
    return [
        task.name
        for task in available(workspace.catalog)
        if (task.name in done or not encoder)
        and not type_of(task, protocols.get(task.protocol)).trains
    ]


@dataclass(frozen=True)
class Scored:
    """The main score of a task on compressed vectors."""

    how: Compressed
    score: float


def curves(workspace: Workspace, encoder: str, task: str) -> list[Scored]:
    """Score a task on fewer dimensions and fewer bits; nothing is encoded."""
    bound = workspace.bound(encoder, get(task, workspace.catalog).dataset)
    return _scores(workspace, encoder, task, bound.fingerprint)


@lru_cache(maxsize=64)
def _scores(workspace: Workspace, encoder: str, name: str, _fingerprint: str) -> list[Scored]:
    task = get(name, workspace.catalog)
    protocol = protocols.get(task.protocol)
    kind, data = type_of(task, protocol), workspace.catalog.load(task.dataset)
    setting = protocol.name, protocol.seed
    if kind.trains or len(data.sentences) > MAX_SENTENCES:
        raise UserError(
            f"{name} takes too long to be scored repeatedly.", "Choose another.", code="too-large"
        )
    bound = bind(workspace.load(encoder), task, protocol, data)
    texts = needed_sentences(kind, data, *setting)
    if any(uncached(source, texts) for source in sources(bound)):
        raise UserError(
            f"{encoder} has not encoded {name} yet, and the curves use stored vectors.",
            f"Evaluate it: `theodolite evaluate '{encoder}' --tasks {name}`.",
            code="no-result",
        )
    vectors = vectors_for(kind, data, bound, texts, lambda *_: None)
    points = []
    for how, vectors_of in smaller(vectors, ladder(vectors.shape[1])):
        try:
            done = clusters.attach(
                kind.measure(task, data, vectors_of, *setting, nobody), kind, data, *setting
            )
        except UserError:  # such as all cosines alike
            continue
        points.append(Scored(how, next(score.score for score in done.scores if score.main)))
    return points


def _curves(workspace: Workspace, encoder: str | None, task: str | None) -> Sequence[Block]:
    """How small vectors can be within a point of the score, and the curves."""
    if not encoder or not task:
        return []
    try:
        points = sorted(curves(workspace, encoder, task), key=lambda s: s.how.bytes)
    except UserError as error:
        return [Text("", error.message)]
    whole = max((s for s in points if s.how.method == "first"), key=lambda s: s.how.dim)
    near = (s for s in points if s.score >= whole.score - 1.0)
    least = min(near, key=lambda s: (s.how.bytes, -s.score))
    text = (
        f"On {task}, {encoder} stays within a point of its {formats.score(whole.score)} from "
        f"{whole.how.bytes:,g} bytes per vector down to {least.how.bytes:,g} bytes "
        f"({METHODS[least.how.method]}, {least.how.dim} dimensions)."
    )
    traces = [
        scatter(
            x=[s.how.bytes for s in points if s.how.method == method],
            y=[s.score for s in points if s.how.method == method],
            mode="lines+markers",
            name=name,
            line=style(place) | {"width": 2.2},
            marker={"size": 8},
            customdata=[[s.how.dim] for s in points if s.how.method == method],
            hovertemplate=f"{name}, %{{customdata[0]}} dimensions: %{{y:.2f}}<extra></extra>",
        )
        for place, (method, name) in enumerate(METHODS.items())
    ]
    picture = Chart(
        draw(
            traces,
            log_axis("bytes per vector (log)", [s.how.bytes for s in points]),
            axis(f"score on {plain(task)}", zeroline=False),
            height=400,
            left=64,
            legend=True,
        ),
        f"Score of {encoder} on {task} with smaller vectors. {text}",
        name="theodolite-smaller-vectors",
        columns=["method", "dimensions", "bytes", "score"],
        rows=[[METHODS[s.how.method], s.how.dim, s.how.bytes, s.score] for s in points],
    )
    return [Text("", text), picture]
