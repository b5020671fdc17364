"""The page *Geometry*: how encoders use their space, measured over all pairs of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.chart import chart
from app.pages.encoders import choices
from app.pages.geometry import service
from app.pages.geometry import views as shape_views
from app.pages.jobs.run_panel import RunPanel
from app.web import address, background_call, parts
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Geometry"
PATH = "geometry"
USUAL = ("STSBenchmark", "starter-pairs")
RULES = [("above 4 (as the paper says)", "over"), ("4 and above", "from")]
SECTIONS = ("alignment", "spectrum", "hubs", "cosines", "thresholds")
DESCRIPTION = (
    "How each encoder fills its space: whether paraphrases are close, sentences spread evenly, and "
    "all dimensions used; and from which cosine on two sentences can be called the same."
)
COLUMNS = (
    ("encoder", "encoder"), ("n_data", "n_data"), ("alignment", "alignment"), ("n_pos", "n_pos"),
    ("uniformity", "uniformity"), ("effective_rank", "effective rank"), ("dim", "dimensions"),
    ("isoscore", "IsoScore"), ("mean_cosine", "mean cosine"), ("hub_skew", "hub skew"),
    ("hub_never", "never a neighbour"),
)  # fmt: skip


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row():
        encoders = choices.encoder_box(scale=3)
        dataset = gr.Dropdown([], label="Data", elem_id="dataset", min_width=240)
    with gr.Row():
        split = gr.Radio([], label="Split", elem_id="split", min_width=260)
        rule = gr.Radio(RULES, label="Positive pairs of alignment: graded", elem_id="rule",
                        min_width=300)  # fmt: skip
    notice = parts.notice()
    missing = parts.static("", elem_id="missing")
    measure = gr.Button("Measure them", variant="primary", visible=False, elem_id="measure")
    following = RunPanel(workspace)
    numbers = parts.static("", elem_id="numbers")
    views: list[Any] = [missing, measure, numbers]
    for name in SECTIONS[:-1]:
        views += _section(name)
    last = _section("thresholds", shown=False)
    views += last
    last[0].render()
    with gr.Row(visible=False) as graded:  # a row each: a hidden box would leave a gap
        cut = gr.Number(label="The same: graded from", elem_id="cut", min_width=180,
                        scale=0)  # fmt: skip
    with gr.Row(visible=False) as labelled:
        label = gr.Dropdown([], label="The same: labelled", elem_id="label", min_width=220,
                            scale=0)  # fmt: skip
    for view in last[1:]:
        view.render()
    controls = [encoders, dataset, split, rule, cut, label]
    picked = [split, rule, cut, label]
    views += [graded, labelled]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def changed(wanted: str) -> tuple[Any, ...]:
        return _picked(workspace, wanted, {})

    def show(*values: Any) -> Iterator[tuple[Any, ...]]:
        first = f"Loading {', '.join(values[0])}; that takes some seconds"
        for words, found in background_call.followed(lambda say: _views(workspace, *values), first):
            yield found or (words, *[gr.skip()] * (len(views) - 1))

    def start(chosen: list[str], wanted: str, of: str, *_: Any) -> str:
        lacking = [n for n in choices.need(chosen) if _found(workspace, n, wanted, of) is None]
        return service.queue(workspace, lacking, wanted, of)

    told = parts.telling(show, len(views))
    opened = parts.on_load(parts.telling(load, 7), None, [*controls, following.run, notice])
    opened.then(told, controls, [*views, notice], **ALWAYS_LAST)
    other = dataset.input(parts.telling(changed, 4), dataset, [*picked, notice], **ALWAYS_LAST)
    other.then(told, controls, [*views, notice], **ALWAYS_LAST)
    gr.on(
        [encoders.input, *(c.input for c in picked), following.moved.change],
        told, controls, [*views, notice], **ALWAYS_LAST,
    )  # fmt: skip
    address.keep(
        {"encoder": encoders, "data": dataset, "split": split, "rule": rule, "cut": cut,
         "label": label, "run": following.run}, {"split": service.ALL, "rule": "over"},
    )  # fmt: skip
    if not workspace.read_only:
        measure.click(parts.telling(start, 1), controls, [following.run, notice], **HIDE_PROGRESS)


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them."""
    names = [info.name for info in workspace.catalog.list()]
    named = address.first(request, "data")
    if named.startswith(("hub:", "upload:")):
        names = list(dict.fromkeys([*names, named]))
    usual = next((name for name in USUAL if name in names), names[0])
    wanted = address.choice(request, "data", names, usual)
    chosen = choices.asked(workspace, request)
    asked = {name: address.first(request, name) for name in ("split", "rule", "cut", "label")}
    return (
        choices.filled(workspace, chosen),
        gr.update(choices=names, value=wanted),
        *_picked(workspace, wanted, asked),
        address.first(request, "run"),
    )


