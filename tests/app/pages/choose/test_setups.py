"""Rankers on documents and chunks, with queries and without: a sheet, and marks."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from transformers import AutoTokenizer

import theodolite as th
from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.openai import FakeOpenAI, status, talking
from tests.fakes.uploads import beir
from theodolite.app.blocks import Links
from theodolite.app.pages.choose import setups
from theodolite.app.pages.choose.answer import Decision, headline, sentences
from theodolite.app.pages.data import service
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.judge.answer import judgement
from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate, rankers
from theodolite.engine.datasets.chunks import cut, split_name
from theodolite.engine.encoders.facts import cut_off
from theodolite.engine.encoders.packaged import MINILM, MINILM_FILES, verified_folder
from theodolite.engine.stats.bootstrap import Sample

SETUPS = ["bm25", "wordllama", "fuse(bm25, wordllama)", "fuse(bm25, wordllama, weight=auto)"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Queries and documents in BEIR's layout, of the starter pairs."""
    beir(tmp_path / "pairs")
    return tmp_path / "pairs"


def test_times_of_a_busy_machine_are_marked_and_taken_again(
    workspace: Workspace, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cores in (1000.0, 0.0):
        monkeypatch.setattr(setups, "others", lambda cores=cores: lambda: cores)
        sheet = th.choose(folder, workspace=workspace, rankers="wordllama").sheet
        assert ("timed_disturbed" in {one["code"] for one in sheet["warnings"]}) == bool(cores)


def test_a_grid_of_rankers_and_chunks_is_compared(workspace: Workspace, folder: Path) -> None:
    """BM25 is added, every set-up has the score of an evaluation, and differences its queries."""
    named, cuts = ", ".join(SETUPS[1:]), "whole, sentences,20"
    sheet = th.choose(folder, workspace=workspace, rankers=named, chunks=cuts).sheet
    assert [row["encoder"] for row in sheet["encoders"]] == [
        *SETUPS,
        *(f"{name}|chunk:sentences,20" for name in SETUPS),
    ]
    values = {}
    for row in sheet["encoders"]:
        ranker, splitter = split_name(row["encoder"])
        task = sheet["data"] + (f"|chunk:{splitter}" if splitter else "")
        (result,) = evaluate(rankers.load(ranker), [task], data=workspace.catalog)
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


def sheet_of(**scores: float):
    """A sheet of 900 queries on which set-ups differ by a constant and a little noise."""
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
    made = setups.decide(every, 2.0)
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
        ({"bm25": 0.5, "minilm": 0.501}, "minilm is not shown to be better than bm25: take bm25"),
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
    texts = ["word " * 300, "Short.", "two words " * 200]
    folder = verified_folder(MINILM, {"tokenizer.json": MINILM_FILES["tokenizer.json"]})
    counts = [len(AutoTokenizer.from_pretrained(folder)(text)["input_ids"]) for text in texts]
    beyond = sum(max(0, n - 256) for n in counts)
    assert cut_off("minilm", texts) == pytest.approx(beyond / sum(counts))
    assert cut_off("fuse(bm25, minilm?max_length=64)", texts) > cut_off("minilm", texts)
    assert cut_off("bm25", texts) == cut_off("wordllama", texts) == cut_off("minilm", []) == 0


def test_rankers_need_documents(workspace: Workspace) -> None:
    with refused("wrong-kind", "starter-topics", "documents"):
        th.choose("starter-topics", workspace=workspace, rankers="bm25")


def test_documents_are_drawn_whole_in_intervals(workspace: Workspace, tmp_path: Path) -> None:
    """Queries on one document are a cluster, however it is cut."""
    text = "Tea is brewed with water. Coffee is ground from beans. Milk is poured."
    corpus = "".join(f'{{"_id": "d{i}", "text": "{text} {i}"}}\n' for i in range(30))
    asked = "".join(f'{{"_id": "q{i}", "text": "tea {i}"}}\n' for i in range(60))
    judged = "query-id\tcorpus-id\tscore\n" + "".join(f"q{i}\td{i // 2}\t1\n" for i in range(60))
    contents = {"corpus.jsonl": corpus, "queries.jsonl": asked, "qrels.tsv": judged}
    place = files(tmp_path / "drinks", contents)
    decision = th.choose(place, workspace=workspace, rankers="bm25", chunks="whole,sentences,30")
    for row in workspace.store.results.table():
        kept = workspace.store.results.examples(row["id"])
        assert kept["cluster"].tolist() == [i // 2 for i in range(60)]
    assert decision["n"] == 60
    whole = workspace.catalog.load(decision["data"])
    assert cut(whole, split_name("x|chunk:sentences,30")[1], "x").judgements == whole.judgements


# Documents without queries: a newcomer's folder in, ten marks, a sheet.


def sections(folder: Path, many: int = 50) -> Path:
    """This project's own documentation, a file for each heading."""
    parts = [
        (f"{file.stem}-{i:02}.md", part)
        for file in sorted((Path(__file__).parents[4] / "docs").glob("*.md"))
        for i, part in enumerate(re.split(r"(?m)^(?=## )", file.read_text(encoding="utf-8")))
        if 400 < len(part) < 5_000
    ]
    return files(folder, dict(parts[:many]))


def chosen(workspace: Workspace, given: Path | str, **options) -> Decision:
    """Of three rankers, unless it is said otherwise."""
    options = {"rankers": "bm25, wordllama, fuse(bm25,wordllama)", "chunks": "whole"} | options
    return th.choose(given, workspace=workspace, **options)


def judge_of(workspace: Workspace, collection: str):
    """A person who wants the document that a query was made from."""
    data = workspace.catalog.load(collection)
    right = {
        data.queries[key]: {data.documents[name] for name in found}
        for key, found in data.judgements["test"].items()
    }

    def answer(question: judging.Question) -> str:
        return "relevant" if question.texts[0][0] in right[question.query] else "not"

    return answer


def test_a_newcomer_s_walk(workspace: Workspace, tmp_path: Path) -> None:
    """Fifty Markdown files, no queries, ten marks, a sheet: by rule, and then judged."""
    decision = chosen(workspace, sections(tmp_path / "guide"))
    sheet, task = decision.sheet, "upload:guide|queries:rule"
    assert sheet["task"] == task and sheet["by_rule"] and sheet["judged"] is None
    assert sum(one["n"] for one in sheet["kinds"]) == sheet["n"] > 90
    assert decision.notes()[0] == (
        f"By rule, {sheet['best']['encoder']} comes first: nobody has judged that yet."
    )
    assert sheet["warnings"][0]["code"] == "by_rule" and "XQuAD" in sheet["warnings"][0]["message"]
    link = next(b for b in decision.blocks() if isinstance(b, Links)).links[0]
    asked = link.query
    assert link.page == "judge" and asked["in"] == task and "bm25" in asked["encoder"]
    spec = judging.JudgeSpec(collection=task, encoders=asked["encoder"], draw=60)
    session = judging.begin(workspace, spec)
    assert judging.open_session(workspace, session).is_by_rule
    assert "asked these queries" in " ".join(judgement(workspace, session, names=True).notes())
    for many, has in ((9, False), (1, True)):
        judging.play(workspace, session, judge_of(workspace, task), most=many)
        marked = chosen(workspace, "upload:guide").sheet["judged"]
        assert (marked is not None) is has
    assert marked["marks"] == 10 and marked["queries"] == 60 and not marked["own"]
    (pair,) = marked["pairs"]
    true = difference(workspace, session, judge_of(workspace, task))
    assert pair["low"] <= true <= pair["high"] and pair["high"] - pair["low"] < 100
    notes = chosen(workspace, "upload:guide").notes()
    assert notes[0].endswith(("by 10 marks.", "apart.")) and notes[1].startswith("Judged: ")
    assert any("not which queries are asked" in note for note in notes)


def difference(workspace: Workspace, session: str, judge) -> float:
    """What all marks would say, in points."""
    state = judging.open_session(workspace, session)
    marks = [
        judge(judging.Question(0, state.queries[q], ((state.documents[d],),))) == "relevant"
        for q, d in state.keys
    ]
    return float(100 * state.units.weights[:, 0] @ marks)


def test_marks_on_queries_of_ones_own_are_predicted_too(
    workspace: Workspace, tmp_path: Path
) -> None:
    """From where the set-ups place known items, chunks included; Judge alone uses them as well."""
    sheet = chosen(workspace, sections(tmp_path / "guide"), chunks="sentences,300").sheet
    queries = ("how are vectors cached", "which metric of retrieval", "how to add a new page")
    pair = ["bm25|chunk:sentences,300", "wordllama|chunk:sentences,300"]
    spec = judging.JudgeSpec(collection=sheet["task"], encoders=pair, queries=queries)
    session = judging.begin(workspace, spec)
    state = judging.open_session(workspace, session)
    assert state.is_by_rule and state.is_own and state.spec.encoders == tuple(pair)
    assert state.units.expected is not None and len(set(state.units.cells.tolist())) > 1
    judging.play(workspace, session, lambda question: "relevant", most=12)
    notes = chosen(workspace, "upload:guide", chunks="sentences,300").notes()
    assert any("12 marks on 3 queries of your own" in note for note in notes)
    plain = judging.begin(workspace, judging.JudgeSpec("upload:guide", pair, queries))
    assert not judging.open_session(workspace, plain).is_by_rule


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["One document about kettles and tea."], "one document"),
        (["Kettles and tea."] * 3, "the same one"),
        (["?!", "...", "--"], "few words"),
        (["Tea is brewed.", "Milk is poured."], "few words"),  # to make queries of
    ],
)
def test_folders_that_cannot_be_ranked(
    workspace: Workspace, tmp_path: Path, texts: list[str], said: str
) -> None:
    named = {f"{i}.md": text for i, text in enumerate(texts)}
    with refused("too-few", said):
        chosen(workspace, files(tmp_path / "few", named))


