"""A file in, a decision sheet out, in words; and from there to an improvement."""

import csv
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import numpy as np
import pytest
from scipy.stats import ttest_rel

import theodolite as th
from tests.app.report.test_report import unpacked
from tests.engine.encoders.models import WORDS, save_sentence_transformer
from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.openai import DIM, FakeOpenAI, hang_up, saying
from tests.fakes.stores import put_cost
from tests.fakes.uploads import beir
from theodolite.app.blocks import Links
from theodolite.app.pages.choose import data, improve
from theodolite.app.pages.choose.answer import (
    CHOOSE,
    UNDECIDED,
    Decision,
    headline,
    job_of,
    plan,
    prepare,
    sentences,
)
from theodolite.app.pages.choose.candidates import ChooseSpec
from theodolite.app.pages.choose.sheet import ChooseJob, Sheet
from theodolite.app.pages.layout import _Asking
from theodolite.app.report.markdown import of_blocks
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.starter import FOLDER
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import evaluate
from theodolite.engine.stats.bootstrap import Sample

TWO = ["wordllama", "random:16"]
ASKED = ChooseSpec("starter-topics", TWO)
TOPICS = ("cooking", "sea", "law", "music")


@pytest.fixture
def ready(workspace: Workspace) -> Workspace:
    """Encoders have costs, so that no process is started to measure them."""
    milliseconds = {"wordllama": 2.0, "random:16": 0.5, "random:64": 1.0, "random:256": 1.0}
    for name, ms in milliseconds.items():
        put_cost(workspace, name, latency_ms=[ms], dim=256 if name == "wordllama" else 16)
    return workspace


def written(file: Path, rows: list[list[str]], head: Sequence[str] = ("text", "label")) -> Path:
    """A CSV."""
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([head, *rows])
    return file