def _section(name: str, shown: bool = True) -> list[Any]:
    """Title, chart and readings of one kind of number."""
    return [
        parts.static("", render=shown),
        chart(elem_id=name, render=shown),
        parts.static("", elem_id=f"{name}-readings", render=shown),
    ]


def _picked(workspace: Workspace, dataset: str, asked: dict[str, str]) -> tuple[Any, ...]:
    """Split, rule, cut and label, as data and address have them."""
    from engine.datasets.types import LabelledPairs, ScoredPairs

    data = workspace.catalog.load(dataset)
    offered = service.splits(workspace, dataset)
    split = asked.get("split", "")
    scored = isinstance(data, ScoredPairs)
    at = service.cut(data.scale) if isinstance(data, ScoredPairs) else 4.0
    labels = sorted(set(data.labels)) if isinstance(data, LabelledPairs) else []
    label = asked.get("label", "")
    cut = address.number(asked.get("cut", ""))
    rules = [(text.replace("4", f"{at:g}"), value) for text, value in RULES]
    return (
        gr.update(choices=offered, value=split if split in offered else service.ALL,
                  visible=len(offered) > 1),
        gr.update(choices=rules, value="from" if asked.get("rule") == "from" else "over",
                  visible=scored),
        at if cut is None else cut,
        gr.update(choices=labels, value=label if label in labels else
                  (shape_views.default_label(labels) if labels else None)),
    )  # fmt: skip


def _found(workspace: Workspace, encoder: str, dataset: str, split: str) -> service.Shape | None:
    """A shape that is there, or is measured at once; None where a run has to."""
    return service.quick(workspace, encoder, dataset, split or service.ALL)


def _views(
    workspace: Workspace, chosen: Sequence[str], dataset: str, split: str, rule: str,
    cut: float | None, label: str | None,
) -> tuple[Any, ...]:  # fmt: skip
    """Everything below the controls."""
    from engine.datasets.types import LabelledPairs, ScoredPairs

    names = choices.need(chosen)
    measured: list[service.Shape] = []
    absent, troubles = [], []
    for name in names:
        try:
            found = _found(workspace, name, dataset, split)
        except UserError as error:  # one encoder that fails leaves the others standing
            troubles.append(parts.problem(error))
            continue
        if found is None:
            absent.append(name)
        else:
            measured.append(found)
    button = gr.update(
        visible=bool(absent) and not workspace.read_only,
        value=f"Measure {formats.plural(len(absent), 'encoder')} on {dataset}",
    )
    said = "".join(troubles) + _missing(workspace, absent, dataset, bool(measured))
    if not measured:
        nothing = [part for _ in SECTIONS for part in shape_views.NOTHING]
        hidden = gr.update(visible=False)
        return said, button, "", *nothing, hidden, hidden
    everyone = service.everyone(workspace, dataset, split or service.ALL)
    everyone |= {shape.encoder: shape.info for shape in measured}
    drawn = (
        shape_views.alignment(everyone, rule, dataset),
        shape_views.spectrum(measured),
        shape_views.hubs(measured),
        shape_views.cosines(measured, dataset),
        shape_views.thresholds(measured, cut, label),
    )
    data = workspace.catalog.load(dataset)
    return (
        said, button, _numbers(measured, rule), *(part for view in drawn for part in view),
        gr.update(visible=isinstance(data, ScoredPairs)),
        gr.update(visible=isinstance(data, LabelledPairs)),
    )  # fmt: skip


def _missing(workspace: Workspace, absent: Sequence[str], dataset: str, some: bool) -> str:
    if not absent:
        return ""
    if some:
        return parts.say(f"Not measured on {dataset} yet: {', '.join(absent)}.")
    hint = (
        "This demonstration does not start runs: choose other data."
        if workspace.read_only
        else "Press the button below; it takes from seconds to minutes and runs in the background."
    )
    return parts.empty(f"None of them was measured on {dataset}", hint)


def _numbers(measured: Sequence[service.Shape], rule: str) -> str:
    """All encoders' numbers side by side."""
    rows = []
    for shape in measured:
        info = shape.info | {"alignment": shape.info.get(f"alignment_{rule}"),
                             "n_pos": shape.info.get(f"n_{rule}")}  # fmt: skip
        rows.append([_cell(info.get(key)) for key, _ in COLUMNS])
    names = [name for _, name in COLUMNS]
    return parts.table(names, rows, "Geometry in numbers", range(1, len(names)))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".replace("-", "−")
    return (
        formats.MISSING
        if value is None
        else escape(f"{value:,}" if isinstance(value, int) else value)
    )
