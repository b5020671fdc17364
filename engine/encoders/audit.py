"""The setting audit: the effect of each setting of a model on a few examples, in seconds.

Prompts, poolings, truncation, normalisation and precision are measured on the same examples as the
audited spec, so that a difference has an interval, and noise is not called a loss.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from theodolite.engine.datasets.types import Dataset, Retrieval, ScoredPairs
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.cached import CachedEncoder, MemoryCache
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.doctor import examine
from theodolite.engine.encoders.facts import token_counts, warnings_of
from theodolite.engine.encoders.loading import checkpoint_of, load
from theodolite.engine.encoders.pooling import ALL_LAYERS
from theodolite.engine.encoders.prompts import Prompts, PromptTask
from theodolite.engine.encoders.sides import bind_task, query_side
from theodolite.engine.encoders.source import slices
from theodolite.engine.encoders.spec import DTYPES, POOLINGS, SourceSpec
from theodolite.engine.encoders.steps import normalise
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import Sample, resample_all, text_clusters
from theodolite.engine.stats.ranking import at_cutoffs, order
from theodolite.engine.stats.significance import Difference, differences

PAIRS = 200
QUERIES = 50
DOCUMENTS = 400
"""Some hundreds of texts: a pass of MiniLM through them takes about a second."""
_NOT_TO_REPORT = ("dev", "validation", "train", "test")
"""Splits by preference: settings are chosen on one, and reported on another."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Texts whose similarities are known.

    Attributes:
        name: of the data set, and of the split if it has any.
        task: for models that name prompts by tasks.
        metric: name of the score.
        queries: texts of the query side; none for pairs.
        documents: texts of the document side; of pairs all left, then all right texts.
        sample: from the vectors of queries and of documents, compared by dot product, the values
            that the score is computed from, one per example.
    """

    name: str
    task: PromptTask
    metric: str
    queries: Sequence[str]
    documents: Sequence[str]
    sample: Callable[[np.ndarray, np.ndarray], Sample]

    @property
    def n(self) -> int:
        """Number of pairs or queries."""
        return len(self.queries) or len(self.documents) // 2


def some_of(data: Dataset, most: int | None = None) -> Examples:
    """A few examples of a data set, the same ones at every call.

    Args:
        data: scored pairs, or queries with documents and judgements.
        most: pairs or queries; by default few enough for seconds.
    """
    match data.kind:
        case "pairs":
            return _pairs(data, most or PAIRS)  # type: ignore[arg-type]
        case "retrieval":
            return _queries(data, most or QUERIES)  # type: ignore[arg-type]
    raise UserError(
        f"{data.name} holds {data.kind}; settings are compared on scored pairs, or on queries "
        "with documents and judgements.",
        "Name such a data set; `theodolite data list` shows the kind of each.",
        code="wrong-kind",
    )


def _pairs(data: ScoredPairs, most: int) -> Examples:
    parts = data.parts
    name = data.name
    if data.parts_are == "splits":
        split = _preferred_split(list(parts))
        parts, name = {split: parts[split]}, f"{name} {split}"
    left = [s for part in parts.values() for s in part.left]
    right = [s for part in parts.values() for s in part.right]
    gold = np.concatenate([part.gold for part in parts.values()])
    if len(gold) < 2:
        raise UserError(
            f"{name} has {len(gold)} pairs.", "Name a data set with more.", code="too-few"
        )
    chosen = _some(len(gold), most)
    left, right, gold = [left[i] for i in chosen], [right[i] for i in chosen], gold[chosen]
    clusters = text_clusters(list(zip(left, right, strict=True)))

    def sample(_: np.ndarray, documents: np.ndarray) -> Sample:
        a, b = np.split(documents.astype(np.float64), 2)
        return Sample((a * b).sum(1), gold, clusters=clusters)

    task = PromptTask(data.name, "STS")
    return Examples(name, task, "Spearman", (), [*left, *right], sample)


def _queries(data: Retrieval, most: int) -> Examples:
    judged = {name: rows for name, rows in data.judgements.items() if any(rows.values())}
    if not judged:
        raise UserError(
            f"{data.name} has no judgements.", "Name a data set that has.", code="missing"
        )
    split = _preferred_split(list(judged))
    keys = [key for key, grades in judged[split].items() if max(grades.values(), default=0) > 0]
    chosen = {keys[i]: judged[split][keys[i]] for i in _some(len(keys), most)}
    ids = {name for grades in chosen.values() for name in grades}
    others = [name for name in data.documents if name not in ids]
    ids |= {others[i] for i in _some(len(others), max(0, DOCUMENTS - len(ids)))}
    few = {name: text for name, text in data.documents.items() if name in ids}
    best = [max(grades, key=lambda name: grades[name]) for grades in chosen.values()]
    clusters = text_clusters([(few.get(name, ""),) for name in best])

    def sample(queries: np.ndarray, documents: np.ndarray) -> Sample:
        scores = queries.astype(np.float64) @ documents.astype(np.float64).T
        return Sample(_ndcg(scores, list(few), list(chosen.values())), clusters=clusters)

    task = PromptTask(data.name, "Reranking" if data.candidates else "Retrieval")
    texts = [data.queries[key] for key in chosen]
    return Examples(f"{data.name} {split}", task, "nDCG@10", texts, list(few.values()), sample)


def _ndcg(
    scores: np.ndarray, documents: Sequence[str], judged: Sequence[dict[str, int]]
) -> np.ndarray:
    """The nDCG@10 of each query, float64, by its scores of the documents and its grades."""
    names = np.array(documents, object)
    place = {name: i for i, name in enumerate(names)}
    values = []
    for row, grades in zip(scores, judged, strict=True):
        rank = np.empty(len(names), np.int64)
        rank[order(row, names)] = np.arange(1, len(names) + 1)
        known = np.array(list(grades.values()))
        ranks = rank[[place[name] for name in grades]]
        values.append(at_cutoffs(ranks, known, known, (10,))["ndcg"][0])
    return np.array(values, np.float64)


def _preferred_split(splits: Sequence[str]) -> str:
    return next((split for split in _NOT_TO_REPORT if split in splits), splits[0])


def _some(n: int, most: int) -> list[int]:
    """At most `most` positions of n, drawn alike at every call."""
    sample = np.random.default_rng(0).permutation(n)[:most]
    return sorted(sample.tolist())


Group = Literal["prompt", "pooling", "cut", "length", "precision"]
GROUPS: dict[Group, str] = {
    "prompt": "Prompt",
    "pooling": "Pooling",
    "cut": "Truncation",
    "length": "Normalisation",
    "precision": "Precision",
}
CUTS = (128, 256, 512)
MOST_PROMPTS = 6
"""Number of a model's own prompts that are tried."""
_QUERY, _DOCUMENT = ("query",), ("document", "passage", "corpus")


