"""Retrieval and reranking: BEIR's folders, tables of texts, and what is wrong with them."""

import gzip
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine.datasets import Catalog, Retrieval, beir, tables

CORPUS = (
    '{"_id": "d1", "title": "Tea", "text": "It is brewed."}\n'
    '{"_id": "d2", "text": " Coffee is ground. "}\n'
    '{"_id": 3, "title": "", "text": ""}\n'
    '{"_id": 4, "title": null, "text": null}\n'
)
QUERIES = '{"_id": "q1", "text": "How is tea made?"}\n{"_id": "q2", "text": "Who asked?"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"


def folder(
    root: Path,
    name: str = "drinks",
    *,
    corpus: str = CORPUS,
    queries: str = QUERIES,
    qrels: str = QRELS,
    more: dict[str, str] | None = None,
) -> Catalog:
    """A data folder with a small set in BEIR's layout."""
    contents = {"corpus.jsonl.gz": gzip.compress(corpus.encode()), "queries.jsonl": queries}
    contents |= {"qrels/test.tsv": qrels} | (more or {})
    return Catalog(files(root / "mteb" / "retrieval" / name, contents).parents[2])


def test_a_folder_of_beir_is_read_without_a_line_of_code(tmp_path: Path) -> None:
    """Title and text are joined as MTEB joins them; unjudged queries go, empty documents stay."""
    catalog = folder(tmp_path)
    (info,) = [info for info in catalog.list() if info.origin == "folder"]
    assert (info.name, info.kind, info.type) == ("drinks", "retrieval", "Retrieval")
    assert (info.tasks, info.splits) == (("drinks",), ("test",))
    data = catalog.load("drinks")
    assert asdict(data) == asdict(
        Retrieval(
            "drinks",
            queries={"q1": "How is tea made?"},
            documents={"d1": "Tea It is brewed.", "d2": "Coffee is ground.", "3": "", "4": ""},
            judgements={"test": {"q1": {"d1": 2, "d2": 0}}},
            notes=(
                "Queries without judgements, left out as MTEB does: 1 (q2).",
                "Empty documents, kept: 2 (3, 4).",
            ),
        )
    )
    assert data.sentences == ["How is tea made?", *data.documents.values()]
    # NanoBEIR names the relevant documents alone.
    named = folder(tmp_path / "nano", qrels="query-id\tcorpus-id\nq1\td2\n").load("drinks")
    assert named.judgements == {"test": {"q1": {"d2": 1}}}


@pytest.mark.parametrize(
    ("queries", "judged", "line"),
    [
        ("queries.dev.tsv", "qrels.dev.tsv", "7\t0\t3\t1\n"),
        ("questions.dev.tsv", "qas.dev.jsonl", '{"qid": 7, "query": "How?", "answer_pids": [3]}\n'),
    ],
    ids=["MS MARCO", "LoTTE"],
)
def test_files_as_others_name_them(queries: str, judged: str, line: str) -> None:
    names = {"collection.tsv": "3\tBrew it.\n4\tA cup.\n", queries: "7\tHow?\n", judged: line}
    data = beir.read("tea", {name: text.encode() for name, text in names.items()}, "tea")
    assert data.judgements == {"dev": {"7": {"3": 1}}}
    assert (data.queries["7"], [*data.documents.values()]) == ("How?", ["Brew it.", "A cup."])


def test_languages_of_one_set_are_its_parts_and_ask_one_another(tmp_path: Path) -> None:
    """`quad_de` and `quad_en` are `quad/de` and `quad/en`; a lone `over_it` keeps its name.

    `quad/de-en` is there where both are judged alike: only then do ids mean the same.
    """
    folder(tmp_path, "over_it")
    for language, qrels in (("de", QRELS), ("en", QRELS), ("fr", QRELS.replace("2", "1"))):
        corpus, queries = CORPUS.replace("Tea", language), QUERIES.replace("How", language)
        catalog = folder(tmp_path, f"quad_{language}", corpus=corpus, queries=queries, qrels=qrels)
    listed = [info for info in catalog.list() if info.origin == "folder"]
    assert {info.name: info.languages for info in listed} == {
        "over_it": (),
        "quad/de": ("deu",),
        "quad/en": ("eng",),
        "quad/fr": ("fra",),
        "quad/de-en": ("deu", "eng"),
    }
    across, english, german = (catalog.load(f"quad/{of}") for of in ("de-en", "en", "de"))
    assert (across.documents, across.queries) == (english.documents, german.queries)
    assert across.judgements == english.judgements != {}


