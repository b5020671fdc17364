"""The frame around every page: the rail of pages on the left, and the tabs of pages that form one.

The rail is drawn by the script at the beginning of every page, before Gradio lays the page out: it
is the same on every page, and nothing moves when the page appears.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import Any

import gradio as gr

from theodolite.app.pages import Line
from theodolite.app.pages.layout import QuestionPage
from theodolite.app.web import parts
from theodolite.app.workspace import Workspace

_JUMP = 'aria-haspopup="dialog" data-press="jump"'


_ICONS = {
    "overview": "M3 3h6v6H3zM11 3h6v6h-6zM3 11h6v6H3zM11 11h6v6h-6z",
    "data": "M4 5c0-3 12-3 12 0s-12 3-12 0v10c0 3 12 3 12 0V5M4 10c0 3 12 3 12 0",
    "encoders": "M2 5h4M2 10h4M2 15h4M6 3l8 4v6l-8 4zM14 10h4",
    "choose": "M3 10l4 4 4-8M13 6h5M13 10h5M13 14h5",
    "results": "M3 17h4v-6H3zM8 17h4V4H8zM13 17h4V9h-4z",
    "search": "M8.500 3a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11M12.500 12.500 17 17",
    "map": "M4 4v13h13M8 12v.010M10 7v.010M12.500 10v.010M15 5v.010M15 13.500v.010",
    "decode": "M17 5h-5M17 10h-5M17 15h-5M2 10h7M6 6l4 4-4 4",
    "jobs": "M10 3a7 7 0 1 0 7 7M10 6v4l3 2",
    "jump": "M3 6h9M3 10h5M3 14h9M14 6l3.500 4-3.500 4",
    "publish": "M10 13V3M6 7l4-4 4 4M4 12v5h12v-5",
    "theme": "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
    "fold": "M11 5l-5 5 5 5M16 5l-5 5 5 5",
    "menu": "M3 5h14M3 10h14M3 15h14",
    "close": "M5 5l10 10M15 5 5 15",
}
MARK = (
    '<svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true" fill="none" '
    'stroke="currentColor" stroke-width="2" stroke-linecap="round">'
    '<path d="M5 26h22M5 26 21 6M5 26 27 15"/>'
    '<path class="t-arc" d="M15.300 13.100A16.500 16.500 0 0 1 19.800 18.600"/>'
    '<circle cx="5" cy="26" r="2" fill="currentColor" stroke="none"/></svg>'
)
"""The logo of the app."""


def icon(name: str) -> str:
    """An icon as SVG, hidden from screen readers: its text or its button's label names it."""
    return (
        f'<svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" fill="none" '
        'stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="{_ICONS[name]}"/></svg>'
    )


@dataclass(frozen=True)
class Entry:
    """One line of the rail.

    Attributes:
        title: its text.
        icon: name among `_ICONS`.
        pages: its pages by the names of their tabs; a single page has no tabs.
    """

    title: str
    icon: str
    pages: Mapping[str, Any]

    @property
    def path(self) -> str:
        """Path of its first page, which it links to."""
        return str(next(iter(self.pages.values())).PATH)


def entry(line: Line) -> Entry:
    """Make the entry of a line, with its pages imported."""
    pages = {tab: _page(module) for tab, module in line.tabs.items()}
    first = next(iter(pages.values()))
    return Entry(
        line.title or first.TITLE,
        line.icon,
        {tab or page.TITLE: page for tab, page in pages.items()},
    )


def _page(name: str) -> Any:
    name, _, attribute = name.partition(":")
    module = import_module(f"theodolite.app.pages.{name}")
    if attribute:
        return getattr(module, attribute)
    return module if hasattr(module, "build") else QuestionPage(module)


def rail(groups: Sequence[Sequence[Entry]], label: str = "", *, publish: bool = False) -> str:
    """The rail as HTML; the script marks the line of the open page.

    Args:
        groups: groups of its lines.
        label: text at its foot in place of the jump palette.
        publish: whether to offer publishing the open page; visitors cannot.
    """
    search = (
        f'<button type="button" class="t-icon" aria-label="Jump to" {_JUMP}>{icon("search")}'
        "</button>"
    )
    jump = (
        f'<button type="button" class="t-jump" title="A page, encoder, data set, task or run" '
        f"{_JUMP}>{icon('jump')}<span>Jump to</span><kbd>Ctrl K</kbd></button>"
    )
    if publish:
        jump += (
            '<button type="button" class="t-jump" title="Freeze this page into files" '
            f'aria-haspopup="dialog" data-press="publish">{icon("publish")}'
            "<span>Publish</span></button>"
        )
    if label:
        search, jump = "", f'<p class="t-dated"><span>{escape(label)}</span></p>'
    *rooms, jobs = groups if any(one.path == "jobs" for one in groups[-1]) else [*groups, ()]
    return (
        '<a class="t-skip" href="#t-main" data-press="skip">Skip to content</a>'
        '<div class="t-head"><button type="button" class="t-icon" aria-label="Pages" '
        'aria-expanded="false" aria-controls="t-rail" data-press="rail">'
        f'{icon("menu")}</button><span class="t-here"></span>'
        f"{search}{_theme()}</div>"
        f'<div id="t-rail"><a class="t-brand" href="./">{MARK}<span>Theodolite</span></a>'
        f'<nav aria-label="Pages">{"".join(map(_group, rooms))}</nav>'
        f'<div class="t-foot">{_group(jobs)}{jump}'
        f'<button type="button" class="t-fold-rail" aria-label="Fold" aria-expanded="true" '
        f'data-press="fold">{icon("fold")}</button>{_theme()}</div></div>'
    )


def _theme() -> str:
    return (
        '<button type="button" class="t-icon" aria-label="Light or dark" title="Light or dark" '
        f'data-press="toggleTheme">{icon("theme")}</button>'
    )


def _group(entries: Sequence[Entry]) -> str:
    return f"<ul>{''.join(map(_line, entries))}</ul>" if entries else ""


def _line(entry: Entry) -> str:
    live = '<b class="t-live" hidden><i></i></b>' if entry.path == "jobs" else ""
    paths = escape(json.dumps([page.PATH for page in entry.pages.values()]))
    return (
        f'<li><a href="./{escape(entry.path)}" data-paths="{paths}">{icon(entry.icon)}'
        f"<span>{escape(entry.title)}</span>{live}</a></li>"
    )


def lay_out(entry: Entry, page: Any, workspace: Workspace) -> None:
    """Lay out a page below the tabs of its entry."""
    with gr.Column(elem_id="t-main", elem_classes=["t-page", f"p-{page.PATH or 'overview'}"]):
        tabs(entry, page)
        if workspace.demo and hasattr(page, "CLOSED"):
            parts.static(parts.say(page.CLOSED))
        page.build(workspace)


def tabs(entry: Entry, here: Any) -> None:
    """Place the tabs of an entry with several pages above the page being built."""
    links = tab_links(entry, here)
    if links:
        gr.HTML(
            links,
            elem_classes=["t-tabs"],
            js_on_load="theodolite.tabs(element)",
            apply_default_css=False,
        )


def tab_links(entry: Entry, here: Any) -> str:
    """The tabs of an entry with several pages as HTML; empty for a single page.

    The script carries the query from tab to tab.
    """
    if len(entry.pages) < 2:
        return ""
    links = ""
    for label, page in entry.pages.items():
        mark = " aria-current=page" if page is here else ""
        links += f'<a href="./{escape(page.PATH)}"{mark}>{escape(label)}</a>'
    return f'<nav aria-label="{escape(entry.title)}">{links}</nav>'