@dataclass(frozen=True)
class Setting:
    """One setting; everything else is as in the audited spec.

    Attributes:
        group: kind of setting.
        label: value of the setting, for people.
        spec: the source with that setting.
        by: how its vectors are compared.
    """

    group: Group
    label: str
    spec: SourceSpec
    by: Literal["cosine", "dot product"] = "cosine"


@dataclass(frozen=True)
class Audited:
    """One setting and its score on the examples.

    Attributes:
        setting: None for the audited spec itself.
        spec: of the encoder with the setting.
        score: in points.
        seconds: time taken; poolings share a pass, which counts for the first of them.
        change: against the audited spec, above 0 where the setting is better.
        lost: against the best setting, below 0 for all others.
        error: reason it could not be measured; score and differences are then None.
    """

    setting: Setting | None
    spec: str
    score: float | None = None
    seconds: float = 0.0
    change: Difference | None = None
    lost: Difference | None = None
    error: str | None = None


@dataclass(frozen=True)
class Audit:
    """The audit of a model.

    Attributes:
        measured_on: data set, and split if it has any.
        metric: of all scores.
        n: number of examples.
        rows: the audited spec, then settings group by group.
        warnings: settings of the spec that the model's files contradict.
        notes: what was not tried, and why.
    """

    measured_on: str
    metric: str
    n: int
    rows: tuple[Audited, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def best(self) -> Audited:
        """The row with the highest score, the audited spec among equals."""
        return max(self.rows, key=lambda row: -np.inf if row.score is None else row.score)


def audit(
    source: str,
    examples: Examples,
    groups: Sequence[Group] = tuple(GROUPS),
    device: str | None = None,
) -> Iterator[tuple[float, str] | Audit]:
    """Measure a source and its other settings.

    Args:
        source: one model, as in a spec.
        examples: from `some_of`.
        groups: kinds of settings to vary.
        device: see `load`.

    Yields:
        (share done, label of the next measurement), and at last the audit.
    """
    spec, checkpoint = checkpoint_of(source)
    checkpoint.check()
    encode = _Encode(examples, device)
    yield 0.0, "as asked"
    tried: list[_Tried] = []
    baseline = _try(tried, encode, None, spec)
    if baseline is None:
        raise UserError(str(tried[0][0].error), "Nothing can be compared with it.", code="failed")
    # Up to the noise of half precision.
    unit = np.allclose(np.linalg.norm(baseline[1], axis=1), 1.0, atol=1e-2)
    every, notes = _settings(spec, checkpoint, examples, unit)
    settings = [s for s in every if s.group in groups and (s.spec != spec or s.by != "cosine")]
    poolings = [s.spec for s in settings if s.group == "pooling"]
    for place, setting in enumerate(settings):
        yield (place + 1) / (len(settings) + 1), f"{GROUPS[setting.group].lower()}: {setting.label}"
        if poolings and setting.group == "pooling":
            encode.together(poolings)
            poolings = []
        _try(tried, encode, setting, setting.spec)
    yield Audit(
        examples.name,
        examples.metric,
        examples.n,
        _compare(tried),
        tuple(warnings_of(source)),
        tuple(notes),
    )


_Vectors = tuple[np.ndarray, np.ndarray]
"""Those of queries and of documents."""


class _Encode:
    """Encodes the examples, each text once per model and prompt."""

    def __init__(self, examples: Examples, device: str | None) -> None:
        self.examples = examples
        self._cache = MemoryCache()
        self._load = partial(load, cache=self._cache, device=device)
        self._asked: Encoder | None = None  # holds the weights for the settings that share them

    def __call__(self, spec: SourceSpec) -> _Vectors:
        encoder = self._bound(spec)
        self._asked = self._asked or encoder
        queries = query_side(encoder).encode(self.examples.queries)
        return queries, encoder.encode(self.examples.documents)

    def _bound(self, spec: SourceSpec) -> Encoder:
        return bind_task(self._load(str(spec)), (), "", self.examples.task)

    def together(self, specs: Sequence[SourceSpec]) -> None:
        """Encode under several poolings in one pass per side, into the cache of each."""
        from theodolite.engine.encoders.transformer import TransformerSource, ahead

        poolings = [str(spec.option("pooling")) for spec in specs]
        encoders = [self._bound(spec) for spec in specs]
        sides = (
            ([getattr(e, "documents", e) for e in encoders], self.examples.documents),
            ([query_side(e) for e in encoders], self.examples.queries),
        )
        for vectors, texts in sides:
            sources = [e.source for e in vectors if isinstance(e, CachedEncoder)]
            first = sources[0]
            if not isinstance(first, TransformerSource):
                return  # each then encodes for itself
            model = first.transformer
            distinct = list(dict.fromkeys(texts))
            keys = [sentence_key(text) for text in distinct]
            done = 0
            for ids, _ in ahead(model.ids, slices([first.prompt + text for text in distinct])):
                for source, rows in zip(sources, model.pooled(ids, poolings), strict=True):
                    if np.isfinite(rows).all():  # else its own turn reports the sentence
                        self._cache.put(source.fingerprint, keys[done : done + len(ids)], rows)
                done += len(ids)


_Tried = tuple[Audited, Sample | None]
"""One row of an audit, and what its score was computed from; None where it failed."""


def _try(
    tried: list[_Tried], encode: _Encode, setting: Setting | None, spec: SourceSpec
) -> _Vectors | None:
    """Measure one setting; a failure is kept as the row's error."""
    start = time.perf_counter()
    row, sample, vectors = Audited(setting, str(spec)), None, None
    try:
        vectors = encode(spec)
        by_cosine = setting is None or setting.by == "cosine"
        sample = encode.examples.sample(*(map(normalise, vectors) if by_cosine else vectors))
        row = replace(row, score=sample.statistic, seconds=time.perf_counter() - start)
    except UserError as error:
        row = replace(row, error=error.message)
    tried.append((row, sample))
    return vectors


def _settings(
    spec: SourceSpec, checkpoint: Checkpoint, examples: Examples, unit: bool
) -> tuple[list[Setting], list[str]]:
    """The settings to try beside the audited spec, and notes on those that are not worth it.

    Args:
        spec: the audited source.
        checkpoint: its files.
        examples: that are encoded.
        unit: whether the model itself normalises: then the pooled vectors before that are taken.
    """
    from theodolite.engine.encoders.int8 import available

    notes: list[str] = []
    settings = [
        Setting("prompt", label, spec.with_options(prompt=document, query_prompt=query))
        for label, document, query in _prompts(spec, checkpoint, bool(examples.queries))
    ]
    if not settings:
        notes.append("Its files name no prompts.")
    if not checkpoint.config:
        notes.append("It is not a transformer: it has no poolings, and cuts no texts.")
    else:
        settings += [  # without the modules after the model's own pooling
            Setting("pooling", pooling, spec.with_options(pooling=pooling, layer=None))
            for pooling in POOLINGS
            if (pooling != "pooler_output" or checkpoint.has_pooler)
            and not (pooling in ALL_LAYERS and checkpoint.is_projected)
        ]
        texts = [*examples.queries, *examples.documents]
        longest = max(token_counts(checkpoint, texts), default=0)
        lengths = _cuts(spec, checkpoint, longest)
        if not lengths:
            notes.append(f"The longest text has {longest} tokens: no other cut changes anything.")
        for length in lengths:
            changed = spec.with_options(max_length=str(length))
            settings.append(Setting("cut", f"cut at {length} tokens", changed))
        own = spec.option("pooling") or (examine(checkpoint).pooling if unit else None)
        label = "not normalised, by dot product"
        settings.append(Setting("length", label, spec.with_options(pooling=own), "dot product"))
    settings += [
        Setting("precision", dtype, spec.with_options(dtype=None if dtype == "float32" else dtype))
        for dtype in DTYPES
        if dtype != (spec.option("dtype") or "float32") and (dtype != "int8" or available())
    ]
    return settings, notes


def _prompts(
    spec: SourceSpec, checkpoint: Checkpoint, two_sided: bool
) -> Iterator[tuple[str, str, str | None]]:
    """No prompt, each of the model's own, and the sides swapped: label, prompt and query prompt."""
    known = Prompts.of(checkpoint)
    prompts = spec.option("prompt"), spec.option("query_prompt")
    own = list(known.own)[:MOST_PROMPTS]
    if any(prompts) or known.own:
        yield "no prompt", "", None
    yield from ((f"prompt {name}", name, None) for name in own)
    if prompts[1] is not None and "@task" not in prompts:
        yield "its two prompts swapped", prompts[1], prompts[0] or ""
    document, query = (
        next((name for word in words for name in own if word in name), "")
        for words in (_DOCUMENT, _QUERY)
    )
    if two_sided and (query or document):
        label = f"{query or 'none'} for queries, {document or 'none'} for documents"
        yield label, document, query
        yield "these two swapped", query, document


def _cuts(spec: SourceSpec, checkpoint: Checkpoint, longest: int) -> list[int]:
    """Other lengths to cut texts at, where they change any; the longest has so many tokens."""
    positions = checkpoint.positions or longest
    limit = int(spec.option("max_length") or checkpoint.max_length or longest)
    # Of those that cut nothing, the least.
    lengths = {min(length, longest): length for length in CUTS[::-1] if length <= positions}
    return [lengths[cut] for cut in sorted(lengths.keys() - {min(limit, longest)})]


def _compare(tried: Sequence[_Tried]) -> tuple[Audited, ...]:
    """The rows with their differences, from the same resamples of the examples."""
    resampled = [[one] for one in resample_all([s for _, s in tried if s is not None])]
    best = max(resampled, key=lambda one: one[0].statistic)
    changes, losses = (iter(differences(resampled, one)) for one in (resampled[0], best))
    return tuple(
        row if sample is None else replace(row, change=next(changes), lost=next(losses))
        for row, sample in tried
    )
