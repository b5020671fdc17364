"""Search by meaning, example, words and pattern, among all or some, exact or by lists."""

import json
import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.command_line import theodolite
from tests.fakes.uploads import collection
from tests.fakes.workers import do_units
from theodolite.app.blocks import Filters, Link
from theodolite.app.pages.search import page, service as retrieval
from theodolite.app.pages.search.answer import SearchAnswer, SearchSpec, answer
from theodolite.app.recent import Recent
from theodolite.app.surfaces import document, web
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.search import ann_index

A, TOPICS = "random:48", "starter-topics"


@pytest.fixture(scope="module")
def workspace(starter: Workspace) -> Workspace:
    """For all tests of this module."""
    return starter


def unit(workspace: Workspace, texts: list[str], encoder: str = A) -> np.ndarray:
    """Rows of length 1, in float64."""
    rows = workspace.load(encoder).encode(texts).astype(float)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def in_words(workspace: Workspace, name: str, query: str) -> list[tuple[str, list[str]]]:
    """The sentences found by words, each with what is marked in it."""
    hits = last(workspace, queries=[query], data=name, by="words", k=99).hits["words"][0]
    return [(h.sentence, [h.sentence[a:b] for a, b in h.spans]) for h in hits]


def test_words_are_whole_and_in_any_order(workspace: Workspace, tmp_path: Path) -> None:
    """Quotes make a phrase; scripts without spaces have no borders to words."""
    texts = ["The ship's hip", "A ship sails", "A hip sailor", "sails of a  SHIP", "C++, 日本語"]
    own = collection(workspace, tmp_path, "own-words", texts)
    assert [s for s, _ in in_words(workspace, own, "hip")] == [texts[0], texts[2]]
    assert in_words(workspace, own, "ship sails") == [
        (texts[1], ["ship", "sails"]),
        (texts[3], ["sails", "SHIP"]),
    ]
    assert [s for s, _ in in_words(workspace, own, 'sails "a ship"')] == texts[1:4:2]
    assert in_words(workspace, own, "c++ 本") == [(texts[4], ["C++", "本"])]
    assert in_words(workspace, own, "sail") == []
    with pytest.raises(UserError):
        in_words(workspace, own, ' "" ')


@pytest.mark.parametrize("only", ["label: cooking", "label:cooking"])
def test_a_filter_needs_no_space(workspace: Workspace, only: str) -> None:
    """As it is typed in a terminal; another value is refused with those there are."""
    among = retrieval.among(workspace, TOPICS, [only])
    assert among is not None and 0 < len(among) < len(workspace.catalog.sentences(TOPICS)[0])
    with refused("unknown", "label: cooking"):
        retrieval.among(workspace, TOPICS, ["label: none"])
    with refused("unknown", "upload:gone"):
        last(workspace, data="upload:gone", encoders=[A, "random:64"])


def test_a_pattern_among_some(workspace: Workspace) -> None:
    """Only the sentences that pass the filter are looked at."""
    data = workspace.catalog.load(TOPICS)
    whole = last(workspace, queries=[r"^The \w+"], by="pattern", only=["label: cooking"], k=99)
    expected = [
        text
        for text, label in zip(data.sentences, data.labels, strict=True)
        if label == "cooking" and text.startswith("The ")
    ]
    assert [hit.sentence for hit in whole.hits["pattern"][0]] == expected


def test_the_least_cosine_and_the_chosen_positions(workspace: Workspace) -> None:
    """By plain NumPy."""
    sentences = topics(workspace)
    among = np.arange(0, len(sentences), 3)
    query = "rain tomorrow"
    cosines = unit(workspace, sentences)[among] @ unit(workspace, [query])[0]
    least = float(np.sort(cosines)[-4]) - 1e-6
    (hits,) = retrieval.nearest(workspace, A, TOPICS, [query], retrieval.Limits(50, least, among))
    assert [hit.index for hit in hits] == among[np.argsort(-cosines, kind="stable")[:4]].tolist()


