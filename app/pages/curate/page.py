"""The page *Curate*: duplicates, outliers, leaks, typical sentences of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.pages.curate import service
from theodolite.app.pages.curate.service import CurateJob
from theodolite.app.pages.curate.tables import HEADS, frame, sentence
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.geometry.service import ALL, splits
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Control, Controls, Values, shape

if TYPE_CHECKING:
    from theodolite.app.pages.curate.service import Answer
    from theodolite.app.workspace import Workspace

TITLE = "Curate"
PATH = "curate"
DESCRIPTION = (
    "Check a collection before you trust it: duplicates, outliers, leaks between training "
    "and test data, and typical sentences."
)
WORDS = {
    "exact": "The same words, ignoring case, spaces and final punctuation.",
    "near": "Groups in which each sentence is close to another, by cosine.",
    "outliers": "Sentences whose nearest neighbours are far away.",
    "typical": "Sentences nearest to the mean direction of all, and farthest from it.",
    "leaks": "Sentences of one part that also occur in another, exactly or nearly.",
}
NARROW = {"min_width": 140, "scale": 0}
BARE = {"elem_classes": ["t-bare"]}
CONTROLS = (
    Control(
        "check",
        "Look for",
        gr.Radio,
        "outliers",
        key="job",
        options={"elem_id": "job"},
        choices=[(name, check) for check, name in service.NAMES.items()],
    ),
    collections.COLLECTION,
    Control("split", "Split", gr.Dropdown, ALL, options={"choices": [ALL], "min_width": 140}),
    choices.ENCODER,
    Control(
        "against",
        "Already seen: collection",
        gr.Dropdown,
        "",
        options={"choices": [], "value": None, "min_width": 220},
    ),
    Control(
        "against_split",
        "Already seen: split",
        gr.Dropdown,
        ALL,
        options={"choices": [ALL], "min_width": 140, "elem_id": "against-split"},
    ),
    Control(
        "least",
        "Minimum cosine",
        gr.Number,
        CurateJob.threshold,
        options={"minimum": -1, "maximum": 1, "step": 0.01, **NARROW},
    ),
    Control(
        "nearest",
        "n_neighbors",
        gr.Number,
        CurateJob.neighbours,
        hint="Neighbours per sentence.",
        options={"minimum": 1, "maximum": service.MAX_NEIGHBOURS, "precision": 0, **NARROW},
    ),
    Control(
        "many",
        "Top k",
        gr.Number,
        CurateJob.many,
        options={"minimum": 1, "maximum": service.MAX_KEPT // 2, "precision": 0, **NARROW},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("check", "collection", "encoder", **BARE)
        go = gr.Button(
            "Run check", variant="primary", elem_id="look", visible=not workspace.read_only
        )
        with parts.more():
            controls.render("split")
            with gr.Row(visible=False) as near:  # a row each: a hidden box would leave a gap
                controls.render("least")
            with gr.Row() as lonely:
                controls.render("nearest")
            with gr.Row() as some:
                controls.render("many")
    first = f'<p class="t-muted">{WORDS["outliers"]}</p>'  # `shaped` updates it for other checks
    about = parts.static(first, elem_id="about-job")
    with gr.Row(visible=False) as seen:
        controls.render("against", "against_split")
    notice = parts.notice()
    panel = RunPanel(workspace)
    shown = {"table": parts.static("", elem_id="found", elem_classes=["t-answer"])}

    def shaped(check: str) -> dict[Any, Any]:
        """Updates that show only the controls a check uses."""
        return {
            about: f'<p class="t-muted">{WORDS[check]}</p>',
            controls["encoder"]: gr.update(visible=check != "exact"),
            near: gr.update(visible=check in ("near", "leaks")),
            lonely: gr.update(visible=check == "outliers"),
            some: gr.update(visible=check in ("outliers", "typical")),
            seen: gr.update(visible=check == "leaks"),
        }

    def show(values: Values, session: str | None) -> Iterator[Mapping[str, Any]]:
        yield from background_call.changes(
            lambda say: {"table": _shown(workspace, values)}, _first(values), session, "table"
        )

    shape(shaped, {controls["check"]: WORDS})
    panel.connect(
        controls,
        shown,
        shown["table"],
        go,
        notice,
        load=partial(_fill, workspace),
        show=show,
        make=lambda values: service.run_check(workspace, _spec(values)),
        refill={
            "collection": lambda values: {"split": _splits(workspace, values.collection)},
            "against": lambda values: {"against_split": _splits(workspace, values.against)},
        },
    )


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    place, collection = collections.filled(workspace, values.collection)
    other, against = collections.filled(workspace, values.against, place)
    encoder = next(iter(choices.from_address(workspace, request)), None)
    return vars(values) | {
        "collection": collection,
        "split": _splits(workspace, place, values.split),
        "encoder": choices.one(workspace, encoder),
        "against": against,
        "against_split": _splits(workspace, other, values.against_split),
    }


def _splits(workspace: Workspace, dataset: str, wanted: str = ALL) -> Any:
    offered = splits(workspace, dataset)
    return gr.update(choices=offered, value=wanted if wanted in offered else ALL)


def _first(values: Values) -> str:
    """The first progress message."""
    if values.check == "exact":
        return "Looking"
    return f"Loading {values.encoder}; this takes some seconds"


def _spec(values: Values) -> CurateJob:
    """The check that the controls describe."""
    return service.spec(
        values.check,
        values.collection,
        split=values.split or ALL,
        encoder=values.encoder or "",
        threshold=values.least,
        neighbours=values.nearest,
        many=values.many,
        against=values.against or "",
        against_split=values.against_split or ALL,
    )


def _shown(workspace: Workspace, values: Values) -> str:
    """The table if the check was run before, else what to do."""
    spec = _spec(values)
    found = service.found(workspace, spec)
    if found is not None:
        return results_html(found, str(values.encoder or ""))
    hint = parts.next_step(
        workspace.read_only,
        "choose a check that was run before",
        "Press Run check. Large collections are processed in the background.",
    )
    return parts.empty(f"{service.NAMES[spec.check]}: not checked yet", hint)


MAX_SHOWN = 200
"""Most rows of a table on the page; the CSV has all."""
MAX_IDS = 500
"""Most sentences in the address of a map: longer addresses are refused."""


def results_html(found: Answer, encoder: str) -> str:
    """The summary, the links to all rows, and a table of the first rows with search links."""
    heading = (
        f'<div class="t-section"><h2>{escape(sentence(found))}</h2>{_ways(found, encoder)}</div>'
    )
    if not len(found.ids):
        return heading
    table = frame(found).head(MAX_SHOWN)
    names = ["sentence", *(name for name in table.columns if name not in ("id", "sentence"))]
    rows = [
        [_cell(name, row[name], found, encoder) for name in names]
        for row in table.to_dict("records")
    ]
    heads = ["Sentence", *(HEADS[name] for name in names[1:])]
    numbers = [i for i, name in enumerate(names) if name in ("group", "occurs", "cosine")]
    return heading + parts.table(heads, rows, "What was found", numbers)


def _ways(found: Answer, encoder: str) -> str:
    """Links to the CSV and the map, and notes on rows that are left out."""
    if not len(found.ids):
        return ""
    file = f"./theodolite/curation/{found.key}.csv"
    links = [
        f'<a href="{file}" download>Save {formats.plural(found.info["kept"], "row")} as CSV</a>',
        f'<a href="{file}?spreadsheet=1" download '
        f'title="An apostrophe before text that a spreadsheet would take for a formula">'
        "CSV for spreadsheets</a>",
    ]
    ids = ",".join(str(i) for i in dict.fromkeys(found.ids[:MAX_IDS].tolist()))
    where = {"in": found.job.dataset, "encoder": encoder or found.job.encoder, "ids": ids}
    shown = min(MAX_IDS, len(found.ids))
    links.append(
        f'<a href="{escape(address.link("map", **where))}">'
        f"{'Open' if shown == len(found.ids) else f'Open the first {shown}'} on the map</a>"
    )
    more = []
    if found.info["found"] > found.info["kept"]:
        more.append(f"Of {found.info['found']:,} the first {found.info['kept']:,} were kept.")
    if len(found.ids) > MAX_SHOWN:
        more.append(f"The first {MAX_SHOWN} are shown here.")
    note = f'<p class="t-muted">{" ".join(more)}</p>' if more else ""
    return f'<p class="t-ways">{"".join(links)}</p>{note}'


def _cell(name: str, value: Any, found: Answer, encoder: str) -> str:
    if name == "sentence":
        text = formats.encodable(str(value))
        where = {"q": text[:2000], "in": found.job.dataset, "encoder": encoder or found.job.encoder}
        return (
            f'<span dir="auto">{escape(text)}</span> <a class="t-small" '
            f'href="{escape(address.link("search", **where))}" '
            f'aria-label="Search for {escape(text[:80])}">search</a>'
        )
    if name == "twin":
        return f'<span dir="auto">{escape(formats.encodable(str(value)))}</span>'
    if name == "cosine":
        return f"{value:.3f}".replace("-", "−")
    if name == "most":
        return f"{value} typical"
    if name == "exact":
        return "yes" if value else "no"
    return f"{value:,}"