def test_listed_candidates_make_it_a_reranking(tmp_path: Path) -> None:
    """`top_ranked/`, as MTEB keeps it on the hub."""
    listed = {"query-id": "q1", "corpus-ids": ["d2", "d1"]}
    catalog = folder(tmp_path, more={"top_ranked/test.jsonl": json.dumps(listed)})
    assert [i.type for i in catalog.list() if i.origin == "folder"] == ["Reranking"]
    assert catalog.load("drinks").candidates == {"q1": ("d2", "d1")}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("corpus-00000-of-00002.jsonl", "corpus-00001-of-00002.jsonl"),
        ("corpus/corpus-00000-of-00002.jsonl", "corpus/corpus-00001-of-00002.jsonl"),
        ("corpus_9.jsonl", "corpus_10.jsonl"),
    ],
)
def test_a_corpus_in_numbered_parts_is_read_in_order(
    tmp_path: Path, first: str, second: str
) -> None:
    """Unless a part is missing, or is no part of the same file."""
    whole = folder(tmp_path / "whole").load("drinks")
    rows = CORPUS.splitlines(keepends=True)
    catalog = folder(tmp_path, more={first: "".join(rows[:3]), second: rows[3]})
    place = tmp_path / "mteb/retrieval/drinks"
    with refused("conflict", "corpus.jsonl.gz"):
        catalog.load("drinks")
    (place / "corpus.jsonl.gz").unlink()
    data = catalog.load("drinks")
    assert (data.hash, [*data.documents]) == (whole.hash, [*whole.documents])
    if "-of-" in first:
        (place / second).unlink()
        with refused("no-file", "one of 2 parts"):
            catalog.load("drinks")


def test_rows_that_do_not_fit_are_counted(tmp_path: Path) -> None:
    """A query given twice or unknown is left out; an unknown document counts as not found."""
    queries = QUERIES + '{"_id": "q1", "text": "How is tea made?"}\n'
    qrels = QRELS + "q9\td1\t1\nq1\td9\t1\n"
    data = folder(tmp_path, queries=queries, qrels=qrels).load("drinks")
    assert list(data.queries) == ["q1"]
    assert data.judgements == {"test": {"q1": {"d1": 2, "d2": 0, "d9": 1}}}
    for place in ("queries.jsonl, line 3", "qrels/test.tsv, line 4", "qrels/test.tsv, line 5"):
        assert any(place in note for note in data.notes), place


@pytest.mark.parametrize(
    ("part", "text", "code", "named"),
    [
        (
            "corpus",
            CORPUS + '{"_id": "d1", "text": "Other."}\n',
            "conflict",
            "corpus.jsonl.gz, line 5 gives the id 'd1'",
        ),
        ("corpus", '{"_id": "d1"}\n', "missing", "corpus.jsonl.gz, line 1 has no 'text'"),
        ("corpus", '{"text": "No id."}\n', "missing", "line 1 has no '_id'"),
        ("corpus", "[1]\n", "wrong-kind", "corpus.jsonl.gz holds a JSON list"),
        ("queries", '{"_id": " ", "text": "?"}\n', "missing", "queries.jsonl, line 1 has no '_id'"),
        ("qrels", QRELS + "q1\td1\t1\n", "conflict", "test.tsv, line 4"),
        ("qrels", QRELS + "q1\td1\thigh\n", "damaged", "line 4: the grade 'high'"),
        ("qrels", QRELS + "q1\td1\t0.5\n", "damaged", "line 4: the grade '0.5'"),
        ("qrels", QRELS + "q1\td1\n", "damaged", "line 4 has 2 cells"),
        ("qrels", "query-id\tcorpus-id\tscore\nx\ty\t1\n", "mismatch", "'x' of"),
        ("qrels", "query-id\tcorpus-id\tscore\nq1\ty\t1\n", "mismatch", "drinks"),
    ],
)
def test_bad_files_are_named_with_their_line(
    tmp_path: Path, part: str, text: str, code: str, named: str
) -> None:
    """What contradicts itself or cannot be read."""
    with refused(code, named):
        folder(tmp_path, **{part: text}).load("drinks")


