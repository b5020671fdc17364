"""Retrieval: are the relevant documents of a query the most similar of all documents?

Protocols `mteb-v1` and `mteb-v2`, which agree here: documents are compared by the similarity that
the model names, else by the cosine. In reranking, are the relevant candidates of a query the most
similar ones? Knows vectors and judgements; neither encoders nor files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.protocols import mteb_tasks
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
    """Rank the documents of every judged query.

    With candidates, a query ranks only these. `main` is a metric such as `ndcg_at_10`, one whose
    values are kept; `similarity` is of the model, see `engine.search.ranked.compare`.
    """
    split, judged = judged_queries(data)
    keys = list(data.documents)
    names = [keys[i] for i in _needed(data, judged)]
    alphabetical = np.empty(len(names), np.int64)
    alphabetical[np.array(names, object).argsort()] = np.arange(len(names))
    found = _reranked if data.candidates is not None else _searched
    own = own_documents(data, judged)
    values = np.array(
        [
            _of_query(
                grades,
                [
                    names[i]
                    for i in at[ranking.order(scores, alphabetical[at])]
                    if key not in own or names[i] != key
                ],
            )
            for (key, grades), (at, scores) in zip(
                judged.items(), found(data, judged, vectors, tick, similarity), strict=True
            )
        ]
    )
    n = len(values)
    scores = []
    for at, name in enumerate(ranking.METRICS):
        for column, k in enumerate(CUTOFFS):
            mean = float(values[:, at, column].mean())
            mean = round(mean, 5) if name in _ROUNDED else mean
            metric = f"{name}_at_{k}"
            scores.append(Score(split, None, metric, 100.0 * mean, n, main=metric == main))
    scores.sort(key=lambda score: (not score.main, not score.metric.endswith("_at_10")))
    examples = {
        name: values[:, ranking.METRICS.index(name), CUTOFFS.index(k)] for name, k in _KEPT.items()
    }
    details = {"mean_of": main.partition("_at_")[0], "at": _KEPT, "notes": _notes(data, judged)}
    return Measurement(tuple(scores), examples, details)


def rows(data: Retrieval, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return the positions in `data.sentences` of the judged queries, then of the documents."""
    _, judged = judged_queries(data)
    place = {key: i for i, key in enumerate(data.queries)}
    start = len(data.queries)
    return np.array(
        [place[key] for key in judged] + [start + i for i in _needed(data, judged)], np.int64
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


def _needed(data: Retrieval, judged: dict[str, dict[str, int]]) -> list[int]:
    """Return the positions of the documents to rank: all, or the candidates of any query."""
    if data.candidates is None:
        return list(range(len(data.documents)))
    wanted = {name for key in judged for name in _candidates(data, key)}
    return [i for i, name in enumerate(data.documents) if name in wanted]


_Ranked = tuple[np.ndarray, np.ndarray]
"""Positions among the documents to rank, and their similarities."""


def _searched(
    data: Retrieval,
    judged: dict[str, dict[str, int]],
    vectors: np.ndarray,
    tick: ProgressCallback,
    similarity: str,
) -> Iterator[_Ranked]:
    from theodolite.engine.search.ranked import first_of_each

    n = len(judged)
    scores, positions = first_of_each(vectors[:n], vectors[n:], max(CUTOFFS), tick, similarity)
    yield from zip(positions, scores, strict=True)


def _reranked(
    data: Retrieval,
    judged: dict[str, dict[str, int]],
    vectors: np.ndarray,
    tick: ProgressCallback,
    similarity: str,
) -> Iterator[_Ranked]:
    from theodolite.engine.search.ranked import comparable, compare

    n, keys = len(judged), list(data.documents)
    left, right = (comparable(part, similarity) for part in (vectors[:n], vectors[n:]))
    place = {keys[i]: row for row, i in enumerate(_needed(data, judged))}
    for done, key in enumerate(judged):
        tick(done / n)
        mine = np.array([place[name] for name in _candidates(data, key)], np.int64)
        yield mine, compare(left[done : done + 1], right[mine], similarity)[0].numpy()


def _candidates(data: Retrieval, query: str) -> list[str]:
    return list(dict.fromkeys((data.candidates or {}).get(query, ())))


def _of_query(grades: dict[str, int], placed: list[str]) -> np.ndarray:
    """Return every metric at every cutoff for a ranking of documents, best first."""
    first = enumerate(placed[: max(CUTOFFS)], start=1)
    ranks = [(rank, grades[name]) for rank, name in first if name in grades]
    at, found = np.array(ranks, np.int64).reshape(-1, 2).T
    values = ranking.at_cutoffs(at, found, np.array(list(grades.values())), CUTOFFS)
    return np.array([values[name] for name in ranking.METRICS])


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
        lacking = sum(not data.candidates.get(key) for key in judged)
        if lacking:
            notes.append(f"{lacking:,} of {len(judged):,} queries have no candidates, and score 0.")
    return notes


def examples(data: Retrieval, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return each judged query with its first document of the highest grade."""
    _, judged = judged_queries(data)
    best = {key: max(grades, key=lambda name: grades[name]) for key, grades in judged.items()}
    return [((data.queries[key],), data.documents.get(name, "")) for key, name in best.items()]


def _ranking(name: str, metric: str, about: str) -> TaskType:
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
        examples=examples,
        draws=False,
    )


TYPE = _ranking("document-retrieval", "ndcg_at_10", "Find the documents of {} that answer a query.")
RERANKING = _ranking("reranking", "map_at_1000", "Put the candidates of {} in order.")
