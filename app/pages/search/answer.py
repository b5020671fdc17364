"""Search a collection by meaning, examples, words or pattern."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

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
from theodolite.app.examples import shipped
from theodolite.app.formats import percent
from theodolite.app.pages.search import service
from theodolite.app.pages.search.service import Limits
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Encoders, Field, Spec, query
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.chunks import cuts, join, written
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import RankerSpec, parse

KIND = "search"
QUERY = "The storm cut the power to our street."
"""The initial query, to which hits ship."""
MODES = {"meaning": "Meaning", "examples": "Examples", "words": "Words", "pattern": "Pattern"}
MAX_HITS = 1000
MAX_WAYS = 6
"""Most ways to cut documents: each has a column for each encoder."""


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
    chunks: Annotated[
        str,
        Field(
            "Chunks",
            "Of documents, a column each: whole, or METHOD,SIZE,OVERLAP by recursive, sentences, "
            "headings or tokens, such as recursive,400,50. As they are if empty.",
        ),
    ] = ""

    def check(self) -> None:
        """Queries are not empty; negative examples make examples of them."""
        ways = cuts(self.chunks)
        if len(ways) > MAX_WAYS:
            raise UserError(
                f"{len(ways)} ways to cut documents are too many to compare.",
                f"Name at most {MAX_WAYS}.",
                code="too-large",
            )
        vars(self).update(chunks=written(ways))
        if not self.queries or not all(query.strip() for query in self.queries):
            raise UserError(
                "The query is empty.", "Write a sentence or a few words.", code="missing"
            )
        if self.is_near and not self.encoders:
            raise UserError(
                "Choose at least one encoder.", "Name one, as in minilm.", code="too-few"
            )
        if self.unlike and self.by == "meaning":
            vars(self).update(by="examples")

    @property
    def is_near(self) -> bool:
        """Whether the search compares vectors; words and patterns need no encoder."""
        return self.by in ("meaning", "examples")

    @property
    def collections(self) -> dict[str, str]:
        """How documents are cut, empty where nobody says -> the data set."""
        ways = {written([way]): join(self.data, way) for way in cuts(self.chunks)}
        return ways or {"": self.data}

    def link(self, label: str, **changes: Any) -> Link:
        """The page with this search, or with one that differs in some values."""
        values = query(replace(self, **changes))
        values.pop("encoder", None)  # a page begins with other encoders than a command
        return Link(label, "search", values | ({"encoder": self.encoders} if self.encoders else {}))


@dataclass(frozen=True, eq=False, repr=False)
class SearchAnswer(Answer):
    """The hits of a search.

    Attributes:
        spec: what was asked.
        columns_of_hits: one for each encoder, or for words; as many for each way to cut documents.
        is_empty: whether no sentence passes the filters.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "query": str,
        "encoder": str,
        "rank": int,
        "cosine": float | None,
        "id": int,
        "sentence": str,
        "label": str,
    }
    partial: ClassVar[bool] = True

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
        """Encoder, or `words` or `pattern` -> a list for each query, nearest first.

        Of chunks, with how documents are cut: `minilm|chunk:recursive,400,50`.
        """
        return {
            join(c.name if c.is_encoder else self.spec.by, way): c.hits
            for c in self.columns_of_hits
            for way in cuts(c.chunks) or [None]
        }

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
                "label": hit.label,
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
        if only := self.spec.only:
            chips = [self.spec.link(one, only=[o for o in only if o != one]) for one in only]
            blocks.insert(0, Filters(chips))
        return blocks

    def notes(self) -> list[str]:
        """How the hits were found, and why there are none."""
        texts = [column.note for column in self.columns_of_hits if column.note]
        for name, column in zip(self.hits, self.columns_of_hits, strict=False):
            match column.status:
                case Nothing(why, hint):
                    texts.append(f"{name}: {why} {hint}")
                case Problem(error):
                    texts.append(f"{name} could not search. {error.message} {error.hint}")
        return list(dict.fromkeys(texts))

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
    if spec.chunks:  # documents are cut and indexed for each way that somebody thinks of
        workspace.refuse_visitors()
    collections = spec.collections
    limits = {
        way: Limits(spec.k, spec.least, service.among(workspace, collection, spec.only))
        for way, collection in collections.items()
    }
    if not spec.is_near:
        yield SearchAnswer(spec, [_by_text(workspace, spec, way, limits[way]) for way in limits])
        return
    waiting = Progress("Searching; a model that is not loaded yet takes some seconds.")
    grid = [(way, name) for way in limits for name in spec.encoders]
    columns = {(way, name): HitsColumn(name, status=waiting, chunks=way) for way, name in grid}
    known = {
        ("", name): HitsColumn(name, hits, shipped=True) for name, hits in (shipped or {}).items()
    }
    columns |= known
    is_empty = all(one.among is not None and not len(one.among) for one in limits.values())
    missing = [at for at in grid if at not in known]
    if missing:
        workspace.catalog.stamp(spec.data)  # one that is gone is said once, not of each encoder
    for way, name in missing:
        yield SearchAnswer(spec, tuple(columns.values()), is_empty)
        one = replace(spec, data=collections[way], chunks="")
        try:
            column = _by_encoder(workspace, one, name, limits[way], do)
        except UserError as error:  # one encoder that fails does not stop the others
            column = HitsColumn(name, status=Problem(error))
        columns[way, name] = replace(column, chunks=way)
    yield SearchAnswer(spec, tuple(columns.values()), is_empty)


