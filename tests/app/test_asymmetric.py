"""Prompts of a model in an evaluation, in a search and on a card; one for each side.

The oracle encodes with `encode_query` and `encode_document`, and trec_eval scores.
"""

from pathlib import Path

import numpy as np
import pytest
import pytrec_eval

from tests.engine.encoders.models import WORDS, save_sentence_transformer
from tests.fakes import folder as data_folder
from tests.fakes.command_line import objects, theodolite
from tests.fakes.uploads import json_lines
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.pages.search import service as search
from theodolite.app.workspace import Workspace

PROMPTS = {"query": "the cat ", "document": "a dog ran "}
SAID = {"prompt": "a dog ran ", "query_prompt": "the cat "}
SPLIT = "test"
RANKED, RERANKED = "mteb/retrieval/ranked", "mteb/retrieval/reranked"
METRICS = {"ranked": "ndcg_cut_10", "reranked": "map"}


def texts(prefix: str, n: int, seed: int) -> dict[str, str]:
    """Words in random order, by id."""
    rng = np.random.default_rng(seed)
    return {
        f"{prefix}{i}": " ".join(rng.choice(WORDS, rng.integers(4, 14), replace=False))
        for i in range(n)
    }


QUERIES, DOCUMENTS = texts("q", 12, 4), texts("d", 60, 5)
JUDGED = {q: {f"d{5 * k + j}": j % 3 for j in range(5)} for k, q in enumerate(QUERIES)}
CANDIDATES = {
    q: [f"d{i}" for i in range(60) if i % 3 == k % 3 or f"d{i}" in JUDGED[q]]
    for k, q in enumerate(QUERIES)
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with prompts for both sides. The mean of tokens tells its texts well apart."""
    made = tmp_path_factory.mktemp("st") / "model"
    return save_sentence_transformer(made, "mean", prompts=PROMPTS)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A retrieval and a reranking of the same texts."""
    judged = [f"{q}\t{d}\t{grade}\n" for q, of in JUDGED.items() for d, grade in of.items()]
    contents = {
        f"{RERANKED}/top_ranked/{SPLIT}.jsonl": json_lines(
            {"query-id": q, "corpus-ids": of} for q, of in CANDIDATES.items()
        )
    }
    for base in (RANKED, RERANKED):
        contents |= {
            f"{base}/corpus.jsonl": json_lines({"_id": k, "text": t} for k, t in DOCUMENTS.items()),
            f"{base}/queries.jsonl": json_lines({"_id": k, "text": t} for k, t in QUERIES.items()),
            f"{base}/qrels/{SPLIT}.tsv": "".join(["query-id\tcorpus-id\tscore\n", *judged]),
        }
    root = data_folder.files(tmp_path_factory.mktemp("data"), contents)
    return Workspace(tmp_path_factory.mktemp("asymmetric") / "store", root)


def cosines(folder: Path, query_prompt: str, prompt: str) -> np.ndarray:
    """Of every query with every document, by the library that wrote the model."""
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(folder), device="cpu")
    left = theirs.encode(list(QUERIES.values()), prompt=query_prompt)
    right = theirs.encode(list(DOCUMENTS.values()), prompt=prompt)
    return np.asarray(theirs.similarity(left, right))


def expected(name: str, similar: np.ndarray) -> float:
    """The main score by trec_eval, in points."""
    metric = METRICS[name]
    run = {
        q: {
            d: float(s)
            for d, s in zip(DOCUMENTS, row, strict=True)
            if name == "ranked" or d in CANDIDATES[q]
        }
        for q, row in zip(QUERIES, similar, strict=True)
    }
    judge = pytrec_eval.RelevanceEvaluator(JUDGED, {"ndcg_cut.10", "map"})
    return 100 * float(np.mean([values[metric] for values in judge.evaluate(run).values()]))


@pytest.mark.parametrize("protocol", [None, "mteb"])
@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize(
    "options",
    [
        "prompt=document&query_prompt=query",
        "prompt=a dog ran%20&query_prompt=the cat%20",
        "prompt=@task",
    ],
)
def test_each_side_is_encoded_with_its_prompt(
    workspace: Workspace, folder: Path, options: str, name: str, protocol: str | None
) -> None:
    """By our code and by mteb's; the result says both prompts."""
    if protocol:
        pytest.importorskip("mteb")
    row = evaluate_one(workspace, f"dir:{folder}?{options}", name, protocol)
    assert row["error"] is None, row["error"]
    wanted = expected(name, cosines(folder, SAID["query_prompt"], SAID["prompt"]))
    assert row["score"] == pytest.approx(wanted, abs=1e-3)
    assert row["details"]["prompts"] == SAID


@pytest.mark.parametrize("options", ["prompt=document&query_prompt=query", "prompt=@task"])
def test_a_search_in_the_corpus_asks_as_the_task_does(
    workspace: Workspace, folder: Path, options: str
) -> None:
    """The first hits of a query are those that its score was computed of."""
    spec = f"dir:{folder}?{options}"
    similar = cosines(folder, SAID["query_prompt"], SAID["prompt"])[0]
    (hits,) = search.nearest(workspace, spec, "ranked", [QUERIES["q0"]], search.Limits(72))
    by_text = {hit.sentence: hit.cosine for hit in hits}
    np.testing.assert_allclose([by_text[text] for text in DOCUMENTS.values()], similar, atol=1e-5)
    assert by_text.keys() == {*DOCUMENTS.values()} and not search.why_incomplete(
        workspace, spec, "ranked"
    )


@pytest.mark.parametrize("name", METRICS)
def test_the_sides_matter_and_are_told_apart(workspace: Workspace, folder: Path, name: str) -> None:
    """One prompt for both, and the prompts swapped, are other encoders with other scores."""
    pairs = {
        "prompt=document&query_prompt=query": (SAID["query_prompt"], SAID["prompt"]),
        "prompt=document": (SAID["prompt"], SAID["prompt"]),
        "prompt=query&query_prompt=document": (SAID["prompt"], SAID["query_prompt"]),
        "prompt=": ("", ""),
    }
    rows = [evaluate_one(workspace, f"dir:{folder}?{options}", name) for options in pairs]
    wanted = [expected(name, cosines(folder, *sides)) for sides in pairs.values()]
    assert [row["score"] for row in rows] == pytest.approx(wanted, abs=1e-3)
    assert len({round(score, 2) for score in wanted}) == len(pairs), "or nothing is told apart"
    assert len({row["fingerprint"] for row in rows}) == len(pairs)


def test_an_audit_on_queries_measures_what_the_task_does(
    workspace: Workspace, folder: Path
) -> None:
    """By the command; here the few examples are all of the set."""
    spec = f"dir:{folder}?prompt=document&query_prompt=query"
    where = ("--store", str(workspace.store.folder), "--data", str(workspace.catalog.root))
    rows = objects(theodolite("encoders", "audit", spec, "--on", "ranked", "--json", *where))
    scores = {row["setting"]: row["score"] for row in rows}
    task = evaluate_one(workspace, spec, "ranked")["score"]
    assert scores["as asked"] == pytest.approx(task, abs=1e-3)
    swapped = expected("ranked", cosines(folder, SAID["prompt"], SAID["query_prompt"]))
    assert scores["its two prompts swapped"] == pytest.approx(swapped, abs=1e-3)
