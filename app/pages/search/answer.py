"""Search a collection by meaning, examples, words or pattern."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import (
    Block,
    Filters,
    Hit,
    Hits,
    HitsColumn,
    Link,
    Nothing,
    Problem,
    Progress,
)
from theodolite.app.pages.search import filters, indexes, job, searchable, service
from theodolite.app.pages.search.service import Limits
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Encoders, Field, Spec, query
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.encoders.base import Encoder

MODES = {"meaning": "Meaning", "examples": "Examples", "words": "Words", "pattern": "Pattern"}
MAX_HITS = 1000


@dataclass(frozen=True)
class SearchSpec(Spec):
    """Find sentences of a collection: the nearest, one list for each encoder, or by their words.

    Every sentence is compared with the query. Of more than 200,000 sentences an index can be made
    once; later searches then read little and find nearly the same.
    """

    queries: Annotated[
        Sequence[str],
        Field("Query", "What to look for: texts, examples, words or patterns.", key="q"),
    ]
    data: Annotated[
        str,
        Field(
            "Collection",
            "The collection to search; see `theodolite data`.",
            names="dataset",
            key="in",
            flags=("--in",),
        ),
    ] = "starter-topics"
    encoders: Encoders = ("minilm",)
    k: Annotated[
        int, Field("Top k", "Hits of each query and encoder.", flags=("-k",), ge=1, le=MAX_HITS)
    ] = 10
    by: Annotated[str, Field("Search by", "How queries are read.", choices=MODES)] = "meaning"
    unlike: Annotated[
        Sequence[str],
        Field("Unlike these", "A sentence to be unlike; the queries become examples."),
    ] = ()
    least: Annotated[float | None, Field("Minimum cosine", ge=-1, le=1)] = None
    only: Annotated[Sequence[str], Field("Filter by label", "As in 'label: sport'.")] = ()
    index: Annotated[
        bool,
        Field("Index", "First build an index of a large collection, for this and later searches."),
    ] = False

    def check(self) -> None:
        """Queries are not empty; negative examples make examples of them."""
        if not self.queries or not all(query.strip() for query in self.queries):
            raise UserError(
                "The query is empty.", "Write a sentence or a few words.", code="missing"
            )
        if self.is_near and not self.encoders:
            raise UserError(
                "Choose at least one encoder.", "Name one, as in minilm.", code="too-few"
            )
        if self.unlike and self.by == "meaning":
            object.__setattr__(self, "by", "examples")

    @property
    def is_near(self) -> bool:
        """Whether the search compares vectors; words and patterns need no encoder."""
        return self.by in ("meaning", "examples")

    def link(self, label: str, **changes: Any) -> Link:
        """The page with this search, or with one that differs in some values."""
        values = query(replace(self, **changes))
        values.pop("encoder", None)  # a page begins with other encoders than a command
        return Link(label, "search", values | ({"encoder": self.encoders} if self.encoders else {}))

    def without(self, filter_: str) -> Link:
        """The same search without one of its filters."""
        return self.link(filter_, only=[one for one in self.only if one != filter_])


@dataclass(frozen=True, eq=False, repr=False)
class SearchAnswer(Answer):
    """The hits of a search.

    Attributes:
        spec: what was asked.
        columns_of_hits: one for each encoder, or for words.
        is_empty: whether no sentence passes the filters.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "query": str,
        "encoder": str,
        "rank": int,
        "cosine": float | None,
        "id": int,
        "sentence": str,
    }

    spec: SearchSpec
    columns_of_hits: Sequence[HitsColumn]
    is_empty: bool = False

    @property
    def queries(self) -> Sequence[str]:
        """The queries that have a list of hits each; examples have one together."""
        together = self.spec.by == "examples"
        return (" · ".join(self.spec.queries),) if together else self.spec.queries

    @property
    def hits(self) -> dict[str, Sequence[Sequence[Hit]]]:
        """Encoder, or `words` or `pattern` -> a list for each query, nearest first."""
        return {c.name if c.is_encoder else self.spec.by: c.hits for c in self.columns_of_hits}

    def rows(self) -> list[dict[str, Any]]:
        """A row per hit."""
        return [
            {
                "query": query,
                "encoder": encoder,
                "rank": rank,
                "cosine": hit.cosine,
                "id": hit.index,
                "sentence": hit.sentence,
            }
            for encoder, lists in self.hits.items()
            for query, hits in zip(self.queries, lists, strict=False)
            for rank, hit in enumerate(hits, 1)
        ]

    def table_columns(self) -> list[str]:
        """Without the query if there is only one."""
        return super().table_columns()[len(self.queries) == 1 :]

    def blocks(self) -> list[Block]:
        """The hits, side by side."""
        titles: Sequence[str] = self.spec.queries
        if self.spec.by == "examples":
            titles = [f"Like {formats.plural(len(titles), 'example')}"]
            if self.spec.unlike:
                titles[0] += f", unlike {formats.plural(len(self.spec.unlike), 'example')}"
        blocks: list[Block] = [Hits(titles, self.columns_of_hits, self._links)]
        if self.is_empty:
            hint = "Remove something from Filter by label."
            blocks.insert(0, Nothing("No sentence has all of these labels", hint))
        if self.spec.only:
            blocks.insert(0, Filters([self.spec.without(text) for text in self.spec.only]))
        return blocks

    def notes(self) -> list[str]:
        """How the hits were found."""
        return [column.note for column in self.columns_of_hits if column.note]

    def problems(self) -> list[Problem]:
        """Encoders that could not search."""
        return [
            column.status for column in self.columns_of_hits if isinstance(column.status, Problem)
        ]

    @property
    def waits(self) -> bool:
        """Whether a run is under way for some of it."""
        return any(isinstance(column.status, Progress) for column in self.columns_of_hits)

    def _links(self, sentence: str) -> list[Link]:
        spec = self.spec
        encoders = spec.encoders or SearchSpec.encoders
        like = spec.queries if spec.by == "examples" else ()
        more = spec.link(
            "similar to this", queries=[*like, sentence], by="examples", encoders=encoders
        )
        if not like:
            return [more]
        return [more, spec.link("less like this", unlike=[*spec.unlike, sentence])]


