"""Documents in chunks, against LangChain's splitter and the tokenizer itself."""

import json
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine import evaluate, load
from theodolite.engine.datasets import Catalog, Retrieval, Sentences, by_rule, chunks
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
    assert [text[start:stop] for start, stop in Splitter.parse(splitter).spans(text)] == chunks


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


# Queries made from documents by rule.


WORDS = "tea milk sugar kettle harbour violin glacier saddle orchard lantern window garden".split()
NAME = "handbook|queries:rule"


def handbook(*texts: str) -> Retrieval:
    return Retrieval("handbook", {}, {f"{i}.md": text for i, text in enumerate(texts)}, {})


def page(i: int) -> str:
    """A page with a word of its own, and a sentence that can be taken out."""
    own, other = WORDS[i % 12], WORDS[(i + 5) % 12]
    return (
        f"# {own.title()}{i}\n\nThis page is about {own} and page{i}. Everyone who likes {own} "
        f"should read of {other} as well, said reader{i}. Short."
    )


def test_known_items_are_words_of_their_document_and_clozes_are_taken_out() -> None:
    given = handbook(*map(page, range(30)))
    made = by_rule.make(given, NAME)
    assert (made.name, list(made.documents)) == (NAME, list(given.documents))
    assert {key.partition(":")[0] for key in made.queries} == {"known", "cloze"}
    assert len(made.queries) == 60 and made.hash == by_rule.make(given, NAME).hash
    assert made.judgements == {"test": {k: {k.partition(":")[2]: 1} for k in made.queries}}
    for key, query in made.queries.items():
        kind, _, document = key.partition(":")
        text, left = given.documents[document], made.documents[document]
        if kind == "cloze":
            assert query in " ".join(text.split()) and query not in " ".join(left.split())
            assert not query.startswith("#")
        else:
            every = " ".join(made.documents.values()).casefold()
            assert any(word in left.casefold() for word in query.split())
            assert all(word in every for word in query.split())
            assert by_rule.LENGTHS[0] <= len(query.split()) <= by_rule.LENGTHS[1]


def test_a_long_document_is_read_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many sentences it has."""
    read, text = list[int](), "\n\n".join(map(page, range(300)))
    monkeypatch.setattr(by_rule, "is_unspaced", lambda part: read.append(len(part)))
    assert "cloze:0.md" in by_rule.make(handbook(text, page(1)), NAME).queries
    assert sum(read) < 5 * len(text)


def test_they_are_a_task_of_any_documents_cut_in_any_way() -> None:
    (result,) = evaluate(load("wordllama"), ["starter-pairs|queries:rule"], data=Catalog())
    assert result.error and "queries are made from documents" in result.error
    name = f"{NAME}|chunk:sentences,40"
    assert get(name).dataset == name and get(NAME).metric == "ndcg_at_10"


@pytest.mark.parametrize(
    ("data", "code", "said"),
    [
        (handbook(page(0)), "too-few", "one document"),
        (handbook(page(0), page(0).upper()), "too-few", "the same one"),
        (handbook("?!", "...", "-- --"), "too-few", "few words"),
        (handbook("", " "), "too-few", "one document"),
        (Sentences("handbook", ["a", "b"]), "wrong-kind", "sentences"),
    ],
)
def test_what_no_queries_can_be_made_of(data, code, said) -> None:
    with refused(code, "handbook", said):
        by_rule.make(data, NAME)


COPY = [*map(page, range(10)), page(3)]
ALIKE = [
    *(f"The kettle and the lantern stand near the harbour, number {i}." for i in range(20)),
    *["A garden has an orchard, a window and a violin for every visitor who asks."] * 2,
]
CHINESE = [f"约翰桥是一座横跨河流的人行桥{i}。它连接着两个校区和一个花园{i}。" for i in range(5)]


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        (COPY, "2 of 11 documents repeat another"),
        (ALIKE, "much alike"),
        (CHINESE, "without spaces"),
    ],
    ids=["copy", "alike", "chinese"],
)
def test_copies_collisions_and_scripts_without_spaces_are_told(pages, said) -> None:
    assert any(said in note for note in by_rule.make(handbook(*pages), NAME).notes)


def test_what_each_page_is_asked_by() -> None:
    """Copies answer one another's queries; without spaces there are only clozes; no text, none."""
    copy, chinese, empty = (
        by_rule.make(handbook(*pages), NAME)
        for pages in (COPY, CHINESE, [*map(page, range(5)), "", "?"])
    )
    assert copy.judgements["test"]["known:10.md"] == {"3.md": 1, "10.md": 1}
    assert {key.partition(":")[0] for key in chinese.queries} == {"cloze"}
    assert not any(key.endswith(("5.md", "6.md")) for key in empty.queries)
