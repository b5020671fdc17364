"""Building blocks of every page: first row, empty state, notice, status, tag, progress.

They return HTML with all outside text escaped, or plain Gradio components. The main content of a
page, its table, picture or list, has the class `t-answer` (`elem_classes`): a test measures where
it begins.
"""

from __future__ import annotations

import json
import logging
import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.names import labelled
from theodolite.engine.errors import PlacedError, UserError
from theodolite.store.errors import StoreError

if TYPE_CHECKING:
    import gradio as gr

log = logging.getLogger("theodolite")
HIDE_PROGRESS: dict[str, Any] = {"show_progress": "hidden", "show_progress_on": []}
"""Options of an event without Gradio's progress display. Without the empty list Gradio would still
notify each output component of each step, which for fifty controls delays the page."""
ALWAYS_LAST: dict[str, Any] = {**HIDE_PROGRESS, "trigger_mode": "always_last"}
"""Options of a control's event: a change made while an answer is on its way is answered next."""
ONE_AT_A_TIME: dict[str, Any] = {**ALWAYS_LAST, "concurrency_limit": 1}
"""Options of an event that many controls fire, some at the same moment: answers arrive in order.
Visitors wait for each other, so the handler has to be quick."""
CLOSE_MORE = """() => document.querySelector("#more.t-open .t-rest-head button")?.click()"""
"""Closes the panel of `more`, which may cover what was added there."""
_LEFT = ("value", "visible")
SHIPPED = (
    '<small class="t-shipped" title="Made with this very encoder before Theodolite was shipped">'
    "shipped example</small>"
)
"""Tag of a result from `app.examples`, in place of its computation time."""


@contextmanager
def bar(title: str, about: str = "") -> Iterator[gr.Row]:
    """A page's compact first row: its title, its main controls, its one action.

    The labels of its controls are inside their frames, before the value; the class `t-bare` on a
    control leaves its label to screen readers, `t-wide` gives it the remaining width. Hints are not
    shown in the row. For example:

        with parts.bar("Search", "Sentences near one that you write."):
            controls.render("q", "encoder", "collection")
            go = gr.Button("Search", variant="primary")
            with parts.more():
                controls.render("top_k", "least")
        hits = parts.static("", elem_classes=["t-answer"])

    Args:
        title: title of the page, its only `h1`. Plain text.
        about: purpose of the page, behind a question mark with links to its documentation; where
            encoders are chosen, also to how they are written. Plain text.
    """
    import gradio as gr
    from gradio.context import Context

    from theodolite.app.web import docs

    page = f"pages/{(Context.root_block and Context.root_block.current_page) or 'overview'}"
    links = {"More about this page": page} if (docs.FOLDER / f"{page}.md").is_file() else {}
    with gr.Row(elem_classes=["t-first"]) as row:
        head = static(header(title, about, links))
        yield row
    labels = [str(getattr(box, "label", "")).lower() for box in _inside(row)]
    if any("encoder" in label or label == "spec" for label in labels):
        head.value = header(title, about, {**links, "How encoders are written": "encoders"})


def _inside(block: Any) -> Iterator[Any]:
    for child in getattr(block, "children", ()):
        yield child
        yield from _inside(child)


def header(title: str, about: str = "", links: Mapping[str, str] | None = None) -> str:
    """The title of a page; behind a question mark its purpose, and pages of the documentation."""
    help_ = ""
    if about:
        more = "".join(
            f' <a href="./theodolite/docs/{at}" target="_blank">{text}</a>'
            for text, at in (links or {}).items()
        )
        help_ = (
            '<details class="t-about"><summary aria-label="About this page">?</summary>'
            f"<p>{escape(about)}{more}</p></details>"
        )
    return f'<header class="t-header"><h1>{escape(title)}</h1>{help_}</header>'


@contextmanager
def more(title: str = "More controls", *, is_named: bool = False) -> Iterator[gr.Column]:
    """The panel of a page's remaining controls, opened by the '…' button placed here.

    Use it last in `bar`. The panel is at the right edge, a bottom sheet on a phone; Escape closes
    it and restores the focus. Its controls stay mounted: values, address and events work while it
    is closed. In a test, `page.get_by_role("button", name="More controls").click()` opens it.

    Args:
        title: title of the panel, and tooltip and accessible name of its button. Plain text.
        is_named: whether to show the title on the button, except on a phone, for a main control.
    """
    import gradio as gr

    name = escape(title)
    words = f'<b aria-hidden="true">{name}</b>' if is_named else ""
    static(
        f'<button type="button" class="t-more-button{" t-named" if is_named else ""}" '
        f'aria-expanded="false" title="{name}" aria-label="{name}" aria-controls="more" '
        'data-press="more">'
        f'<span aria-hidden="true">…</span>{words}</button>',
        elem_classes=["t-more-place"],
    )
    with gr.Column(elem_id="more", elem_classes=["t-rest"]) as panel:
        static(
            f'<div class="t-rest-head"><h2>{name}</h2><button type="button" class="t-link" '
            f'data-press="more" data-of="more">Close</button></div>'
        )
        yield panel


