"""The page *Curate*: duplicates, outliers, leaks, typical sentences of a collection."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.pages.curate import service
from app.pages.encoders import choices
from app.pages.jobs.run_panel import RunPanel
from app.web import address, background_call, parts
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Curate"
PATH = "curate"
DESCRIPTION = (
    "Look a collection over before you trust it: sentences that stand in it twice, that belong "
    "nowhere, that are in training and test alike, or that stand for all the others."
)
JOBS = [(name, job) for job, name in service.NAMES.items()]
WORDS = {
    "exact": "The same words, whatever the case, the spaces and the mark at the end.",
    "near": "Groups in which every sentence is near another, by cosine.",
    "outliers": "Sentences whose nearest others are far away.",
    "typical": "Sentences nearest to the mean direction of all, and farthest from it.",
    "leaks": "Sentences of one part that another part has too, word for word or nearly.",
}
AT_ONCE = 3000
DEFAULTS = {"in": "starter-topics", "job": "near", "split": service.ALL, "least": 0.9,
         "nearest": 10, "many": 100, "against": "", "against_split": service.ALL}  # fmt: skip


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    job = gr.Radio(JOBS, label="Look for", elem_id="job")
    about = parts.static("", elem_id="about-job")
    with gr.Row():
        collection = gr.Dropdown([], label="Collection", elem_id="collection", min_width=220)
        split = gr.Dropdown([], label="Split", elem_id="split", min_width=140)
        encoder = gr.Dropdown([], label="Encoder", elem_id="encoder", min_width=220)
    with gr.Row(visible=False) as seen:
        against = gr.Dropdown([], label="Already seen: collection", elem_id="against",
                              min_width=220)  # fmt: skip
        against_split = gr.Dropdown([], label="Already seen: split", elem_id="against-split",
                                    min_width=140)  # fmt: skip
    with gr.Row(visible=False) as near:
        least = gr.Number(0.9, label="Least cosine", minimum=-1, maximum=1, step=0.01,
                          elem_id="least", min_width=140, scale=0)  # fmt: skip
    with gr.Row(visible=False) as lonely:
        nearest = gr.Number(10, label="Nearest others", minimum=1, maximum=100, precision=0,
                            elem_id="nearest", min_width=140, scale=0)  # fmt: skip
    with gr.Row(visible=False) as some:
        many = gr.Number(100, label="How many", minimum=1, maximum=service.MOST_KEPT // 2,
                         precision=0, elem_id="many", min_width=140, scale=0)  # fmt: skip
    go = gr.Button("Look", variant="primary", elem_id="look", visible=not workspace.read_only)
    notice = parts.notice()
    following = RunPanel(workspace)
    table = parts.static("", elem_id="found")
    controls = [job, collection, split, encoder, least, nearest, many, against, against_split]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def show(*values: Any) -> Iterator[str]:
        for words, found in background_call.followed(
            lambda say: _shown(workspace, *values), _first(values)
        ):
            yield found or words

    def look(*values: Any) -> Iterator[tuple[Any, ...]]:
        workspace.refuse_visitors()
        for words, found in background_call.followed(
            lambda say: _looked(workspace, *values), _first(values)
        ):
            yield found or (gr.skip(), words)

    shaped = [about, encoder, near, lonely, some, seen]  # rows: an empty one would leave a gap
    opened = parts.on_load(parts.telling(load, 10), None, [*controls, following.run, notice])
    parts.shape(_shape, {job: WORDS}, shaped)
    opened.then(parts.telling(show, 1), controls, [table, notice], **ALWAYS_LAST)
    for place, box in ((collection, split), (against, against_split)):
        place.input(
            parts.telling(lambda name: _splits(workspace, name, ""), 1), place, [box, notice],
            **ALWAYS_LAST,
        ).then(parts.telling(show, 1), controls, [table, notice], **ALWAYS_LAST)  # fmt: skip
    gr.on([c.input for c in (job, split, encoder, least, nearest, many, against_split)],
          parts.telling(show, 1), controls, [table, notice], **ALWAYS_LAST)  # fmt: skip
    if not workspace.read_only:
        go.click(parts.telling(look, 2), controls, [following.run, table, notice],
                 **HIDE_PROGRESS)  # fmt: skip
    following.moved.change(parts.telling(show, 1), controls, [table, notice], **ALWAYS_LAST)
    names = ("job", "in", "split", "encoder", "least", "nearest", "many", "against",
             "against_split")  # fmt: skip
    address.keep(dict(zip(names, controls, strict=True)) | {"run": following.run}, DEFAULTS)


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them."""
    names = [info.name for info in workspace.catalog.list()]
    asked = {name: address.first(request, name, str(value)) for name, value in DEFAULTS.items()}
    names += [n for n in (asked["in"], asked["against"])
              if n.startswith("hub:") and n not in names]  # fmt: skip
    place = asked["in"] if asked["in"] in names else "starter-topics"
    other = asked["against"] if asked["against"] in names else place
    chosen = choices.asked(workspace, request)[:1]
    offered = list(dict.fromkeys([*choices.names(workspace), *chosen]))
    what = asked["job"] if asked["job"] in service.NAMES else "near"
    return (
        what,
        gr.update(choices=names, value=place),
        _splits(workspace, place, asked["split"]),
        gr.update(choices=offered, value=next(iter(chosen), None)),
        *(_number(asked[name], float(DEFAULTS[name])) for name in ("least", "nearest", "many")),  # type: ignore[arg-type]
        gr.update(choices=names, value=other),
        _splits(workspace, other, asked["against_split"]),
        address.first(request, "run"),
    )