def topics(each: int) -> list[tuple[str, str]]:
    """Sentences of the starter set with their topics."""
    texts = {name: (FOLDER / "topics" / f"{name}.txt").read_text("utf-8") for name in TOPICS}
    return [
        (line, name)
        for name, text in texts.items()
        for line in [line for line in text.splitlines() if line.strip()][-each:]
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Sentences of four topics, forty of each."""
    return written(tmp_path / "topics.csv", topics(40))


def chosen(workspace: Workspace, given: Path | str, encoders: list[str], **limits):
    """The sheet of a file."""
    return th.choose(given, encoders, workspace=workspace, **limits).sheet


def scored(workspace: Workspace, spec: str, task: str) -> float:
    """The main score of an encoder."""
    (result,) = evaluate(workspace.load(spec), [task], protocol="starter-3", data=workspace.catalog)
    return next(score.score for score in result.scores if score.main)


def codes(sheet) -> set[str]:
    """Of its warnings."""
    return {one["code"] for one in sheet["warnings"]}


def warning(sheet, code: str) -> str:
    """The one with a code."""
    (message,) = [one["message"] for one in sheet["warnings"] if one["code"] == code]
    return str(message)


def test_who_knows_words_beats_who_does_not(ready: Workspace, file: Path) -> None:
    """On topics wordllama is best alone."""
    sheet = th.choose(file, TWO, workspace=ready)
    assert sheet["best"]["encoder"] == sheet["cheapest"]["encoder"] == "wordllama"
    assert sheet["ties"] == [] and sheet["more_examples"] == [] and codes(sheet) == set()
    assert sheet["against_baseline"]["beaten"] and sheet["front"] == ["random:16", "wordllama"]
    assert len(sheet["differ"]["examples"]) > 5


def test_a_page_opened_again_follows_the_run_that_is_under_way(ready: Workspace) -> None:
    """Also if it was reloaded before the run was queued, so that its address does not name it."""
    page = _Asking(ready, CHOOSE, lambda values: ChooseSpec("starter-pairs", TWO))
    run = page.make(SimpleNamespace())
    *_, shown = page.show(SimpleNamespace(), None)
    assert shown["run"] == run
    ready.store.runs.cancel(run)
    *_, shown = page.show(SimpleNamespace(), None)
    assert shown["run"] == gr.skip()


@pytest.mark.usefixtures("int8_products")
def test_a_transformer_is_offered_in_int8(ready: Workspace, tmp_path: Path) -> None:
    """Where it is as good and quicker; it stands in no ranking of those that were asked for."""
    file = written(tmp_path / "t.csv", topics(12))
    for ms, taken, margin in ((4.0, "minilm?dtype=int8", 40), (9.0, "minilm", 41)):
        for name, took in (("minilm", 8.0), ("minilm?dtype=int8", ms)):
            put_cost(ready, name, latency_ms=[took], dim=384)
        sheet = chosen(ready, file, ["minilm"], margin=margin)
        assert sheet["best"]["encoder"] == "minilm" and sheet["ties"] == []
        assert sheet["cheapest"]["encoder"] == taken
        assert sheet["cheapest"]["ms_per_sentence"] == min(ms, 8.0)
        assert [row["encoder"] for row in sheet["encoders"]] == ["minilm", "random:256"]
        assert f"{taken} with" in " ".join(sentences(sheet))


def test_ties_and_what_would_end_them(ready: Workspace, tmp_path: Path) -> None:
    """Labels that the texts do not say: random words of two sizes tie, nobody beats them."""
    rows = [(line, "xy"[i % 2]) for i, (line, _) in enumerate(topics(12))]
    two = ["random:64", "random:16"]
    sheet = chosen(ready, written(tmp_path / "few.csv", rows), two)
    (more,) = sheet["more_examples"]
    assert len(sheet["ties"]) == 1 and sorted((more["a"], more["b"])) == sorted(two)
    assert more["n"] is None or more["n"] > 0
    assert any(one["message"].startswith("No encoder is") for one in sheet["warnings"])
    assert {"few_examples", "baseline_not_beaten"} <= codes(sheet)


def test_without_labels_there_is_no_best_but_a_sheet(ready: Workspace, tmp_path: Path) -> None:
    """What can be said: agreement of neighbours, duplicates, cost; and the way leads to judging."""
    rows = [(line,) for line, _ in topics(10)]
    file = written(tmp_path / "plain.csv", [*rows, rows[0]], ("text",))
    decision = th.choose(file, TWO, workspace=ready)
    sheet = decision.sheet
    (judge,) = (
        link for block in decision.blocks() if isinstance(block, Links) for link in block.links
    )
    assert (judge.page, judge.query["in"], judge.query["encoder"]) == (
        "judge",
        "upload:plain",
        TWO,
    )
    assert sheet["best"] is None and sheet["cheapest"] is None and sheet["ties"] == []
    assert codes(sheet) == {"no_labels", "duplicates"}
    (pair,) = sheet["agreement"]
    assert 0 < pair["shared"] < 1 and all(row["ms_per_sentence"] for row in sheet["encoders"])


def test_rows_without_a_label_are_left_out_where_others_have_one(
    ready: Workspace, tmp_path: Path
) -> None:
    """And said to be; where none has one, it is a file without labels."""
    rows = [(line, name if i % 2 else "") for i, (line, name) in enumerate(topics(40))]
    sheet = chosen(ready, written(tmp_path / "half.csv", rows), TWO)
    assert sheet["n"] == 80 and codes(sheet) >= {"unlabelled"}
    none = written(tmp_path / "none.csv", [(line, "") for line, _ in rows])
    brought = data.bring(ready, none, "text=text,label=label")
    assert ready.catalog.load(brought).kind == "sentences"


REPEATED = [(line, name if name == "sea" else "other") for line, name in topics(20)]
REPEATED += [(REPEATED[0][0].upper(), "sea")]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (REPEATED, {"duplicates": "different labels or scores: 1.", "dominant_class": ""}),
        (topics(1)[:3], {"few_examples": ""}),
    ],
    ids=["repeated, one label for most", "three"],
)
def test_what_is_wrong_with_the_data_is_said(
    ready: Workspace, tmp_path: Path, rows, said: dict[str, str]
) -> None:
    """What can be said without an answer is said all the same."""
    sheet = chosen(ready, written(tmp_path / "odd.csv", rows), TWO)
    assert all(words in warning(sheet, code) for code, words in said.items())
    assert (sheet["best"] is None) is (len(rows) == 3)


def test_a_form_is_recommended_as_a_spec_that_scores_the_same(ready: Workspace, file: Path) -> None:
    """Shown to lose less than the margin, against the best itself; with another margin another."""
    wide, narrow = (chosen(ready, file, TWO, margin=points) for points in (12, 0.1))
    assert wide["best"] == narrow["best"] and wide["limits"]["margin"] == 12
    cheap = wide["cheapest"]
    assert cheap["bytes_per_vector"] < 256 and cheap["behind"]["low"] > -12
    assert cheap["spec"].startswith("wordllama | ") and "quantise:" in cheap["spec"]
    assert scored(ready, cheap["spec"], wide["task"]) == pytest.approx(cheap["score"])
    assert narrow["cheapest"]["spec"] == "wordllama" and narrow["nothing_cheaper"]["encoder"]


REVIEWS = [
    (i, line, i % 5 + 1, f"2024-01-{i % 28 + 1:02}") for i, (line, _) in enumerate(topics(9))
]


@pytest.mark.parametrize(
    ("head", "rows", "used"),
    [
        (("id", "review", "stars", "date"), REVIEWS, {"text": "review", "label": "stars"}),
        (("text", "value"), [(line, f"{i / 7:.3f}") for i, line, *_ in REVIEWS], {"text": "text"}),
        (("body", "topic"), topics(9), {"text": "body", "label": "topic"}),
    ],
    ids=["stars", "decimals", "topics"],
)
def test_the_columns_used_are_found_by_their_values(
    ready: Workspace, tmp_path: Path, head, rows, used: dict[str, str]
) -> None:
    """Numbers that repeat are labels, ids, dates and measurements are not; the plan says which."""
    name = data.bring(ready, written(tmp_path / "mine.csv", rows, head))
    assert data.columns_of(ready, name)[0] == used
    said = " and ".join(f"{role} = {column}" for role, column in used.items())
    assert plan(ready, ChooseJob(name, TWO))[0].startswith(f"Columns used: {said}.")


def test_several_columns_that_could_be_meant_are_asked_for(
    ready: Workspace, tmp_path: Path
) -> None:
    """The candidates and what to type; what is typed is then used, and stands on the sheet."""
    texts = topics(9)
    rows = [(f"P{i % 3}", line, f"{line} {line}", label) for i, (line, label) in enumerate(texts)]
    file = written(tmp_path / "mine.csv", rows, ("product", "title", "body", "label"))
    (tmp_path / "splits").mkdir()
    for part in ("train", "test"):
        written(tmp_path / "splits" / f"{part}.csv", rows, ("product", "title", "body", "label"))
    for given in (file, tmp_path / "splits"):
        with refused("ambiguous", "body and title", "text=body,label=label"):
            data.bring(ready, given)
    asked = [(f"Is it {label}?", line, "yn"[i % 2]) for i, (line, label) in enumerate(texts)]
    with refused("ambiguous", "query and sure", "text=query,label=sure"):  # by name, if it repeats
        data.bring(
            ready, written(tmp_path / "b.csv", [row[::2] for row in asked], ("query", "sure"))
        )
    assert ready.store.uploads.list() == []
    sheet = chosen(ready, file, TWO, columns="text=title,label=label")
    assert sheet["columns"] == {"text": "title", "label": "label"}
    assert "text = title and label = label" in of_blocks(Decision(ASKED, sheet).blocks())
    with refused("conflict", sheet["data"]):
        chosen(ready, sheet["data"], TWO, columns="text=body,label=label")


@pytest.mark.parametrize(
    ("rows", "head", "columns", "named"),
    [
        ([("a b c", "same")] * 30, ("text", "label"), None, "30 rows"),
        ([(str(i), str(i * 2)) for i in range(30)], ("id", "amount"), None, "id, amount"),
        (topics(10), ("text", "label"), "text=body,label=label", "'body'"),
        ([], ("text", "label"), None, "bad.csv"),
        ([("", name) for name in TOPICS * 8], ("text", "label"), None, "bad"),
        (
            [(line, f"{i}.5") for i, line, *_ in REVIEWS],
            ("text", "value"),
            "text=text,label=value",
            "'0.5'",
        ),
    ],
    ids=["one label", "no text", "another column", "no rows", "empty texts", "numbers"],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(
    ready: Workspace, tmp_path: Path, rows, head, columns: str | None, named: str
) -> None:
    """And nothing is begun."""
    with pytest.raises(UserError, match=named):
        chosen(ready, written(tmp_path / "bad.csv", rows, head), TWO, columns=columns)
    assert ready.store.runs.list() == [] and ready.store.uploads.list() == []


def test_limits_leave_out_and_shrink(ready: Workspace, file: Path) -> None:
    """What is too slow is not chosen from; too large vectors are measured smaller."""
    slow = chosen(ready, file, TWO, max_ms=1.0)
    assert slow["best"]["encoder"] == "random:16" and "limits" in codes(slow)
    small = chosen(ready, file, TWO, max_bytes=64)
    row = next(row for row in small["encoders"] if row["encoder"] == "wordllama")
    assert (row["dim"], row["dtype"], row["bytes_per_vector"]) == (64, "int8", 64)
    assert small["cheapest"]["bytes_per_vector"] <= 64
    assert row["spec"] == (spec := "wordllama | dims:64,first | quantise:int8,upload:topics")
    assert row["score"] == pytest.approx(scored(ready, spec, small["task"]))
    free = chosen(ready, file, TWO, licences=["gpl"])
    assert free["best"] is None and "no_encoder_within_limits" in codes(free)


def test_the_verb_and_its_files(home: Path, ready: Workspace) -> None:
    """An object for each encoder and the sheet last, which stands in every file; text is text."""
    rows = [(f"{line} <script>alert(1)</script>|", name) for line, name in topics(40)]
    command = ("choose", str(written(home / "odd.csv", rows)), "-e", TWO[0], "-e", TWO[1])
    *printed, sheet = objects(theodolite(*command, "--columns", "text=text,label=label", "--json"))
    assert [row["encoder"] for row in printed] == TWO
    best = {"encoder", "score", "low", "high"}
    form = {"spec", "dim", "dtype", "ms_per_sentence", "bytes_per_vector", "behind"}
    assert (set(sheet["best"]), set(sheet["cheapest"])) == (best, best | form)
    for ending in ("html", "md", "json"):
        theodolite(*command, "--out", str(home / f"sheet.{ending}"))
    page = unpacked((home / "sheet.html").read_text("utf-8"))
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page
    assert "wordllama is best" in page
    assert "\n## wordllama is best\n" in (home / "sheet.md").read_text("utf-8")
    assert json.loads((home / "sheet.json").read_text("utf-8")) == sheet
    assert "sheet.pdf" in theodolite(*command, "--out", str(home / "sheet.pdf"), code=2)[-1]


def test_texts_that_an_encoder_was_trained_on_are_said(ready: Workspace, file: Path) -> None:
    """Its files name a set that is here, and the data are of it."""
    ready.store.encoders.add("wordllama", {"trained_on": ["starter-topics"]})
    said = warning(chosen(ready, file, TWO), "leak")
    assert "160 of 160" in said and "starter-topics" in said and "wordllama" in said


TEXTS = dict(topics(20))


def test_a_folder_with_judgements(ready: Workspace, tmp_path: Path) -> None:
    """Queries are the examples, nDCG is the score."""
    beir(tmp_path / "found")
    sheet = chosen(ready, tmp_path / "found", TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("retrieval", "ndcg_at_10", 40)
    assert sheet["best"]["score"] > 80 and "few_examples" in codes(sheet)


@pytest.mark.parametrize(
    ("head", "same", "other", "kind", "metric"),
    [("label", "1", "0", "labelled-pairs", "max_ap"), ("score", "5", "1", "pairs", "spearman")],
)
def test_marked_pairs(
    ready: Workspace, tmp_path: Path, head: str, same: str, other: str, kind: str, metric: str
) -> None:
    """By average precision or Spearman's correlation; equal pairs with other marks are said."""
    texts = list(TEXTS)
    couples = [*pairwise(texts), *zip(texts, texts[30:] + texts[:30], strict=True)]
    marked = [(a, b, same if TEXTS[a] == TEXTS[b] else other) for a, b in couples]
    rows = [*marked, (*couples[0], other)]
    file = written(tmp_path / "marked.csv", rows, ("left", "right", head))
    sheet = chosen(ready, file, TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == (kind, metric, 160)
    best = sheet["best"]
    assert best["encoder"] == "wordllama" and best["low"] < best["score"] < best["high"]
    assert "duplicates" in codes(sheet)


def test_parallel_sentences(ready: Workspace, tmp_path: Path) -> None:
    """The translation is what is to be found: here the same words in another order."""
    rows = [(text, " ".join(text.split()[::-1])) for text in TEXTS]
    sheet = chosen(ready, written(tmp_path / "both.csv", rows, ("en", "de")), TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("parallel", "f1", 80)
    assert {"same_answers", "baseline_not_beaten"} <= codes(sheet)
    assert "no_labels" not in codes(sheet)


def test_an_endpoint_is_chosen_from_like_any_other(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """What will be sent is said before; each text is sent once, whatever is asked later."""
    spec = f"api:{server.url}#fake"
    put_cost(ready, spec, latency_ms=[20.0], dim=DIM)
    asked = ChooseSpec(str(written(tmp_path / "topics.csv", topics(20))), [*TWO, spec])
    job = job_of(ready, prepare(ready, asked))
    (sent,) = (text for text in job.notices(ready) if "requests" in text)
    assert "80 texts" in sent and "2 requests" in sent
    sheet = chosen(ready, job.data, job.encoders)
    assert sorted(server.texts) == sorted([*TEXTS, "theodolite"])
    assert sheet["best"]["encoder"] == "wordllama" and "endpoint" in codes(sheet)
    (row,) = (row for row in sheet["encoders"] if row["encoder"] == spec)
    assert row["score"] is not None and (row["dim"], row["ms_per_sentence"]) == (DIM, 20.0)
    server.requests = []
    chosen(ready, sheet["data"], [*TWO, spec], max_bytes=64)
    assert not [text for text in job.notices(ready) if "requests" in text]
    assert server.requests == []


def test_settings_that_the_files_of_a_model_deny(ready: Workspace, tmp_path: Path) -> None:
    """Its prompts, of which none is asked for: said, with the encoder's name."""
    folder = save_sentence_transformer(tmp_path / "model", prompts={"query": "the cat "})
    put_cost(ready, f"dir:{folder}", latency_ms=[5.0])
    file = written(tmp_path / "topics.csv", topics(10))
    said = warning(chosen(ready, file, [*TWO, f"dir:{folder}"]), "settings_contradicted")
    assert f"dir:{folder}: " in said and "prompts" in said


def test_an_endpoint_vanishes_in_the_middle(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """The others are chosen from; what its two answers gave is kept, and only the rest is sent."""
    server.next = [*[saying(lambda _: None)] * 2, *[hang_up] * 40]
    spec, file = f"api:{server.url}#fake?batch=30", written(tmp_path / "topics.csv", topics(20))
    put_cost(ready, spec, latency_ms=[20.0], dim=DIM)
    sheet = chosen(ready, file, [*TWO, spec])
    assert sheet["best"]["encoder"] == "wordllama"
    said = warning(sheet, "encoder_failed")
    assert spec in said and "30 of 80 texts" in said
    server.next, server.requests = [], []
    again = chosen(ready, file, [*TWO, spec])
    assert "encoder_failed" not in codes(again) and len(server.texts) == 50


def test_rare_labels_have_a_ceiling(ready: Workspace, tmp_path: Path) -> None:
    """Two sentences of a label cannot be ten nearest neighbours of one another."""
    rows = [(text, f"label {i // 2}") for i, (text, _) in enumerate(topics(10))]
    sheet = chosen(ready, written(tmp_path / "rare.csv", rows), TWO)
    assert (sheet["metric"], sheet["highest"]) == ("precision_at_10", pytest.approx(10.0))


ROW = {
    "encoder": "a",
    "score": 80.0,
    "low": 75.0,
    "high": 85.0,
    "ms_per_sentence": 4.0,
    "bytes_per_vector": 1536.0,
    "dim": 384,
    "dtype": "float32",
    "per_second_64": None,
    "licence": "mit",
    "error": None,
    "outside": "",
    "spec": "a",
    "timed_disturbed": False,
}
QUICK = (
    ROW
    | {"encoder": "b", "spec": "b", "score": 79.5, "ms_per_sentence": 0.1}
    | {"dim": 256, "bytes_per_vector": 256.0}
)
NONE = {"delta": 0.0, "low": 0.0, "high": 0.0}
CHEAP = QUICK | {"dtype": "int8", "spec": "b | quantise:int8,mine", "behind": NONE}
PAIR = {"a": "a", "b": "b"}
SHEET = {
    "kind": "labels",
    "metric": "accuracy",
    "n": 300,
    "best": ROW,
    "ties": [QUICK],
    "cheapest": CHEAP,
    "limits": {"margin": 2.0},
    "nothing_cheaper": None,
    "encoders": [QUICK, ROW],
    "highest": None,
    "optimism": 0.0,
    "more_examples": [],
    "front": ["b", "a"],
    "against_baseline": None,
    "baseline": "random:256",
    "warnings": [],
    "agreement": [],
    "task": "mine/classify",
    "protocol": "starter-3",
    "machine": "this one",
}


def nothing_cheaper(n: int | None) -> dict:
    more = {"encoder": "b", "spec": "b", "n": n, "power": 0.8}
    return {"cheapest": ROW | {"behind": NONE}, "nothing_cheaper": more}


RANDOM = {
    "against_baseline": {"score": 79.0, "delta": 1.0, "low": -1.0, "high": 3.0, "beaten": False},
    "more_examples": [PAIR | {"n": 1200, "power": 0.8}],
}
LESS = {"delta": -0.5, "low": -1.25, "high": 0.25}
SMALLER = {"dtype": "int8", "bytes_per_vector": 384.0, "spec": "a | x", "behind": LESS}


@pytest.mark.parametrize(
    ("changes", "said", "unsaid"),
    [
        (
            {},
            [
                "with int8 vectors of 256 dimensions is shown to lose less than 2 points against a",
                "it is 40 times faster",
                "1/6 of the space",
                "b | quantise:int8,mine",
            ],
            [],
        ),
        (
            {"ties": [], "cheapest": ROW | SMALLER},
            ["against its full vectors (difference −0.50, 95 % interval −1.25 to +0.25): its"],
            [],
        ),
        (
            nothing_cheaper(400),
            ["With about 400 more examples like these, b would be, with 80\u00a0%"],
            [],
        ),
        (nothing_cheaper(None), ["Nothing cheaper is shown to lose less than 2 points."], []),
        (
            {"more_examples": [PAIR | {"n": 1200, "power": 0.8}]},
            ["1,200 more", "with 80\u00a0%"],
            [],
        ),
        ({"more_examples": [PAIR | {"n": None, "power": 0.48}]}, ["20 times", "only 48 %"], []),
        ({"more_examples": [PAIR | {"n": None, "power": 0.81}]}, [], ["more examples", "as many"]),
        ({"encoders": [QUICK, ROW | {"timed_disturbed": True}]}, [], ["times faster"]),
        (RANDOM, [], ["smaller", "more examples"]),
    ],
)
def test_sentences(changes: dict, said: list[str], unsaid: list[str]) -> None:
    """Nothing of a handful of examples, of times on a busy machine, or of a tie with noise."""
    whole = " ".join(sentences(SHEET | changes))
    assert [text for text in (*said, *unsaid) if text in whole] == said


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "a ties with b: take b"),
        (nothing_cheaper(None), "a ties with b: take a"),
        ({"ties": [], "cheapest": ROW}, "a is best"),
        (RANDOM, "No encoder is better than random words on these 300 examples"),
        ({"encoders": [ROW]}, "a is the only one to choose"),
        *(
            ({"best": None, "warnings": [{"code": code, "message": ""}]}, f"Undecided: {why}")
            for code, why in (*UNDECIDED.items(), ("leak", "nothing was scored"))
        ),
    ],
)
def test_headlines(changes: dict, line: str) -> None:
    assert headline(SHEET | changes) == line


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        (nothing_cheaper(None), [("a", 384, "Pareto front"), ("b", 256, "Pareto front")]),
        (RANDOM, [("a", 384, "Pareto front"), ("b", 256, "Pareto front")]),
        (
            {
                "cheapest": CHEAP
                | {"encoder": "b?dtype=int8", "dim": 128, "spec": "b?dtype=int8 | dims:128,first"},
                "baseline": "a",
                "front": ["b"],
            },
            [
                ("a", 384, "baseline"),
                ("b", 256, "Pareto front"),
                ("b?dtype=int8", 128, "cheapest within 2 points"),
            ],
        ),
    ],
)
def test_the_table(changes: dict, rows: list[tuple]) -> None:
    """The smallest form is a row of its own where it is not one of the encoders as they are."""
    (_, table) = Decision(ASKED, SHEET | changes)._numbers()
    licence = table.columns.index("Licence")
    assert {row[licence] for row in table.rows} == {"mit"}
    at = [table.columns.index(name) for name in ("Encoder", "Dimensions", "Remark")]
    assert [tuple(row[i] for i in at) for row in table.rows] == rows


