"""The page *Two spaces*: one collection under two encoders, side by side, and what changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.chart import chart
from app.components.map import point_map
from app.pages.encoders import choices
from app.pages.jobs.run_panel import RunPanel
from app.pages.map import views as map_views
from app.pages.spaces import service
from app.pages.spaces import views as spaces_views
from app.pages.spaces.changes import changes
from app.web import address, background_call, parts
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from engine.errors import UserError
from store.runs import LIVE

if TYPE_CHECKING:
    from app.pages.spaces.service import Pair
    from app.workspace import Workspace

TITLE = "Two spaces"
PATH = "spaces"
DEFAULTS = {"in": "starter-topics", "k": 10, "groups": "k-means", "method": "umap", "show": "side"}
_UNCHANGED = [gr.skip()] * 10
"""For every view but the words."""
VIEWS = [("Side by side", "side"), ("One map that moves", "move")]
DESCRIPTION = (
    "The same sentences as two encoders have them: two maps that hover, select and zoom together, "
    "and what changed between them, measured in all dimensions and not on the picture."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row():
        first = gr.Dropdown([], label="First encoder", elem_id="first", min_width=220)
        second = gr.Dropdown([], label="Second encoder", elem_id="second", min_width=220)
        collection = gr.Dropdown([], label="Collection", elem_id="collection", min_width=220)
    with gr.Accordion("Neighbours, maps, clusters", open=False), gr.Row():
        k = gr.Number(10, label="Neighbours compared", minimum=1, maximum=service.MOST_NEIGHBOURS,
                      precision=0, elem_id="k", min_width=150,
                      info="Of each sentence, by cosine.")  # fmt: skip
        method = gr.Radio([("UMAP", "umap"), ("Principal components", "pca")], value="umap",
                          label="Maps", elem_id="method", min_width=260)  # fmt: skip
        groups = gr.Radio(
            [("k-means", "k-means"), ("HDBSCAN", "hdbscan")], value="k-means", label="Clusters",
            elem_id="groups", min_width=220,
        )  # fmt: skip
        size = gr.Textbox("", label="Groups, or points in the smallest", elem_id="size",
                          max_length=4, min_width=200, info="Empty: the usual one.")  # fmt: skip
    with gr.Row(elem_classes=["t-tight"], visible=not workspace.read_only):
        go = gr.Button("Compare", variant="primary", elem_id="compare-spaces")
    notice = parts.notice()
    following = RunPanel(workspace)
    words = parts.static("", elem_id="figures")
    show = gr.Radio(VIEWS, value="side", label="View", elem_id="show", visible=False)
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            left_name = parts.static("")
            left = point_map(elem_id="left-map")
        with gr.Column(min_width=320, visible=True) as right_side:
            right_name = parts.static("")
            right = point_map(elem_id="right-map")
    changed_head = parts.static("")
    changed = changes(elem_id="changed")
    flow_head = parts.static("")
    flow = chart(elem_id="flow")
    seen = gr.State({})
    controls = [first, second, collection, k, method, groups, size, show]
    views = [words, show, left_name, left, right_side, right_name, right, changed_head, changed,
             flow_head, flow]  # fmt: skip

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def shown(
        request: gr.Request, view: dict[str, Any], run: str, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        yield from _shown(workspace, request.session_hash, view, run, *values)

    def make(request: gr.Request, view: dict[str, Any], *values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _made(workspace, request.session_hash, view, *values)

    followed = [seen, following.run, *controls]
    opened = parts.on_load(parts.telling(load, 10), None, [*controls, following.run, seen, notice])
    opened.then(parts.telling(shown, len(views)), followed, [*views, notice], **ALWAYS_LAST)
    gr.on([c.input for c in controls], parts.telling(shown, len(views)), followed,
          [*views, notice], trigger_mode="multiple", **HIDE_PROGRESS)  # fmt: skip
    go.click(parts.telling(make, len(views) + 1), [seen, *controls],
             [*views, following.run, notice], **HIDE_PROGRESS)  # fmt: skip
    following.moved.change(
        parts.telling(shown, len(views)), followed, [*views, notice], **ALWAYS_LAST
    )
    address.keep({"in": collection, "k": k, "method": method, "groups": groups, "size": size,
                  "show": show, "run": following.run}, DEFAULTS)  # fmt: skip
    # One name for both, so that links to and from other pages keep their encoders.
    gr.on([first.change, second.change], fn=None, inputs=[first, second],
          js="(a, b) => { theodolite.address(['encoder'], [[a, b]], {}); }")  # fmt: skip


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them."""
    names = [info.name for info in workspace.catalog.list()]
    named = address.first(request, "in")
    if named.startswith("hub:"):
        names.append(named)
    chosen = choices.asked(workspace, request)[:2]
    offered = list(dict.fromkeys([*choices.names(workspace), *chosen]))
    one, other, *_ = [*chosen, *(n for n in offered if n not in chosen), None, None]
    place = address.choice(request, "in", names, "starter-topics")
    asked = address.first(request, "k")
    run = address.first(request, "run")
    return (
        gr.update(choices=offered, value=one),
        gr.update(choices=offered, value=other),
        gr.update(choices=names, value=place),
        int(asked) if asked.isdecimal() and len(asked) < 4 else 10,
        address.choice(request, "method", ("umap", "pca"), "umap"),
        address.choice(request, "groups", service.CLUSTERINGS, "k-means"),
        address.first(request, "size")[:4],
        address.choice(request, "show", [value for _, value in VIEWS], "side"),
        run if run in {r["id"] for r in workspace.store.runs.list()} else "",
        map_views.asked(request, place),
    )


