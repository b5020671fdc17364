"""Choosing on each kind of data, and with an encoder behind an endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.app.pages.choose.test_service import codes, costs, topics, written
from tests.engine.encoders.models import save_sentence_transformer
from tests.fakes.costs import keep
from tests.fakes.openai import DIM, FakeOpenAI, hang_up, saying
from theodolite.app.pages.choose import service, words
from theodolite.app.pages.choose.job import ChooseJob
from theodolite.app.workspace import Workspace
from theodolite.engine.endpoints import KEY
from theodolite.engine.errors import UserError

TWO = ["wordllama", "random:16"]
TEXTS = dict(topics(20))


@pytest.fixture
def ready(workspace: Workspace) -> Workspace:
    """With costs, so that no process is started to measure them."""
    costs(workspace)
    return workspace


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """An endpoint that is asked again at once."""
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr("theodolite.engine.endpoints.FIRST_WAIT", 0.0)
    with FakeOpenAI() as fake:
        yield fake


def beir(folder: Path, grades: str = "1") -> Path:
    """Queries, each of whose documents is itself without its first word."""
    (folder / "qrels").mkdir(parents=True)
    texts = list(enumerate(TEXTS))
    for name, rows in (
        ("corpus", [{"_id": f"d{i}", "text": text.partition(" ")[2]} for i, text in texts]),
        ("queries", [{"_id": f"q{i}", "text": text} for i, text in texts]),
    ):
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    judged = [f"q{i}\td{i}\t{grade}\n" for i, _ in texts for grade in grades]
    (folder / "qrels" / "test.tsv").write_text("".join(judged), encoding="utf-8")
    return folder


def couples() -> list[tuple[str, str]]:
    """Neighbours of one topic, then of two."""
    texts = list(TEXTS)
    return [*pairwise(texts), *zip(texts, texts[30:] + texts[:30], strict=True)]


def pairs_file(file: Path, heads: tuple[str, str, str], same: str, other: str) -> Path:
    """Pairs that are marked as of one topic or of two."""
    marked = [(a, b, same if TEXTS[a] == TEXTS[b] else other) for a, b in couples()]
    return written(file, marked, heads)


def test_a_folder_with_judgements(ready: Workspace, tmp_path: Path) -> None:
    """Queries are the examples, nDCG is the score."""
    sheet = service.choose(ready, beir(tmp_path / "found"), TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("retrieval", "ndcg_at_10", 80)
    assert sheet["best"]["score"] > 95 and "few_examples" in codes(sheet)
    assert any("on 80 queries (nDCG at 10;" in text for text in words.sentences(sheet))
    assert "80 queries" in service.plan(ready, ChooseJob.of(sheet["data"], TWO))[0]


def test_labelled_pairs(ready: Workspace, tmp_path: Path) -> None:
    """Measured by average precision, resampled by pairs."""
    file = pairs_file(tmp_path / "same.csv", ("left", "right", "label"), "1", "0")
    sheet = service.choose(ready, file, TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("labelled-pairs", "max_ap", 159)
    assert (
        sheet["best"]["encoder"] == "wordllama"
        and "on 159 pairs (Average precision, best similarity;" in (words.sentences(sheet)[0])
    )
    assert sheet["best"]["low"] < sheet["best"]["score"] < sheet["best"]["high"]


def test_scored_pairs(ready: Workspace, tmp_path: Path) -> None:
    """Measured by Spearman's correlation; equal pairs with other scores are said."""
    file = pairs_file(tmp_path / "near.csv", ("left", "right", "score"), "5", "1")
    file.write_text(file.read_text("utf-8") + f'"{couples()[0][0]}","{couples()[0][1]}",1\n')
    sheet = service.choose(ready, file, TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("pairs", "spearman", 160)
    assert sheet["best"]["encoder"] == "wordllama"
    assert words.differ(sheet).endswith(" 1: the pair's rank by cosine is its rank by score.")
    (warnings,) = [one["message"] for one in sheet["warnings"] if one["code"] == "duplicates"]
    assert warnings.endswith("1 text has different labels or scores.")


def test_parallel_sentences(ready: Workspace, tmp_path: Path) -> None:
    """The translation is what is to be found: here the same words in another order."""
    rows = [(text, " ".join(text.split()[::-1])) for text in TEXTS]
    sheet = service.choose(ready, written(tmp_path / "both.csv", rows, ("en", "de")), TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("parallel", "f1", 80)
    assert "same_answers" in codes(sheet) and "baseline_not_beaten" in codes(sheet)
    assert (
        words.headline(sheet) == "No encoder is better than random words on these 80 translations"
    )
    assert "no_labels" not in codes(sheet) and sheet["data"] in service.offered(ready)


def test_judgements_that_contradict_each_other(ready: Workspace, tmp_path: Path) -> None:
    """The same document right and wrong for one query: which line, and nothing is kept."""
    with pytest.raises(UserError, match=r"line 2 judges .* a second time"):
        service.choose(ready, beir(tmp_path / "odd", "10"), TWO)
    assert ready.store.uploads.list() == [] and ready.store.runs.list() == []


def test_an_endpoint_is_chosen_from_like_any_other(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """What will be sent is said before; each text is sent once, whatever is asked later."""
    spec = f"api:{server.url}#fake"
    keep(ready, spec, latency_ms=[20.0], dim=DIM)
    job = service.job_of(ready, written(tmp_path / "topics.csv", topics(20)), [*TWO, spec])
    (sent,) = service.sent(ready, job)
    assert sent.startswith("Sends up to 80 texts") and sent.endswith("2 requests.")
    sheet = service.sheet_of(ready, job)
    assert sorted(server.texts) == sorted([*TEXTS, "theodolite"])
    assert sheet["best"]["encoder"] == "wordllama" and "endpoint" in codes(sheet)
    row = next(row for row in sheet["encoders"] if row["encoder"] == spec)
    assert row["score"] is not None and (row["dim"], row["ms_per_sentence"]) == (DIM, 20.0)
    requests_before = len(server.requests)
    assert list(service.sent(ready, job)) == []
    service.choose(ready, sheet["data"], [*TWO, spec], max_bytes=64)
    assert len(server.requests) == requests_before


def test_settings_that_the_files_of_a_model_deny(ready: Workspace, tmp_path: Path) -> None:
    """Its prompts, of which none is asked for: said, with the encoder's name."""
    folder = save_sentence_transformer(tmp_path / "model", prompts={"query": "the cat "})
    keep(ready, f"dir:{folder}", latency_ms=[5.0])
    file = written(tmp_path / "topics.csv", topics(10))
    sheet = service.choose(ready, file, [*TWO, f"dir:{folder}"])
    (warnings,) = [one for one in sheet["warnings"] if one["code"] == "settings_contradicted"]
    assert (
        warnings["message"].startswith(f"dir:{folder}: ") and "has prompts" in warnings["message"]
    )


def test_an_endpoint_vanishes_in_the_middle(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """The others are chosen from; what it gave is kept, and only the rest is sent another time."""
    spec = f"api:{server.url}#fake?batch=30"
    keep(ready, spec, latency_ms=[20.0], dim=DIM)
    usual = saying(lambda _: None)
    server.next = [usual, usual, *[hang_up] * 40]
    file = written(tmp_path / "topics.csv", topics(20))
    sheet = service.choose(ready, file, [*TWO, spec])
    assert sheet["best"]["encoder"] == "wordllama"
    (warnings,) = [one["message"] for one in sheet["warnings"] if one["code"] == "encoder_failed"]
    assert warnings.startswith(spec) and "30 of 80 texts came before, and are kept" in warnings
    server.next.clear()
    server.requests.clear()
    again = service.choose(ready, file, [*TWO, spec])
    assert "encoder_failed" not in codes(again) and len(server.texts) == 50


def test_without_labels_a_vanished_endpoint_is_said_too(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """It is left out of what is compared, and asked no more."""
    spec = f"api:{server.url}#fake?batch=30"
    keep(ready, spec, latency_ms=[20.0], dim=DIM)
    server.next = [saying(lambda _: None), saying(lambda _: None), *[hang_up] * 40]
    file = tmp_path / "plain.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    sheet = service.choose(ready, file, [*TWO, spec])
    assert codes(sheet) == {"no_labels", "encoder_failed", "endpoint"}
    assert {row["a"] for row in sheet["agreement"]} == {"wordllama"}
    assert words.headline(sheet) == "Undecided: the data has no labels"
    server.next.clear()
    assert codes(service.choose(ready, file, [*TWO, spec])) == {"no_labels", "endpoint"}


def sheet_of(**other: object) -> service.Sheet:
    """As little of a sheet as its words need."""
    row = {
        "encoder": "a",
        "score": 80.0,
        "low": 75.0,
        "high": 85.0,
        "ms_per_sentence": 4.0,
        "bytes_per_vector": 1536.0,
        "dim": 384,
        "dtype": "float32",
        "per_second_64": None,
        "licence": None,
        "error": None,
        "outside": "",
        "spec": "a",
        "timed_disturbed": False,
    }
    quick = row | {
        "encoder": "b",
        "spec": "b",
        "score": 79.5,
        "ms_per_sentence": 0.1,
        "dim": 256,
        "bytes_per_vector": 256.0,
    }
    none = {"delta": 0.0, "low": 0.0, "high": 0.0}
    return {
        "kind": "labels",
        "metric": "accuracy",
        "n": 300,
        "best": row,
        "ties": [quick],
        "cheapest": quick | {"dtype": "int8", "spec": "b | quantise:int8,mine", "behind": none},
        "limits": {"margin": 2.0},
        "nothing_cheaper": None,
        "encoders": [quick, row],
        "highest": None,
        "optimism": 0.0,
        "more_examples": [],
        "front": ["b", "a"],
        "against_baseline": None,
        "baseline": "random:256",
        "warnings": [],
        "agreement": [],
    } | other


def test_a_tie_leads_to_the_cheapest() -> None:
    """What to take is said first, then by how much it is cheaper."""
    sheet = sheet_of()
    assert words.headline(sheet) == "a ties with b: take b"
    (sentences,) = [text for text in words.sentences(sheet) if text.startswith("b with")]
    assert sentences == (
        "b with int8 vectors of 256 dimensions scores the same as a, is 40 times faster and at 1/6 "
        "of the size."
    )
    assert "Its spec is b | quantise:int8,mine" in words.sentences(sheet)


def test_times_of_a_busy_machine_are_in_no_ratio() -> None:
    """Neither in what to take nor above the chart; the size still counts."""
    quick, best = sheet_of()["encoders"]
    assert "a takes 40 times as long as b" in words.front(sheet_of())
    sheet = sheet_of(encoders=[quick, best | {"timed_disturbed": True}])
    assert words.front(sheet).startswith("a takes longer (the machine was too busy to tell")
    (sentence,) = [text for text in words.sentences(sheet) if text.startswith("b with")]
    assert "times faster" not in sentence and "1/6 of the size" in sentence


def test_smaller_vectors_of_the_best_are_compared_with_its_own() -> None:
    """By how much they are smaller, and what is shown of them."""
    behind = {"delta": -0.5, "low": -1.25, "high": 0.25}
    cheap = sheet_of()["best"] | {"dtype": "int8", "bytes_per_vector": 384.0, "spec": "a | x"}
    sheet = sheet_of(ties=[], cheapest=cheap | {"behind": behind}, limits={"margin": 1.5})
    assert words.headline(sheet) == "a is best"
    assert (
        "a with int8 vectors of 384 dimensions is shown to lose less than 1.5 points against its "
        "full vectors, at a quarter of the size. It scores 0.50 points less (95 % interval of the "
        "difference −1.25 to +0.25)."
    ) in words.sentences(sheet)


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (400, "2 points. With about 400 more examples like these, b would be, with 80 % probabil"),
        (None, "Nothing cheaper is shown to lose less than 2 points."),
    ],
)
def test_what_is_not_shown_is_not_recommended(n: int | None, said: str) -> None:
    """But what more examples would show."""
    more = {"encoder": "b", "spec": "b", "n": n, "power": 0.8}
    none = {"delta": 0.0, "low": 0.0, "high": 0.0}
    sheet = sheet_of(cheapest=sheet_of()["best"] | {"behind": none}, nothing_cheaper=more)
    assert words.headline(sheet) == "a ties with b: take a"
    assert any(said in text for text in words.sentences(sheet))
    assert [row[0] for row in words.table(sheet)[1]] == ["a", "b"]


def test_the_picture_has_a_finding() -> None:
    """Who scores how much more and what that takes; nothing of a single encoder."""
    assert (
        words.front(sheet_of()) == "a takes 40 times as long as b and is not significantly better"
    )
    expected = "a scores 0.50 points more than b and takes 40 times as long"
    assert words.front(sheet_of(ties=[])) == expected
    rows = [sheet_of()["best"] | {"encoder": "random:256", "ms_per_sentence": 0.01, "score": 9.0}]
    rows += sheet_of()["encoders"]
    assert words.front(sheet_of(ties=[], encoders=rows, front=["random:256", "b", "a"])) == expected
    assert words.front(sheet_of(front=["b"])) == "b scores highest and is fastest"
    assert words.front(sheet_of(encoders=[], front=[])) == ""


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        ((0.0, 0.0, 0.0), "scores the same as a"),
        ((0.001, -1.0, 2.0), "the same on average (95 % interval of the difference −1.00 to"),
        ((-2.5, -9.0, 5.0), "2.50 points less (95 % interval of the difference −9.00 to +5.00)"),
        ((0.25, -3.0, 4.0), "0.25 points more (95 % interval"),
    ],
)
def test_differences_in_words(behind: tuple[float, float, float], said: str) -> None:
    """None is said to be none."""
    found = dict(zip(("delta", "low", "high"), behind, strict=True))
    cheap = sheet_of()["cheapest"] | {"behind": found}
    assert any(said in text for text in words.sentences(sheet_of(cheapest=cheap)))


def test_chance_of_more_examples_in_words() -> None:
    """How many, or that they would not help; nothing of a handful."""
    pair = {"a": "a", "b": "b"}
    more = [pair | {"n": 1200, "power": 0.8}, pair | {"n": None, "power": 0.48}]
    handful = words.sentences(sheet_of(more_examples=[pair | {"n": None, "power": 0.81}]))
    assert not any("more examples" in text or "as many" in text for text in handful)
    expected = " ".join(words.sentences(sheet_of(more_examples=more)))
    assert (
        "About 1,200 more examples like these would tell a and b apart with 80 % probability."
        in expected
    )
    assert (
        "Even 20 times as many examples" in expected and "only with 48 % probability." in expected
    )


def test_without_labels_the_encoders_are_told_apart_by_neighbours_and_cost() -> None:
    """The least and the most alike, without the baseline; then who is fastest and smallest."""
    pairs = [("a", "b", 0.25), ("a", "c", 0.5), ("a", "random:256", 0.1)]
    alike = [{"a": a, "b": b, "k": 10, "shared": shared} for a, b, shared in pairs]
    sheet = sheet_of(best=None, cheapest=None, agreement=alike)
    assert "Score" not in words.table(sheet)[0]
    assert words.sentences(sheet) == [
        "Two encoders share from 25 % (a and b) to 50 % (a and c) of a sentence's 10 nearest "
        "neighbours: the choice matters.",
        "Fastest: b, 0.1 ms per sentence. Smallest vectors: b, 256 bytes.",
    ]
    one = sheet_of(best=None, agreement=[alike[0] | {"shared": 0.9}], encoders=[])
    (sentences,) = words.sentences(one)
    assert sentences.endswith("they see the data much alike.")


def test_rare_labels_have_a_ceiling(ready: Workspace, tmp_path: Path) -> None:
    """Two sentences of a label cannot be ten nearest neighbours of one another."""
    rows = [(text, f"label {i // 2}") for i, (text, _) in enumerate(topics(10))]
    sheet = service.choose(ready, written(tmp_path / "rare.csv", rows), TWO)
    assert (sheet["metric"], sheet["highest"]) == ("precision_at_10", pytest.approx(10.0))
    assert any(
        text.startswith("10.00 is the highest possible score") for text in words.sentences(sheet)
    )


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("no_labels", "the data has no labels"),
        ("encoder_failed", "no encoder could be evaluated"),
        ("no_encoder_within_limits", "no encoder is within the limits"),
        ("", "nothing was scored"),
    ],
)
def test_an_open_sheet_says_why(code: str, why: str) -> None:
    """In its first line."""
    sheet = sheet_of(best=None, warnings=[{"code": code, "message": ""}] if code else [])
    assert words.headline(sheet) == f"Undecided: {why}"


def test_the_table_names_the_front_the_baseline_and_the_cheapest() -> None:
    """The smallest form is a row of its own where it is not one of the encoders as they are."""
    cheap = sheet_of()["cheapest"] | {"dim": 128, "spec": "b | dims:128,first"}
    _, rows = words.table(sheet_of(cheapest=cheap, baseline="a", front=["b"]))
    assert [(row[0], row[5], row[-1]) for row in rows] == [
        ("a", "384", "baseline"),
        ("b", "256", "Pareto front"),
        ("b", "128 int8", "cheapest within 2 points"),
    ]


def test_where_nothing_beats_random_words_nothing_is_recommended() -> None:
    """No smaller form, and no number of examples that would end a tie with noise."""
    more = [{"a": "a", "b": "b", "n": 1200, "power": 0.8}]
    over = {"score": 79.0, "delta": 1.0, "low": -1.0, "high": 3.0, "beaten": False}
    sheet = sheet_of(against_baseline=over, more_examples=more)
    assert words.headline(sheet) == "No encoder is better than random words on these 300 examples"
    expected = " ".join(words.sentences(sheet))
    assert "smaller" not in expected and "more examples" not in expected
    assert [row[0] for row in words.table(sheet)[1]] == ["a", "b"]
