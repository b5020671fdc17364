"""Data sets as HTML: the list, and one of them in full. For the page Data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import takewhile

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.data import samples
from theodolite.app.pages.data.samples import cell
from theodolite.app.web import address, parts
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import starter
from theodolite.engine.datasets.tables import Preview
from theodolite.engine.datasets.types import Dataset, DatasetInfo

FAMILY = 3
"""Fewest sets of one benchmark that are folded into one line."""
KINDS = {
    "pairs": "scored pairs",
    "labels": "labelled sentences",
    "sentences": "sentences",
    "triplets": "triplets",
    "labelled-pairs": "labelled pairs",
    "captions": "captioned images",
    "retrieval": "queries and documents",
    "parallel": "parallel sentences",
    "summaries": "rated summaries",
    "mteb": "a task of MTEB's",
}
ORIGINS = (
    ("upload", "Your uploads", "Stored on this machine."),
    (
        "starter",
        "Starter set",
        "Small, and written for this app. It shows how the app works and is "
        "not a benchmark. It has a single grader, so agreement was not measured.",
    ),
    ("corpus", "Encoded corpora", "Folders written by theodolite encode-corpus, read in place."),
    ("hub", "From the hub", "Files from the Hugging Face hub, pinned to a commit."),
    ("folder", "Data folder", "The folder given by --data or THEODOLITE_DATA, read in place."),
)


def listing(workspace: Workspace, opened: str) -> str:
    """All data sets by origin, with families folded; the browser filters the list."""
    infos, sizes = workspace.catalog.with_sizes(workspace.catalog.list()), _sizes(workspace)
    stored = {info.name: info.bytes for info in infos if info.bytes and info.origin == "folder"}
    groups = "".join(
        _group(
            title, lead, [info for info in infos if info.origin == origin], sizes, stored, opened
        )
        for origin, title, lead in ORIGINS
    )
    none = parts.empty("No data set matches", "Clear the field to see all of them.")
    unread = workspace.catalog.unread()
    more = "".join(
        f'<p class="t-muted t-unread" data-text="{escape(_searched(info))}">'
        f"{escape(info.name)} cannot be read. {escape(info.problem or '')}</p>"
        for info in unread
    )
    return f"{groups}<div data-nothing hidden>{none}</div>{more}"


def _group(
    title: str,
    lead: str,
    infos: Sequence[DatasetInfo],
    sizes: dict[str, int],
    stored: dict[str, int],
    opened: str,
) -> str:
    if not infos:
        return ""
    rows = "".join(
        _entry(found[0], sizes.get(found[0].name), stored, found[0].name == opened)
        if len(found) < FAMILY
        else _folded(family, found, stored, opened)
        for family, found in _families(infos).items()
    )
    number = f' <small class="t-muted">{len(infos)}</small>'
    return (
        f"<section>{parts.heading(title, lead, beside=number)}"
        f'<ul class="t-sets" aria-label="{escape(title)}">{rows}</ul></section>'
    )


def _families(infos: Sequence[DatasetInfo]) -> dict[str, list[DatasetInfo]]:
    """Data sets grouped by the family in their names; small families are split into single sets."""
    names = [info.name for info in infos]
    found: dict[str, list[DatasetInfo]] = {}
    for info in infos:
        found.setdefault(_family(info.name, names), []).append(info)
    folded: dict[str, list[DatasetInfo]] = {}
    for family, mine in found.items():
        folded |= {family: mine} if len(mine) >= FAMILY else {info.name: [info] for info in mine}
    return folded


def _family(name: str, names: Sequence[str]) -> str:
    """The family of a name: `bench` of `bench/fr`, and of `bench-test`."""
    head = name.split("/")[0]
    bases = [
        base
        for base in names
        if head.startswith((f"{base}-", f"{base}_"))
        or (head == base and any(other.startswith((f"{base}-", f"{base}_")) for other in names))
    ]
    return min(bases, key=len, default=re.split("[-_]", head)[0] if head == name else head)


def _searched(*infos: DatasetInfo) -> str:
    """The text that the search field matches."""
    words = (
        (
            info.name,
            info.kind,
            KINDS[info.kind or "sentences"],
            info.type,
            info.description,
            *info.languages,
            *info.tasks,
        )
        for info in infos
    )
    return " ".join(word for row in words for word in row if word).casefold()


def _open(info: DatasetInfo, label: str, opened: bool) -> str:
    return button(
        label,
        "open",
        info.name,
        about=f"Preview {info.name}",
        kind="link",
        param=("set", "" if opened else info.name),
    )


def _folded(family: str, infos: Sequence[DatasetInfo], stored: dict[str, int], opened: str) -> str:
    """A family as one line, with the choice of its sets."""
    choice = ""
    for info in infos:
        here, label = info.name == opened, info.name.removeprefix(family).lstrip("/-_") or family
        css = ' class="t-open"' if here else ""
        choice += (
            f'<span data-text="{escape(_searched(info))}"{css}>{_open(info, label, here)}</span>'
        )
    kinds = " and ".join(dict.fromkeys(KINDS[info.kind or "sentences"] for info in infos))
    size = stored.get(family) or sum(stored.get(info.name, 0) for info in infos)
    return _line(
        f'<span class="t-spec">{escape(family)}</span><small>{len(infos)} sets</small>',
        f'{escape(_alike([info.description for info in infos]))}<div class="t-choice">'
        f"{choice}</div>",
        f"{kinds}, {formats.size(size)}" if size else kinds,
        "one task each" if all(info.task for info in infos) else "",
        _searched(*infos),
    )


def _alike(texts: Sequence[str]) -> str:
    """The common start and end of some sentences, joined by an ellipsis."""
    if len(set(texts)) == 1:
        return texts[0]
    words = [text.split() for text in texts]
    head = _beginning(words)
    tail = _beginning([line[len(head) :][::-1] for line in words])
    return " ".join([*head, "…", *reversed(tail)])


def _beginning(lines: Sequence[Sequence[str]]) -> list[str]:
    """The words with which all lines begin."""
    same = takewhile(lambda words: len(set(words)) == 1, zip(*lines, strict=False))
    return [words[0] for words in same]


def _entry(info: DatasetInfo, size: int | None, stored: dict[str, int], opened: bool) -> str:
    """One data set as a line: name, description, kind and size, licence, task."""
    holds = KINDS[info.kind or "sentences"]
    if size is not None and info.kind in ("labels", "sentences"):
        holds = f"{formats.count(size)} {holds}"
    elif size is not None:
        holds = f"{holds}, {formats.plural(size, 'sentence')}"
    elif info.name in stored:
        holds = f"{holds}, {formats.size(stored[info.name])}"
    licence = f"<small>{escape(info.licence)}</small>" if info.licence else ""
    return _line(
        _open(info, info.name, opened),
        escape(info.description) + licence,
        holds,
        (info.task or "").removeprefix(f"{info.name}/"),
        _searched(info),
        opened,
    )


def _line(name: str, about: str, holds: str, task: str, searched: str, opened: bool = False) -> str:
    """A line of the list; `name` and `about` are HTML."""
    tag = parts.tag(task) if task else ""
    return (
        f'<li class="{"t-open" if opened else ""}" data-text="{escape(searched)}"><div>{name}</div>'
        f"<div>{about}</div><div>{escape(holds)}</div><div>{tag}</div></li>"
    )


def _sizes(workspace: Workspace) -> dict[str, int]:
    """Sentences of the sets whose size is known without reading a file: uploads, starter set."""
    sizes = {
        f"upload:{row['name']}": int(row["info"]["sentences"])
        for row in workspace.store.uploads.list()
        if "sentences" in row["info"]
    }
    for name in ("starter-pairs", "starter-topics"):  # a few kilobytes, kept in memory
        sizes[name] = len(workspace.catalog.load(name).sentences)
    return sizes


def preview(workspace: Workspace, name: str, asking: bool = False) -> str:
    """One data set: facts, first rows, and links to pages that use it."""
    data = workspace.catalog.load(name)
    known = {info.name: info for info in workspace.catalog.list()}
    info = known.get(name)
    heads, rows = samples.rows(data)
    table = parts.table(heads, rows, f"First rows of {name}", (0,))
    rubric = _rubric() if info is not None and info.origin == "starter" else ""
    close = button("Close", "open", "", about="Close the preview", param=("set", ""), kind="link")
    return card(
        "Data set",
        name,
        KINDS[data.kind],
        samples.facts(data, info),
        f"{table}{rubric}",
        _links(workspace, name, data, info, asking),
        close,
    )


def card(
    kind: str,
    name: str,
    about: str,
    facts: Iterable[tuple[str, str]],
    below: str,
    actions: str,
    close: str,
) -> str:
    """A card of an opened item: `below`, `actions` and `close` are HTML, the rest is plain text."""
    listed = "".join(f"<dt>{escape(what)}</dt><dd>{escape(value)}</dd>" for what, value in facts)
    return (
        f'<section class="t-card t-dataset" aria-label="{kind}"><h2>{escape(name)} '
        f'<small>{escape(about)}</small></h2><dl class="t-facts">{listed}</dl>{below}'
        f'<p class="t-actions">{actions}</p>{close}</section>'
    )


def _links(
    workspace: Workspace, name: str, data: Dataset, info: DatasetInfo | None, asking: bool
) -> str:
    task = (info.task if info else None) or (name if data.kind == "pairs" else None)
    places: list[tuple[str, str, dict[str, str | list[str]]]]
    places = [("Search in it", "search", {"in": name})]
    if data.kind == "labels" and task in (None, f"{name}/classify"):
        tasks = list(info.tasks) if info else [f"{name}/classify", f"{name}/search"]
        places.insert(0, ("Evaluate on it", "evaluate", {"task": tasks}))
    elif task:
        places.insert(0, ("Evaluate on it", "evaluate", {"task": task}))
    if data.kind == "pairs":
        places.append(("Cosine distributions", "distributions", {"task": task or name}))
    links = "".join(
        f'<a class="t-button" href="{escape(address.link(path, **state))}">{label}</a>'
        for label, path, state in places
    )
    if info is None or info.origin != "upload" or workspace.read_only:
        return links
    if asking:
        return (
            f"{links}<span>Its file is deleted; results on it are kept.</span>"
            + button(
                "Remove it", "remove", name, about=f"Remove {name} permanently", param=("set", "")
            )
            + button("Keep it", "open-again", name, about=f"Keep {name}")
        )
    return links + button("Remove…", "ask", name, about=f"Remove {name}")


def first_rows(filename: str, preview: Preview) -> str:
    """The first rows of a file, and its problems."""
    rows = [tuple(cell(value) for value in row) for row in preview.rows]
    head = "first line has column names" if preview.header else "no header line"
    size = (
        f"{formats.plural(preview.n_rows, 'row')}, "
        f"{formats.plural(len(preview.columns), 'column')}, {head}"
    )
    if preview.type:
        size = f"{formats.plural(preview.n_rows, 'file')} of {KINDS[preview.kind]}"
    return (
        f'<p class="t-muted">{cell(filename)}: {size}.</p>'
        f"{parts.warn(preview.problems)}"
        f"{parts.table(preview.columns, rows, 'First rows of the file')}"
    )


def _rubric() -> str:
    """The rubric by which the starter pairs were graded."""
    return (
        '<details class="t-twin"><summary>The rubric it was written and graded by</summary>'
        '<pre class="t-log t-rubric" tabindex="0" aria-label="Rubric">'
        f"{escape(starter.rubric())}</pre></details>"
    )