def static(html: str, **kwargs: Any) -> gr.HTML:
    """A component of static HTML; the caller has escaped all outside text."""
    import gradio as gr

    return gr.HTML(html, js_on_load=None, apply_default_css=False, **kwargs)


def section(title: str, lead: str = "") -> gr.HTML:
    """A heading inside a page. Plain text."""
    return static(heading(title, lead))


def heading(title: str, lead: str = "", html: str = "", beside: str = "") -> str:
    """The heading of `section` as HTML.

    Args:
        title: plain text.
        lead: plain text below it.
        html: more of the lead, escaped.
        beside: HTML after the title.
    """
    sentence = f"<p>{escape(lead)}{html}</p>" if lead or html else ""
    head = f"<h2>{escape(title)}{beside}</h2>" if title or beside else ""
    return f'<div class="t-section">{head}{sentence}</div>'


def readings(values: Mapping[str, str]) -> str:
    """A list which interprets a picture for each encoder, in a sentence or two of plain text."""
    items = "".join(
        f'<li><span class="t-spec">{escape(name)}</span>{escape(text)}</li>'
        for name, text in values.items()
    )
    return f'<ul class="t-readings" aria-label="How to read it">{items}</ul>'


def empty(title: str, text: str, link: tuple[str, str] | None = None) -> str:
    """Placeholder where nothing is stored yet. `link` is (label, address)."""
    anchor = ""
    if link:
        anchor = f'<p><a class="t-button" href="{escape(link[1])}">{escape(link[0])}</a></p>'
    return f'<div class="t-empty"><h2>{escape(title)}</h2><p>{escape(text)}</p>{anchor}</div>'


def problem(error: Exception) -> str:
    """An error as a notice: its message, its position in the input and its hint."""
    message = escape(str(getattr(error, "message", error)))
    hint = str(getattr(error, "hint", "") or "")
    below = f"<p>{_hint(hint)}</p>" if hint else ""
    if isinstance(error, PlacedError):
        before, at, behind = (escape(part) for part in error.marked())
        below = f'<pre class="t-place" dir="ltr">{before}<mark>{at}</mark>{behind}</pre>{below}'
    return (
        f'<div class="t-notice t-bad" role="alert"><p><strong>{message}</strong></p>{below}</div>'
    )


def _hint(text: str) -> str:
    """What to do about an error, with commands set apart."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def failure(error: str | None, hint: str) -> str:
    """The error of a run, inside its card; empty text without an error."""
    if not error:
        return ""
    below = f"<br>{_hint(hint)}" if hint else ""
    return f'<p class="t-run-error">{escape(labelled(error))}{below}</p>'


def say(text: str, kind: str = "") -> str:
    """A short message after an action, read out by screen readers."""
    return (
        f'<div class="t-notice {escape(kind)}" role="status"><p>{escape(labelled(text))}</p></div>'
    )


def notice(**kwargs: Any) -> gr.HTML:
    """The component in which `problem` and `say` appear. Give it last among a handler's outputs."""
    return static("", elem_classes=["t-notice-place"], **kwargs)


def encodable(value: Any) -> Any:
    """A text without lone surrogates, which would break the stream to the browser; choices by name.

    What a control offers has its label; the value stays the spec.
    """
    if isinstance(value, dict) and value.get("choices"):
        pairs = [(labelled(one), one) if isinstance(one, str) else one for one in value["choices"]]
        return value | {"choices": pairs}
    return formats.encodable(value) if isinstance(value, str) else value


def caught(fn: Callable[..., Any], error: Exception) -> str:
    """The notice of an error in a handler; bugs of ours are logged."""
    if not isinstance(error, UserError | StoreError):
        log.exception("%s failed", getattr(fn, "__name__", "a handler"), exc_info=error)
        error = UserError(
            "An internal error occurred.",
            "Try again; the log of the app has the details.",
            code="failed",
        )
    return encodable(problem(error))


def left(box: Any, value: Any) -> Any:
    """The update of a control when its page opens, without what equals its initial state.

    Somebody may have changed its value before the page was filled, and Gradio redraws only the
    controls that are updated: a form with fifty controls takes half a second.
    """
    import gradio as gr

    begins = getattr(box, "value", None)
    if isinstance(value, dict) and value.get("__type__") == "update":
        same = {
            key
            for key, entry in value.items()
            if key in _LEFT and entry is not None and getattr(box, key, None) == entry
        }
        changed = {key: entry for key, entry in value.items() if key not in same}
        return changed if len(changed) > 1 else gr.skip()
    empty = value == "" and isinstance(box, gr.Textbox) and not begins
    return gr.skip() if empty or (begins is not None and value == begins) else value


