"""Rankers on documents and chunks: the sheet against scores that were taken one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import theodolite as th
from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.uploads import beir
from theodolite.app.pages.choose import setups
from theodolite.app.pages.choose.answer import Decision, headline, sentences
from theodolite.app.pages.choose.candidates import ChooseSpec
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.datasets.chunks import cut, parted
from theodolite.engine.encoders.facts import cut_off
from theodolite.engine.encoders.packaged import MINILM, MINILM_FILES, verified_folder
from theodolite.engine.evaluate import evaluate

RANKERS = "wordllama, fuse(bm25,wordllama)"
SETUPS = ["bm25", "wordllama", "fuse(bm25, wordllama)"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Queries and documents in BEIR's layout, of the starter pairs."""
    beir(tmp_path / "pairs")
    return tmp_path / "pairs"


def chosen(workspace: Workspace, given: Path | str, **options: Any) -> Decision:
    return th.choose(given, workspace=workspace, **options)


def test_times_of_a_busy_machine_are_marked_and_taken_again(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cores in (1000.0, 0.0):
        monkeypatch.setattr(setups, "others", lambda cores=cores: lambda: cores)
        sheet = chosen(workspace, folder, rankers="wordllama").sheet
        marked = [one for one in sheet["warnings"] if one["code"] == "timed_disturbed"]
        assert bool(marked) == bool(cores)


def test_a_grid_of_rankers_and_chunks_is_compared(workspace: Workspace, folder: Path) -> None:
    """BM25 is added, every set-up has the score of an evaluation, and differences its queries."""
    sheet = chosen(workspace, folder, rankers=RANKERS, chunks="whole, sentences,20").sheet
    names = [row["encoder"] for row in sheet["encoders"]]
    assert names == [*SETUPS, *(f"{name}|chunk:sentences,20" for name in SETUPS)]
    values = {}
    for row in sheet["encoders"]:
        ranker, splitter = parted(row["encoder"])
        data = workspace.catalog
        task = sheet["data"] + (f"|chunk:{splitter}" if splitter else "")
        (result,) = evaluate(rankers.load(ranker), [task], data=data)
        assert row["score"] == pytest.approx(result.main.score, abs=1e-3)  # which is rounded
        values[row["encoder"]] = result.examples["ndcg"]
        assert row["ms_per_query"] > 0 and row["bytes_per_document"] > 0
    best, over = sheet["best"]["encoder"], sheet["against_baseline"]
    assert sheet["best"]["score"] == max(row["score"] for row in sheet["encoders"])
    words = max(("bm25", "bm25|chunk:sentences,20"), key=lambda name: values[name].mean())
    assert sheet["baseline"] == words
    apart = 100 * (values[best] - values[words])
    assert over["delta"] == pytest.approx(apart.mean())
    # The interval holds for all pairs at once, so it is wider than that of one pair.
    single = stats.bootstrap((apart,), np.mean, n_resamples=2000, rng=0).confidence_interval
    assert over["low"] <= single.low + 0.5 and over["high"] >= single.high - 0.5


def sheet_of(**scores: float) -> Any:
    """A sheet of 900 queries on which set-ups differ by a constant and a little noise."""
    from theodolite.engine.stats.bootstrap import Sample

    rng = np.random.default_rng(0)
    base = rng.random(900) * 0.2
    every = [
        setups.SetUp(
            name,
            {"metric": "ndcg_at_10", "protocol": "mteb-v2", "details": {}},
            None,
            Sample(base + score + rng.normal(0, 0.02, 900)),
            {"ms_per_query": float(at + 1), "bytes_per_document": 9.0},
        )
        for at, (name, score) in enumerate(scores.items())
    ]
    made = setups.decided(every, 2.0)
    rows = [setups.row_of(one, made["intervals"]) for one in every]
    return (
        {"kind": "retrieval", "limits": {"margin": 2.0}, "highest": None}
        | made
        | {"encoders": rows}
    )


@pytest.mark.parametrize(
    ("scores", "said"),
    [
        ({"bm25": 0.5, "minilm": 0.3}, "bm25 is best: nothing is better than BM25"),
        ({"bm25": 0.3, "minilm": 0.5}, "minilm is best"),
        ({"bm25": 0.5, "minilm": 0.503}, "minilm is not shown to be better than bm25: take bm25"),
        ({"wordllama": 0.498, "minilm": 0.5, "bm25": 0.2}, "minilm ties with wordllama: take word"),
    ],
)
def test_not_better_than_bm25_is_a_finding(scores: dict[str, float], said: str) -> None:
    sheet = sheet_of(**scores)
    assert headline(sheet).startswith(said), headline(sheet)
    assert sheet["cheapest"]["encoder"] in headline(sheet)


def test_a_reranker_is_told_from_what_it_reranks() -> None:
    sheet = sheet_of(**{"bm25": 0.4, "bm25 > rerank:a/b": 0.5})
    (more,) = sheet["rerankers"]
    assert (more["first"], more["encoder"]) == ("bm25", "bm25 > rerank:a/b")
    assert more["low"] < more["delta"] < more["high"]
    assert any(text.startswith("Reranking adds +9.9") for text in sentences(sheet))


def test_what_was_cut_off_is_counted_as_the_tokenizer_counts(workspace: Workspace) -> None:
    from transformers import AutoTokenizer

    texts = ["word " * 300, "Short.", "two words " * 200]
    folder = verified_folder(MINILM, {"tokenizer.json": MINILM_FILES["tokenizer.json"]})
    counts = [len(AutoTokenizer.from_pretrained(folder)(text)["input_ids"]) for text in texts]
    beyond = sum(max(0, n - 256) for n in counts)
    assert cut_off("minilm", texts) == pytest.approx(beyond / sum(counts))
    assert cut_off("fuse(bm25, minilm?max_length=64)", texts) > cut_off("minilm", texts)
    assert cut_off("bm25", texts) == cut_off("wordllama", texts) == cut_off("minilm", []) == 0


@pytest.mark.parametrize(
    ("options", "code", "named"),
    [
        ({"rankers": "bm25", "chunks": "recursive,3"}, "too-few", "3 characters"),
        ({"rankers": "bm25", "chunks": "pages,400"}, "unknown", "headings"),
        ({"rankers": "fuse(bm25)"}, "too-few", "fuse"),
        ({"rankers": "nothing:x"}, "unknown", "nothing"),
    ],
)
def test_what_is_no_set_up_is_refused(options: dict[str, str], code: Any, named: str) -> None:
    with refused(code, named):
        ChooseSpec("cranfield", **options)


def test_rankers_need_documents(workspace: Workspace, tmp_path: Path) -> None:
    with refused("wrong-kind", "starter-topics", "documents"):
        chosen(workspace, "starter-topics", rankers="bm25")
    bare = files(tmp_path / "bare", {"a.md": "Tea is brewed.", "b.md": "Milk is poured."})
    with refused("too-few", "few words"):  # to make queries of
        chosen(workspace, bare, rankers="bm25", chunks="whole")


def test_documents_are_drawn_whole_in_intervals(workspace: Workspace, tmp_path: Path) -> None:
    """Queries on one document are a cluster, however it is cut."""
    text = "Tea is brewed with water. Coffee is ground from beans. Milk is poured."
    corpus = "".join(f'{{"_id": "d{i}", "text": "{text} {i}"}}\n' for i in range(30))
    asked = "".join(f'{{"_id": "q{i}", "text": "tea {i}"}}\n' for i in range(60))
    judged = "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i // 2}\t1\n" for i in range(60))
    contents = {"corpus.jsonl": corpus, "queries.jsonl": asked, "qrels.tsv": judged}
    place = files(tmp_path / "drinks", contents)
    decision = chosen(workspace, place, rankers="bm25", chunks="whole,sentences,30")
    for row in workspace.store.results.table():
        kept = workspace.store.results.examples(row["id"])
        assert kept["cluster"].tolist() == [i // 2 for i in range(60)]
    assert decision["n"] == 60
    whole = workspace.catalog.load(decision["data"])
    assert cut(whole, parted("x|chunk:sentences,30")[1], "x").judgements == whole.judgements
