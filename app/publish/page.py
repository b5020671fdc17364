"""An opened page as a file: its layout as HTML, what its components show as JSON beside it.

The layout has the classes and ids that Gradio gives it, so that the style sheets and the modules of
the components are those of the live pages. Controls without answers become text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode
from zlib import compress

import gradio as gr
from gradio.blocks import Block, BlockContext
from gradio.components import Component

from theodolite.app import formats
from theodolite.app.components.modules import as_module
from theodolite.app.publish.opened import OpenedPage, Props, is_part
from theodolite.app.web.frozen import LIVE, Asks, Frozen, View, hashed

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'self'; form-action 'none'"
)
"""Content security policy of every page: nothing from outside the folder is run or fetched. Styles
may be inline, as widths are attributes and Plotly writes a style sheet."""
NO_WORDS = gr.Button | gr.State | gr.Timer
"""Components that show no choice of the user."""


class _Seen(NamedTuple):
    """A page at one of its views: what is shown, and the answers computed in advance."""

    view: View
    shown: dict[int, Props]
    answers: dict[str, Any]


class FrozenPage:
    """A page with its answers, computed in advance.

    Attributes:
        files: address of a file beside it, relative to the first page -> content; deflated where
            our own scripts fetch it later.
    """

    def __init__(
        self, opened: OpenedPage, page: ModuleType, workspace: Workspace, views: Sequence[View]
    ) -> None:
        self._opened = opened
        self._page = page
        self._workspace = workspace
        self._alive = [opened.by_id(name) for name in page.FROZEN.controls]
        self.files: dict[str, bytes] = {}
        self._folders: set[str] = set()
        self._pieces: dict[str, Any] = {}
        seen = []
        for place, view in enumerate(views):
            if place:
                opened.open(view.query)
            seen.append(_Seen(view, opened.shown, answers_of(opened, page.FROZEN)))
        first = opened.shown = seen[0].shown
        self._changing = {
            n
            for n, held in first.items()
            if any(one.shown[n]["value"] != held["value"] for one in seen)
        }
        self._parts = {n for n, block in opened.blocks.blocks.items() if is_part(block)}
        self._texts = {
            n
            for n, block in opened.blocks.blocks.items()
            if isinstance(block, Component)
            and not isinstance(block, gr.HTML | NO_WORDS)
            and not _is_named(n, seen)
        }
        values = [self._values_of(one.shown) for one in seen]
        self._values = values[0]
        self._views = [self._kept_view(*one) for one in zip(seen, values, strict=True)]
        self._body = "".join(map(self._layout, opened.blocks.children))

    def _values_of(self, shown: Mapping[int, Props]) -> dict[int, Any]:
        """The content of the page: values of its parts, and controls as text."""
        parts = {n: self._value(n, shown[n]["value"]) for n in self._parts}
        return parts | {n: _in_words(shown[n]) for n in self._texts}

    def _kept_view(self, seen: _Seen, values: Mapping[int, Any]) -> dict[str, Any]:
        """Put what a view shows and answers into a file; return its label, file and query."""
        changing = {str(n): value for n, value in values.items() if n in self._changing}
        for answer in (a for of in seen.answers["controls"].values() for a in of.values()):
            answer |= {n: self._value(int(n), value) for n, value in answer.items()}
        file = formats.json_text({"shown": changing, **seen.answers}).encode()
        where = self._keep("answers", file, ".json")
        return {"label": seen.view.label, "file": where, "query": seen.view.query}

    def _value(self, number: int, value: Any) -> Any:
        """A component's value as used without a server; adds the files that it needs."""
        block = self._opened.blocks.blocks[number]
        make = self._page.FROZEN.files.get(getattr(block, "elem_id", None))
        if make is None or value is None:
            return value
        made, folders = make(self._workspace, value)
        for folder, held in folders.items():
            if folder not in self._folders:
                self._folders.add(folder)
                self.files |= {f"{folder}/{name}": compress(d) for name, d in held().items()}
        return made

    def html(self, frame: Mapping[str, Any], shared: Mapping[str, str]) -> bytes:
        """The HTML of the page.

        Args:
            frame: data for the script of every page: `rail` and `titles`.
            shared: addresses of what all pages load: `style`, `script`, `frozen`, `mark`.
        """
        frozen = self._page.FROZEN
        held = {
            "pieces": self._pieces,
            "views": self._views,
            "pages": list(frame["titles"]),
            "asks": {
                str(self._opened.by_id(name)._id): [asks.event, asks.name]
                for name, asks in frozen.asks.items()
            },
        }
        at = {name: escape(address) for name, address in shared.items()}
        return (
            '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta name="referrer" content="no-referrer">'
            f'<base href="{"../" if self._page.PATH else "./"}">'
            f"<title>{escape(self._page.TITLE)} · Theodolite</title>"
            f'<link rel="icon" type="image/svg+xml" href="{at["mark"]}">'
            f'<link rel="stylesheet" href="{at["style"]}"></head><body>'
            f'{formats.json_script("t-frame", frame)}<script src="{at["script"]}"></script>'
            f'<div class="gradio-container"><main>{self._body}</main></div>'
            f"{formats.json_script('t-held', held)}"
            f'<script type="module" src="{at["frozen"]}"></script></body></html>\n'
        ).encode()

    def opening(self, shared: Mapping[str, str]) -> bytes:
        """A first page that redirects to this one, for a folder without Overview.

        Args:
            shared: as for `html`; without an icon, a browser would request the default one.
        """
        query = self._views[0]["query"]
        address = f"./{self._page.PATH}/" + (f"?{urlencode(query)}" if query else "")
        return (
            '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">'
            f'<link rel="icon" type="image/svg+xml" href="{escape(shared["mark"])}">'
            f'<title>Theodolite</title></head><body><a href="{escape(address)}">'
            f"{escape(self._page.TITLE)}</a></body></html>\n"
        ).encode()

    def _layout(self, block: Block) -> str:
        """The HTML of a block and of its children."""
        if isinstance(block, gr.HTML):
            return self._piece(block)
        shown = self._opened.shown[block._id]
        hidden = shown["visible"] is False
        if isinstance(block, BlockContext):
            classes = getattr(block, "elem_classes", None) or []
            if {"t-rest", LIVE} & set(classes) or hidden:  # the panel of the remaining controls
                return ""
            inside = "".join(map(self._layout, block.children))
            if "t-first" in classes and len(self._views) > 1:
                inside += self._choice_of_views()
            kind = "row" if isinstance(block, gr.Row) else "column"
            beside = isinstance(block.parent, gr.Row)  # a column of a row, which has a width
            own = kind == "row" or beside or classes or getattr(block, "elem_id", None)
            return f"<div {_named(block, kind)}>{inside}</div>" if own else inside
        if hidden or not isinstance(block, Component) or isinstance(block, NO_WORDS):
            return ""
        if block in self._alive:
            return self._choices(block)
        if block._id not in self._texts:  # the list of views says it
            return ""
        words = self._values[block._id]
        changes = block._id in self._changing
        return f'<div data-piece="{block._id}">{words}</div>' if changes else str(words)

    def _choice_of_views(self) -> str:
        """A list to choose a view from, in the page's first row."""
        options = "".join(
            f'<option value="{place}">{escape(view["label"])}</option>'
            for place, view in enumerate(self._views)
        )
        return (
            '<fieldset class="block t-pick t-views"><label><span>Shown</span>'
            f"<select>{options}</select></label></fieldset>"
        )

    def _piece(self, block: gr.HTML) -> str:
        """A component of ours: its HTML, or a placeholder in which its module draws."""
        classes = block.elem_classes or []
        if not is_part(block) or LIVE in classes:
            return ""
        value = self._values[block._id]
        if block.js_on_load:
            module = as_module(block.js_on_load).encode()
            self._pieces[str(block._id)] = {
                "module": self._keep("part", module, ".js"),
                "props": {**block.props, "frozen": block.elem_id not in self._page.FROZEN.asks},
                "value": None if block.html_template else value,
                "html": bool(block.html_template),
            }
        inside = str(value or "") if block.html_template else ""
        css = escape(" ".join(classes))
        return (
            f'<div {_named(block, "block hide-container")}><div class="html-container">'
            f'<div class="{css}" data-piece="{block._id}">{inside}</div></div></div>'
        )

    def _choices(self, block: Component) -> str:
        """A control as radio buttons, or as a drop-down list."""
        shown = self._opened.shown[block._id]
        name = escape(str(block.elem_id))
        if isinstance(block, gr.Dropdown):
            options = "".join(
                f'<option value="{escape(str(value))}"{" selected" * (value == shown["value"])}>'
                f"{escape(label)}</option>"
                for label, value in choices(shown)
            )
            label = f"<span>{escape(shown['label'] or '')}</span>"
            return (
                f"<fieldset {_named(block, 'block t-pick')}><label>{label}"
                f"<select>{options}</select></label></fieldset>"
            )
        labels = "".join(
            f'<label><input type="radio" name="{name}" value="{escape(str(value))}"'
            f"{' checked' if value == shown['value'] else ''}><span>{escape(label)}</span></label>"
            for label, value in choices(shown)
        )
        return (
            f'<fieldset {_named(block, "block")} aria-label="{escape(shown["label"] or "")}">'
            f'<div class="wrap">{labels}</div></fieldset>'
        )

    def _keep(self, name: str, data: bytes, ending: str) -> str:
        address, self.files[address] = kept(name, data, ending)
        return address


