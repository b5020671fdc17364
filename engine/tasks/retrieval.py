"""Retrieval: are the relevant documents of a query the most similar of all documents?

Protocols `mteb-v1` and `mteb-v2`, which agree here: documents are compared by the similarity that
the model names, else by the cosine. In reranking, are the relevant candidates of a query the most
similar ones? Knows vectors, rankers and judgements; neither encoders nor files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress, ProgressCallback
from theodolite.engine.protocols import mteb_tasks
from theodolite.engine.rankers.base import Ranker
from theodolite.engine.results import Score
from theodolite.engine.stats import ranking
from theodolite.engine.tasks.task import (
    ExampleTexts,
    Measurement,
    TaskType,
    scored_split,
)

CUTOFFS = (1, 3, 5, 10, 20, 100, 1000)
_KEPT = {"ndcg": 10, "map": 1000, "mrr": 10, "recall": 100}
"""Metric -> cutoff of the values kept per query."""
_ROUNDED = ("ndcg", "map", "recall", "precision", "hit_rate")


def measure(
    data: Retrieval,
    vectors: np.ndarray,
    main: str,
    tick: ProgressCallback,
    similarity: str = "cosine",
) -> Measurement:
    """Rank the documents of every judged query by their vectors.

    With candidates, a query ranks only these. `main` is a metric such as `ndcg_at_10`, one whose
    values are kept; `similarity` is of the model, see `engine.search.ranked.compare`.
    """
    from theodolite.engine.search.ranked import most_similar

    _, judged = judged_queries(data)
    n, keys = len(judged), list(data.documents)
    names = [keys[i] for i in _documents_to_rank(data, judged)]
    among = _among(data, judged, names)
    nearest = most_similar(vectors[:n], vectors[n:], max(CUTOFFS), among, tick, similarity)
    return _measurement(data, judged, _values(data, judged, names, nearest), main)


def measure_ranker(
    data: Retrieval, ranker: Ranker, main: str, progress: Progress, tick: ProgressCallback
) -> Measurement:
    """As `measure`, by a ranker. A weight is chosen on half of the queries for the other half."""
    from theodolite.engine.rankers.fusion import WEIGHTS, FusedIndex, fuse

    _, judged = judged_queries(data)
    # All documents, not the candidates alone: how rare a word is depends on them.
    names = list(data.documents)
    index = ranker.index(list(data.documents.values()), progress)
    queries, among = [data.queries[key] for key in judged], _among(data, judged, names)
    many = len((data.whole or data).documents)
    details: dict[str, Any] = {"bytes_a_document": index.bytes / max(many, 1)}
    if isinstance(index, FusedIndex) and index.is_tuned:
        if len(queries) < 2:
            raise UserError(
                f"{ranker.name} chooses its weight on half of the judged queries, and "
                f"{data.name} has one.",
                "Write a weight, such as weight=0.5.",
                code="too-few",
            )
        lists = index.by_part(queries, max(CUTOFFS), among, tick)
        fused = (fuse(lists, max(CUTOFFS), weight) for weight in WEIGHTS)
        every = np.stack([_values(data, judged, names, rankings) for rankings in fused])
        name, _, k = main.partition("_at_")
        mains = every[:, :, ranking.METRICS.index(name), CUTOFFS.index(int(k))]
        halves = _halves(list(judged))
        weights = [int(mains[:, ~half].mean(axis=1).argmax()) for half in halves]
        values = np.where(halves[0][:, None, None], every[weights[0]], every[weights[1]])
        details["weights"] = [WEIGHTS[i] for i in weights]
    else:
        rankings = index.search(queries, max(CUTOFFS), among, tick)
        values = _values(data, judged, names, rankings)
    measured = _measurement(data, judged, values, main)
    notes = [*index.notes, *measured.details["notes"]]
    return replace(measured, details={**measured.details, **details, "notes": notes})


def _values(
    data: Retrieval,
    judged: Mapping[str, dict[str, int]],
    names: list[str],
    rankings: Iterable[tuple[np.ndarray, np.ndarray]],
) -> np.ndarray:
    """Return every metric at every cutoff for each query, (queries, metrics, cutoffs).

    Args:
        data: the data set.
        judged: the judgements of its queries.
        names: ids of the documents that are ranked.
        rankings: for each query the positions of documents among them, and their scores.
    """
    alphabetical = np.empty(len(names), np.int64)
    alphabetical[np.array(names, object).argsort()] = np.arange(len(names))
    own = own_documents(data, judged)
    return np.array(
        [
            _of_query(
                data,
                key,
                [names[i] for i in at[ranking.order(scores, alphabetical[at])]],
                key if key in own else None,
                grades,
            )
            for (key, grades), (at, scores) in zip(judged.items(), rankings, strict=True)
        ]
    )


def _measurement(
    data: Retrieval, judged: dict[str, dict[str, int]], values: np.ndarray, main: str
) -> Measurement:
    split, n = judged_queries(data)[0], len(values)
    scores = []
    for at, name in enumerate(_metrics(data)):
        for column, k in enumerate(CUTOFFS):
            mean = float(np.nanmean(values[:, at, column]))
            mean = round(mean, 5) if name in _ROUNDED else mean
            metric = f"{name}_at_{k}"
            scores.append(Score(split, None, metric, 100.0 * mean, n, main=metric == main))
    scores.sort(key=lambda score: (not score.main, not score.metric.endswith("_at_10")))
    examples = {
        name: values[:, ranking.METRICS.index(name), CUTOFFS.index(k)] for name, k in _KEPT.items()
    }
    details = {"mean_of": main.partition("_at_")[0], "at": _KEPT, "notes": _notes(data, judged)}
    return Measurement(tuple(scores), examples, details)


def _halves(keys: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return two bool (n,): half of the queries, by the hashes of their ids, and the others."""
    order = sorted(range(len(keys)), key=lambda i: hashlib.sha256(keys[i].encode()).digest())
    first = np.zeros(len(keys), bool)
    first[order[: (len(keys) + 1) // 2]] = True
    return first, ~first


def rows(data: Retrieval, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return the positions in `data.sentences` of the judged queries, then of the documents."""
    _, judged = judged_queries(data)
    place = {key: i for i, key in enumerate(data.queries)}
    start = len(data.queries)
    return np.array(
        [place[key] for key in judged] + [start + i for i in _documents_to_rank(data, judged)],
        np.int64,
    )


def queries(data: Retrieval) -> int:
    """Return the number of `rows` that are queries."""
    return len(judged_queries(data)[1])


def judged_queries(data: Retrieval) -> tuple[str, dict[str, dict[str, int]]]:
    """Return the scored split and the judgements of its queries, in the queries' order."""
    if not any(data.judgements.values()):
        raise UserError(
            f"{data.name} has no judgements: nothing says which document answers a query.",
            "Add a file of judgements: query id, document id, grade.",
            code="missing",
        )
    split = scored_split([name for name, judged in data.judgements.items() if judged])
    known = data.judgements[split]
    return split, {key: known[key] for key in data.queries if known.get(key)}


def own_documents(data: Retrieval, judged: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Return the queries that are documents under the same id, which their rankings leave out.

    As in BEIR and in MTEB's tasks of this kind (ArguAna, Quora): a query is most similar to itself.
    In other data sets ids are equal by chance, and nothing is left out, as by MTEB's default.
    """
    data = data.whole or data
    same = {key for key in judged if key in data.documents}
    if mteb_tasks.leaves_out_own_ids(data.name):
        return same
    return {
        key
        for key in same
        if judged[key].get(key, 0) < 1
        and data.queries[key].strip()
        and data.queries[key].strip() in data.documents[key]
    }


def _documents_to_rank(data: Retrieval, judged: Iterable[str]) -> list[int]:
    """Return the positions of the documents to rank: all, or the candidates of any query."""
    if data.candidates is None:
        return list(range(len(data.documents)))
    ids = {name for key in judged for name in _candidates(data, key)}
    return [i for i, name in enumerate(data.documents) if name in ids]


def _among(data: Retrieval, judged: Iterable[str], names: Sequence[str]) -> list[np.ndarray] | None:
    """Return for each query the positions of its candidates among ids; None for all of them."""
    if data.candidates is None:
        return None
    place = {name: i for i, name in enumerate(names)}
    return [np.array([place[name] for name in _candidates(data, key)], np.int64) for key in judged]


def _candidates(data: Retrieval, query: str) -> list[str]:
    return list(dict.fromkeys((data.candidates or {}).get(query, ())))


def _metrics(data: Retrieval) -> tuple[str, ...]:
    return (*ranking.METRICS, *(ranking.PASSAGES if data.answers else ()))


def _of_query(
    data: Retrieval, query: str, placed: list[str], skip: str | None, grades: dict[str, int]
) -> np.ndarray:
    """Return every metric at every cutoff for a ranking of documents or chunks, best first.

    A document is as good as the best of its chunks. Those of passages are nan without an answer.

    Args:
        data: the data set.
        query: its id.
        placed: ids, best first.
        skip: the document that does not count; None for none.
        grades: document -> grade.
    """
    documents = placed
    if data.places:
        documents = list(dict.fromkeys(data.places[name].document for name in placed))
    first = enumerate([name for name in documents if name != skip][: max(CUTOFFS)], start=1)
    ranks = [(rank, grades[name]) for rank, name in first if name in grades]
    at, scores = np.array(ranks, np.int64).reshape(-1, 2).T
    values = ranking.at_cutoffs(at, scores, np.array(list(grades.values())), CUTOFFS)
    rows = [values[name] for name in ranking.METRICS]
    if data.answers:
        answers = data.answers.get(query, ())
        texts = [data.place_of(name) for name in placed]
        passages = [ranking.of_passages(texts[:k], answers) for k in CUTOFFS]
        rows += list(np.where(bool(answers), np.array(passages).T, np.nan))
    return np.array(rows)


def _notes(data: Retrieval, judged: dict[str, dict[str, int]]) -> list[str]:
    notes = list(data.notes)
    if own := own_documents(data, judged):
        notes.append(
            f"For {len(own):,} of {len(judged):,} queries the document with the query's own id "
            "was left out, as BEIR and MTEB do."
        )
    unanswered = sum(max(grades.values()) < 1 for grades in judged.values())
    if unanswered:
        notes.append(
            f"{unanswered:,} of {len(judged):,} queries have no document that answers them, and "
            "score 0."
        )
    if data.candidates is not None:
        missing = sum(not data.candidates.get(key) for key in judged)
        if missing:
            notes.append(f"{missing:,} of {len(judged):,} queries have no candidates, and score 0.")
    return notes


def examples(data: Retrieval, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return each judged query with its first document of the highest grade."""
    data = data.whole or data
    _, judged = judged_queries(data)
    best = {key: max(grades, key=lambda name: grades[name]) for key, grades in judged.items()}
    return [((data.queries[key],), data.documents.get(name, "")) for key, name in best.items()]


def _ranking_task(name: str, metric: str, about: str) -> TaskType:
    return TaskType(
        name,
        kind="retrieval",
        protocol="mteb-v2",
        metric=metric,
        about=about,
        measure=lambda task, data, vectors, protocol, seed, tick, similarity="cosine": measure(
            data, vectors, metric, tick, similarity
        ),
        rows=rows,
        queries=queries,
        ranked=lambda data, ranker, progress, tick: measure_ranker(
            data, ranker, metric, progress, tick
        ),
        examples=examples,
        draws=False,
    )


TYPE = _ranking_task(
    "document-retrieval", "ndcg_at_10", "Find the documents of {} that answer a query."
)
RERANKING = _ranking_task("reranking", "map_at_1000", "Put the candidates of {} in order.")