def shipped_hits(workspace: Workspace, spec: SearchSpec) -> dict[str, list[list[Hit]]]:
    """Encoder -> its hits that ship for exactly this search; empty if none do."""
    hits = {}
    for name in spec.encoders if spec.is_near and not spec.chunks else ():
        if rows := shipped.read(workspace, KIND, question(spec, name)):
            sentences = workspace.catalog.sentences(spec.data)[0]
            hits[name] = [[Hit(index, sentences[index], cosine) for index, cosine in rows]]
    return hits


def question(spec: SearchSpec, encoder: str) -> dict[str, Any]:
    """What is asked of one encoder, on documents as they are."""
    whole = vars(replace(spec, encoders=(encoder,)))
    return {name: value for name, value in whole.items() if name != "chunks"}


def among(encoder: Encoder, sentences: Sequence[str], spec: SearchSpec) -> HitsColumn:
    """Search distinct sentences that are not a data set; nothing is stored."""
    from theodolite.engine.encoders import PromptTask, bind_task

    distinct = list(dict.fromkeys(sentences))
    bound = bind_task(encoder, distinct, "", PromptTask("", "Retrieval"))
    exact = service.Exact(bound, distinct)
    exact.complete()
    collection = service.Searchable(exact, distinct, bound)
    return HitsColumn(encoder.name, _hits(collection, spec, Limits(spec.k, spec.least), {}))


def _hits(
    collection: service.Searchable, spec: SearchSpec, limits: Limits, labels: Mapping[int, str]
) -> list[list[Hit]]:
    """One list per query, or one for all examples."""
    if spec.by == "examples":
        lists = [collection.alike(spec.queries, spec.unlike, limits)]
    else:
        lists = collection.nearest(spec.queries, limits)
    return _with_labels(lists, labels)


def _with_labels(lists: list[list[Hit]], labels: Mapping[int, str]) -> list[list[Hit]]:
    return [[replace(hit, label=labels.get(hit.index, "")) for hit in hits] for hits in lists]


def _by_text(workspace: Workspace, spec: SearchSpec, way: str, limits: Limits) -> HitsColumn:
    """Hits by words or pattern in documents that are cut in one way; no encoder is needed."""
    collection, among = spec.collections[way], limits.among
    find = service.with_words if spec.by == "words" else service.with_pattern
    start = time.perf_counter()
    sentences, _ = workspace.catalog.sentences(collection, queries=False)
    places = range(len(sentences)) if among is None else among.tolist()
    candidates = {i: sentences[i] for i in places}
    labels = service.labels(workspace, collection)
    lists, notes = [], []
    for text in spec.queries:
        matches = find(text, candidates)
        lists.append(
            [Hit(i, sentences[i], None, at, labels.get(i, "")) for i, at in matches[: spec.k]]
        )
        more = f", the first {spec.k} are shown" if len(matches) > spec.k else ""
        notes.append(f"{len(matches):,} found{more}")
    hint = "Case is ignored; spaces are not." if spec.by == "pattern" else "Use fewer words."
    return HitsColumn(
        "sentences with these words" if spec.by == "words" else "sentences that match",
        lists,
        None if any(lists) else Nothing("None.", hint),
        time.perf_counter() - start,
        "; ".join(notes),
        is_encoder=False,
        chunks=way,
    )