def _made(
    workspace: Workspace, session: str | None, view: dict[str, Any], *values: Any
) -> Iterator[tuple[Any, ...]]:
    """The pair when it is there already, else a run that makes it."""
    workspace.refuse_visitors()
    question = _question(*values)
    service.need(workspace, question)
    words: Any = gr.skip()
    for words_now, known in background_call.followed(
        lambda say: [service.stored(workspace, question)],
        f"Loading {question.first} and {question.second}",
        session,
    ):
        if known is None:
            words = ""
            yield words_now, *_UNCHANGED, gr.skip()
        elif known[0] is not None:
            yield from ((*some, "") for some in _shown(workspace, session, view, "", *values))
        else:
            yield words, *_UNCHANGED, service.queue(workspace, question)


def _question(
    first: str | None,
    second: str | None,
    collection: str,
    k: Any,
    method: str,
    groups: str,
    size: str,
    _: str,
) -> service.Asked:
    """The controls as `app.pages.spaces.service` takes them.

    Raises:
        UserError: fewer than two encoders, or a size that is not a number.
    """
    if not first or not second:
        raise UserError("Two encoders are needed.", "Choose them above, or add one on Encoders.")
    text = (size or "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise UserError(f"{text!r} is not a number.", "Give a whole number, or leave it empty.")
    return service.asked(
        first, second, collection, k=10 if k is None else int(k), clustering=groups, method=method,
        size=int(text) if text else None,
    )  # fmt: skip


def _shown(
    workspace: Workspace, session: str | None, view: dict[str, Any], run: str, *values: Any
) -> Iterator[tuple[Any, ...]]:
    """How far it is, then the pair, or its principal components, or what to do."""
    question = _question(*values)
    sentences = service.need(workspace, question)
    alive = bool(run) and workspace.store.runs.get(run)["state"] in LIVE
    try:
        for words, found in background_call.followed(
            lambda say: [_found(workspace, question, alive, say)],
            f"Opening {question.dataset}",
            session,
        ):
            if found is None:
                yield words, *_UNCHANGED
            elif found[0] is None:
                yield _nothing(workspace, len(sentences), alive)
            else:
                meanwhile = not found[0].report and question.method != "pca"
                shown = {**view, "view": ""} if meanwhile else view  # that of other maps
                yield _drawn(workspace, found[0], values[-1] == "move", sentences, shown)
    except background_call.TooSlow as slow:
        yield _nothing(workspace, len(sentences), alive, slow.left)


def _found(
    workspace: Workspace, question: service.Asked, alive: bool, say: background_call.Say
) -> Pair | None:
    """The pair, or its principal components; what is lacking for these is encoded now.

    Unless a run is about to do that.
    """
    from app import vectors
    from app.pages.map import service as maps
    from app.pages.spaces import making

    sentences = service.need(workspace, question)
    encoders = (question.first, question.second)
    say(f"Loading {' and '.join(encoders)}; that takes some seconds", None, None)
    if not any("@task" in encoder for encoder in encoders):
        pair = service.stored(workspace, question)
        if pair is not None or len(sentences) > maps.QUICK_POINTS:
            return pair
    for encoder in encoders:
        if alive and vectors.missing(workspace, encoder, question.dataset):
            return None
        background_call.encode(workspace, encoder, question.dataset, say)
    say("Laying the points out", None, None)
    return service.stored(workspace, question) or making.quick(workspace, question)


def _drawn(
    workspace: Workspace, pair: Pair, moves: bool, sentences: Sequence[str], view: dict[str, Any]
) -> tuple[Any, ...]:
    """Everything below the controls."""
    report = pair.report
    words = spaces_views.figures(report) if report else _waiting(workspace.read_only)
    return (
        words,
        gr.update(visible=True),
        spaces_views.side(pair.first) if not moves else "",
        spaces_views.moving(pair, view) if moves else spaces_views.left(pair, view),
        gr.update(visible=not moves),
        spaces_views.side(pair.second),
        None if moves else spaces_views.right(pair, view),
        *spaces_views.changed(pair, sentences),
        *spaces_views.flow(report),
    )


def _nothing(
    workspace: Workspace, count: int, alive: bool, left: float | None = None
) -> tuple[Any, ...]:
    """No maps, and what to do."""
    rest = "" if left is None else formats.time_left(left).removesuffix(" left")
    long = f" One of them takes {rest}." if rest else ""
    title = f"{count:,} sentences, not compared yet"
    hint = (
        "This demonstration does not start runs: choose another collection, or other encoders."
        if workspace.read_only
        else f"Press Compare: the sentences are encoded in the background, once.{long} The maps "
        "are here when they are ready."
    )
    if alive:
        title, hint = f"{count:,} sentences, being encoded", "The maps are drawn as soon as can be."
    hidden = gr.update(visible=False)
    return parts.empty(title, hint), hidden, "", None, gr.skip(), "", None, "", "", "", None


def _waiting(visitor: bool) -> str:
    ask = "" if visitor else (
        " Press Compare for UMAP, what changed in all dimensions, and the clusters."
    )  # fmt: skip
    said = f"These are the first two principal components of either, drawn at once.{ask}"
    return f'<p class="t-map-trust">{escape(said)}</p>'