def answer(
    workspace: Workspace,
    spec: SearchSpec,
    do: Do,
    *,
    shipped: Mapping[str, list[list[Hit]]] | None = None,
) -> Iterator[SearchAnswer]:
    """Search with one encoder after the other.

    Args:
        workspace: with the collection and its vectors.
        spec: the search.
        do: encodes or indexes a collection that is not; until then, what is encoded is searched.
        shipped: encoder -> hits that need no search.

    Yields:
        The answer, with one more encoder each time.
    """
    limits = _limits(workspace, spec)
    if not spec.is_near:
        yield SearchAnswer(spec, [_by_text(workspace, spec, limits)])
        return
    known = shipped or {}
    waiting = Progress("Searching; a model that is not loaded yet takes some seconds.")
    columns = [
        HitsColumn(name, known[name], shipped=True)
        if name in known
        else HitsColumn(name, status=waiting)
        for name in spec.encoders
    ]
    is_empty = limits.among is not None and not len(limits.among)
    for place, name in enumerate(spec.encoders):
        if name in known:
            continue
        yield SearchAnswer(spec, tuple(columns), is_empty)
        try:
            columns[place] = _by_encoder(workspace, spec, name, limits, do)
        except UserError as error:  # one encoder that fails does not stop the others
            columns[place] = HitsColumn(name, status=Problem(error))
    yield SearchAnswer(spec, tuple(columns), is_empty)


def among(encoder: Encoder, sentences: Sequence[str], spec: SearchSpec) -> HitsColumn:
    """Search distinct sentences that are not a data set; nothing is stored."""
    from theodolite.engine.encoders import PromptTask, bind_task

    distinct = list(dict.fromkeys(sentences))
    bound = bind_task(encoder, distinct, "", PromptTask("", "Retrieval"))
    exact = searchable.Exact(bound, distinct)
    exact.complete()
    opened = searchable.Searchable(exact, distinct, bound)
    return HitsColumn(encoder.name, _hits(opened, spec, Limits(spec.k, spec.least)))


def _limits(workspace: Workspace, spec: SearchSpec) -> Limits:
    return Limits(spec.k, spec.least, filters.among(workspace, spec.data, spec.only))


