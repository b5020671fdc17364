"""What leaves this machine with a published folder: listed before it is written, and its README."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from theodolite.app import formats
from theodolite.app.publish import live, targets
from theodolite.app.publish.choice import private
from theodolite.app.publish.site import Site
from theodolite.app.published import Choice
from theodolite.app.workspace import Workspace

COLUMNS = ("kind", "name", "about", "licence", "bytes")
OURS = "Apache-2.0"
OTHERS = {".woff2": ("IBM Plex, the typeface", "OFL-1.1"), ".min.js": ("plotly.js", "MIT")}
"""Suffix of a file that others wrote -> what it is, its licence."""
FOLDERS = {
    f"{targets.DATA}/": ("files of these data sets", "as of their texts"),
    f"{targets.STORE}/": ("results, vectors of these texts, maps", ""),
    f"{targets.SOURCE}/": ("Theodolite's source", OURS),
    "theodolite/encoders/": (
        "words and vectors of encoders that run in a page",
        "as of these",
    ),
    "theodolite/vectors/": ("vectors and neighbours of these texts, for Search", ""),
}
"""Prefix of a path -> what is in it, its licence."""
ANSWERS = {
    "view": "what the page was asked",
    "training": "its settings and curves",
    "judgement": "what the marks say, and the last question",
    "decision": "the sheet, with some of the texts",
}
"""Kind of an answer -> what of it is published."""
UNSTATED = "not stated"
NAMING = (".html", ".json", ".db", ".md")
"""Suffixes of files that may name encoders, and so paths."""
STARTS = {
    "static": "    python -m http.server --directory .",
    "zerogpu": f"    pip install -r requirements.txt gradio spaces torch\n"
    f"    python {targets.SCRIPT}",
    "docker": f"    docker build -t theodolite-demo .\n"
    f"    docker run -p {targets.PORT}:{targets.PORT} theodolite-demo",
}
FOR_LOOKING = (
    "Visitors look, search, compare and decode. Nothing that they type is kept, and no other "
    "server is asked for anything."
)


def rows(workspace: Workspace, choice: Choice, site: Site) -> list[dict[str, Any]]:
    """Rows for pages, encoders, tasks, results, texts, paths of this machine, and files."""
    rows = (dict(zip(COLUMNS, row, strict=True)) for row in _rows(workspace, choice, site))
    return [row | {"licence": row["licence"] or None} for row in rows]


Row = tuple[str, str, str, str, int | None]


def _rows(workspace: Workspace, choice: Choice, site: Site) -> Iterator[Row]:
    for title in site.pages:
        yield "page", title, "", "", None
    yield from _encoders(workspace, choice)
    published = [name for name, public in choice.tasks.items() if _is_named(site.files, public)]
    for name in published:
        public = choice.tasks[name]
        yield "task", public, f"here {name}" if public != name else "", "", None
    if published:
        many = formats.count(len(choice.results))
        yield "results", many, "at most: scores, intervals, protocols", "", None
    for kind, name in site.answers:
        yield kind, name, ANSWERS[kind], "", None
    yield from _texts(workspace, site)
    for path, where in _paths(workspace, choice, site.files):
        yield "path", path, where, "", None
    yield from _files(site.files)


def _encoders(workspace: Workspace, choice: Choice) -> Iterator[Row]:
    known = workspace.store.encoders.infos()
    for name, public in choice.encoders.items():
        about = f"here {name}" if public != name else ""
        yield "encoder", public, about, known.get(name, {}).get("licence") or UNSTATED, None


def _texts(workspace: Workspace, site: Site) -> Iterator[Row]:
    licences = {info.name: info.licence for info in workspace.catalog.list()}
    whole = targets.SCRIPT in site.files  # else pages show examples
    for name, number in site.texts.items():
        about = f"its {formats.plural(number, 'sentence')}"
        about = about if whole else f"some of {about}, or all"
        yield "texts", name, about, licences.get(name) or UNSTATED, None


def _paths(
    workspace: Workspace, choice: Choice, files: Mapping[str, bytes]
) -> Iterator[tuple[str, str]]:
    """Paths and servers of this machine that can be read in the files."""
    own = {path: "in the name of an encoder" for path in private(choice.encoders)}
    own |= {
        name: "in the settings of a training"
        for name in choice.settings
        if Path(name).is_absolute()
    }
    own |= dict.fromkeys([str(Path.home()), str(workspace.store.folder)], "of this machine")
    if workspace.catalog.root:
        own[str(workspace.catalog.root)] = "of this machine"
    for path, about in own.items():
        if len(path) > 1 and _is_named(files, path):
            yield path, f"{about}; --mask paths takes it out"


def _is_named(files: Mapping[str, bytes], text: str) -> bool:
    """Whether a text can be read in any of the files that may name something."""
    forms = {form.encode() for form in (text, escape(text), quote(text), json.dumps(text)[1:-1])}
    written = (data for name, data in files.items() if name.endswith(NAMING))
    return any(form in data for data in written for form in forms)


def _files(files: Mapping[str, bytes]) -> Iterator[Row]:
    rest = dict(files)
    for known, is_one in ((FOLDERS, str.startswith), (OTHERS, str.endswith)):
        for part, (what, licence) in known.items():
            some = [name for name in rest if is_one(name, part)]
            if some:
                yield "files", what, _count(some), licence, _size(rest.pop(n) for n in some)
    yield "files", "Theodolite's pages and scripts", _count(rest), OURS, _size(rest.values())
    yield "total", formats.size(_size(files.values())), _count(files), "", _size(files.values())


def _count(names: Iterable[str]) -> str:
    return formats.plural(len(list(names)), "file")


def _size(contents: Iterable[bytes]) -> int:
    return sum(map(len, contents))


def readme(
    workspace: Workspace, choice: Choice, site: Site, target: targets.Target, title: str
) -> str:
    """README.md of a folder, with the front matter that the hub reads."""
    many = formats.plural(len(choice.encoders), "sentence encoder")
    about = f"{many} compared on {formats.plural(len(choice.tasks), 'task')}"
    encoders = [
        f"- {code(name)}: licence {licence}"
        + ("; its results only" if target.live and not live.usable(name, site.texts) else "")
        for _, name, _, licence, _ in _encoders(workspace, choice)
    ]
    licences = [
        f"- Texts of {code(name)}, {formats.plural(site.texts[name], 'sentence')}: {licence}."
        for _, name, _, licence, _ in _texts(workspace, site)
    ]
    others = (
        "- What `requirements.txt` names comes from its makers, under their licences."
        if target.live
        else "- IBM Plex, the typeface: OFL-1.1. plotly.js: MIT."
    )
    rest = [
        f"# {title}",
        f"{about}, by [Theodolite](#licences).",
        FOR_LOOKING if target.live else "A folder of files: any web server shows it.",
        "## Start it",
        STARTS[target.name],
        "## Encoders",
        "\n".join(encoders),
        "## Licences",
        "\n".join([f"- Theodolite, its pages and scripts: {OURS}.", *licences, others]),
    ]
    models = live.hub_models(choice) if target.live else []
    return targets.front_matter(target, title, about, models) + "\n" + "\n\n".join(rest) + "\n"


def code(name: str) -> str:
    """A name as a Markdown code span, whatever characters it has."""
    name = " ".join(name.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", name)), default=0))
    return f"{fence} {name} {fence}" if "`" in name else f"`{name}`"