def command(words: Sequence[str], text: str = "The same on the command line") -> str:
    """A command line with a copy button, usually the equivalent of the page."""
    spans = " ".join(f"<span>{escape(shlex.quote(word))}</span>" for word in words)
    return (
        f'<div class="t-copied"><p class="t-small t-muted">{escape(text)}</p>'
        f'<pre class="t-command" tabindex="0" aria-label="{escape(text)}">{spans}'
        '</pre><button type="button" class="t-link" data-press="copy">Copy</button>'
        "</div>"
    )


def csv_button(label: str, name: str, rows: Sequence[Sequence[Any]]) -> str:
    """A button that saves rows, the column names first, as a file in the browser.

    NaN and infinity are left empty, since JSON has neither.

    Args:
        label: text of the button.
        name: name of the file.
        rows: rows of the table.
    """
    finite = [
        [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in row]
        for row in rows
    ]
    data = escape(json.dumps(finite))
    return (
        f'<button type="button" class="t-link" data-name="{escape(name)}" data-rows="{data}" '
        f'data-press="save">{escape(label)}</button> '
    )


FOR_SPREADSHEETS = (
    '<button type="button" class="t-link" data-spreadsheet="true" data-press="save" title="An '
    'apostrophe before text that a spreadsheet would take for a formula">CSV for spreadsheets'
    "</button> "
)
"""A button after one of `csv_button` that saves the same rows."""


def tag(text: str, kind: str = "") -> str:
    """A small label. `kind`: `good`, `bad`, `warn`, `live`, or none."""
    return f'<span class="t-tag {"t-" + kind if kind else ""}">{escape(text)}</span>'


def progress_bar(done: float | None, label: str) -> str:
    """A progress bar; `done` is from 0 to 1, or None if unknown."""
    if done is None:
        return (
            f'<div class="t-bar t-unknown" role="progressbar" aria-label="{escape(label)}">'
            "<i></i></div>"
        )
    percent = round(100 * min(1.0, max(0.0, done)))
    return (
        f'<div class="t-bar" role="progressbar" aria-label="{escape(label)}" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{percent}"><i style="width:{percent}%"></i></div>'
    )


def cosine(value: float | None) -> str:
    """A cosine with a bar under it; nothing for None."""
    if value is None:
        return ""
    width, text = round(100 * min(1.0, max(0.0, value))), formats.cosine(value)
    return (
        f'<span class="t-cosine" aria-label="cosine {text}">{text}'
        f'<i style="--share:{width}%"></i></span>'
    )


def column_head(name: str, css: str = "", below: str = "") -> str:
    """The head of a sortable column: sorts with the mouse, or Tab and Enter.

    Args:
        name: escaped HTML of the button.
        css: classes of the cell.
        below: HTML under the button.
    """
    return (
        f'<th scope="col" class="{css}"><button type="button" class="t-sort" '
        f'data-press="sort">{name}</button>{below}</th>'
    )


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    label: str,
    numbers: Sequence[int] = (),
    *,
    sortable: bool = True,
    stacked: bool = False,
) -> str:
    """A table whose cells are HTML, escaped by the caller. Columns in `numbers` align right.

    A table of more than two rows can be sorted by its heads; set `sortable` to false where the
    order has a meaning, such as a sum at the end. On a phone, a `stacked` table shows each row as a
    block, its cells under their heads, so that nothing scrolls sideways. A row may be longer than
    the heads, as in people's files.
    """
    heads = [f' data-head="{escape(name)}"' if stacked else "" for name in columns]

    def cells(row: Sequence[str], kind: str, extra: Sequence[str]) -> str:
        return "".join(
            f"<{kind}{more}{' class=t-num' if i in numbers else ''}>{cell}</{kind}>"
            for i, (cell, more) in enumerate(zip(row, chain(extra, repeat("")), strict=False))
        )

    if sortable and len(rows) > 2 and all(name.strip() for name in columns):
        head = "".join(
            column_head(escape(name), "t-num" if i in numbers else "")
            for i, name in enumerate(columns)
        )
    else:
        head = cells([escape(name) for name in columns], "th", [' scope="col"'] * len(columns))
    body = "".join(f"<tr>{cells(row, 'td', heads)}</tr>" for row in rows)
    return (
        f'<div class="t-scroll" role="region" tabindex="0" aria-label="{escape(label)}">'
        f'<table class="t-table{" t-stacked" if stacked else ""}"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )
