"""Sentences of a collection by vectors, words or pattern; used by other pages too.

A collection is searched exactly, over the vectors that are encoded so far. A large one has an index
once that is built, which is stored and opened memory-mapped.
"""

from __future__ import annotations

import re
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.app import formats, vectors
from theodolite.app.blocks import Hit, Spans
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue
from theodolite.app.recent import Recent
from theodolite.app.typed import Typed
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Retrieval,
    ScoredPairs,
    Triplets,
)
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.finite import finite
from theodolite.engine.encoders.spec import parse
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.rankers import Index
from theodolite.engine.rankers.spec import RankerSpec, parse as parse_ranker
from theodolite.engine.search.ann_index import Built, MappedIndex
from theodolite.engine.search.index import unit_rows
from theodolite.store.hashing import hash_of
from theodolite.store.run_rows import LIVE, RunRow

Key = tuple[Path, str, str]
"""Store, fingerprint, hash of the collection."""
IN_MEMORY = 2 * 2**30
"""Bytes of vectors kept for exact search; the least recently used collection goes first."""
KIND, FORMAT = "index", 1
"""Of stored indexes; the format is increased whenever that of the same vectors would change."""
UNLIKE = 0.5
"""Weight of the negative examples; that of the positive ones is 1."""
SENTENCES_A_SECOND = 100_000
"""Sentences per second that an ordinary pattern searches on a slow machine."""
MAX_LABELS = 200
"""More distinct labels are names of examples, which say nothing beside a sentence."""
_few_patterns = threading.Semaphore(2)
"""Limits simultaneous patterns: each may occupy a processor until its timeout."""
MAX_SHORT = 10_000
"""Sentences that are encoded for an agent."""
OFTEN = 3
"""A large collection gets an index at this number of searches."""
_searches: Counter[Key] = Counter()
"""Searches of large collections, by store, encoder and collection."""
_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_BORDERED = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""Letters and digits of the scripts that put spaces between words."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the hits.

    Attributes:
        k: most hits.
        least: minimum cosine; None for any.
        among: int64, positions to search; None for all.
    """

    k: int
    least: float | None = None
    among: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Searchable:
    """A collection with its index.

    Attributes:
        index: finds positions of sentences.
        sentences: the sentences by position.
        encoder: encodes queries.
        missing: number of sentences that cannot be found yet, for lack of vectors or an index.
        built: the recall of the index, and its times; None for exact search.
    """

    index: Exact | MappedIndex
    sentences: Sequence[str]
    encoder: Encoder
    missing: int = 0
    built: Built | None = None

    @property
    def is_large(self) -> bool:
        """Whether the collection is worth an index."""
        return _is_large(self.sentences)

    @property
    def needs_index(self) -> bool:
        """Whether the collection is too large to be searched without an index."""
        return isinstance(self.index, Exact) and self.index.bytes > IN_MEMORY

    def nearest(self, queries: Sequence[str], limits: Limits) -> list[list[Hit]]:
        """The nearest sentences for each query, nearest first."""
        from theodolite.engine.encoders import query_side

        if not queries or not all(query.strip() for query in queries):
            message = "The query is empty."
            raise UserError(message, "Write a sentence or a few words.", code="missing")
        return self.around(Typed(query_side(self.encoder)).encode(list(queries)), limits)

    def alike(self, like: Sequence[str], unlike: Sequence[str], limits: Limits) -> list[Hit]:
        """The sentences near some examples and away from others, without the examples.

        The query is the mean direction of the former minus half that of the latter (Rocchio 1971).
        """
        if not any(text.strip() for text in like):
            raise UserError(
                "No example given.", "Write at least one example sentence.", code="missing"
            )
        encoder = Typed(self.encoder)
        query = unit_rows(encoder.encode(list(like))).mean(axis=0)
        if unlike:
            query = query - UNLIKE * unit_rows(encoder.encode(list(unlike))).mean(axis=0)
        known = {*like, *unlike}
        more = replace(limits, k=limits.k + len(known))
        (hits,) = self.around(query[None].astype(np.float32), more)
        return [hit for hit in hits if hit.sentence not in known][: limits.k]

    def around(self, points: np.ndarray, limits: Limits) -> list[list[Hit]]:
        """The nearest sentences for points of the space, nearest first."""
        cosines, ids = self.index.search(points, limits.k, limits.among)
        return [
            [
                Hit(int(i), self.sentences[i], float(cosine))
                for i, cosine in zip(row, scores, strict=True)
                if i >= 0 and (limits.least is None or cosine >= limits.least)
            ]
            for row, scores in zip(ids, cosines, strict=True)
        ]


class Exact:
    """Exact search over the vectors of a collection in memory, which may be added in parts."""

    def __init__(self, encoder: Encoder, sentences: Sequence[str]) -> None:
        from theodolite.engine.search.index import Index

        self.encoder, self._sentences = encoder, sentences
        self._there = np.zeros(len(sentences), bool)
        self._index = Index(np.empty((0, encoder.dim), np.float32))
        self._lock = threading.Lock()
        self._refreshed = False

    @property
    def missing(self) -> int:
        """Number of sentences without a loaded vector."""
        return len(self._there) - int(self._there.sum())

    @property
    def bytes(self) -> int:
        """Memory that all vectors of the collection take."""
        return 4 * len(self._there) * self.encoder.dim

    def search(
        self, queries: np.ndarray, k: int, among: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Search the loaded vectors; see `engine.search.index.Index.search`."""
        if self._there.all():
            return self._index.search(queries, k, among)
        with self._lock:
            return self._index.search(queries, k, among)

    def refresh(self) -> None:
        """Load the vectors that the cache has.

        A run encodes in the order of the sentences. So only the first refresh visits all of them;
        later ones stop where the run is.
        """
        for block, texts in self._blocks():
            there, rows = vectors.known(self.encoder, texts)
            self._take(block[there], rows)
            if self._refreshed and not there.all():
                break
        self._refreshed = True

    def complete(self, progress: Progress | None = None) -> None:
        """Encode the lacking sentences."""

        def moved(done: int, of: int) -> None:
            if progress:
                progress(before + done, len(self._there))

        for block, texts in self._blocks():
            before = len(self._there) - self.missing
            self._take(block, self.encoder.encode(texts, moved))

    def _blocks(self) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Positions and texts of sentences whose vectors are lacking."""
        missing = np.flatnonzero(~self._there)
        for start in range(0, len(missing), vectors.BLOCK):
            block = missing[start : start + vectors.BLOCK]
            yield block, [self._sentences[i] for i in block.tolist()]

    def _take(self, positions: np.ndarray, rows: np.ndarray) -> None:
        with self._lock:  # another thread may have added some of them meanwhile
            new = ~self._there[positions]
            self._index.add(rows[new], positions[new])
            self._there[positions] = True


_exact: Recent[Key, Exact] = Recent(IN_MEMORY, lambda one: one.bytes)
_mapped: Recent[Key, MappedIndex] = Recent(6)
_ranked: Recent[Key, Index] = Recent(IN_MEMORY, lambda one: one.bytes)


def nearest(
    workspace: Workspace,
    spec: str,
    collection: str,
    queries: Sequence[str],
    limits: Limits,
    progress: Progress | None = None,
) -> list[list[Hit]]:
    """The nearest sentences of the whole collection for each query, nearest first."""
    return open_collection(workspace, spec, collection, progress).nearest(queries, limits)


def so_far(workspace: Workspace, spec: str, collection: str) -> Searchable:
    """Open a collection as far as it can be searched now, without encoding.

    With an encoder that has a fitted step, nothing can be found until all is encoded.
    """
    searchable = _open(workspace, spec, collection)
    if not isinstance(searchable.index, Exact) or searchable.needs_index:
        return searchable
    if vectors.is_fitted(searchable.encoder):
        waiting = vectors.missing(workspace, spec, collection) if searchable.index.missing else 0
        return replace(searchable, missing=waiting)
    searchable.index.refresh()
    return replace(searchable, missing=searchable.index.missing)


def open_collection(
    workspace: Workspace, spec: str, collection: str, progress: Progress | None = None
) -> Searchable:
    """Open a whole collection: with its index if it has one, else exact, encoding the rest."""
    searchable = _open(workspace, spec, collection)
    if (
        searchable.needs_index and progress is not None
    ):  # a command waits; a page queues a run instead
        make_index(workspace, spec, collection, progress)
        searchable = _open(workspace, spec, collection)
    if isinstance(searchable.index, Exact):
        searchable.index.complete(progress)
    return replace(searchable, missing=0)


def rank(
    workspace: Workspace, spec: str, collection: str, queries: Sequence[str], limits: Limits
) -> tuple[list[list[Hit]], tuple[str, ...]]:
    """The first sentences for each query by a ranker that is no encoder, and notes on its index.

    Its scores are no cosines.
    """
    from theodolite.engine import rankers

    sentences, data_hash = workspace.catalog.sentences(collection, queries=False)
    bound = workspace.bind(rankers.of(workspace.ranker(spec)), collection)
    key = (workspace.store.folder, bound.fingerprint, data_hash)
    index = _ranked.get(key, lambda: bound.index(sentences))
    among = None if limits.among is None else [limits.among] * len(queries)
    nearest = index.search(queries, limits.k, among)
    hits = [
        [Hit(int(i), sentences[i], None, bound.spans(query, sentences[i])) for i in at]
        for query, (at, _) in zip(queries, nearest, strict=True)
    ]
    return hits, index.notes


def _open(workspace: Workspace, spec: str, collection: str) -> Searchable:
    """Open a collection with its index, else with the vectors loaded before."""
    sentences, data_hash = workspace.catalog.sentences(collection, queries=False)
    encoder = workspace.bound(spec, collection)
    key = (workspace.store.folder, encoder.fingerprint, data_hash)
    place = hash_of(KIND, str(FORMAT), encoder.fingerprint, data_hash)
    row = workspace.store.derived.get(place) if _is_large(sentences) else None
    if row is None:
        exact = _exact.get(key, lambda: Exact(encoder, sentences))
        return Searchable(exact, sentences, exact.encoder, len(sentences))
    _exact.forget(lambda one: one == key)
    built = Built(**{field.name: row["info"][field.name] for field in fields(Built)})
    read, lists = _rows(encoder, sentences), row["files"]["lists"]
    mapped = _mapped.get(key, lambda: MappedIndex(lists, read, built.probed))
    return Searchable(mapped, sentences, encoder, built=built)


def _is_large(sentences: Sequence[str]) -> bool:
    from theodolite.engine.search import ann_index

    return len(sentences) > ann_index.EXACT_BELOW


def make_index(
    workspace: Workspace, encoder: str, dataset: str, progress: Progress | None = None
) -> None:
    """Build and store the index of a collection, unless it exists."""
    from theodolite.engine.search import ann_index

    bound = workspace.bound(encoder, dataset)
    sentences, data_hash = workspace.catalog.sentences(dataset, queries=False)
    place = hash_of(KIND, str(FORMAT), bound.fingerprint, data_hash)
    if workspace.store.derived.get(place) is not None:
        return
    # Beside the store: the system's temporary folder may be in memory.
    with tempfile.TemporaryDirectory(dir=workspace.store.folder, prefix="index-") as folder:
        lists = Path(folder) / "lists.faiss"
        built = ann_index.build(
            _Encoded(bound, sentences), lists, _rows(bound, sentences), progress
        )
        info = asdict(built) | {"encoder": encoder, "dataset": dataset}
        workspace.store.derived.put(place, KIND, info, files={"lists": lists})


def _rows(encoder: Encoder, sentences: Sequence[str]) -> Callable[[np.ndarray], np.ndarray]:
    """Return a function from positions to unit vectors, which reads the vector cache."""
    return lambda positions: unit_rows(encoder.encode([sentences[i] for i in positions.tolist()]))


class _Encoded:
    """The vectors of a collection as an array, read from the cache or an encoded corpus."""

    def __init__(self, encoder: Encoder, sentences: Sequence[str]) -> None:
        self._encoder, self._sentences = encoder, sentences
        self.shape = (len(sentences), encoder.dim)

    def __len__(self) -> int:
        return len(self._sentences)

    def __getitem__(self, rows: Any) -> np.ndarray:
        places = range(len(self))[rows] if isinstance(rows, slice) else rows.tolist()
        texts = [self._sentences[i] for i in places]
        return finite(self._encoder.encode(texts), texts)


# Runs that prepare a collection ----------------------------------------------------------


@dataclass(frozen=True)
class CollectionJob(Job):
    """Prepare a collection for search.

    Attributes:
        encoder: canonical spec.
        dataset: name in the catalog.
    """

    priority = -1
    interactive = True

    encoder: str
    dataset: str

    @property
    def title(self) -> str:
        """`Encode starter-topics with minilm`."""
        return f"{self.kind.capitalize()} {self.dataset} with {self.encoder}"


@dataclass(frozen=True)
class EncodeJob(CollectionJob):
    """Encode a collection into the vector cache."""

    kind = "encode"

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether all vectors are cached."""
        return not vectors.missing(workspace, self.encoder, self.dataset)

    def is_short(self, workspace: Workspace) -> bool:
        """Whether few sentences are left."""
        return vectors.missing(workspace, self.encoder, self.dataset) <= MAX_SHORT

    def units(self) -> list[str]:
        """One unit: a restarted run continues from the cache."""
        return [f"{self.dataset} · {self.encoder}"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Encode the sentences that are not cached."""
        vectors.encode(workspace, self.encoder, self.dataset, reporter)


@dataclass(frozen=True)
class IndexJob(CollectionJob):
    """Encode a large collection, and build its index."""

    kind = "index"

    def units(self) -> list[str]:
        """Encoding and indexing."""
        return [
            f"Encoding {self.dataset} with {self.encoder}",
            f"Index of {self.dataset}, and its recall",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        (vectors.encode, make_index)[position](workspace, self.encoder, self.dataset, reporter)


def needed_job(
    encoder: str, dataset: str, collection: Searchable, *, index: bool = False
) -> CollectionJob | None:
    """Return the job that must run before the whole collection can be searched; None for none.

    `index` asks for the index of a large collection even where exact search would do.
    """
    name = str(parse(encoder))
    if collection.needs_index or (index and collection.is_large and not collection.built):
        return IndexJob(name, dataset)
    return EncodeJob(name, dataset) if collection.missing > vectors.SMALL else None


def why_incomplete(workspace: Workspace, encoder: str, collection: str) -> str:
    """Why a collection cannot be searched completely yet, in words; empty if it can."""
    searchable = so_far(workspace, encoder, collection)
    return undone(searchable, collection) if needed_job(encoder, collection, searchable) else ""


def undone(opened: Searchable, collection: str) -> str:
    """What is left to do before an opened collection can be searched completely, in words."""
    if opened.needs_index:
        n = len(opened.sentences)
        return f"{collection} has {n:,} sentences, and no index for this encoder yet."
    sentences = formats.plural(opened.missing, "sentence")
    return f"{sentences} of {collection} are not yet encoded by it."


def runs(workspace: Workspace, collections: Collection[str]) -> list[RunRow]:
    """Encoding and indexing runs of some collections, newest first."""
    every = workspace.store.runs.list(kinds=[EncodeJob.kind, IndexJob.kind])
    return [run for run in every if run["spec"]["dataset"] in collections]


def last_run(workspace: Workspace, job: CollectionJob) -> RunRow | None:
    """The last run that prepares a collection for search."""
    return next((run for run in runs(workspace, [job.dataset]) if job_of(run) == job), None)


def start(workspace: Workspace, job: CollectionJob) -> None:
    """Queue the job unless it is live; visitors start nothing."""
    last = last_run(workspace, job)
    if not workspace.read_only and (last is None or last["state"] not in LIVE):
        queue(workspace, job)


def count_search(workspace: Workspace, encoder: str, dataset: str) -> None:
    """Count a search of a large collection, and queue its index at `OFTEN`; ignores visitors."""
    if isinstance(parse_ranker(encoder), RankerSpec):
        return
    searchable = so_far(workspace, encoder, dataset)
    if workspace.read_only or searchable.built or not searchable.is_large:
        return
    key = (workspace.store.folder, encoder, dataset)
    _searches[key] += 1
    if _searches[key] == OFTEN:
        queue(workspace, IndexJob(encoder, dataset))


# Words and patterns -----------------------------------------------------------------------


def with_words(words: str, sentences: Mapping[int, str]) -> list[tuple[int, Spans]]:
    """The sentences that contain all words, in any order, with the places of the words.

    Case is ignored, and quotes make a phrase of several words.
    """
    terms = [phrase or word for phrase, word in _TERM.findall(words.casefold())]
    patterns = [_whole_words(term) for term in terms if term.strip()]
    if not patterns:
        raise UserError("The query is empty.", "Write the words to search for.", code="missing")
    hits = []
    for i, sentence in sentences.items():
        folded = sentence.casefold()
        matches = [m for pattern in patterns if (m := pattern.search(folded))]
        if len(matches) == len(patterns):
            # ß folds to ss: then the positions differ, and nothing is marked
            spans = sorted(m.span() for m in matches) if len(folded) == len(sentence) else ()
            hits.append((i, tuple(spans)))
    return hits


def _whole_words(term: str) -> re.Pattern[str]:
    """A pattern for a word or phrase that neither begins nor ends inside a word."""
    before, after = (re.match(_BORDERED, term[end]) for end in (0, -1))
    text = r"\s+".join(map(re.escape, term.split()))
    return re.compile((r"(?<!\w)" if before else "") + text + (r"(?!\w)" if after else ""))


def with_pattern(pattern: str, sentences: Mapping[int, str]) -> list[tuple[int, Spans]]:
    """The sentences in which a regular expression matches, with the place of the first match."""
    places = list(sentences)
    spans = matches(pattern, list(sentences.values()))
    return [(places[i], ((start, end),)) for i, start, end in spans]


def matches(pattern: str, sentences: Sequence[str]) -> list[tuple[int, int, int]]:
    """`regex.find_matching` with a timeout by number of sentences, two calls at a time."""
    from theodolite.engine.search import regex

    seconds = regex.SECONDS + len(sentences) / SENTENCES_A_SECOND
    with _few_patterns:
        return regex.find_matching(pattern, sentences, seconds=seconds)


# Labels -----------------------------------------------------------------------------------


def attributes(data: Dataset) -> dict[str, tuple[Sequence[str], Sequence[str]]]:
    """What is known of the sentences of a data set: `label`, … -> sentences, the value of each."""
    columns: dict[str, Sequence[str]] = {}
    texts: Sequence[str] = data.sentences
    match data:
        case LabelledSentences():
            columns = {"label": data.labels, "split": data.splits or ()}
        case LabelledPairs():
            texts = [data.sentences[i] for side in (data.left, data.right) for i in side]
            columns = {"label": [*data.labels, *data.labels], "split": [*data.splits, *data.splits]}
        case ScoredPairs():
            sizes = {name: 2 * len(part.left) for name, part in data.parts.items()}
            columns["part"] = [name for name, size in sizes.items() for _ in range(size)]
        case Triplets():
            n = len(data.anchors)
            roles = {"anchor": n, "positive": n, "negative": len(texts) - 2 * n}
            columns["role"] = [role for role, size in roles.items() for _ in range(size)]
    return {name: (texts, list(map(str, values))) for name, values in columns.items() if values}


def properties(workspace: Workspace, collection: str) -> dict[str, dict[str, np.ndarray]]:
    """Labels, splits, parts, … to filter sentences by: property -> value -> positions.

    A sentence that occurs with several labels is listed under each.
    """
    columns = attributes(workspace.catalog.load(collection))
    sentences = workspace.catalog.sentences(collection)[0] if columns else ()
    place = {sentence: i for i, sentence in enumerate(sentences)}
    by_name: dict[str, dict[str, np.ndarray]] = {}
    for name, (texts, values) in columns.items():
        held: dict[str, set[int]] = {}
        for text, value in zip(texts, values, strict=True):
            held.setdefault(value, set()).add(place[text])
        if len(held) > 1:
            by_name[name] = {v: np.array(sorted(ids), np.int64) for v, ids in held.items()}
    return by_name


def filters_of(workspace: Workspace, collection: str, most: int = 500) -> list[str]:
    """Filters such as `label: sport`; the `most` commonest if there are more."""
    counts = {
        f"{name}: {value}": len(ids)
        for name, values in properties(workspace, collection).items()
        for value, ids in values.items()
    }
    return (
        list(counts) if len(counts) <= most else sorted(counts, key=lambda one: -counts[one])[:most]
    )


def among(workspace: Workspace, collection: str, only: Sequence[str]) -> np.ndarray | None:
    """Positions of the sentences that pass the filters; None for all sentences.

    Values of one property are alternatives; different properties must all match.
    """
    ids_of = properties(workspace, collection) if only else {}
    positions: dict[str, set[int]] = {}
    for text in only:
        name, _, value = text.partition(":")
        ids = ids_of.get(name, {}).get(value.removeprefix(" "))
        if ids is None:
            raise UserError(
                f"No sentence of {collection} has {text[:80]!r}.",
                f"Available: {'; '.join(filters_of(workspace, collection)[:10]) or 'no filter'}.",
                code="unknown",
            )
        positions[name] = positions.get(name, set()) | set(ids.tolist())
    return np.array(sorted(set.intersection(*positions.values())), np.int64) if positions else None


_labels: Recent[tuple[str, str], Mapping[int, str]] = Recent(4)


def labels(workspace: Workspace, collection: str) -> Mapping[int, str]:
    """Position of a sentence -> its labels, with commas; empty where nearly all labels differ.

    Of documents, where a text stands: `manual.md`, and for a chunk its characters as well.
    """

    def read() -> dict[int, str]:
        data = workspace.catalog.load(collection)
        if isinstance(data, Retrieval):
            return _places(data, workspace.catalog.sentences(collection, queries=False)[0])
        ids_of = properties(workspace, collection).get("label", {})
        every: dict[int, str] = {}
        for value, ids in ids_of.items() if len(ids_of) <= MAX_LABELS else ():
            for position in ids.tolist():
                every[position] = f"{every[position]}, {value}" if position in every else value
        return every

    return _labels.get((collection, workspace.catalog.load(collection).hash), read)


def _places(data: Retrieval, sentences: Sequence[str]) -> dict[int, str]:
    """Position of a document or chunk -> where it stands first."""
    place = {sentence: i for i, sentence in enumerate(sentences)}
    places: dict[int, str] = {}
    for name, text in data.documents.items():
        at = data.places.get(name)
        where = f"{at.document}, {at.start:,}–{at.stop:,}" if at else name
        places.setdefault(place[text], where)
    return places
