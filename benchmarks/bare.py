"""What a test set made from bare documents is worth, against people's judgements.

    THEODOLITE_DATA=... python -m benchmarks.bare [--sessions 100]

Two sets have documents, queries and judgements; all seeds were fixed before the first run. First,
twelve rankers are scored on queries made from the documents by rule, and on people's: Kendall's
tau of the two orders. Then scripted sessions of Judge on people's queries, whose judgements a
script looks up: BM25 against minilm, with marks predicted by rule and without. Coverage of both
intervals, wrong orders claimed, and the share of marks that is needed for the same width.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, kendalltau

from benchmarks.claims import at_least, at_most
from theodolite.engine import rankers
from theodolite.engine.datasets import Catalog, by_rule
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.encoders import MemoryCache
from theodolite.engine.judging import pool, sampling, surrogate
from theodolite.engine.rankers import Ranked
from theodolite.engine.stats import ranking
from theodolite.engine.tasks.retrieval import judged_queries

SETS = ("xquad/en", "cranfield")
SYSTEMS = (
    "bm25",
    "bm25?stemmer=english&stopwords=english",
    "minilm",
    "minilm | dims:64,first",
    "minilm | dims:16,first",
    "wordllama",
    "wordllama | dims:32,first",
    "random:256",
    "random:64",
    "fuse(bm25, minilm)",
    "fuse(bm25, wordllama)",
    "fuse(minilm, wordllama)",
)
PAIR = ("bm25", "minilm")
FIRST_SEED, QUERIES, K = 1000, 100, 5
LOOKS = (10, 20, 30, 50)
"""Marks of a session at which intervals are read."""
SURE, AIM = 0.99, 0.6


@dataclass(frozen=True, eq=False)
class Ranking:
    """Queries with what each ranker finds for them.

    Attributes:
        names: ids of the queries.
        judged: for each query, position of a document -> grade.
        lists: ranker -> for each query its first documents and their scores.
    """

    names: list[str]
    judged: list[dict[int, int]]
    lists: dict[str, list[Ranked]]

    @classmethod
    def of(cls, data: Retrieval, cache: MemoryCache) -> Ranking:
        """Rank the documents for all judged queries."""
        _, judged = judged_queries(data)
        place = {key: i for i, key in enumerate(data.documents)}
        texts = [data.queries[key] for key in judged]
        documents = [*data.documents.values()]
        lists = {
            name: rankers.rank(rankers.load(name, cache=cache), texts, documents, surrogate.DEPTH)
            for name in SYSTEMS
        }
        grades = [{place[k]: v for k, v in one.items() if k in place} for one in judged.values()]
        return cls([*judged], grades, lists)

    def scores(self, kind: str = "") -> list[float]:
        """Mean nDCG@10 of each ranker over the queries whose ids begin so, from 0 to 100."""
        found = []
        for lists in self.lists.values():
            values = []
            for name, (order, _), grades in zip(self.names, lists, self.judged, strict=True):
                if name.startswith(kind):
                    ranks = [(i, grades[int(d)]) for i, d in enumerate(order, 1) if d in grades]
                    rank, grade = np.array(ranks, np.int64).reshape(-1, 2).T
                    every = np.array([*grades.values()])
                    metrics = ranking.at_cutoffs(rank, grade, every, (10,))
                    values.append(metrics["ndcg"][0])
            found.append(100.0 * float(np.mean(values)))
        return found

    def part(self, queries: list[int]) -> tuple[surrogate.Lists, list[tuple[int, int]], np.ndarray]:
        """The pair's lists for some queries, what can be judged of them, and the true marks."""
        lists = {name: [self.lists[name][q] for q in queries] for name in PAIR}
        keys = self.units(queries)[0]
        marks = [self.judged[queries[q]].get(document, 0) > 0 for q, document in keys]
        return lists, keys, np.array(marks, float)

    def units(self, queries: list[int]) -> tuple[list[tuple[int, int]], sampling.Units]:
        """What can be judged of some queries."""
        lists = {name: [self.lists[name][q][0].tolist() for q in queries] for name in PAIR}
        return pool.documents(lists, K, "dcg")


def played(units: sampling.Units, marks: np.ndarray, seed: int) -> list[sampling.Draw]:
    """The draws of a session, as Judge makes them."""
    draws: list[sampling.Draw] = []
    for position in range(LOOKS[-1]):
        drawn = [one.unit for one in draws]
        rng = np.random.default_rng([seed, position])
        one = sampling.draw(units, drawn, marks[drawn], (True,), rng)
        assert one is not None  # noqa: S101 - there are more units than looks
        draws.append(one)
    return draws