def test_by_example_is_rocchio(workspace: Workspace) -> None:
    """Mean of the like less half the mean of the unlike, without the examples themselves."""
    sentences = topics(workspace)
    like, unlike = sentences[:2], sentences[500:503]
    query = unit(workspace, like).mean(0) - 0.5 * unit(workspace, unlike).mean(0)
    order = np.argsort(-(unit(workspace, sentences) @ query), kind="stable").tolist()
    expected = [i for i in order if i not in (0, 1, 500, 501, 502)][:7]
    opened = retrieval.open_collection(workspace, A, TOPICS)
    assert [hit.index for hit in opened.alike(like, unlike, retrieval.Limits(7))] == expected
    with refused("missing"):
        opened.alike([" "], unlike, retrieval.Limits(7))


def last(workspace: Workspace, *, start: bool = False, **other) -> SearchAnswer:
    """The whole answer on the starter topics; what has to be encoded is left, or queued."""
    usual = {"queries": ["rain"], "data": TOPICS, "k": 5, "encoders": [A]}

    def do(job) -> bool:
        return bool(start and retrieval.start(workspace, job))

    *_, whole = answer(workspace, SearchSpec(**(usual | other)), do)
    return whole


@pytest.fixture
def large(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The starter topics count as a large collection, and nobody has searched it yet."""
    monkeypatch.setattr(ann_index, "EXACT_BELOW", 1000)
    monkeypatch.setattr(retrieval, "_exact", Recent(9))
    monkeypatch.setattr(retrieval, "_mapped", Recent(9))
    monkeypatch.setattr(retrieval, "_searches", Counter())
    return workspace


def shown(workspace: Workspace, *, start: bool = False, **other) -> str:
    """The columns as they stand in the end."""
    (piece,) = json.loads(web.value(last(workspace, start=start, **other).blocks()))
    return str(piece["props"]["value"])


def runs_of(workspace: Workspace, encoder: str) -> list[str]:
    """The kinds of runs that are about an encoder."""
    runs = workspace.store.runs.list()
    return [run["kind"] for run in runs if run["spec"].get("encoder") == encoder]


def test_a_large_collection_is_searched_by_lists(large: Workspace) -> None:
    """What a run made is opened, and its hits are nearly the exact ones."""

    def hits() -> set[int]:
        (found,) = retrieval.nearest(
            large, A, TOPICS, ["a boat on the river"], retrieval.Limits(10)
        )
        return {hit.index for hit in found}

    exact = hits()
    for _ in range(2):
        do_units(large, retrieval.IndexJob(A, TOPICS))
    assert len(hits() & exact) >= 8 and retrieval.so_far(large, A, TOPICS).built
    (made,) = large.store.derived.list("index")
    assert list(made["files"]) == ["lists"], "the vectors are in the cache already"
    assert not list(large.store.folder.glob("index-*"))


def test_the_first_search_of_a_large_collection_waits_for_no_index(large: Workspace) -> None:
    """Exact as soon as the vectors are there, as plain NumPy has it; a second asks no model."""
    name, query, steps = "random:40", "a boat on the river", []
    sentences = topics(large)
    for _ in range(2):
        step = lambda *at: steps.append(at)  # noqa: E731
        (hits,) = retrieval.nearest(large, name, TOPICS, [query], retrieval.Limits(5), step)
        assert steps[-1] == (2040, 2040)
        assert retrieval.so_far(large, name, TOPICS).built is None
    cosines = unit(large, sentences, name) @ unit(large, [query], name)[0]
    assert [hit.index for hit in hits] == np.argsort(-cosines, kind="stable")[:5].tolist()
    assert steps.count((1024, 2040)) == 1, "encoded once"


def test_an_index_is_made_behind_a_large_collection_that_is_asked_often(large: Workspace) -> None:
    """By a run, while every search is answered exactly; a page that looks again does not count."""
    name = "random:41"
    large.load(name).encode(topics(large))
    for n in range(5):
        assert '"index":' in shown(large, encoders=(name,))
        if n > 1:
            retrieval.count_search(large, name, TOPICS)
        assert runs_of(large, name) == (["index"] if n > 3 else [])
    retrieval.count_search(large, name, TOPICS)
    assert runs_of(large, name) == ["index"]


def test_a_command_makes_an_index_when_asked_to(large: Workspace) -> None:
    """And not before; what it prints is searched by it."""
    name, folder = "random:49", str(large.store.folder)
    for options, made in (([], False), (["--index"], True), ([], True)):
        theodolite("search", "a boat", "--in", TOPICS, "-e", name, "--store", folder, *options)
        assert bool(retrieval.so_far(large, name, TOPICS).built) is made


@pytest.mark.parametrize("spec", ["random:42", "random:43 | normalise", "random:44 + random:45"])
def test_the_best_so_far_is_shown_while_a_collection_is_encoded(
    workspace: Workspace, spec: str
) -> None:
    """Hits among what the cache has, and the run that brings the rest."""
    sentences, encoder = topics(workspace), workspace.load(spec)
    encoder.encode(sentences[:700])
    html = shown(workspace, start=True, encoders=(spec,), queries=[sentences[650]])
    assert '"index":650,' in html and "700 sentences so far" in html
    assert max(int(n) for n in re.findall(r'"index":(\d+)', html)) < 700
    assert runs_of(workspace, spec) == ["encode"]
    encoder.encode(sentences)
    html = shown(workspace, encoders=(spec,), queries=[sentences[2000]])
    assert '"index":2000,' in html and "so far" not in html


def test_what_is_fitted_on_the_collection_waits_until_all_is_encoded(workspace: Workspace) -> None:
    """A page must not encode it to fit a step; then it is fitted once, not for every query."""
    spec, sentences = "random:46 | whiten:@task,8", topics(workspace)
    workspace.load("random:46").encode(sentences[:700])
    html = shown(workspace, encoders=(spec,))
    assert "1,340 sentences" in html and '"index"' not in html
    workspace.load("random:46").encode(sentences)
    assert '"index":7,' in shown(workspace, encoders=(spec,), queries=[sentences[7]])
    opened = [retrieval.so_far(workspace, spec, TOPICS) for _ in range(2)]
    assert opened[0].encoder is opened[1].encoder and opened[0].missing == 0


def test_what_is_too_large_for_memory_waits_for_its_index(
    large: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page queues it, a command makes it before it answers."""
    monkeypatch.setattr(retrieval, "IN_MEMORY", 1000)
    name = "random:47"
    large.load(name).encode(topics(large))
    assert '"index"' not in shown(large, start=True, encoders=(name,))
    assert runs_of(large, name) == ["index"]
    (hits,) = retrieval.nearest(
        large, name, TOPICS, ["a boat"], retrieval.Limits(5), lambda done, of: None
    )
    assert len(hits) == 5 and retrieval.so_far(large, name, TOPICS).built


def topics(workspace: Workspace) -> list[str]:
    """Those of the starter topics."""
    return workspace.catalog.sentences(TOPICS)[0]


def test_hits_have_their_labels_and_filters_can_be_removed(workspace: Workspace) -> None:
    """One link for each filter, to the same search without it."""
    data = workspace.catalog.load(TOPICS)
    label = dict(zip(data.sentences, data.labels, strict=True))
    only = ["label: cooking", "label: sea"]
    workspace.load(A).encode(topics(workspace))
    whole = last(workspace, only=only, k=3)
    assert [hit.label for hit in whole.hits[A][0]] == [label[h.sentence] for h in whole.hits[A][0]]
    chips = next(block for block in whole.blocks() if isinstance(block, Filters))
    assert [link.label for link in chips.links] == only
    assert chips.links[0].query == {"q": ("rain",), "k": "3", "only": (only[1],), "encoder": (A,)}
    html = document.pieces([Filters([Link("<b>", "search", {"q": '"'})])])[0]
    assert "<b>" not in str(html).replace("<b>×</b>", "") and "q=%22" in str(html)


def test_only_searches_of_whole_collections_call_for_an_index(large: Workspace) -> None:
    """Neither an encoder that fails nor one whose run is under way; the page shows no error."""
    whole, part = "random:51", "random:50"
    large.load(whole).encode(topics(large))
    values = {one.name: one.default for one in page.CONTROLS}
    asked_for = SimpleNamespace(**values | {"encoders": [whole, part, "dir:/no/such"]})
    asking, tab = page._Asking(large, "hits", "timer", "seen"), SimpleNamespace(session_hash="tab")
    for _ in range(3):
        assert list(asking.search(asked_for, tab))
    assert runs_of(large, whole) == ["index"] and runs_of(large, part) == ["encode"]
    opening = asking.reopen(asked_for, tab)
    assert next(opening)
    assert next(asking.search(asked_for, tab))
    assert list(opening) == []  # it would come after the answer to what was asked since
