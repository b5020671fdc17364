"""Rankers against other implementations: mteb's BM25 and fusions, sentence-transformers' scores."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mteb.models.hybrid_wrappers import fuse_relative_score_fusion, fuse_rrf
from sklearn.metrics.pairwise import cosine_similarity

from tests.engine.encoders.folders import Folders, _cross, _late, _sparse
from tests.engine.encoders.models import SENTENCES
from tests.errors import refused
from theodolite.engine import evaluate, load, rankers
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.encoders import MemoryCache
from theodolite.engine.rankers import Ranked
from theodolite.engine.rankers.fusion import fuse
from theodolite.engine.tasks import retrieval

DOCUMENTS = [
    "The cat sat on the mat.",
    "A dog chases cats in the garden",
    "",
    "Stock markets fell sharply on Monday.",
    "The garden has a mat for the dog, and no cat.",
    "!",
]
QUERIES = ["cat garden", "markets", "of the", "zebra"]


def lists(found: list[Ranked]) -> list[list[int]]:
    """Positions of each query."""
    return [at.tolist() for at, _ in found]


def test_bm25_finds_documents_that_share_a_word() -> None:
    """The best first; none for a query without a word that counts or that any document has."""
    ranker = rankers.of(rankers.load("bm25"))
    index = ranker.index(DOCUMENTS)
    assert lists(index.search(QUERIES, 10)) == [[4, 0, 1], [3], [], []]
    assert lists(index.search(QUERIES, 1)) == [[4], [3], [], []]
    assert any("2 of 6 documents have no word" in note for note in index.notes)
    assert index.bytes > 0
    among = [np.array([5, 3, 1])]
    assert lists(index.search(["cat garden"], 10, among)) == [[1, 3, 5]]
    stemmed = rankers.load("bm25?stemmer=english")
    assert 1 in lists(rankers.rank(stemmed, ["cat"], DOCUMENTS))[0]
    assert 1 not in lists(rankers.rank(ranker, ["cat"], DOCUMENTS))[0]


def test_few_documents() -> None:
    """None, one, and none with a word; a depth beyond them all."""
    ranker = rankers.load("fuse(bm25, random:8)")
    assert lists(rankers.rank(ranker, ["cat"], DOCUMENTS[:1], 1000)) == [[0]]
    assert lists(rankers.rank(rankers.load("bm25"), ["cat"], [])) == [[]]
    with refused("failed", "2 documents"):
        rankers.of(rankers.load("bm25")).index(["", "! ?"])
    thai = rankers.of(rankers.load("bm25")).index(["แมวนั่งบนเสื่อ", "猫がマットの上に座った"])
    assert any("without spaces" in note for note in thai.notes)


@pytest.mark.parametrize("weight", [None, 0.3])
def test_fusion_is_mtebs(weight: float | None) -> None:
    """Reciprocal ranks, and scores scaled to 0 … 1, of lists that overlap in part."""
    rng = np.random.default_rng(0)
    weights = [1.0, 1.0] if weight is None else [weight, 1 - weight]
    each: list[list[Ranked]] = [[], []]
    for of_ranker in each:
        for n in (0, 1, 40):
            at = rng.permutation(60)[:n]
            of_ranker.append((at, np.sort(rng.normal(size=n).astype(np.float32))[::-1]))
    fused = fuse(each, 100, weight)
    for (at, scores), *both in zip(fused, *each, strict=True):
        named: list[Mapping[str, float]] = [
            {str(i): float(s) for i, s in zip(*one, strict=True)} for one in both
        ]
        theirs = (fuse_rrf if weight is None else fuse_relative_score_fusion)(named, weights)
        assert {str(i): s for i, s in zip(at, scores, strict=True)} == pytest.approx(theirs)
        assert (np.diff(scores) <= 0).all()


def test_an_encoder_ranks_by_its_vectors() -> None:
    """As its cosines say; within candidates too."""
    encoder = load("wordllama")
    cosines = cosine_similarity(encoder.encode(QUERIES), encoder.encode(DOCUMENTS))
    for row, (at, scores) in zip(cosines, rankers.rank(encoder, QUERIES, DOCUMENTS), strict=True):
        assert scores == pytest.approx(row[at], abs=1e-6)
        assert sorted(at) == list(range(len(DOCUMENTS)))
    (some,) = rankers.rank(encoder, QUERIES[:1], DOCUMENTS, 9, [np.array([3, 1])])
    assert some[0].tolist() == [1, 3]


def collection() -> Retrieval:
    """Queries that mostly find their document."""
    rng = np.random.default_rng(1)
    words = [f"w{i}" for i in range(60)]
    documents = {f"d{i}": " ".join(rng.choice(words, 12)) for i in range(50)}
    queries = {f"q{i}": " ".join(rng.choice(documents[f"d{i}"].split(), 2)) for i in range(20)}
    return Retrieval("x", queries, documents, {"test": {f"q{i}": {f"d{i}": 1} for i in range(20)}})


def test_a_weight_is_chosen_on_the_other_half() -> None:
    """The values of either half are those of the weight that is best on the other."""
    data = collection()
    of = {
        weight: retrieval.measure_ranker(
            data,
            rankers.load(f"fuse(bm25, random:64, weight={weight})"),
            "ndcg_at_10",
            lambda done, of: None,
            lambda done=0.0, /: None,
        )
        for weight in ("auto", *(f"{i / 10:g}" for i in range(11)))
    }
    auto = of.pop("auto")
    by_weight = {float(w): one.examples["ndcg"] for w, one in of.items()}
    for half, chosen in zip(
        retrieval._halves(list(data.queries)), auto.details["weights"], strict=True
    ):
        means = {weight: values[~half].mean() for weight, values in by_weight.items()}
        assert means[chosen] == max(means.values())
        assert auto.examples["ndcg"][half].tolist() == by_weight[chosen][half].tolist()
    with refused("missing", "weight"):
        rankers.rank(rankers.load("fuse(bm25, random:8, weight=auto)"), ["a"], DOCUMENTS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Writes small random models."""
    return Folders(tmp_path_factory.mktemp("rankers"))