# From a decision to an improvement: trained on one part of the data, judged on the other.


@pytest.fixture
def base(workspace: Workspace, tmp_path: Path) -> str:
    """A tiny transformer with random weights, whose costs are known."""
    encoder = f"dir:{save_sentence_transformer(tmp_path / 'tiny', 'mean')}"
    for name in (encoder, "random:256"):
        put_cost(workspace, name, latency_ms=[1.0], dim=8)
    return encoder


def animals(count: int, label: str = "") -> list[tuple[str, str]]:
    """Different animals on a cat, or on a dog."""
    rng, found = random.Random(0), dict[str, str]()
    while len(found) < count:
        animal = ("cat", "dog")[len(found) % 2]
        words = rng.choices([word for word in WORDS if word not in ("cat", "dog")], k=6)
        found[" ".join([*words[:3], animal, *words[3:]])] = label or animal
    return list(found.items())


def test_a_newcomers_walk(workspace: Workspace, base: str, tmp_path: Path) -> None:
    """300 labelled rows, a sheet, train on these, a second sheet on what was held out, verdict."""
    first = th.choose(written(tmp_path / "animals.csv", animals(300)), [base], workspace=workspace)
    (link,) = [one for block in first.blocks() if isinstance(block, Links) for one in block.links]
    assert link.page == "choose" and link.label == f"Train {base} on these"
    assert link.query == {"data": "upload:animals", "encoder": (base,), "learns": base}
    assert f"--train {base}" in " ".join(CHOOSE.command(ChooseSpec("x", [base], train=base)))
    assert not any(isinstance(block, Links) for block in replace(first, is_closed=True).blocks())

    spec = prepare(workspace, ChooseSpec("upload:animals", [base], train=base))
    job = job_of(workspace, spec)
    trained = job.encoders[-1]
    put_cost(workspace, trained, latency_ms=[1.0], dim=8)
    assert "is trained on 200 of these" in " ".join(plan(workspace, job))
    second = th.choose("upload:animals", [base], train=base, workspace=workspace)
    sheet, change = second.sheet, second.sheet["improvement"]
    assert sheet["n"] == 100 and change["learned"] == 200
    assert [row["encoder"] for row in sheet["encoders"]] == [base, trained, "random:256"]
    scores = {row["encoder"]: row["score"] for row in sheet["encoders"]}
    assert (change["before"], change["after"]) == (scores[base], scores[trained])
    assert change["after"] - change["before"] == pytest.approx(change["delta"])
    assert change["low"] <= change["delta"] <= change["high"]
    told = [block.text for block in second.blocks() if hasattr(block, "text")]
    assert told[0].startswith(f"{improve.headline(change)}. ") and change["verdict"] == "better"
    assert trained in {row["name"] for row in workspace.store.encoders.list()}
    runs = workspace.store.runs.list()
    assert [run["state"] for run in runs] == ["done"] * len(runs)
    again = th.choose("upload:animals", [base], train=base, workspace=workspace)
    assert again.sheet == sheet and workspace.store.runs.list() == runs
    asks, name = f"{base}?prompt=A%20", improve.held_out("upload:animals")
    assert improve.trained_encoder(workspace, name, asks).endswith("?prompt=A%20")
    used = [improve.training(workspace, name, one).spec.prompts for one in (base, asks)]
    assert used == [None, "base"]


