"""What set-ups return for the queries of a session, and the marks that a rule predicts.

A set-up is a ranker on whole documents or on chunks: `bm25`, `minilm|chunk:recursive,800,100`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.datasets import chunks
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.encoders.spec import EncoderSpec
from theodolite.engine.judging import pool, surrogate
from theodolite.engine.progress import Progress
from theodolite.engine.rankers import Ranked
from theodolite.engine.tasks.retrieval import judged_queries


def canonical(name: str) -> str:
    """The canonical form of a set-up."""
    ranker, splitter = chunks.split_name(name)
    return chunks.join(str(rankers.parse(ranker)), splitter)


def is_encoder(name: str) -> bool:
    """Whether a set-up is an encoder on whole documents."""
    ranker, splitter = chunks.split_name(name)
    return splitter is None and isinstance(rankers.parse(ranker), EncoderSpec)


def rank(
    workspace: Workspace,
    name: str,
    collection: str,
    queries: Sequence[str],
    progress: Progress | None = None,
) -> list[Ranked]:
    """For each query the first documents of a set-up, by their positions, and their scores.

    A document is as good as the best of its chunks.
    """
    ranker, splitter = chunks.split_name(name)
    cut = chunks.join(collection, splitter)
    data, bound = (
        workspace.catalog.load(cut),
        workspace.bind(rankers.of(workspace.ranker(ranker)), cut),
    )
    hits = bound.index(texts_of(workspace, cut), progress).search(queries, surrogate.DEPTH)
    if not isinstance(data, Retrieval) or data.whole is None:
        return hits
    place = {key: i for i, key in enumerate(data.whole.documents)}
    of = np.array([place[data.places[chunk].document] for chunk in data.documents], np.int64)
    firsts = [np.sort(np.unique(of[at], return_index=True)[1]) for at, _ in hits]
    return [(of[at][i], scores[i]) for i, (at, scores) in zip(firsts, hits, strict=True)]


def texts_of(workspace: Workspace, collection: str) -> list[str]:
    """The documents of a collection, or its distinct sentences, by their positions."""
    data = workspace.catalog.load(collection)
    if isinstance(data, Retrieval):
        return [*data.documents.values()]
    return workspace.catalog.sentences(collection)[0]


def predict(
    workspace: Workspace,
    collection: str,
    set_ups: Sequence[str],
    k: int,
    pairs: Sequence[tuple[str, str]],
) -> np.ndarray:
    """Predict the marks of queries with documents: float64 (pairs,), from 0 to 1.

    Args:
        workspace: ranks the documents.
        collection: documents with queries by rule.
        set_ups: those that are compared.
        k: number of top documents scored.
        pairs: texts of the query and the document. A query may be one of those by rule, whose
            right document is known, or a person's own.
    """
    data: Any = workspace.catalog.load(collection)
    _, judged = judged_queries(data)
    place = {key: i for i, key in enumerate(data.documents)}
    right = {data.queries[key]: {place[d] for d in documents} for key, documents in judged.items()}
    at = {text: i for i, text in reversed([*enumerate(data.documents.values())])}
    own = list(dict.fromkeys(query for query, _ in pairs if query not in right))
    is_right = [at[text] in right.get(query, ()) for query, text in pairs]
    result = np.where(is_right, surrogate.SURE, 1.0 - surrogate.SURE)
    if own:
        every = {name: rank(workspace, name, collection, [*right, *own]) for name in set_ups}
        known = {name: lists[: len(right)] for name, lists in every.items()}
        lists = {name: lists[len(right) :] for name, lists in every.items()}
        firsts = {name: [one.tolist() for one, _ in some] for name, some in known.items()}
        keys, _ = pool.documents(firsts, k, "dcg")
        answers = [*right.values()]
        learnt = np.array([document in answers[query] for query, document in keys], float)
        number = {query: i for i, query in enumerate(own)}
        places = [i for i, (query, _) in enumerate(pairs) if query in number]
        cells = [(number[pairs[i][0]], at[pairs[i][1]]) for i in places]
        result[places] = surrogate.predict(known, keys, learnt, lists, cells)
    return result