@pytest.fixture(scope="module")
def cross(folders: Folders) -> Path:
    """A cross-encoder."""
    return _cross(folders, "cross")


def test_a_reranker_orders_as_predict_scores(cross: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair is scored once; what lies deeper keeps its order below."""
    from sentence_transformers import CrossEncoder

    cache = MemoryCache()
    ranker = rankers.load(f"random:16 > rerank:dir:{cross},3", cache=cache)
    queries = ["the cat sat", "dog " * 40]
    ranked = rankers.rank(ranker, queries, SENTENCES)
    first = rankers.rank(load("random:16"), queries, SENTENCES)
    model = CrossEncoder(str(cross), device="cpu")
    for query, (at, scores), (before, _) in zip(queries, ranked, first, strict=True):
        theirs = model.predict([(query, SENTENCES[i]) for i in at[:3]], show_progress_bar=False)
        assert scores[:3] == pytest.approx(theirs, abs=1e-5)
        assert set(at[:3]) == set(before[:3])
        assert at[3:].tolist() == before[3:].tolist()
        assert (np.diff(scores) <= 0).all()
    again = rankers.load(f"random:16 > rerank:dir:{cross},3", cache=cache)
    assert isinstance(again, rankers.Ranker)
    assert again.fingerprint == ranker.fingerprint
    monkeypatch.setattr(type(again.scorer), "_predict", None)  # type: ignore[attr-defined]
    assert lists(rankers.rank(again, queries, SENTENCES)) == lists(ranked)


def test_a_reranker_that_gives_no_number(cross: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NaN orders nothing."""
    ranker: Any = rankers.load(f"bm25 > rerank:dir:{cross}")
    monkeypatch.setattr(ranker.scorer, "run", lambda *_, **__: np.array([np.nan]))
    with refused("not-finite", "1 of 1 pairs"):
        rankers.rank(ranker, ["cat"], DOCUMENTS)
    monkeypatch.setattr(ranker.scorer, "run", lambda *_, **__: np.zeros((1, 3)))
    with refused("wrong-kind", "3 numbers"):
        rankers.rank(ranker, ["cat"], DOCUMENTS)


def test_splade_and_colbert_score_as_sentence_transformers(folders: Folders) -> None:
    """The dot product, and MaxSim by hand as well; of candidates too."""
    from sentence_transformers import MultiVectorEncoder, SparseEncoder

    sparse, late = _sparse(folders, "sparse"), _late(folders, "late")
    queries = ["the cat sat", "dog " * 40]
    for spec, library in (
        (f"splade:dir:{sparse}", SparseEncoder),
        (f"colbert:dir:{late}", MultiVectorEncoder),
    ):
        model = library(spec.partition("dir:")[2], device="cpu")
        asked, held = model.encode_query(queries), model.encode_document(SENTENCES)
        theirs = model.similarity(asked, held).numpy()
        if library is MultiVectorEncoder:
            pairs = [[float((q @ d.T).max(1).values.sum()) for d in held] for q in asked]
            assert theirs == pytest.approx(np.array(pairs), abs=1e-5)
        index = rankers.of(rankers.load(spec)).index(SENTENCES)
        for i, (at, scores) in enumerate(index.search(queries, 100)):
            assert sorted(at) == list(range(len(SENTENCES)))
            assert scores == pytest.approx(theirs[i][at], abs=1e-5)
        among = [np.array([4, 2]), np.array([], np.int64)]
        (some, _), (none, _) = index.search(queries, 100, among)
        assert set(some) == {2, 4}
        assert not len(none)
        assert index.bytes > 0


def test_models_of_another_kind_are_refused(folders: Folders, cross: Path) -> None:
    """With what they are."""
    encoder = folders.mean("encoder")
    for spec, named in (
        (f"bm25 > rerank:dir:{encoder}", "an encoder"),
        (f"splade:dir:{cross}", "a cross-encoder"),
        (f"colbert:dir:{cross}", "a late-interaction model"),
    ):
        with refused("wrong-kind", named):
            rankers.load(spec)


def test_tasks_that_need_vectors_say_so() -> None:
    """As a result with an error; so does mteb's own code."""
    ranker = rankers.load("bm25")
    (result,) = evaluate(ranker, "StarterSTS")
    assert result.error is not None
    assert "sts" in result.error
    assert result.dim == 0
