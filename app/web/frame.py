"""The frame around every page: the rail of pages on the left, and the tabs of pages that form one.

The rail is drawn by the script at the beginning of every page, before Gradio lays the page out: it
is the same on every page, and nothing moves when the page appears.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages import Line
from theodolite.app.web import icons, parts

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

_JUMP = 'aria-haspopup="dialog" data-press="jump"'


@dataclass(frozen=True)
class Entry:
    """One line of the rail.

    Attributes:
        title: its text.
        icon: name among `icons`.
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
    found = {
        tab: import_module(f"theodolite.app.pages.{module}") for tab, module in line.tabs.items()
    }
    first = next(iter(found.values()))
    return Entry(
        line.title or first.TITLE,
        line.icon,
        {tab or page.TITLE: page for tab, page in found.items()},
    )


def rail(groups: Sequence[Sequence[Entry]], label: str = "", *, publish: bool = False) -> str:
    """The rail as HTML; the script marks the line of the open page.

    Args:
        groups: groups of its lines.
        label: text at its foot in place of the jump palette.
        publish: whether to offer publishing the open page; visitors cannot.
    """
    search = (
        f'<button type="button" class="t-icon" aria-label="Jump to" {_JUMP}>{icons.svg("search")}'
        "</button>"
    )
    jump = (
        f'<button type="button" class="t-jump" title="A page, encoder, data set, task or run" '
        f"{_JUMP}>{icons.svg('jump')}<span>Jump to</span><kbd>Ctrl K</kbd></button>"
    )
    if publish:
        jump += (
            '<button type="button" class="t-jump" title="Freeze this page into files" '
            f'aria-haspopup="dialog" data-press="publish">{icons.svg("publish")}'
            "<span>Publish</span></button>"
        )
    if label:
        search, jump = "", f'<p class="t-dated"><span>{escape(label)}</span></p>'
    return (
        '<a class="t-skip" href="#t-main" data-press="skip">Skip to content</a>'
        '<div class="t-head"><button type="button" class="t-icon" aria-label="Pages" '
        'aria-expanded="false" aria-controls="t-rail" data-press="rail">'
        f'{icons.svg("menu")}</button><span class="t-here"></span>'
        f"{search}{_theme()}</div>"
        f'<div id="t-rail"><a class="t-brand" href="./">{icons.MARK}<span>Theodolite</span></a>'
        f'<nav aria-label="Pages">{"".join(map(_group, groups))}</nav><div class="t-foot">{jump}'
        f'<button type="button" class="t-fold-rail" aria-label="Fold" aria-expanded="true" '
        f'data-press="fold">{icons.svg("fold")}</button>{_theme()}</div></div>'
    )


def _theme() -> str:
    return (
        '<button type="button" class="t-icon" aria-label="Light or dark" title="Light or dark" '
        f'data-press="toggleTheme">{icons.svg("theme")}</button>'
    )


def _group(entries: Sequence[Entry]) -> str:
    return f"<ul>{''.join(map(_line, entries))}</ul>"


def _line(entry: Entry) -> str:
    live = '<b class="t-live" hidden><i></i></b>' if entry.path == "jobs" else ""
    paths = escape(json.dumps([page.PATH for page in entry.pages.values()]))
    return (
        f'<li><a href="./{escape(entry.path)}" data-paths="{paths}">{icons.svg(entry.icon)}'
        f"<span>{escape(entry.title)}</span>{live}</a></li>"
    )


def lay_out(
    entry: Entry, page: Any, workspace: Workspace, build: Callable[[Workspace], None] | None = None
) -> None:
    """Lay out a page below the tabs of its entry, with `build` in place of the page's own."""
    with gr.Column(elem_id="t-main", elem_classes=["t-page", f"p-{page.PATH or 'overview'}"]):
        tabs(entry, page)
        if workspace.demo and hasattr(page, "CLOSED"):
            parts.static(parts.say(page.CLOSED))
        (build or page.build)(workspace)


def tabs(entry: Entry, here: Any) -> None:
    """Place the tabs of an entry with several pages above the page being built.

    A page may have tabs of its own, its `VIEWS`: label -> the view in its address. The script
    carries the query from tab to tab, and shows a view of the same page in place.
    """
    if len(entry.pages) < 2 and not hasattr(here, "VIEWS"):
        return
    links = ""
    for label, page in entry.pages.items():
        views = {label: ""} | getattr(page, "VIEWS", {})
        for name, view in views.items():
            mark = " aria-current=page" if page is here and not view else ""
            links += (
                f'<a href="./{escape(page.PATH)}" data-view="{escape(view)}"{mark}>'
                f"{escape(name)}</a>"
            )
    gr.HTML(
        f'<nav aria-label="{escape(entry.title)}">{links}</nav>',
        elem_classes=["t-tabs"],
        js_on_load="theodolite.tabs(element)",
        apply_default_css=False,
    )