def intervals(units: sampling.Units, marks: np.ndarray, seed: int) -> np.ndarray:
    """Low and high after each mark: those of one look, and of the sequence, (marks, 2, 2)."""
    draws = played(units, marks, seed)
    said = marks[[one.unit for one in draws]]
    path = sampling.estimates(units, draws, said)[0].path[1:, 1:]
    looks = [(-1.0, 1.0)] + [
        sampling.single_look(units, draws[:n], said[:n])[0][1:] for n in range(2, len(draws) + 1)
    ]
    return np.stack([np.array(looks), path], axis=1)


def marks_needed(widths: np.ndarray, width: float) -> int:
    """Marks until a mean width is reached."""
    return int(np.argmax(widths <= width)) + 1 if (widths <= width).any() else len(widths)


def sessions(name: str, people: Ranking, made: Ranking, many: int) -> bool:
    """Play sessions with predictions and without; print, and return whether the aims are met."""
    known, known_keys, right = made.part([*range(len(made.names))])
    truths, found = [], {True: [], False: []}  # type: ignore[var-annotated]
    for seed in range(FIRST_SEED, FIRST_SEED + many):
        order = np.random.default_rng(seed).permutation(len(people.names))
        queries = order[:QUERIES].tolist()
        lists, keys, marks = people.part(queries)
        units = people.units(queries)[1]
        predicted = surrogate.predict(known, known_keys, right, lists, keys)
        truths.append(float(units.weights[:, 0] @ marks))
        for with_rule in (True, False):
            given = surrogate.bin_by_prediction(units, predicted) if with_rule else units
            found[with_rule].append(intervals(given, marks, seed))
    truth, fewest = np.array(truths)[:, None], float(binom.ppf(1 - SURE, many, 0.95))
    met, widths = True, {}
    print(f"\n{name}: {many} sessions, true difference {100 * truth.mean():+.2f} on average")
    for with_rule, played_so in found.items():
        low, high = np.moveaxis(np.array(played_so), -1, 0)  # (sessions, marks, kinds)
        widths[with_rule] = 100 * (high - low).mean(axis=0)
        holds = (low <= truth[..., None] + 1e-9) & (truth[..., None] <= high + 1e-9)
        wrong = ((low > 1e-9) & (truth[..., None] < 0)) | ((high < -1e-9) & (truth[..., None] > 0))
        print(f"  {'predicted by rule' if with_rule else 'without predictions'}")
        for n in LOOKS:
            print(
                f"    {n} marks: {widths[with_rule][n - 1, 0]:5.1f} points wide, covers in "
                f"{holds[:, n - 1, 0].sum()}, wrong order {wrong[:, n - 1, 0].sum()}; sequence "
                f"{widths[with_rule][n - 1, 1]:5.1f}, {holds[:, :n, 1].all(axis=1).sum()}, "
                f"{wrong[:, n - 1, 1].sum()}"
            )
        if with_rule:
            for n in LOOKS[1:]:
                met &= at_least(f"{name}: covered at {n}", holds[:, n - 1, 0].sum(), fewest)
            any_look = holds[:, [n - 1 for n in LOOKS[1:]], 0].all(axis=1).sum()
            print(f"    covers at every one of these looks in {any_look}")
            bm25 = (low[:, LOOKS[-1] - 1, 0] > 1e-9).sum()
            other = (high[:, LOOKS[-1] - 1, 0] < -1e-9).sum()
            print(f"    after {LOOKS[-1]} marks {PAIR[0]} first {bm25}, {PAIR[1]} first {other}")
    for kind, said in enumerate(("one look", "sequence")):
        shares = [
            marks_needed(widths[True][:, kind], widths[False][n - 1, kind]) / n for n in LOOKS[1:]
        ]
        print(f"  marks for the width without, {said}: {', '.join(f'{s:.2f}' for s in shares)}")
        if not kind:
            met &= at_most(f"{name}: share of the marks at {LOOKS[-1]}", shares[-1], AIM)
    return met


def main() -> int:
    """Measure and print; return 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=100)
    many = parser.parse_args().sessions
    met = True
    for name in SETS:
        catalog, cache = Catalog(), MemoryCache()
        data, made = catalog.load(name), catalog.load(by_rule.join(name))
        if not isinstance(data, Retrieval) or not isinstance(made, Retrieval):
            raise TypeError(f"{name} has no documents")
        people, rule = Ranking.of(data, cache), Ranking.of(made, cache)
        kinds = {"people": people.scores(), "by rule": rule.scores()}
        kinds |= {kind: rule.scores(kind) for kind in ("known", "cloze")}
        print(f"\n{name}, nDCG@10: {', '.join(kinds)}")
        for system, scores in zip(SYSTEMS, zip(*kinds.values(), strict=True), strict=True):
            print(f"  {system:<40}", *(f"{score:6.2f}" for score in scores))
        taus = [kendalltau(kinds["people"], scores).statistic for scores in kinds.values()]
        print("  Kendall's tau to people's order", *(f"{tau:6.2f}" for tau in taus))
        met &= sessions(name, people, rule, many)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