def _by_encoder(
    workspace: Workspace, spec: SearchSpec, name: str, limits: Limits, do: Do
) -> HitsColumn:
    """Search the whole collection, or what is encoded of it so far."""
    if isinstance(parse(name), RankerSpec):
        return _by_ranker(workspace, spec, name, limits, do)
    collection = service.so_far(workspace, name, spec.data)
    needed = service.needed_job(name, spec.data, collection, index=spec.index)
    status: Nothing | Progress | None = None
    if needed is not None and not needed.is_stored(workspace) and not do(needed):
        status = _status(workspace, needed, collection)
        if collection.missing == len(collection.sentences) or collection.needs_index:
            return HitsColumn(name, status=status)
    start = time.perf_counter()
    if status is None:
        collection = service.open_collection(workspace, name, spec.data)
    hits = _hits(collection, spec, limits, service.labels(workspace, spec.data))
    note = ""
    if status is not None:
        n = len(collection.sentences)
        note = f"The best of {n - collection.missing:,} sentences so far; there are {n:,}."
    elif built := collection.built:
        note = (
            f"By lists: {built.probed} of {built.lists:,} are searched and "
            f"{percent(built.recall, 1)} of the true 10 nearest found ({built.asked} asked), "
            f"in {built.indexed_ms:.1f} ms instead of {built.exact_ms:.0f} ms."
        )
    if not status and not any(hits):
        least = "" if spec.least is None else f" with a cosine of {spec.least:g} or more"
        hint = "Lower the minimum cosine, or clear it." if least else "Remove a filter."
        status = Nothing(f"None{least.replace('-', '−')}.", hint)
    return HitsColumn(name, hits, status, time.perf_counter() - start, note)


def _by_ranker(
    workspace: Workspace, spec: SearchSpec, name: str, limits: Limits, do: Do
) -> HitsColumn:
    """Search the whole collection, once the encoders in a ranker have encoded it."""
    if spec.by == "examples":
        raise UserError(
            f"{name} takes queries, not examples.", "Search by meaning.", code="unsupported"
        )
    for encoder in map(str, parse(name).encoders):
        collection = service.so_far(workspace, encoder, spec.data)
        needed = service.needed_job(encoder, spec.data, collection)
        if needed is not None and not needed.is_stored(workspace) and not do(needed):
            return HitsColumn(name, status=_status(workspace, needed, collection))
    start = time.perf_counter()
    lists, notes = service.rank(workspace, name, spec.data, spec.queries, limits)
    hits = _with_labels(lists, service.labels(workspace, spec.data))
    none = Nothing("None.", "No sentence shares a word with the query.")
    if spec.least is not None:
        notes = (*notes, "It gives no cosine: the minimum is ignored.")
    seconds = time.perf_counter() - start
    return HitsColumn(name, hits, None if any(hits) else none, seconds, " ".join(notes))


def _status(
    workspace: Workspace, needed: service.CollectionJob, collection: service.Searchable
) -> Nothing | Progress:
    """The run that encodes or indexes the rest, or how to start it."""
    run = service.last_run(workspace, needed)
    if run is not None and run["state"] != "done":
        return Progress(needed.title, run)
    hint = "Press Search to do this in the background, once for all later searches."
    if workspace.read_only:
        hint = "This demonstration does not start runs: choose another collection or encoder."
    return Nothing(service.undone(collection, needed.dataset), hint)


SEARCH = Question(
    "search",
    SearchSpec,
    answer,
    SearchAnswer,
    (
        'search "a dog runs on the grass" --in flickr30k -e minilm -e random:256 -k 5',
        'search "a dog runs" --unlike "a dog sleeps" --least 0.2',
        'search "^Who .*[?]$" --by pattern',
        'search "How are keys renewed?" --in upload:manual --chunks "whole, recursive,400,50"',
    ),
    queues=True,
)
