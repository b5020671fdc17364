"""The page *Geometry*: how encoders use their space, measured over all pairs of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.chart import chart
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry import freezing, job, service, views
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Control, Controls, Values
from theodolite.app.web.frozen import Frozen
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Geometry"
PATH = "geometry"
FROZEN = Frozen(carry=freezing.carry, views=freezing.views)
RULES = [("above 4 (as the paper says)", "over"), ("4 and above", "from")]
SECTIONS = ("alignment", "spectrum", "hubs", "cosines", "thresholds")
DESCRIPTION = (
    "How each encoder uses its space: whether paraphrases are close, sentences are spread "
    "evenly, and all dimensions are used; and the cosine above which two sentences can be "
    "considered equivalent."
)
COLUMNS = (
    ("encoder", "encoder"),
    ("n_data", "n_data"),
    ("alignment", "alignment"),
    ("n_pos", "n_pos"),
    ("uniformity", "uniformity"),
    ("effective_rank", "effective rank"),
    ("dim", "dimensions"),
    ("isoscore", "IsoScore"),
    ("mean_cosine", "mean cosine"),
    ("hub_skew", "hub skew"),
    ("hub_never", "never a neighbour"),
)
CONTROLS = (
    choices.ENCODERS,
    Control("dataset", "Data", gr.Dropdown, key="data", options={"choices": [], "min_width": 240}),
    Control(
        "split",
        "Split",
        gr.Radio,
        service.ALL,
        options={"choices": [], "value": None, "min_width": 260},
    ),
    Control(
        "rule",
        "Alignment: positive pairs graded",
        gr.Radio,
        "over",
        choices=RULES,
        options={"min_width": 300},
    ),
    Control(
        "cut", "Positive pairs: graded from", gr.Number, options={"min_width": 180, "scale": 0}
    ),
    Control(
        "label",
        "Positive pairs: labelled",
        gr.Dropdown,
        options={"choices": [], "min_width": 220, "scale": 0},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("dataset", elem_classes=["t-bare"])
        controls.render("encoder")
        with parts.more():
            controls.render("split", "rule")
    notice = parts.notice()
    shown = {"missing": parts.static("", elem_id="missing")}
    shown["measure"] = gr.Button(
        "Measure them", variant="primary", visible=False, elem_id="measure"
    )
    panel = RunPanel(workspace)
    for name in SECTIONS:
        shown[f"{name}-title"] = parts.static("")
        if name == "thresholds":
            with gr.Row(visible=False) as shown["graded"]:  # a row each: a hidden box leaves a gap
                controls.render("cut")
            with gr.Row(visible=False) as shown["labelled"]:
                controls.render("label")
        answer = ["t-answer"] if name == SECTIONS[0] else None
        shown[name] = chart(elem_id=name, elem_classes=answer)
        shown[f"{name}-readings"] = parts.static("", elem_id=f"{name}-readings")
        if name == SECTIONS[0]:
            shown["numbers"] = parts.static("", elem_id="numbers")

    def refill(values: Values) -> dict[str, Any]:
        usual = Values(split=service.ALL, rule="over", cut=None, label=None)
        return _picked(workspace, values.dataset, usual)

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        first = f"Loading {', '.join(values.encoder)}; this takes some seconds"
        yield from background_call.changes(
            lambda say: _shown(workspace, values), first, session, "missing"
        )

    def make(values: Values) -> str:
        names = choices.need(values.encoder)
        return job.start(workspace, names, values.dataset, values.split or service.ALL)

    panel.connect(
        controls,
        shown,
        shown["missing"],
        shown["measure"],
        notice,
        load=partial(_fill, workspace),
        show=show,
        make=make,
        refill={"dataset": refill},
    )


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    dataset, offered = collections.filled(workspace, values.dataset, service.opening(workspace))
    return {
        "encoder": choices.filled(workspace, choices.from_address(workspace, request)),
        "dataset": offered,
        **_picked(workspace, dataset, values),
    }


def _picked(workspace: Workspace, dataset: str, values: Values) -> dict[str, Any]:
    """Updates of split, rule, cut and label for a data set, with the given values if valid."""
    from theodolite.engine.datasets.types import LabelledPairs, ScoredPairs

    data = workspace.catalog.load(dataset)
    offered = service.splits(workspace, dataset)
    scored = isinstance(data, ScoredPairs)
    at = service.cut(data.scale) if isinstance(data, ScoredPairs) else 4.0
    labels = sorted(set(data.labels)) if isinstance(data, LabelledPairs) else []
    usual = views.default_label(labels) if labels else None
    return {
        "split": gr.update(
            choices=offered,
            value=values.split if values.split in offered else service.ALL,
            visible=len(offered) > 1,
        ),
        "rule": gr.update(
            choices=[(text.replace("4", f"{at:g}"), value) for text, value in RULES],
            value=values.rule,
            visible=scored,
        ),
        "cut": at if values.cut is None else values.cut,
        "label": gr.update(choices=labels, value=values.label if values.label in labels else usual),
    }


def _shown(workspace: Workspace, values: Values) -> dict[str, Any]:
    """All views below the controls, by name."""
    from theodolite.engine.datasets.types import LabelledPairs, ScoredPairs

    dataset, split = values.dataset, values.split or service.ALL
    measured: list[service.Geometry] = []
    absent, failures = [], []
    for name in choices.need(values.encoder):
        try:
            found = service.quick(workspace, name, dataset, split)
        except UserError as error:  # one encoder that fails does not stop the others
            failures.append(parts.problem(error))
            continue
        if found is None:
            absent.append(name)
        else:
            measured.append(found)
    data = workspace.catalog.load(dataset)
    return {
        "missing": "".join(failures)
        + views.missing(absent, dataset, some=bool(measured), visitor=workspace.read_only),
        "measure": gr.update(
            visible=bool(absent) and not workspace.read_only,
            value=f"Measure {formats.plural(len(absent), 'encoder')} on {dataset}",
        ),
        "numbers": _numbers(measured, values.rule) if measured else "",
        "graded": gr.update(visible=bool(measured) and isinstance(data, ScoredPairs)),
        "labelled": gr.update(visible=bool(measured) and isinstance(data, LabelledPairs)),
        **_sections(workspace, measured, values),
    }


def _sections(
    workspace: Workspace, measured: Sequence[service.Geometry], values: Values
) -> dict[str, Any]:
    """Title, chart and readings of each section, by name."""
    drawn = dict.fromkeys(SECTIONS, views.NOTHING)
    if measured:
        everyone = service.everyone(workspace, values.dataset, values.split or service.ALL)
        everyone |= {geometry.encoder: geometry.info for geometry in measured}
        drawn = {
            "alignment": views.alignment(everyone, values.rule, values.dataset),
            "spectrum": views.spectrum(measured),
            "hubs": views.hubs(measured),
            "cosines": views.cosines(measured, values.dataset),
            "thresholds": views.thresholds(measured, values.cut, values.label),
        }
    found: dict[str, Any] = {}
    for name, (title, picture, readings) in drawn.items():
        found |= {f"{name}-title": title, name: picture, f"{name}-readings": readings}
    return found


def _numbers(measured: Sequence[service.Geometry], rule: str) -> str:
    """The table of all encoders' numbers."""
    rows = []
    for geometry in measured:
        info = geometry.info | {
            "alignment": geometry.info.get(f"alignment_{rule}"),
            "n_pos": geometry.info.get(f"n_{rule}"),
        }
        rows.append([_cell(info.get(key)) for key, _ in COLUMNS])
    names = [name for _, name in COLUMNS]
    return parts.table(names, rows, "Geometry in numbers", range(1, len(names)), stacked=True)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3f}".replace("-", "−")
    return (
        formats.MISSING
        if value is None
        else escape(f"{value:,}" if isinstance(value, int) else value)
    )