def wrote(workspace: Workspace, server: FakeOpenAI, name: str = "asked", **more):
    """Have the server write five queries, and return what it was told before."""
    given = {"model": f"api:{server.url}#fake", "n": 5, "send_texts": False} | more
    told: list[str] = []
    row = service.write_queries(
        workspace, "upload:guide", name=name, tell=told.append, move=lambda *at: None, **given
    )
    return row, told


def test_a_language_model_may_write_queries(
    workspace: Workspace, tmp_path: Path, server: FakeOpenAI
) -> None:
    """Beside those by rule, for which they are no better: nobody asked them."""
    chosen(workspace, sections(tmp_path / "guide", 12))
    row, told = wrote(workspace, server)
    assert len(server.requests) == 5 and "5 texts" in told[0] and "127.0.0.1" in told[0]
    assert "queries for 5 of 5 documents" in row["info"]["notes"][0]
    sheet = chosen(workspace, "upload:asked").sheet
    assert sheet["task"] == "upload:asked|queries:rule" and sheet["by_rule"]
    kinds = {one["kind"]: one["n"] for one in sheet["kinds"]}
    assert kinds["written"] == 5 and {"known", "cloze"} < kinds.keys()
    data = workspace.catalog.load("upload:asked")
    for key, query in data.queries.items():
        document = key.removeprefix("written:")
        assert data.judgements["test"][key] == {document: 1}
        assert query == " ".join(data.documents[document].split()[:5])
    assert "language model" in sheet["warnings"][0]["message"]


def test_what_was_written_before_a_fault_is_kept(
    workspace: Workspace, tmp_path: Path, server: FakeOpenAI
) -> None:
    chosen(workspace, sections(tmp_path / "guide", 12))
    server.next = [talking('{"query": "tea?"}'), status(401, "no more")]
    row, _ = wrote(workspace, server, n=12)
    many = len(workspace.catalog.load("upload:asked").queries)
    assert 1 <= many < 12 and "no more" in " ".join(row["info"]["notes"])
    away = {"model": "api:https://models.example/v1#m", "name": "other"}
    for server.next, more, code, named in (
        ([], {}, "conflict", ("asked",)),
        ([], away, "denied", ("5 texts", "models.example", "--send-texts")),
        ([talking("hm")] * 5, {"name": "other"}, "unreachable", ("no query", "5")),
        ([status(404, "no model")] * 5, {"name": "other"}, "unreachable", ("no model",)),
    ):
        with refused(code, *named):
            wrote(workspace, server, **more)
    assert workspace.store.uploads.get("other") is None
