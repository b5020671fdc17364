"""Documents in chunks, against LangChain's splitter and the tokenizer itself."""

import json
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine import evaluate, load
from theodolite.engine.datasets import Catalog, chunks
from theodolite.engine.datasets.chunks import Splitter
from theodolite.engine.encoders.packaged import MINILM, MINILM_FILES, verified_folder
from theodolite.engine.tasks import expand, get

TEXT = (
    "# Tea\n\nTea is brewed with hot water. Some like it green, others black.\nIt came from China."
    "\n\n\n## Milk\n\n- whole\n- skimmed, in a rather long line without any end that would not fit"
    "\n\nantidisestablishmentarianismfloccinaucinihilipilification"
)
LONG = "antidisestablishmentarianismfloccinauci"
CUT = [
    # As langchain-text-splitters 1.1.3 cuts it, RecursiveCharacterTextSplitter(size, overlap).
    (
        "recursive,40",
        TEXT,
        [
            *("# Tea", "Tea is brewed with hot water. Some like", "it green, others black."),
            *("It came from China.", "## Milk", "- whole", "- skimmed, in a rather long line"),
            *("without any end that would not fit", LONG, "nihilipilification"),
        ],
    ),
    (
        "recursive,40,15",
        TEXT,
        [
            *("# Tea", "Tea is brewed with hot water. Some like"),
            *("Some like it green, others black.", "It came from China.", "## Milk", "- whole"),
            *("- skimmed, in a rather long line", "long line without any end that would"),
            *("end that would not fit", LONG, "nismfloccinaucinihilipilification"),
        ],
    ),
    (
        "recursive,60,20",
        TEXT,
        [
            *("# Tea", "Tea is brewed with hot water. Some like it green, others"),
            *("it green, others black.", "It came from China.", "## Milk", "- whole"),
            "- skimmed, in a rather long line without any end that would",
            *("any end that would not fit", f"{LONG}nihilipilification"),
        ],
    ),
    # Sentences stay whole where they fit.
    (
        "sentences,20",
        'He said "Go." She went… Did he? 今天下雨。我们走吧！\n- one\n- two',
        ['He said "Go."', "She went… Did he?", "今天下雨。我们走吧！\n- one", "- two"],
    ),
    (
        "sentences,40,30",
        "One is here. Two is here. Three is here. Four is here.",
        [
            "One is here. Two is here.",
            "Two is here. Three is here.",
            "Three is here. Four is here.",
        ],
    ),
    # Sections begin at headings, but not in code.
    (
        "headings,400",
        "Before\n# One\ntext\n```\n# a comment\n```\n## Two\nmore\n#no heading",
        ["Before", "# One\ntext\n```\n# a comment\n```", "## Two\nmore\n#no heading"],
    ),
    ("headings,40", TEXT[:46], ["# Tea", "Tea is brewed with hot water. Some like"]),
]


@pytest.mark.parametrize(("splitter", "text", "chunks"), CUT)
def test_a_text_is_cut(splitter: str, text: str, chunks: list[str]) -> None:
    spans = Splitter.parse(splitter).spans(text)
    assert [text[start:stop] for start, stop in spans] == chunks


def test_tokens_are_counted_as_minilm_counts_them() -> None:
    from transformers import AutoTokenizer

    folder = verified_folder(MINILM, {"tokenizer.json": MINILM_FILES["tokenizer.json"]})
    tokenizer = AutoTokenizer.from_pretrained(folder)
    asked = {"add_special_tokens": False, "return_offsets_mapping": True}
    ends = tokenizer(TEXT, **asked)["offset_mapping"]
    found = Splitter.parse("tokens,8,3").spans(TEXT)
    windows = [ends[i : i + 8] for i in range(0, len(ends) - 3, 5)]
    assert found == [(window[0][0], window[-1][1]) for window in windows]
    assert found[-1][1] == len(TEXT)
    assert Splitter.parse("tokens,8").spans(" ") == []


@pytest.mark.parametrize("method", chunks.MIN_SIZES)
def test_no_word_is_lost(method: str) -> None:
    """Everything but white space is in a chunk, in order, whatever the text."""
    for text in (TEXT, "", " \n ", "x" * 300, "长文字没有空格" * 30, ". " * 90, "```\n# a\n" * 9):
        spans = Splitter.parse(f"{method},20").spans(text)
        covered = {i for start, stop in spans for i in range(start, stop)}
        lost = "".join(letter for i, letter in enumerate(text) if i not in covered)
        assert spans == sorted(spans) and not lost.strip()


