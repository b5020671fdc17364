"""Which set-up retrieves best from your documents: rankers times ways to cut the documents.

A set-up is a ranker, on whole documents or on chunks: `minilm|chunk:recursive,800,100`. All are
scored by document on the same queries. BM25 is the one to beat. Makes the sheet; what it says in
words is in `answer.py`.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.app.formats import percent
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose.data import MIN_EXAMPLES, count_examples, in_words
from theodolite.app.pages.evaluate.results import evaluate_one, known
from theodolite.app.vectors import sources
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks
from theodolite.engine.cost import NoCache, is_too_much, others
from theodolite.engine.datasets import chunks
from theodolite.engine.datasets.chunks import Splitter
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.encoders.facts import cut_off
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.rankers import Ranker, RankerSpec, of, parse
from theodolite.engine.stats.bootstrap import Sample, main_sample
from theodolite.engine.stats.choice import Behind, Choice, behind, choose
from theodolite.engine.stats.power import to_tell_apart
from theodolite.store.hashing import hash_of

Warnings = Iterator[tuple[str, str]]
"""A code for programs and a sentence each."""
BM25 = "bm25"
"""The ranker to beat."""
PASSAGE = "passage_iou_at_5"
MEASURES = ("ms_per_query", "bytes_per_document", "cut_off", "passage_iou")
MIN_SHARE = 0.005
"""Share of the text from which it is worth a sentence that it was cut off."""
_KIND = "set-up"
_TIMED = 20
"""Queries that are timed, one at a time."""


@dataclass(frozen=True, eq=False)
class SetUp:
    """A ranker on documents that are cut in one way, with its measurements.

    Attributes:
        name: `RANKER` or `RANKER|chunk:…`.
        row: the store's result; None without one.
        error: why there is no result.
        sample: its score on each query.
        costs: `MEASURES`; of these `cut_off` is the share of the tokens that is beyond what the
            models in it take.
    """

    name: str
    row: dict[str, Any] | None
    error: str | None
    sample: Sample | None
    costs: dict[str, float | None]

    @property
    def price(self) -> tuple[float, float]:
        """Sorts by time, then by size; what is not known comes last."""
        each = (self.costs.get(name) for name in ("ms_per_query", "bytes_per_document"))
        time_of, size = (float("inf") if one is None else one for one in each)
        return time_of, size


def grid(rankers: Sequence[str], cuts: Sequence[Splitter | None]) -> list[str]:
    """Return every set-up."""
    return [chunks.join(ranker, splitter) for splitter in cuts for ranker in rankers]


def needs_judgements(name: str) -> bool:
    """Whether a set-up has a weight that is chosen on judged queries."""
    ranker = parse(chunks.split_name(name)[0])
    return isinstance(ranker, RankerSpec) and ranker.needs_judgements


def task_of(task: str, name: str) -> str:
    """Return the task of a set-up, of the task on whole documents."""
    return chunks.join(task, chunks.split_name(name)[1])


def measure(workspace: Workspace, task: str, name: str, progress: Progress) -> None:
    """Score a set-up, and measure what it costs."""
    ranker, own = chunks.split_name(name)[0], task_of(task, name)
    row = evaluate_one(workspace, ranker, own, progress=progress)
    if row["error"] is not None:
        raise UserError(row["error"], row["hint"] or "", code="failed")
    place = _costs_key(workspace, task, name)
    cached = workspace.store.derived.get(place)
    if cached is None or cached["info"]["busy"]:
        workspace.store.derived.put(place, _KIND, _costs(workspace, own, ranker))


def _costs_key(workspace: Workspace, task: str, name: str) -> str:
    own = tasks.get(task_of(task, name), workspace.catalog)
    data = workspace.catalog.load(own.dataset)
    fingerprint = workspace.ranker(chunks.split_name(name)[0]).fingerprint
    return hash_of(_KIND, "2", fingerprint, data.hash, cost.machine())


def _costs(workspace: Workspace, task: str, ranker: str) -> dict[str, float]:
    """Time queries one at a time, encoding included, and size the index."""
    dataset = tasks.get(task, workspace.catalog).dataset
    data = workspace.catalog.load(dataset)
    assert isinstance(data, Retrieval)  # noqa: S101 - for the type checker
    parsed = parse(ranker)
    spec = str(parsed.weighed()) if isinstance(parsed, RankerSpec) else ranker
    loaded = of(workspace.bind(workspace.ranker(spec), dataset))
    texts = [*data.documents.values()]
    load = others()
    index = loaded.index(texts)
    rng, took = random.Random(f"{ranker} {dataset}"), []
    with _no_cache(loaded):
        for query in [*data.queries.values()][:_TIMED]:
            words = query.split()
            rng.shuffle(words)  # rerankers know the pairs that they scored
            began = time.perf_counter()
            index.search([" ".join(words)], 10)
            took.append(1000 * (time.perf_counter() - began))
    return {
        "ms_per_query": float(np.median(took[1:] or took)),
        "bytes_per_document": index.bytes / len((data.whole or data).documents),
        "cut_off": cut_off(ranker, texts, late=data.late),
        "busy": is_too_much(load()),
    }


@contextmanager
def _no_cache(ranker: Ranker) -> Iterator[None]:
    """Have the encoders of a ranker encode every query."""
    models = list(sources(ranker))
    caches = [model.cache for model in models]
    try:
        for model in models:
            model.cache = NoCache()
        yield
    finally:
        for model, cache in zip(models, caches, strict=True):
            model.cache = cache


def stored(workspace: Workspace, task: str, name: str) -> SetUp:
    """A set-up from what the store has; nothing is computed."""
    ranker, own = chunks.split_name(name)[0], task_of(task, name)
    row = sample = error = None
    costs: dict[str, float | None] = {}
    try:
        row = known(workspace, workspace.ranker(ranker), own, None, None)
        if row is not None:
            sample = main_sample(workspace.store.results.examples(row["id"]), row["details"])
            cached = workspace.store.derived.get(_costs_key(workspace, task, name))
            scores = workspace.store.results.scores(row["id"])
            by_metric = {one["metric"]: one["score"] for one in scores}
            costs = {**(cached["info"] if cached else {}), "passage_iou": by_metric.get(PASSAGE)}
        else:
            rows = workspace.store.results.table(encoders=[ranker], tasks=[own])[::-1]
            error = next((one["error"] for one in rows if one["error"]), "It crashed.")
    except UserError as failure:
        error = failure.message
    return SetUp(name, row, error, sample, costs)


def decide(every: Sequence[SetUp], margin: float) -> dict[str, Any]:
    """Compare all set-ups at once; the fields of the sheet that they decide."""
    samples = {one.name: one.sample for one in every if one.sample is not None}
    by_name, choice = {one.name: one for one in every}, choose(samples)
    best, names = by_name[choice.names[0]], choice.names
    baseline = next((name for name in names if is_words(name)), None)
    places = {
        name: {"encoder": name, "score": score, "low": low, "high": high}
        for name, (score, low, high) in choice.intervals.items()
    }
    fits = [name for name in names[1:] if choice.behind[name].within(margin)]
    cheap = min([best, *(by_name[name] for name in fits)], key=lambda one: one.price)
    assert best.row is not None  # noqa: S101 - it has a sample
    return {
        "metric": best.row["metric"],
        "protocol": best.row["protocol"],
        "n": len(samples[best.name].values),
        "intervals": choice.intervals,
        "optimism": choice.optimism if len(samples) > 1 else 0.0,
        "best": places[best.name],
        "ties": [places[name] for name in choice.ties],
        "cheapest": {**places[cheap.name], "spec": cheap.name, "behind": _behind(choice, cheap)},
        "more_examples": [
            {"a": best.name, "b": name, "n": more.n, "power": more.power}
            for name in choice.ties
            for more in [to_tell_apart(choice.behind[name])]
        ],
        "baseline": baseline or BM25,
        "against_baseline": baseline and _against(choice, places, baseline),
        "rerankers": list(_rerankers(samples)),
        "rankers": True,
    }


def is_words(name: str) -> bool:
    """Whether a set-up ranks by BM25 alone."""
    ranker = parse(chunks.split_name(name)[0])
    return getattr(ranker, "how", "") == BM25


def _behind(choice: Choice, one: SetUp) -> dict[str, float]:
    less = choice.behind.get(one.name)
    return {key: getattr(less, key, 0.0) for key in ("delta", "low", "high")}


def _against(choice: Choice, places: dict[str, Any], baseline: str) -> dict[str, Any]:
    """Difference of the best to the best by BM25, in the same test as all others."""
    less = choice.behind.get(baseline)
    low, delta, high = (less.low, less.delta, less.high) if less else (0.0, 0.0, 0.0)
    beaten = baseline not in (*choice.ties, choice.names[0])
    score = places[baseline]["score"]
    return {"score": score, "delta": -delta, "low": -high, "high": -low, "beaten": beaten}


def _rerankers(samples: dict[str, Sample]) -> Iterator[dict[str, Any]]:
    """What each reranker adds to the ranker before it."""
    for name, sample in samples.items():
        ranker, splitter = chunks.split_name(name)
        parsed = parse(ranker)
        if getattr(parsed, "how", "") == "rerank":
            first = chunks.join(str(parsed.parts[0]), splitter)  # type: ignore[union-attr]
            if first in samples:
                more: Behind = behind(samples[first], {name: sample})[name]
                yield {"encoder": name, "first": first} | {
                    key: getattr(more, key) for key in ("delta", "low", "high")
                }


def row_of(one: SetUp, intervals: dict[str, Any]) -> dict[str, Any]:
    """The row of a set-up in the table."""
    score, low, high = intervals.get(one.name, (None, None, None))
    return {
        "encoder": one.name,
        "spec": one.name,
        "score": score,
        "low": low,
        "high": high,
        "error": one.error,
        "outside": "",
        **{key: one.costs.get(key) for key in MEASURES},
    }


def warnings(workspace: Workspace, task: str, every: Sequence[SetUp], sheet: Any) -> Warnings:
    """What limits confidence in a sheet of set-ups."""
    upload = workspace.store.uploads.get(sheet["data"].removeprefix("upload:"))
    notes = dict.fromkeys(upload["info"].get("notes", ()) if upload else ())
    if sheet["by_rule"]:
        notes |= dict.fromkeys(getattr(workspace.catalog.load(task), "notes", ()))
        if queries := count_examples(workspace.catalog.load(sheet["data"])):
            yield (
                "few_examples",
                f"Only {in_words(queries, 'retrieval')} of {sheet['data']} have judgements; "
                f"below {MIN_EXAMPLES}, queries by rule take their place.",
            )
    for one in every:
        if one.error is not None:
            yield "encoder_failed", f"{one.name} was left out: {one.error}"
        share = one.costs.get("cut_off") or 0.0
        if share >= MIN_SHARE:
            yield (
                "texts_cut",
                f"{one.name} read {percent(1 - share)} of the text: the rest is beyond its "
                "maximum length.",
            )
        own = workspace.catalog.load(tasks.get(task_of(task, one.name), workspace.catalog).dataset)
        said = () if one.row is None else one.row["details"].get("notes", ())
        notes |= {note: None for note in said if note not in getattr(own, "notes", ())}
    if text := cost.disturbance(
        {"encoder": one.name, "disturbed": one.costs.get("busy")} for one in every
    ):
        yield "timed_disturbed", text
    over, best = sheet["against_baseline"], sheet["best"]
    if over is not None and not over["beaten"] and not is_words(best["encoder"]):
        yield (
            "baseline_not_beaten",
            f"{best['encoder']} is not significantly better than {sheet['baseline']}, which only "
            "counts words. Either that is enough here, or there are too few queries.",
        )
    yield from (("note", note) for note in notes)
