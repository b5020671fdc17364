"""The page *Choose*: a file in, a decision sheet out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from theodolite.app.components.chart import chart
from theodolite.app.jobs.submit import queue_unless_stored
from theodolite.app.pages.choose import example, service, sheet, views
from theodolite.app.pages.choose.job import MARGIN, MIN_BYTES, ChooseJob
from theodolite.app.pages.choose.sheet import Sheet
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.report import answers
from theodolite.app.report.button import report_button
from theodolite.app.report.file import Report
from theodolite.app.web import background_call, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on
from theodolite.app.web.frozen import LIVE, Frozen, Published, View
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import run_rows

TITLE = "Choose"
PATH = "choose"
CLOSED = (
    "Uploads and new sheets are disabled here, because they would have to be stored. Run "
    "Theodolite on your own machine to choose on your data."
)
DESCRIPTION = (
    "Which encoder to use for your data: the best one, those that tie with it, their costs, "
    "how many more examples would separate them, and what limits confidence in the answer."
)
CONTROLS = (
    Control(
        "dataset",
        "Data",
        gr.Dropdown,
        key="data",
        options={"choices": [], "value": None, "elem_id": "chosen-data"},
    ),
    choices.CHIPS,
    Control(
        "max_ms",
        "Maximum milliseconds per sentence",
        gr.Number,
        hint="On this machine.",
        options={"minimum": 0, "elem_id": "max-ms"},
    ),
    Control(
        "max_bytes",
        "Maximum bytes per vector",
        gr.Number,
        hint="Larger vectors are shortened and measured in int8.",
        options={"minimum": MIN_BYTES, "precision": 0, "elem_id": "max-bytes"},
    ),
    Control(
        "margin",
        "Points that a cheaper form may lose",
        gr.Number,
        MARGIN,
        hint="Something cheaper is recommended only if it is shown to lose less.",
        options={"minimum": 0, "maximum": 100, "elem_id": "margin"},
    ),
    Control(
        "licences",
        "Licences",
        gr.Dropdown,
        (),
        "Any if empty.",
        (),
        {"multiselect": True, "elem_id": "licences"},
        key="licence",
    ),
)
COLUMNS = Control(
    "columns",
    "Columns of your file",
    default="",
    hint="Told by their names and values if empty.",
    options={"max_lines": 1, "placeholder": "text=review,label=stars", "elem_id": "own-columns"},
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls, own = Controls(*CONTROLS), Controls(COLUMNS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("dataset")
        bring = gr.UploadButton(
            "Your file",
            size="md",
            file_count="multiple",
            elem_id="bring",
            visible=not workspace.read_only,
        )
        controls.render("encoder")
        go = gr.Button(
            "Choose", variant="primary", elem_id="choose", visible=not workspace.read_only
        )
        with parts.more("Limits and columns"):
            controls.render("max_ms", "max_bytes", "margin", "licences")
            own.render("columns", visible=not workspace.read_only)
            command = parts.static("", elem_id="command", elem_classes=[LIVE])
    notice = parts.notice()
    plan = parts.static("", elem_id="plan", elem_classes=[LIVE])
    panel = RunPanel(workspace)
    with gr.Row(elem_classes=["t-sheet-row"]):
        with gr.Column(scale=5, min_width=320, elem_classes=["t-answer"]):
            sheet_html = parts.static("", elem_id="sheet")
            with gr.Row(elem_classes=["t-sheet-files"]):
                report_button(controls, notice, partial(_report, workspace))
                files = parts.static("", elem_id="sheet-files")
        with gr.Column(scale=4, min_width=320):
            finding = parts.static("", elem_id="front-finding")
            front = chart(elem_id="front")
    numbers = parts.static("", elem_id="numbers")
    shown = {
        "plan": plan,
        "command": command,
        "sheet": sheet_html,
        "files": files,
        "finding": finding,
        "front": front,
        "numbers": numbers,
    }

    def show(chosen: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        yield from background_call.changes(
            lambda say: _shown(workspace, chosen), f"Reading {chosen.dataset}", session, "plan"
        )

    def make(chosen: Values) -> str:
        choices.need(chosen.encoder)
        job = _job(chosen)
        encoders.ensure_listed(workspace, job.encoders)
        return queue_unless_stored(workspace, job)

    panel.connect(
        controls,
        shown,
        plan,
        go,
        notice,
        load=partial(_loaded, workspace),
        show=show,
        make=make,
    )
    if workspace.read_only:
        return

    known = gr.State()

    def read(chosen: Values) -> Answer:
        asked = (chosen.file, chosen.columns)
        if not chosen.file or asked == chosen.known:
            return None
        name = service.bring(
            workspace, [Path(f) for f in chosen.file or ()], chosen.columns or None
        )
        values = Values(
            **{n: getattr(chosen, n) for n in controls.declared} | {"dataset": name, "run": ""}
        )
        drawn = {shown[n]: value for n, value in _shown(workspace, values).items()}
        return {known: asked, controls["dataset"]: _data(workspace, name), **drawn}

    # Columns may be named after the file was given: it is read again, once they are complete.
    columns = own["columns"]
    on(
        [bring.upload, columns.submit, columns.blur],
        read,
        {**controls, **own, "file": bring, "known": known},
        [known, controls["dataset"], *shown.values()],
        notice,
        show_progress="full",
        show_progress_on=plan,
    )


def _loaded(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    known = sorted({row["licence"] for row in encoders.listed(workspace) if row.get("licence")})
    return {
        "dataset": _data(workspace, values.dataset or ""),
        "encoder": choices.filled(workspace, choices.from_address(workspace, request)),
        "max_ms": values.max_ms,
        "max_bytes": values.max_bytes,
        "margin": values.margin,
        "licences": gr.update(choices=known, value=values.licences),
    }


def _data(workspace: Workspace, named: str | None) -> Any:
    names = service.offered(workspace)
    uploads = [name for name in names if name.startswith("upload:")]
    if named and named not in names:
        names.append(named)
    return gr.update(choices=names, value=named or next(iter(uploads[::-1]), example.DATA))


def _job(values: Values) -> ChooseJob:
    """The job that the controls describe."""
    most = None if values.max_bytes is None else int(values.max_bytes)
    return ChooseJob.of(
        values.dataset, values.encoder, values.max_ms, most, values.licences, values.margin
    )


def _report(workspace: Workspace, values: Values) -> Report:
    """A report of the sheet shown: the job's, or the shipped example."""
    choices.need(values.encoder)
    job = _job(values)
    made, found = views.found(workspace, job)
    return answers.of_decision(found) if found and not made else answers.decision(workspace, job)


