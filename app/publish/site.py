"""The files of a frozen workbench: its pages, and what they share."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import gradio

from theodolite.app import formats, ui
from theodolite.app.components import modules
from theodolite.app.publish.choice import Mask, Part, choose
from theodolite.app.published import Choice, Published, Query, hashed_name
from theodolite.app.spec import Spec
from theodolite.app.surfaces.static import StaticPage, label_of, of_address
from theodolite.app.web import frame, theme
from theodolite.app.web.routes import PLOTLY_JS, plotly_file
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

HERE = Path(__file__).parent
SURFACES = theme.APP / "surfaces"
FONTS = Path(gradio.__file__).parent / "templates" / "frontend" / "static" / "fonts"
FAMILIES = {"IBMPlexSans": "IBM Plex Sans", "IBMPlexMono": "IBM Plex Mono"}
WEIGHTS = {"Regular": 400, "Bold": 700}


@dataclass(frozen=True)
class Site:
    """A published folder before it is written.

    Attributes:
        files: path in the folder -> content.
        pages: titles.
        texts: data sets whose texts can be read in it -> number of their sentences.
        answers: (kind, name) of each training, judgement and decision in it, and of each view that
            was given by its address.
    """

    files: Mapping[str, bytes]
    pages: Sequence[str]
    texts: Mapping[str, int]
    answers: Sequence[tuple[str, str]] = ()


def freeze(
    workspace: Workspace,
    choice: Choice,
    names: Sequence[str] = (),
    *,
    at: Sequence[tuple[str, Query]] = (),
    texts: bool = True,
    progress: Callable[[str, int, int], None] = lambda title, done, of: None,
) -> Site:
    """Make the files.

    Args:
        workspace: with the results.
        choice: what is published.
        names: of pages beside the first; none for all that can be frozen.
        at: (name, query) of each page to freeze at an address: these, and no others.
        texts: whether texts of data sets may be read in it.
        progress: called with (title of the next page, pages done, number of pages).
    """
    known = ui.publishable()
    selection = names or [name for name, _ in at]
    if unknown := [name for name in selection if name not in known]:
        raise UserError(
            f"There is no page {unknown[0]!r} to publish.",
            f"Known: {', '.join(known)}.",
            code="unknown",
        )
    wanted = [*([] if at else ["overview"]), *(selection or known)]
    chosen = [page for name, page in known.items() if name in wanted]
    dated = formats.DATED.set(True)
    try:
        with tempfile.TemporaryDirectory() as folder:
            small = Part(workspace, choice, Path(folder), texts=texts)
            published = Published(source=workspace, workspace=small, **vars(choice))
            lines = [_only(line, chosen) for group in ui.RAIL for line in group]
            entries = {page: line for line in lines for page in line.pages.values()}
            unasked = () if selection else (UserError,)  # left out
            # All before the first is drawn, which takes long: one that was named may have nothing.
            views_of: dict[ModuleType, Sequence[tuple[str, Spec]]] = {}
            for page in entries:
                own = [query for name, query in at if known[name] is page]
                with suppress(*unasked):
                    views_of[page] = _views(page, published, own)
            frozen: dict[ModuleType, StaticPage] = {}
            for page, answers in views_of.items():
                progress(page.TITLE, chosen.index(page), len(chosen))
                tabs = frame.tab_links(entries[page], page)
                with suppress(*unasked):
                    frozen[page] = StaticPage(page, tabs, published, answers)
            views = [label_of(published, query) for _, query in at if query]
            questions, answered = small.catalog.asked, _answers(small, views)
            small.close()
    finally:
        formats.DATED.reset(dated)
    return Site(_files(frozen), [page.TITLE for page in frozen], questions, answered)


def _answers(workspace: Workspace, views: Sequence[str]) -> list[tuple[str, str]]:
    """(kind, name) of the views, and of each training, judgement and decision in the store."""
    derived = workspace.store.derived
    return [
        *(("view", label) for label in views),
        *(("training", row["info"]["run"]["label"]) for row in derived.list("training")),
        *(("judgement", row["info"]["title"]) for row in derived.list("judgement")),
        *(("decision", row["info"]["data"]) for row in derived.list("choose")),
    ]


def _views(page: Any, published: Published, at: Sequence[Query]) -> Sequence[tuple[str, Spec]]:
    """(label, spec) of the answers at the given addresses of a page, or of those that it chooses.

    What they need is in the published store then.
    """
    static = page.PUBLISHED
    if static.carry:
        static.carry(published)
    views = [of_address(static, published, query) for query in at] or [*static.views(published)]
    if not views:
        raise UserError(
            f"{page.TITLE} has nothing to publish of this.",
            "Leave it out, or name data sets with --collection.",
            code="no-result",
        )
    return views


def _files(frozen: Mapping[ModuleType, StaticPage]) -> dict[str, bytes]:
    """The files of the pages, and all that they load."""
    rail = [
        [entry for line in group if (entry := _only(line, list(frozen))).pages] for group in ui.RAIL
    ]
    date = f"{datetime.now(UTC):%d %b %Y}".lstrip("0")
    frame_data = {
        "rail": frame.rail([group for group in rail if group], f"Published {date}"),
        "titles": {page.PATH: page.TITLE for page in frozen},
    }
    files, shared = _shared_files()
    for page, files_of in frozen.items():
        files |= files_of.files
        files[f"{page.PATH}/index.html".lstrip("/")] = files_of.html(frame_data, shared)
    first = next(iter(frozen))
    return files if first.PATH == "" else files | {"index.html": frozen[first].opening(shared)}


def _only(entry: frame.Entry, chosen: Sequence[ModuleType]) -> frame.Entry:
    pages = {tab: page for tab, page in entry.pages.items() if page in chosen}
    title = entry.title if len(pages) > 1 else "".join(page.TITLE for page in pages.values())
    return replace(entry, title=title, pages=pages)


def _shared_files() -> tuple[dict[str, bytes], dict[str, str]]:
    """What all pages load, and the addresses of those that every page names itself."""
    files = {**modules.sources(), PLOTLY_JS: plotly_file().read_bytes()}
    faces = ""
    for name, family in FAMILIES.items():
        for style, weight in WEIGHTS.items():
            font = FONTS / name / f"{name}-{style}.woff2"
            address, data = hashed_file("font", font.read_bytes(), ".woff2")
            files[address] = data
            faces += (
                f'@font-face{{font-family:"{family}";font-weight:{weight};font-display:swap;'
                f'src:url("{address.rpartition("/")[2]}") format("woff2")}}\n'
            )
    # The frame's rules once more, as the app has them: its links would be underlined otherwise.
    style = faces + (HERE / "frozen.css").read_text("utf-8") + theme.css() + theme.frame_css()
    named = {
        "style": hashed_file("style", style.encode(), ".css"),
        "script": hashed_file("script", theme.script().encode(), ".js"),
        "static": hashed_file("static", (SURFACES / "static.js").read_bytes(), ".js"),
        "mark": hashed_file("mark", (theme.STATIC / "mark.svg").read_bytes(), ".svg"),
    }
    shared = {name: file[0] for name, file in named.items()}
    return files | dict(named.values()), shared | {"answer": f"{modules.BASE}/answer.js"}


def hashed_file(name: str, data: bytes, ending: str) -> tuple[str, bytes]:
    """(address, content) of a file; the address includes the content's hash."""
    return hashed_name(name, data) + ending, data


