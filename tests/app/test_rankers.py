"""Rankers where encoders are: evaluated, compared, ranked, searched with, published, allowed."""

from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.uploads import beir
from theodolite.app.agents.allowed import Allowed
from theodolite.app.fleet.needs import Resources
from theodolite.app.pages.board.standings import BoardSpec, board
from theodolite.app.pages.compare.answer import COMPARE, CompareSpec
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate
from theodolite.app.pages.search.answer import SEARCH, SearchSpec
from theodolite.app.publish.choice import Alias, private
from theodolite.app.web.guard.links import _is_unlisted
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.cost import measure

BOTH = "fuse(bm25, wordllama)"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A data folder with one collection, and the scores of three rankers on it."""
    root = tmp_path_factory.mktemp("rankers")
    beir(root / "data" / "mteb" / "retrieval" / "mine")
    return Workspace(root / "store", root / "data")


@pytest.fixture(scope="module")
def rows(workspace: Workspace) -> list[dict]:
    """The results of these."""
    job = EvaluateJob.of(workspace, ["bm25", "fuse(bm25,wordllama)", "wordllama"], "mine")
    return list(evaluate(workspace, job))


def test_results_are_stored_under_the_spec(workspace: Workspace, rows: list[dict]) -> None:
    """With a value a query, and read a second time."""
    assert [row["encoder"] for row in rows] == ["bm25", BOTH, "wordllama"]
    assert not any(row["error"] for row in rows)
    assert rows[0]["details"]["bytes_a_document"] > 0
    examples = workspace.store.results.examples(rows[1]["id"])
    assert 100 * examples["ndcg"].mean() == pytest.approx(rows[1]["score"], abs=1e-3)
    again = EvaluateJob.of(workspace, ["bm25"], "mine")
    assert [row["id"] for row in evaluate(workspace, again)] == [rows[0]["id"]]


@pytest.mark.usefixtures("rows")
def test_they_are_compared_and_ranked_with_encoders(workspace: Workspace) -> None:
    """By paired tests; BM25 counts as the bag of words."""
    found = COMPARE.last(workspace, CompareSpec(["wordllama", "bm25", BOTH]), lambda job: False)
    against = {row["encoder"]: row["against"] for row in found.rows() if row["task"] == "mine"}
    assert against == {"wordllama": None, "bm25": "wordllama", BOTH: "wordllama"}
    assert set(board(workspace, BoardSpec()).encoders) >= {"bm25", BOTH, "wordllama"}


@pytest.mark.usefixtures("rows")
def test_lists_for_pages_that_need_vectors_leave_them_out(workspace: Workspace) -> None:
    """They are listed, with what is known of their encoders."""
    assert "bm25" not in encoders.names(workspace)
    assert "bm25" in encoders.names(workspace, rankers=True)
    kinds = {row["name"]: row["kind"] for row in encoders.list_facts(workspace)}
    assert (kinds["bm25"], kinds[BOTH], kinds["wordllama"]) == ("ranker", "ranker", "wordllama")
    with refused("wrong-kind", "bm25"):
        workspace.load("bm25")


def test_a_search_has_a_column_for_each(workspace: Workspace) -> None:
    """With the query's words marked where a ranker looks at words; examples are refused."""
    spec = SearchSpec(["A dog and a boat"], "mine", ["bm25", BOTH, "wordllama"], k=3)
    words, both, vectors = SEARCH.last(workspace, spec, lambda job: True).columns_of_hits
    for column in (words, both):
        hit = column.hits[0][0]
        assert hit.cosine is None
        marked = {hit.sentence[a:b].lower() for a, b in hit.spans}
        assert marked <= {"dog", "boat"}
        assert marked or column is both
    assert vectors.hits[0][0].cosine is not None
    like = SearchSpec(["A dog"], "mine", ["bm25"], by="examples")
    with refused("unsupported", "bm25", "examples"):
        SEARCH.last(workspace, like, lambda job: True)


def test_a_ranker_that_fails_or_finds_nothing_says_so_beside_the_others(
    workspace: Workspace,
) -> None:
    """Hits of the others are kept."""
    spec = SearchSpec(["zebra"], "mine", ["bm25", "bm25 > rerank:dir:/nowhere", "wordllama"])
    found = SEARCH.last(workspace, spec, lambda job: True)
    assert {row["encoder"] for row in found.rows()} == {"wordllama"}
    assert found.exit_code == 1
    nothing, failed = found.notes()
    assert nothing.startswith("bm25: None.") and "/nowhere" in failed


def test_documents_are_searched_in_several_ways_to_cut_them(workspace: Workspace) -> None:
    """A column for each with each encoder; a hit says where in its document it stands.

    A query of the collection is no hit, however near.
    """
    data = workspace.catalog.load("mine")
    query = next(iter(data.queries.values()))
    spec = SearchSpec([query], "mine", ["bm25", "wordllama"], k=3, chunks="whole,sentences,20")
    found = SEARCH.last(workspace, spec, lambda job: True)
    names = ["bm25", "wordllama", "bm25|chunk:sentences,20", "wordllama|chunk:sentences,20"]
    assert list(found.hits) == names
    for row in found.rows():
        name, _, place = row["label"].partition(", ")
        start, stop = map(int, place.split("–")) if place else (None, None)
        assert data.documents[name][start:stop] == row["sentence"] != query
        assert not place or row["encoder"] in names[2:]
    assert sum(row["label"].startswith("d") for row in found.rows()) > 3
    with refused("too-large", "7"):
        SearchSpec(["a dog"], "mine", chunks=", ".join(f"tokens,{n}" for n in range(10, 17)))
    with refused("unknown", "lines,5"):
        SearchSpec(["a dog"], "mine", ["bm25"], chunks="lines,5")
    with refused("wrong-kind", "starter-topics"):
        SEARCH.last(workspace, SearchSpec(["a dog"], chunks="sentences,20"), lambda job: True)


def test_what_is_sent_published_and_allowed(workspace: Workspace, tmp_path: Path) -> None:
    """The files and models inside of a ranker count as those of an encoder."""
    spec = "fuse(bm25, minilm) > rerank:dir:/secret/model"
    assert Resources(encoders=[spec]).paths() == ["/secret/model"]
    assert private([spec]) == ["/secret/model"]
    hidden = str(Alias("paths").encoder(rankers.parse(spec)))
    assert hidden == "fuse(bm25, minilm) > rerank:dir:/model"
    allowed = Allowed(workspace, [tmp_path])
    assert allowed.encoder("fuse(bm25,minilm)") == "fuse(bm25, minilm)"
    with refused("denied", "dir"):
        allowed.encoder(spec)
    assert not _is_unlisted(workspace, "encoder", "fuse(bm25, minilm)", True)
    assert _is_unlisted(workspace, "encoder", "bm25 > rerank:owner/name", True)


@pytest.mark.long
def test_the_cost_of_a_ranker() -> None:
    """Texts indexed, a query among them, and the bytes of a text."""
    found = measure("fuse(bm25, random:8, weight=auto)")
    assert found["dim"] == 0 and found["vector_bytes"] > 4 * 8
    assert len(found["latency_ms"]) > 10
    assert min(found["per_second"]["64"]) > 0