def kept(name: str, data: bytes, ending: str) -> tuple[str, bytes]:
    """(address, content) of a file; the address includes the content's hash."""
    return hashed(name, data) + ending, data


def _named(block: Any, css: str) -> str:
    """Id and classes of a block as attributes."""
    classes = escape(" ".join([css, *(block.elem_classes or [])]))
    return f'class="{classes}"' + (f' id="{escape(block.elem_id)}"' if block.elem_id else "")


def _is_named(number: int, seen: Sequence[_Seen]) -> bool:
    """Whether there are several views, and the label of each names the control's value."""
    return len(seen) > 1 and all(str(o.shown[number]["value"]) in o.view.label for o in seen)


def _in_words(shown: Props) -> str:
    """A control as text: its label and the chosen values."""
    value = shown["value"]
    labels = {str(value): label for label, value in choices(shown)}
    chosen = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
    words = "".join(
        f'<span class="t-spec">{escape(labels.get(str(one), str(one)))}</span>'
        for one in chosen
        if one not in (None, "")
    )
    label = escape(shown["label"] or "")
    return f'<p class="t-chosen"><span>{label}</span>{words}</p>' if words else ""


MAX_ASKED = 5000
"""Maximum number of items of a component that can be pressed; of more, the first."""
Shown = dict[str, Any]
"""Id of a part of the page -> the value that it shows."""