DATA_NAMES = ("in", "data", "task")
"""Query parameters that name a data set in the addresses of pages."""


def of_views(
    workspace: Workspace, views: Sequence[tuple[str, Query]], mask: Mask = "none"
) -> Choice:
    """Choose what of a store is published so that pages can be frozen at their addresses."""
    pages = ui.publishable()
    here = set(workspace.catalog.names())
    encoders: list[str] = []
    data: list[str] = []
    trainings: list[str] = []
    for name, query in views:
        named = [value for key, value in query if key == "encoder"]
        page = pages.get(name)
        if not named and page is not None and page.PUBLISHED.all_encoders:
            named = workspace.store.encoders.names()
        encoders += named
        whole = page.PUBLISHED.whole(query) if page is not None else query
        data += [value for key, value in whole if key in DATA_NAMES and value in here]
        for key, value in query:
            if key == "session":
                spec = workspace.store.judgements.get(value)["spec"]
                encoders += spec["encoders"]
                data.append(spec["collection"])
            elif key == "run" and name == "runs":
                trainings += value.split(",")
    return choose(
        workspace,
        list(dict.fromkeys(encoders)),
        None,
        mask,
        list(dict.fromkeys(data)),
        list(dict.fromkeys(trainings)),
        evaluated_only=False,
    )
