"""Queries made from documents by rule."""

import pytest

from tests.errors import refused
from theodolite.engine import evaluate, load
from theodolite.engine.datasets import Catalog, Retrieval, Sentences, by_rule
from theodolite.engine.tasks import get

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
def test_what_no_queries_can_be_made_of(data, code, said) -> None:  # type: ignore[no-untyped-def]
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
def test_copies_collisions_and_scripts_without_spaces_are_told(pages, said) -> None:  # type: ignore[no-untyped-def]
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