def answers_of(opened: OpenedPage, frozen: Frozen) -> dict[str, Any]:
    """All answers, as the script of frozen pages reads them.

    Raises:
        ValueError: two controls change the same part, whose combinations have no answer.
    """
    claimed: dict[int, str] = {}
    for name in frozen.controls:
        for number in opened.reached(opened.by_id(name), "input"):
            if claimed.setdefault(number, name) != name:
                raise ValueError(f"{claimed[number]} and {name} change the same part")
    asks = {name: opened.by_id(name) for name in frozen.asks}
    return {
        "controls": {n: _of_choices(opened, opened.by_id(n)) for n in frozen.controls},
        "asks": {str(b._id): _of_things(opened, b, frozen.asks[name]) for name, b in asks.items()},
    }


def choices(shown: Props) -> list[tuple[str, Any]]:
    """(label, value) of every choice of a control."""
    return [
        (str(one[0]), one[1]) if isinstance(one, list | tuple) else (str(one), one)
        for one in shown["choices"] or []
    ]


def _of_choices(opened: OpenedPage, block: Block) -> dict[str, Shown]:
    """Value of a control -> the parts that depend on it."""
    shown = opened.shown[block._id]
    changes = {
        str(value): _changed(opened, block, "input", value=value)
        for _, value in choices(shown)
        if value != shown["value"]
    }
    parts = {number for answer in changes.values() for number in answer}
    first = {number: opened.shown[int(number)]["value"] for number in parts}
    return {str(shown["value"]): first} | {value: first | new for value, new in changes.items()}


def _of_things(opened: OpenedPage, block: Any, asks: Asks) -> dict[str, Any]:
    """The answers for each item of a component, when it is pressed and when it is pointed at."""
    server = getattr(block, asks.server)
    things = list(dict.fromkeys(asks.things(opened.shown[block._id]["value"])))[:MAX_ASKED]
    return {
        "event": asks.event,
        "name": asks.name,
        "server": asks.server,
        "pressed": {str(n): _changed(opened, block, asks.event, {asks.name: n}) for n in things},
        "served": {str(n): server(n) for n in things},
    }


def _changed(
    opened: OpenedPage, block: Block, event: str, data: dict[str, Any] | None = None, **props: Any
) -> Shown:
    """The parts that an event would change, with their new values."""
    then = opened.after(block, event, data, **props)
    every = opened.blocks.blocks
    return {str(n): held["value"] for n, held in then.items() if is_part(every[n])}