@pytest.mark.parametrize(
    ("won", "lost", "verdict", "first"),
    [
        (20, 0, "better", "Better by 20.00: training on these helps"),
        (12, 8, "tie", "No better: training on these is not shown to help"),
        (1, 21, "worse", "Worse by 20.00: training on these does harm"),
    ],
)
def test_the_verdict_comes_first(won: int, lost: int, verdict: str, first: str) -> None:
    """Of 100 examples some are won and some lost; it agrees with a paired t-test."""
    before = np.array([0.0] * 50 + [1.0] * 50)
    after = before.copy()
    after[:won], after[50 : 50 + lost] = 1.0, 0.0
    found = improve.change_of(Sample(before), Sample(after))
    theirs = ttest_rel(after, before)
    interval = theirs.confidence_interval(0.95)
    assert found["delta"] == pytest.approx(won - lost)
    assert (found["low"], found["high"]) == pytest.approx(
        (100 * interval.low, 100 * interval.high), abs=1.0
    )
    assert (found["verdict"] == "tie") == (theirs.pvalue > 0.05)
    assert found["verdict"] == verdict
    assert improve.headline(found) == first


@pytest.mark.parametrize(
    ("rows", "encoder", "code", "named"),
    [
        (animals(50), "", "too-few", "16 examples"),
        ([(text, f"l{i // 3}") for i, (text, _) in enumerate(animals(90))], "", "too-few", "label"),
        (animals(90, "cat"), "", "too-few", "'cat'"),
        (animals(90), "wordllama", "wrong-kind", "wordllama"),
    ],
    ids=["few rows", "few a label", "one label", "no transformer"],
)
def test_what_cannot_be_trained_on_is_refused_before_it_starts(
    workspace: Workspace, base: str, tmp_path: Path, rows, encoder: str, code: str, named: str
) -> None:
    file = written(tmp_path / "bad.csv", rows)
    with refused(code, named):
        th.choose(file, [base], train=encoder or base, workspace=workspace)
    assert workspace.store.runs.list() == []


@pytest.mark.parametrize(
    "changes",
    [{"task": None}, {"n": 59}, {"kind": "sentences"}, {"improvement": {}}, {"rankers": True}, {}],
)
def test_training_is_offered_where_it_is_possible(changes: dict) -> None:
    """Of the encoders that can be trained the best; not without labels, and not a second time."""
    rows = [("wordllama", 90), ("minilm", 80), ("minilm?dtype=int8", 85), ("dir:/tmp/x", 70)]
    encoders = [{"encoder": name, "score": score, "low": 1.0} for name, score in rows]
    sheet: Sheet = {"task": "x", "n": 60, "kind": "labels", "encoders": encoders}
    sheet = sheet | {"improvement": None} | changes
    assert improve.encoder_to_train(sheet) == (
        "" if changes and changes != {"improvement": {}} else "minilm"
    )
