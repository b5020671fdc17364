"""Views of the page *Search*: columns of hits, or the progress of the runs they wait for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.hits import HitsColumn, block, columns, written
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.jobs.views import card
from theodolite.app.pages.search import job, searchable, service
from theodolite.app.pages.search.service import Limits, SearchSpec
from theodolite.app.web import address, parts
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.components.hit import Hit
    from theodolite.app.workspace import Workspace


def answer(
    workspace: Workspace,
    spec: SearchSpec,
    *,
    start: bool,
    known: Mapping[str, list[list[Hit]]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the columns as they become ready; the timer polls those that wait for a run.

    Args:
        workspace: the workspace.
        spec: the search.
        start: whether encoding and indexing runs may be started.
        known: encoder -> shipped hits; these encoders are not asked.

    Yields:
        Updates by name: `nothing`, shown if no sentence passes the filters; `hits`, the columns;
        `timer`; `seen`, the marks of the runs.
    """
    limits = service.limits_of(workspace, spec)
    if not spec.is_near:
        yield {
            "nothing": "",
            "hits": _by_words(workspace, spec, limits),
            "timer": gr.update(active=False),
            "seen": [],
        }
        return
    names = choices.need(spec.encoders)
    title = [_examples(spec)] if spec.mode == "examples" else spec.queries
    more = _more(spec)
    known = known or {}
    done = [
        HitsColumn(name, known[name], shipped=True)
        if name in known
        else HitsColumn(name, instead=_searching(name))
        for name in names
    ]
    for place, name in enumerate(names):
        if name in known:
            continue
        yield {"nothing": "", "hits": columns(title, done, more)}
        try:
            done[place] = _column(workspace, name, spec, limits, start)
        except UserError as error:  # one encoder that fails does not stop the others
            done[place] = HitsColumn(name, instead=parts.problem(error))
    live = any(run["state"] in LIVE for run in job.runs(workspace, spec.collection))
    waiting = live and any(column.instead or column.above for column in done)
    yield {
        "nothing": _without(limits),
        "hits": columns(title, done, more),
        "timer": gr.update(active=waiting),
        "seen": marks(workspace, spec.collection),
    }


def _without(limits: Limits) -> str:
    if limits.among is not None and not len(limits.among):
        return parts.empty(
            "No sentence has all of these labels", "Remove something from Filter by label."
        )
    return ""


def _by_words(workspace: Workspace, spec: SearchSpec, limits: Limits) -> str:
    """One column of hits by words or pattern, which need no encoder."""
    blocks = []
    for query in spec.queries:
        begun = time.perf_counter()
        hits, total = service.hits_of_text(workspace, spec, query, limits)
        took = time.perf_counter() - begun
        name = "sentences with these words" if spec.mode == "words" else "sentences that match"
        text = f"{total:,} found" + (
            f", the first {len(hits)} are shown" if total > len(hits) else ""
        )
        instead = "" if hits else _nothing(spec.mode)
        column = HitsColumn(name, [hits], took, note=text, instead=instead, by_encoder=False)
        blocks.append(block(query, 0, [column], _more(spec)))
    return written(blocks)


def _nothing(mode: str) -> str:
    hint = "Use fewer words." if mode == "words" else "Case is ignored; spaces are not."
    return f'<div class="t-notice"><p><strong>None.</strong></p><p>{hint}</p></div>'


def _examples(spec: SearchSpec) -> str:
    text = f"Like {formats.plural(len(spec.queries), 'example')}"
    n = len(spec.unlike)
    return text + (f", unlike {formats.plural(n, 'example')}" if n else "")


def _more(spec: SearchSpec) -> Any:
    """Return a function that makes the links beside a hit: more sentences like it, or fewer."""
    examples = spec.mode == "examples"

    def links(sentence: str) -> list[tuple[str, str]]:
        mine = list(spec.queries) if examples else []
        where = {
            "in": spec.collection,
            "encoder": list(spec.encoders),
            "mode": "examples",
            "only": list(spec.only),
            "k": str(spec.k),
            "least": None if spec.least is None else str(spec.least),
        }
        found = [("more like this", {"q": [*mine, sentence], "unlike": list(spec.unlike)})]
        if examples:
            found.append(("less like this", {"q": mine, "unlike": [*spec.unlike, sentence]}))
        return [(words, address.link("search", **where, **what)) for words, what in found]

    return links


def _searching(name: str) -> str:
    """The placeholder of a column that is not searched yet; the first search loads the model."""
    return (
        '<div class="t-run"><p class="t-muted">Searching; a model that is not loaded yet takes '
        f"some seconds.</p>{parts.progress_bar(None, f'Searching with {name}')}</div>"
    )


def _column(
    workspace: Workspace, name: str, spec: SearchSpec, limits: Limits, start: bool
) -> HitsColumn:
    """Search the sentences encoded so far, and start the run for the rest if allowed."""
    opened = searchable.so_far(workspace, name, spec.collection)
    waiting = ""
    if service.undone(opened, spec.collection):
        waiting = _waiting(workspace, name, spec.collection, opened, start)
        if not opened.index.size or opened.needs_index:
            return HitsColumn(name, instead=waiting)
    begun = time.perf_counter()
    if not waiting:
        opened = searchable.open_collection(workspace, name, spec.collection)
    found = service.hits_in(opened, spec, limits)
    took = time.perf_counter() - begun
    if waiting:
        n = len(opened.sentences)
        note = f"The best of {n - opened.lacking:,} sentences so far; there are {n:,}."
        return HitsColumn(name, found, took, note=note, above=waiting)
    if start:
        job.count_search(workspace, name, spec.collection, opened)
    instead = "" if any(found) else _none_near(spec)
    return HitsColumn(name, found, took, instead, _note(workspace, spec.collection, opened))


def _none_near(spec: SearchSpec) -> str:
    if spec.least is None:
        return _nothing("words")
    least = f"{spec.least:g}".replace("-", "−")
    return (
        f'<div class="t-notice"><p><strong>None has a cosine of {least} or more.</strong></p>'
        "<p>Lower the minimum cosine, or clear it.</p></div>"
    )


def _note(workspace: Workspace, collection: str, opened: searchable.Searchable) -> str:
    """The recall and speed of an indexed collection; empty for exact search."""
    from theodolite.app.pages.search import indexes

    if opened.is_exact:
        return ""
    _, data_hash = workspace.catalog.sentences(collection)
    built = indexes.facts(workspace, opened.encoder.fingerprint, data_hash)
    if built is None:
        return ""
    return (
        f"By lists: {built.probed} of {built.lists:,} are searched and {built.recall:.1%} of "
        f"the true 10 nearest found ({built.asked} asked), in {built.indexed_ms:.1f} ms "
        f"instead of {built.exact_ms:.0f} ms."
    )


def marks(workspace: Workspace, collection: str) -> list[Any]:
    """A signature of the collection's runs; waiting columns are redrawn when it changes."""
    from theodolite.app.web.progress import signature

    return signature(job.runs(workspace, collection))


def _waiting(
    workspace: Workspace, name: str, collection: str, opened: searchable.Searchable, start: bool
) -> str:
    """The progress of the run that a column waits for, or how to start it."""
    last = job.prepare(workspace, name, collection, opened, start=start)
    if last is not None and last["state"] != "done":
        return card(last)
    hint = parts.next_step(
        workspace.read_only,
        "choose another collection or encoder",
        "Press Search to do this in the background, once for all later searches.",
    )
    lacking = escape(service.undone(opened, collection))
    return f'<div class="t-notice"><p><strong>{lacking}</strong></p><p>{hint}</p></div>'
