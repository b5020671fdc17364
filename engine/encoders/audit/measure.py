"""Measures the settings of a model, beginning with the audited spec itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from theodolite.engine.encoders.audit import settings
from theodolite.engine.encoders.audit.examples import Examples
from theodolite.engine.encoders.audit.settings import GROUPS, Group, Setting
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.cached import CachedEncoder, MemoryCache
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.facts import warnings_of
from theodolite.engine.encoders.loading import checkpoint_of, load
from theodolite.engine.encoders.sides import bind_task, query_side
from theodolite.engine.encoders.spec import SourceSpec
from theodolite.engine.encoders.steps import normalise
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import Sample, resample_all
from theodolite.engine.stats.significance import Difference, differences


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


@dataclass
class _Tried:
    """The results of an audit so far."""

    rows: list[Audited] = field(default_factory=list)
    samples: list[Sample | None] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
    tried = _Tried()
    baseline = _try(tried, encode, None, spec)
    if baseline is None:
        raise UserError(str(tried.rows[0].error), "Nothing can be compared with it.")
    chosen, tried.notes = _chosen(spec, checkpoint, examples, groups, baseline.unit)
    poolings = [s.spec for s in chosen if s.group == "pooling"]
    for place, setting in enumerate(chosen):
        yield (place + 1) / (len(chosen) + 1), f"{GROUPS[setting.group].lower()}: {setting.label}"
        if poolings and setting.group == "pooling":
            encode.together(poolings)
            poolings = []
        _try(tried, encode, setting, setting.spec)
    yield Audit(
        examples.name,
        examples.metric,
        examples.n,
        _compared(tried),
        tuple(warnings_of(source)),
        tuple(tried.notes),
    )


@dataclass(frozen=True, eq=False)
class _Vectors:
    """The vectors of queries and of documents."""

    queries: np.ndarray
    documents: np.ndarray

    @property
    def unit(self) -> bool:
        """Whether all have unit length, up to the noise of half precision."""
        return bool(np.allclose(np.linalg.norm(self.documents, axis=1), 1.0, atol=1e-2))


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
        return _Vectors(
            query_side(encoder).encode(self.examples.queries),
            encoder.encode(self.examples.documents),
        )

    def _bound(self, spec: SourceSpec) -> Encoder:
        return bind_task(self._load(str(spec)), (), "", self.examples.task)

    def together(self, specs: Sequence[SourceSpec]) -> None:
        """Encode under several poolings in one pass per side, into the cache of each."""
        from theodolite.engine.encoders.source import slices
        from theodolite.engine.encoders.transformer import TransformerSource, ahead

        poolings = [str(spec.option("pooling")) for spec in specs]
        encoders = [self._bound(spec) for spec in specs]
        sides = (
            ([getattr(e, "documents", e) for e in encoders], self.examples.documents),
            ([query_side(e) for e in encoders], self.examples.queries),
        )
        for made, texts in sides:
            sources = [e.source for e in made if isinstance(e, CachedEncoder)]
            first = sources[0]
            if not isinstance(first, TransformerSource):
                return  # each then encodes for itself
            model = first.transformer
            distinct = list(dict.fromkeys(texts))
            keys = [sentence_key(text) for text in distinct]
            done = 0
            for ids in ahead(model.ids, slices([first.prompt + text for text in distinct])):
                for source, rows in zip(sources, model.pooled(ids, poolings), strict=True):
                    if np.isfinite(rows).all():  # else its own turn reports the sentence
                        self._cache.put(source.fingerprint, keys[done : done + len(ids)], rows)
                done += len(ids)


def _try(
    tried: _Tried, encode: _Encode, setting: Setting | None, spec: SourceSpec
) -> _Vectors | None:
    """Measure one setting; a failure is kept as the row's error."""
    start = time.perf_counter()
    row, sample, vectors = Audited(setting, str(spec)), None, None
    try:
        vectors = encode(spec)
        sides = vectors.queries, vectors.documents
        if setting is None or setting.by == "cosine":
            sides = normalise(sides[0]), normalise(sides[1])
        sample = encode.examples.sample(*sides)
        row = replace(row, score=sample.statistic, seconds=time.perf_counter() - start)
    except UserError as error:
        row = replace(row, error=error.message)
    tried.rows.append(row)
    tried.samples.append(sample)
    return vectors


def _chosen(
    spec: SourceSpec,
    checkpoint: Checkpoint,
    examples: Examples,
    groups: Sequence[Group],
    unit: bool,
) -> tuple[list[Setting], list[str]]:
    """The settings to try beside the audited spec, and notes on those that are not worth it."""
    notes: list[str] = []
    found = list(settings.prompts(spec, checkpoint, bool(examples.queries)))
    if not found:
        notes.append("Its files name no prompts.")
    if not checkpoint.config:
        notes.append("It is no transformer: it has no poolings, and cuts no texts.")
    else:
        found += settings.poolings(spec, checkpoint)
        texts = [*examples.queries, *examples.documents]
        longest = max(settings.token_counts(checkpoint, texts), default=0)
        cuts = list(settings.cuts(spec, checkpoint, longest))
        if not cuts:
            notes.append(f"The longest text has {longest} tokens: no other cut changes anything.")
        found += [*cuts, *settings.raw(spec, checkpoint, unit)]
    found += settings.precisions(spec)
    return [s for s in found if s.group in groups and not _as_asked(s, spec)], notes


def _as_asked(setting: Setting, spec: SourceSpec) -> bool:
    return setting.by == "cosine" and setting.spec == spec


def _compared(tried: _Tried) -> tuple[Audited, ...]:
    """The rows with their differences, from the same resamples of the examples."""
    known = [sample for sample in tried.samples if sample is not None]
    resampled = [[one] for one in resample_all(known)]
    best = max(resampled, key=lambda one: one[0].statistic)
    found = iter(
        zip(differences(resampled, resampled[0]), differences(resampled, best), strict=True)
    )
    rows = []
    for row in tried.rows:
        if row.error is None:
            change, lost = next(found)
            row = replace(row, change=change, lost=lost)
        rows.append(row)
    return tuple(rows)