def test_a_folder_that_lacks_a_file_is_listed_with_its_problem(tmp_path: Path) -> None:
    """It stands among what cannot be read, and the same sentence answers who loads it."""
    catalog = folder(tmp_path)
    (tmp_path / "mteb/retrieval/drinks/queries.jsonl").unlink()
    (info,) = catalog.unread()
    assert info.name == "drinks" not in catalog.names()
    with refused("no-file", "queries") as caught:
        catalog.load("drinks")
    assert caught.value.message in (info.problem or "")


TABLE = b"query,document,grade\nTea?,Brew it.,1\nTea?,Grind it.,0\nCoffee?,Grind it.,2\n"


def test_a_table_of_texts_is_a_retrieval_or_a_reranking() -> None:
    """Each distinct text gets an id; a reranking needs both kinds of documents for a query."""
    look = tables.preview(TABLE, "mine.csv")
    assert (look.kind, set(look.mapping.columns)) == ("retrieval", {"query", "document", "grade"})
    data = tables.read(TABLE, "mine.csv", look.mapping, "mine")
    assert asdict(data) == asdict(
        Retrieval(
            "mine",
            queries={"q1": "Tea?", "q2": "Coffee?"},
            documents={"d1": "Brew it.", "d2": "Grind it."},
            judgements={"test": {"q1": {"d1": 1, "d2": 0}, "q2": {"d2": 2}}},
        )
    )

    again = tables.read(TABLE, "mine.csv", replace(look.mapping, type="Reranking"), "mine")
    assert (again.queries, again.candidates) == (
        {"test_query0": "Tea?"},
        {"test_query0": ("apositive_test_query0_00000", "negative_test_query0_00000")},
    )
    assert "left out as MTEB does: 1 ('Coffee?')" in again.notes[0]


def test_a_table_without_grades_lists_what_answers() -> None:
    """Questions and their answers are a retrieval among all answers."""
    data = tables.read(
        b"ask,say\nTea?,Yes.\nMilk?,No.\n",
        "x.csv",
        tables.Mapping("retrieval", {"query": "ask", "document": "say"}),
    )
    assert data.judgements == {"test": {"q1": {"d1": 1}, "q2": {"d2": 1}}}


@pytest.mark.parametrize(
    ("row", "code", "named"),
    [("Tea?,Brew it.,0\n", "conflict", "'Brew it.'"), ("Tea?,Wait.,soon\n", "damaged", "soon")],
)
def test_bad_rows_of_a_table_are_named(row: str, code: str, named: str) -> None:
    with refused(code, "x.csv, line 5", named):
        tables.read(TABLE + row.encode(), "x.csv", tables.preview(TABLE, "x.csv").mapping)


@pytest.mark.data
def test_the_sets_of_the_data_folder_are_read_whole(real: Catalog) -> None:
    """Counts are those of their sources."""
    cranfield, question = map(real.load, ("cranfield", "trecqa"))
    judged = sum(map(len, cranfield.judgements["test"].values()))
    assert (len(cranfield.documents), len(cranfield.queries), judged) == (1400, 225, 1837)
    assert cranfield.notes == ("Empty documents, kept: 2 (471, 995).",)
    assert question.judgements.keys() == {"train", "dev", "test"}
    assert question.candidates.keys() == question.queries.keys()