@pytest.mark.parametrize(
    ("splitter", "code", "named"),
    [
        ("recursive,3", "too-few", "3 characters"),
        ("tokens,1", "too-few", "1 tokens"),
        ("recursive,0", "too-few", "word"),
        ("recursive,-4", "unknown", "recursive,400,50"),
        ("recursive", "unknown", "METHOD,SIZE"),
        ("recursive,4e2", "unknown", "4e2"),
        ("pages,400", "unknown", "headings"),
        ("recursive,40,40", "conflict", "40"),
        ("recursive,40,4,4", "unknown", "recursive,40,4,4"),
        ("recursive,late", "unknown", "METHOD,SIZE"),
        ("recursive,40,later", "unknown", "later"),
    ],
)
def test_what_cannot_cut_is_refused(splitter: str, code: str, named: str) -> None:
    with refused(code, named):
        Splitter.parse(splitter)


CORPUS = [
    "Tea is brewed with hot water.\n\nMilk is poured into it.",
    "Coffee beans are roasted and ground.\n\nWater runs through them.",
    "Bread is baked in an oven.\n\nButter melts on it.",
]
QRELS = (
    "query-id\tcorpus-id\tscore\tstart\tend\n"
    "q1\td0\t1\t0\t29\nq2\td1\t1\t38\t62\nq3\td2\t1\t0\t26\n"
)
QUERIES = ["brewed with hot water", "water runs through", "baked in an oven"]


def catalog(root: Path, qrels: str = QRELS) -> Catalog:
    contents = {
        "corpus.jsonl": "\n".join(
            json.dumps({"_id": f"d{i}", "text": text}) for i, text in enumerate(CORPUS)
        ),
        "queries.jsonl": "\n".join(
            json.dumps({"_id": f"q{i}", "text": text}) for i, text in enumerate(QUERIES, 1)
        ),
        "qrels/test.tsv": qrels,
    }
    return Catalog(files(root / "mteb" / "retrieval" / "drinks", contents).parents[2])


def test_chunks_are_scored_by_document_and_by_passage(tmp_path: Path) -> None:
    data, name = catalog(tmp_path), "drinks|chunk:recursive,40"
    cut = data.load(name)
    assert len(cut.documents) == 6
    assert all(cut.documents[c] == CORPUS[int(p[0][1])][p[1] : p[2]] for c, p in cut.places.items())
    result, whole = evaluate(load("wordllama"), [name, "drinks"], data=data)
    scores, of_whole = ({s.metric: s.score for s in one.scores} for one in (result, whole))
    assert (result.task, scores["ndcg_at_10"], result.main.n) == (name, 100.0, 3)
    assert scores["passage_recall_at_1"] == scores["passage_iou_at_1"] == 100.0
    # Whole documents have the answers, and as much again.
    precision = 100 * (29 / 54 + 24 / 62 + 26 / 47) / 3
    found = of_whole["passage_precision_at_1"], of_whole["passage_recall_at_1"]
    assert found == pytest.approx((precision, 100.0)) and whole.data_hash != result.data_hash
    late, refused_late = (
        next(evaluate(load(spec), [f"{name},late"], data=data)) for spec in ("minilm", "wordllama")
    )
    assert late.main.score > 90 and late.data_hash != result.data_hash
    assert "cannot cut documents late" in refused_late.error


@pytest.mark.parametrize("span", ["5\t5", "9\t2", "0\t999", "x\t3", "4\t"])
def test_a_passage_outside_of_its_document_is_refused(tmp_path: Path, span: str) -> None:
    with refused("damaged", "d2", "47 characters"):
        catalog(tmp_path, QRELS.replace("0\t26", span)).load("drinks")


def test_names_with_chunks_are_understood(tmp_path: Path) -> None:
    data = catalog(tmp_path)
    names = expand("drinks | chunk:recursive,40,10, late, StarterSTS,drinks|chunk:tokens,20", data)
    assert names == ["drinks|chunk:recursive,40,10,late", "StarterSTS", "drinks|chunk:tokens,20"]
    ways = chunks.cuts("whole, recursive,40,10,late, tokens,20, tokens,20 , late")
    assert chunks.written(ways) == "whole, recursive,40,10,late, tokens,20, tokens,20,late"
    assert get(names[0], data).type == "document-retrieval"
    for name, code, named in (
        ("starter-topics|chunk:recursive,40", "wrong-kind", "starter-topics"),
        ("drinks|chunk:recursive,40|chunk:recursive,20", "conflict", "already"),
        ("drinks|chunk:pages,40", "unknown", "pages"),
    ):
        with refused(code, named):
            data.load(name)