def _shown(workspace: Workspace, values: Values) -> dict[str, Any]:
    """The plan, and the sheet: the job's, or the shipped example."""
    if not values.encoder or not values.dataset:
        return {"plan": "Choose an encoder to go on."}
    running = bool(values.run) and workspace.store.runs.get(values.run)["state"] in run_rows.LIVE
    return views.shown(workspace, _job(values), running=running)


def _carry(published: Published) -> None:
    """Publish the sheets of published encoders on data whose texts are published."""
    for job, found in _sheets(published):
        public = ChooseJob(**published.renamed(vars(job)))
        with suppress(UserError):
            key = sheet.key(published.workspace, _normalised(public))
            published.workspace.store.derived.put(key, sheet.KIND, published.renamed(found))


def _sheets(published: Published) -> Iterator[tuple[ChooseJob, Sheet]]:
    """Jobs with a stored sheet, the newest first."""
    for row in published.source.store.derived.list(sheet.KIND):
        found = row["info"]
        if found["data"] not in published.texts:
            continue
        for job in _questions(found):
            wanted = set(job.encoders) <= published.encoders.keys()
            with suppress(UserError):  # the data set was removed
                if wanted and sheet.key(published.source, job) == row["key"]:
                    yield job, found


def _questions(found: Mapping[str, Any]) -> Iterator[ChooseJob]:
    """Jobs that may have made a sheet: the baseline is in every sheet, requested or not."""
    names = [row["encoder"] for row in found["encoders"]]
    without = [name for name in names if name != found["baseline"]]
    for chosen in (names, without):
        if chosen:
            yield ChooseJob.of(found["data"], chosen, **found["limits"])


def _normalised(job: ChooseJob) -> ChooseJob:
    return ChooseJob.of(
        job.dataset, job.encoders, job.max_ms, job.max_bytes, job.licences, job.margin
    )


def _published_views(published: Published) -> list[View]:
    """Every sheet, and the shipped example if its encoders and data are published."""
    found = [
        _view_of(_normalised(ChooseJob(**published.renamed(vars(job)))))
        for job, _ in _sheets(published)
    ]
    shipped = example.read(published.workspace)
    if shipped and not any(dict(view.query)["data"] == example.DATA for view in found):
        encoders = [row["encoder"] for row in shipped["encoders"]]
        kept = [name for name in encoders if name in published.encoders.values()]
        if len(kept) > 1:
            found.append(_view_of(ChooseJob.of(example.DATA, kept)))
    return found


def _view_of(job: ChooseJob) -> View:
    margin = None if job.margin == MARGIN else job.margin
    limits = (
        ("max_ms", job.max_ms),
        ("max_bytes", job.max_bytes),
        ("margin", margin),
        *(("licence", one) for one in job.licences),
    )
    values = tuple(
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in limits
        if value is not None
    )
    label = " · ".join([job.dataset, *(value for _, value in values)])
    return View(
        label, (*(("encoder", one) for one in job.encoders), ("data", job.dataset), *values)
    )


FROZEN = Frozen(carry=_carry, views=_published_views)
