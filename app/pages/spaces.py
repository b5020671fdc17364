"""The page *Two spaces*: one collection under two encoders, side by side, and what changed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, parts
from app.components.changes import changes
from app.components.chart import chart
from app.components.map import point_map
from app.pages import choices, spaces_views
from app.pages.following import Following
from app.space import spaces
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Two spaces"
PATH = "spaces"
FIRST = ("minilm", "wordllama", "random:256")
PLAIN = {"in": "starter-topics", "k": 10, "groups": "k-means", "method": "umap", "show": "side"}
VIEWS = [("Side by side", "side"), ("One map that moves", "move")]
LEAD = (
    "The same sentences as two encoders have them: two maps that hover, select and zoom together, "
    "and what changed between them, measured in all dimensions and not on the picture."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, LEAD)
    with gr.Row():
        first = gr.Dropdown([], label="First encoder", elem_id="first", min_width=220)
        second = gr.Dropdown([], label="Second encoder", elem_id="second", min_width=220)
        collection = gr.Dropdown([], label="Collection", elem_id="collection", min_width=220)
    with gr.Accordion("Neighbours, maps, clusters", open=False), gr.Row():
        k = gr.Number(10, label="Neighbours compared", minimum=1, maximum=spaces.MOST_NEIGHBOURS,
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
    following = Following(workspace)
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
    controls = [first, second, collection, k, method, groups, size, show]
    views = [words, show, left_name, left, right_side, right_name, right, changed_head, changed,
             flow_head, flow]  # fmt: skip

    def load(request: gr.Request) -> tuple[Any, ...]:
        names = [info.name for info in workspace.catalog.list()]
        named = address.first(request, "in")
        if named.startswith("hub:"):
            names.append(named)
        chosen = choices.asked(workspace, request, FIRST)[:2]
        offered = list(dict.fromkeys([*choices.names(workspace), *chosen]))
        one, other, *_ = [*chosen, *(n for n in offered if n not in chosen), None, None]
        asked = address.first(request, "k")
        run = address.first(request, "run")
        return (
            gr.update(choices=offered, value=one),
            gr.update(choices=offered, value=other),
            gr.update(choices=names, value=address.choice(request, "in", names, "starter-topics")),
            int(asked) if asked.isdecimal() and len(asked) < 4 else 10,
            address.choice(request, "method", ("umap", "pca"), "umap"),
            address.choice(request, "groups", spaces.CLUSTERINGS, "k-means"),
            address.first(request, "size")[:4],
            address.choice(request, "show", [value for _, value in VIEWS], "side"),
            run if run in {r["id"] for r in workspace.store.runs.list()} else "",
        )

    def shown(*values: Any) -> tuple[Any, ...]:
        return _shown(workspace, *values)

    def make(*values: Any) -> tuple[Any, ...]:
        workspace.refuse_visitors()
        question = _question(*values)
        run = ""
        if spaces.stored(workspace, question) is None:
            run = spaces.queue(workspace, question)
        return (*_shown(workspace, *values), run)

    quiet = {"show_progress": "hidden"}
    opened = parts.on_load(parts.telling(load, 9), None, [*controls, following.run, notice])
    opened.then(parts.telling(shown, len(views)), controls, [*views, notice], **quiet)
    gr.on([c.input for c in controls], parts.telling(shown, len(views)), controls,
          [*views, notice], trigger_mode="always_last", **quiet)  # fmt: skip
    go.click(parts.telling(make, len(views) + 1), controls, [*views, following.run, notice],
             **quiet)  # fmt: skip
    following.moved.change(parts.telling(shown, len(views)), controls, [*views, notice], **quiet)
    address.keep({"in": collection, "k": k, "method": method, "groups": groups, "size": size,
                  "show": show, "run": following.run}, PLAIN)  # fmt: skip
    # One name for both, so that links to and from other pages keep their encoders.
    gr.on([first.change, second.change], fn=None, inputs=[first, second],
          js="(a, b) => { theodolite.address(['encoder'], [[a, b]], {}); }")  # fmt: skip


def _question(
    first: str | None,
    second: str | None,
    collection: str,
    k: Any,
    method: str,
    groups: str,
    size: str,
    _: str,
) -> spaces.Asked:
    """The controls as `app.space.spaces` takes them.

    Raises:
        UserError: fewer than two encoders, or a size that is not a number.
    """
    if not first or not second:
        raise UserError("Two encoders are needed.", "Choose them above, or add one on Encoders.")
    text = (size or "").strip()
    if text and not (text.isascii() and text.isdigit()):
        raise UserError(f"{text!r} is not a number.", "Give a whole number, or leave it empty.")
    return spaces.asked(
        first, second, collection, k=10 if k is None else int(k), clustering=groups, method=method,
        size=int(text) if text else None,
    )  # fmt: skip


def _shown(workspace: Workspace, *values: Any) -> tuple[Any, ...]:
    """The pair if it was made, else its principal components at once, else what to do."""
    from app.space import spaces_making

    question = _question(*values)
    sentences = spaces.need(workspace, question)
    pair = spaces.stored(workspace, question)
    if pair is None:
        pair = spaces_making.quick(workspace, question)
    hidden = gr.update(visible=False)
    if pair is None:
        nothing = _nothing(len(sentences), workspace.read_only)
        return nothing, hidden, "", None, gr.skip(), "", None, "", "", "", None
    moves = values[-1] == "move"
    report = pair.report
    words = spaces_views.figures(report) if report else _waiting(workspace.read_only)
    return (
        words,
        gr.update(visible=True),
        spaces_views.side(pair.first) if not moves else "",
        spaces_views.moving(pair) if moves else spaces_views.left(pair),
        gr.update(visible=not moves),
        spaces_views.side(pair.second),
        None if moves else spaces_views.right(pair),
        *spaces_views.changed(pair, sentences),
        *spaces_views.flow(report),
    )


def _nothing(count: int, visitor: bool) -> str:
    hint = (
        "This demonstration does not start runs: choose another collection, or other encoders."
        if visitor
        else "Press Compare: the sentences are encoded in the background, once, and the maps are "
        "here when they are ready."
    )
    return parts.empty(f"{count:,} sentences, not compared yet", hint)


def _waiting(visitor: bool) -> str:
    ask = "" if visitor else (
        " Press Compare for UMAP, what changed in all dimensions, and the clusters."
    )  # fmt: skip
    said = f"These are the first two principal components of either, drawn at once.{ask}"
    return f'<p class="t-map-trust">{escape(said)}</p>'
