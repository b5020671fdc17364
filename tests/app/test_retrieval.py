"""Search by meaning, example, words and pattern, among all or some, exact or by lists."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from app.collection import indexes, retrieval
from app.collection.retrieval import Limits
from app.pages import search_columns
from app.pages.search_columns import Question
from app.workspace import Workspace
from engine import index_ladder
from engine.errors import UserError

A, TOPICS = "random:48", "starter-topics"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """An empty store and the starter set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        made = Workspace(tmp_path_factory.mktemp("search") / "store")
    yield made
    made.close()


def unit(workspace: Workspace, texts: list[str]) -> np.ndarray:
    """Rows of length 1, in float64."""
    rows = workspace.load(A).encode(texts).astype(float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_words_are_found_wherever_they_stand(workspace: Workspace) -> None:
    """As Python's `in` finds them, whatever the case; the number found is that of all."""
    sentences, _ = workspace.catalog.sentences(TOPICS)
    expected = [i for i, s in enumerate(sentences) if "the bo" in s.lower()]
    hits, total = retrieval.containing(workspace, TOPICS, "The BO", Limits(3))
    assert total == len(expected)
    assert [hit.index for hit in hits] == expected[:3]
    for hit in hits:
        start, end = hit.span or (0, 0)
        assert hit.sentence[start:end].lower() == "the bo"


def test_a_pattern_among_some(workspace: Workspace) -> None:
    """Only the chosen positions are looked at."""
    hits, total = retrieval.matching(workspace, TOPICS, r"^The \w+", Limits(5, among=np.arange(99)))
    sentences, _ = workspace.catalog.sentences(TOPICS)
    expected = [i for i in range(99) if sentences[i].startswith("The ")]
    assert total == len(expected)
    assert [hit.index for hit in hits] == expected[:5]


def test_the_least_cosine_and_the_chosen_positions(workspace: Workspace) -> None:
    """By plain NumPy."""
    sentences, _ = workspace.catalog.sentences(TOPICS)
    among = np.arange(0, len(sentences), 3)
    query = "rain tomorrow"
    cosines = unit(workspace, sentences)[among] @ unit(workspace, [query])[0]
    least = float(np.sort(cosines)[-4]) - 1e-6
    (hits,) = retrieval.nearest(workspace, A, TOPICS, [query], Limits(50, least, among))
    assert [hit.index for hit in hits] == among[np.argsort(-cosines, kind="stable")[:4]].tolist()


def test_by_example_is_rocchio(workspace: Workspace) -> None:
    """Mean of the like less half the mean of the unlike, without the examples themselves."""
    sentences, _ = workspace.catalog.sentences(TOPICS)
    like, unlike = sentences[:2], sentences[500:503]
    query = unit(workspace, like).mean(0) - 0.5 * unit(workspace, unlike).mean(0)
    order = np.argsort(-(unit(workspace, sentences) @ query), kind="stable").tolist()
    expected = [i for i in order if i not in (0, 1, 500, 501, 502)][:7]
    found = retrieval.alike(workspace, A, TOPICS, like, unlike, 7)
    assert [hit.index for hit in found] == expected
    with pytest.raises(UserError, match="no example"):
        retrieval.alike(workspace, A, TOPICS, [" "], unlike, 7)


def test_properties_are_labels_splits_and_parts(workspace: Workspace) -> None:
    """Every sentence with a label is under it."""
    data = workspace.catalog.load(TOPICS)
    held = retrieval.properties(workspace, TOPICS)
    label = data.labels[7]  # type: ignore[union-attr]
    expected = {s for s, own in zip(data.sentences, data.labels, strict=True) if own == label}  # type: ignore[union-attr]
    sentences, _ = workspace.catalog.sentences(TOPICS)
    assert {sentences[i] for i in held["label"][label]} == expected
    assert f"label: {label}" in search_columns.offered(workspace, TOPICS)


def asked(**other: object) -> Question:
    """A question on the starter topics."""
    usual = {"text": "rain", "collection": TOPICS, "mode": "meaning", "k": 5, "least": None,
             "only": (), "unlike": "", "encoders": (A,)}  # fmt: skip
    return Question(**(usual | other))  # type: ignore[arg-type]


def test_what_no_sentence_has_is_said(workspace: Workspace) -> None:
    """A label of an old link, or a filter sent by hand."""
    question = asked(only=("label: no such",))
    with pytest.raises(UserError, match="no such"):
        list(search_columns.answer(workspace, question, start=False))


def test_a_pattern_that_hangs_is_an_error_of_the_page(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its time, and in words."""
    monkeypatch.setattr("engine.search.regex.SECONDS", 0.3)
    with pytest.raises(UserError, match="stopped"):
        list(
            search_columns.answer(workspace, asked(mode="pattern", text=r"(.*.*.*)*~"), start=False)
        )


def test_a_large_collection_is_searched_by_lists(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a run made is opened, its recall is told, and its hits are nearly the exact ones."""
    (exact,) = retrieval.nearest(workspace, A, TOPICS, ["a boat on the river"], 10)
    monkeypatch.setattr(index_ladder, "EXACT_BELOW", 1000)
    monkeypatch.setattr(retrieval, "_indexes", type(retrieval._indexes)())
    spec = indexes.spec(A, TOPICS)
    for _ in range(2):
        for position, _label in enumerate(indexes.units(spec)):
            indexes.work(workspace, spec, position, lambda done, of: None)
    (hits,) = retrieval.nearest(workspace, A, TOPICS, ["a boat on the river"], 10)
    assert len({h.index for h in hits} & {h.index for h in exact}) >= 8
    *_, (_, html, _, _) = search_columns.answer(workspace, asked(), start=False)
    assert "By lists" in html
    assert len(list(workspace.store.derived.list("index"))) == 1
    assert not list(workspace.store.folder.glob("index-*"))