def _shape(what: str) -> tuple[Any, ...]:
    """Only the controls that matter to a job are shown."""
    return (
        f'<p class="t-muted">{WORDS[what]}</p>', gr.update(visible=what != "exact"),
        gr.update(visible=what in ("near", "leaks")), gr.update(visible=what == "outliers"),
        gr.update(visible=what in ("outliers", "typical")),
        gr.update(visible=what == "leaks"),
    )  # fmt: skip


def _splits(workspace: Workspace, dataset: str, wanted: str) -> Any:
    from app.pages.geometry import service as shapes

    offered = shapes.splits(workspace, dataset)
    return gr.update(choices=offered, value=wanted if wanted in offered else service.ALL)


def _number(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default


def _first(values: tuple[Any, ...]) -> str:
    """What takes time before anything is looked for."""
    return f"Loading {values[3]}; that takes some seconds" if values[0] != "exact" else "Looking"


def _looked(workspace: Workspace, *values: Any) -> tuple[Any, ...]:
    """A run for what takes long, or the table."""
    asked = _wanted(*values)
    if service.found(workspace, asked) is None and not _small(workspace, asked):
        return service.queue(workspace, asked), gr.skip()
    service.answer(workspace, asked)
    return "", _shown(workspace, *values)


def _wanted(
    job: str, dataset: str, split: str, encoder: str | None, least: float | None,
    nearest: float | None, many: float | None, against: str, against_split: str,
) -> service.Wanted:  # fmt: skip
    """The controls as a question.

    Raises:
        UserError: something that cannot be asked.
    """
    numbers = (least, nearest, many)
    if any(value is None for value in numbers):
        raise UserError("A number is missing.", "Fill the box that is empty.")
    return service.wanted(
        job, dataset, split=split or service.ALL, encoder=encoder or "",
        threshold=float(least or 0), neighbours=int(nearest or 0), many=int(many or 0),
        against=against if job == "leaks" else "", against_split=against_split or service.ALL,
    )  # fmt: skip


def _shown(workspace: Workspace, *values: Any) -> str:
    """The table when the question was asked before, else what to do."""
    from app.pages.curate import tables

    asked = _wanted(*values)
    found = service.found(workspace, asked)
    if found is not None:
        return tables.html(found, str(values[3] or ""))
    hint = (
        "This demonstration does not start runs: choose what was looked for before."
        if workspace.read_only
        else "Press Look. A large collection is worked on in the background."
    )
    return parts.empty(f"{service.NAMES[asked.job]}: not looked for yet", hint)


def _small(workspace: Workspace, asked: service.Wanted) -> bool:
    """Whether the answer takes no more than a second or two."""
    from app.pages.search import searchable

    for place in {asked.dataset, asked.against or asked.dataset}:
        if len(workspace.catalog.load(place).sentences) > AT_ONCE:
            return False
        if asked.encoder and searchable.missing(workspace, asked.encoder, place) > searchable.SMALL:
            return False
    return True