def _hits(opened: searchable.Searchable, spec: SearchSpec, limits: Limits) -> list[list[Hit]]:
    """One list per query, or one for all examples."""
    if spec.by == "examples":
        return [service.alike_in(opened, spec.queries, spec.unlike, limits)]
    return service.nearest_in(opened, spec.queries, limits)


def _by_text(workspace: Workspace, spec: SearchSpec, limits: Limits) -> HitsColumn:
    """Hits by words or pattern, which need no encoder."""
    find = service.containing if spec.by == "words" else service.matching
    begun = time.perf_counter()
    answers = [find(workspace, spec.data, query, limits) for query in spec.queries]
    hits = _labelled(workspace, spec, [hits for hits, _ in answers])
    totals = [total for _, total in answers]
    notes = [
        f"{total:,} found" + (f", the first {len(own)} are shown" if total > len(own) else "")
        for own, total in zip(hits, totals, strict=True)
    ]
    return HitsColumn(
        "sentences with these words" if spec.by == "words" else "sentences that match",
        hits,
        None if any(totals) else _none(spec.by),
        time.perf_counter() - begun,
        "; ".join(notes),
        is_encoder=False,
    )


def _labelled(
    workspace: Workspace, spec: SearchSpec, lists: Sequence[Sequence[Hit]]
) -> list[list[Hit]]:
    labels = filters.labels(workspace, spec.data)
    return [[replace(hit, label=labels.get(hit.index, "")) for hit in hits] for hits in lists]


def _none(by: str) -> Nothing:
    hint = "Case is ignored; spaces are not." if by == "pattern" else "Use fewer words."
    return Nothing("None.", hint)


def _by_encoder(
    workspace: Workspace, spec: SearchSpec, name: str, limits: Limits, do: Do
) -> HitsColumn:
    """Search the whole collection, or what is encoded of it so far."""
    opened = searchable.so_far(workspace, name, spec.data)
    needed = job.needed(name, spec.data, opened, index=spec.index)
    status: Nothing | Progress | None = None
    if needed is not None and not needed.is_stored(workspace) and not do(needed):
        status = _status(workspace, needed, opened)
        if not opened.index.size or opened.needs_index:
            return HitsColumn(name, status=status)
    begun = time.perf_counter()
    if status is None:
        opened = searchable.open_collection(workspace, name, spec.data)
    hits = _labelled(workspace, spec, _hits(opened, spec, limits))
    took = time.perf_counter() - begun
    if status is not None:
        n = len(opened.sentences)
        note = f"The best of {n - opened.lacking:,} sentences so far; there are {n:,}."
        return HitsColumn(name, hits, status, took, note)
    none = None if any(hits) else _none_near(spec)
    return HitsColumn(name, hits, none, took, _note(workspace, spec.data, opened))


def _note(workspace: Workspace, collection: str, opened: searchable.Searchable) -> str:
    """The recall and speed of an indexed collection; empty for exact search."""
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


def _status(
    workspace: Workspace, needed: job.CollectionJob, opened: searchable.Searchable
) -> Nothing | Progress:
    """The run that encodes or indexes the rest, or how to start it."""
    run = job.last_run(workspace, needed)
    if run is not None and run["state"] != "done":
        return Progress(needed.title, run)
    hint = "Press Search to do this in the background, once for all later searches."
    if workspace.read_only:
        hint = "This demonstration does not start runs: choose another collection or encoder."
    return Nothing(job.undone(opened, needed.dataset), hint)


def _none_near(spec: SearchSpec) -> Nothing:
    if spec.least is None:
        return _none("words")
    least = f"{spec.least:g}".replace("-", "−")
    return Nothing(
        f"None has a cosine of {least} or more.", "Lower the minimum cosine, or clear it."
    )


SEARCH = Question(
    "search",
    SearchSpec,
    answer,
    SearchAnswer,
    (
        'search "a dog runs on the grass" --in flickr30k -e minilm -e random:256 -k 5',
        'search "a dog runs" --unlike "a dog sleeps" --least 0.4',
        'search "^Who .*[?]$" --by pattern',
    ),
    queues=True,
)
