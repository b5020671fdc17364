"""A file in, a decision sheet out: what is decided, what speaks against it, and bad input."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import theodolite
from tests.app.report.test_report import unpacked
from tests.errors import refused
from tests.fakes.command_line import objects
from tests.fakes.command_line import theodolite as run
from tests.fakes.costs import keep
from tests.fakes.workers import do_units
from theodolite.app.pages.choose import data, service, words
from theodolite.app.pages.choose.job import ChooseJob
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.starter import FOLDER
from theodolite.engine.encoders import int8
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import evaluate

TWO = ["wordllama", "random:16"]
TOPICS = ("cooking", "sea", "law", "music")


def written(
    file: Path, rows: Sequence[Sequence[str]], head: Sequence[str] = ("text", "label")
) -> Path:
    """A CSV."""
    with file.open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([head, *rows])
    return file


def topics(each: int) -> list[tuple[str, str]]:
    """Sentences of the starter set with their topics."""
    found = []
    for name in TOPICS:
        lines = (FOLDER / "topics" / f"{name}.txt").read_text("utf-8").splitlines()
        found += [(line, name) for line in lines if line.strip()][-each:]
    return [(line, name) for line, name in found]


def scored(workspace: Workspace, spec: str, task: str) -> float:
    """The main score of an encoder."""
    encoder = workspace.load(spec)
    (result,) = evaluate(encoder, [task], protocol="starter-3", data=workspace.catalog)
    return next(score.score for score in result.scores if score.main)


def codes(sheet: Any) -> set[str]:
    """Of its warnings."""
    return {one["code"] for one in sheet["warnings"]}


def warning(sheet: Any, code: str) -> str:
    """The one with a code."""
    (message,) = [one["message"] for one in sheet["warnings"] if one["code"] == code]
    return str(message)


def test_who_knows_words_beats_who_does_not(ready: Workspace, tmp_path: Path) -> None:
    """On topics wordllama is best alone; it is said in words, and kept."""
    file = written(tmp_path / "topics.csv", topics(40))
    sheet = theodolite.choose(file, TWO, workspace=ready)
    assert sheet["best"]["encoder"] == sheet["cheapest"]["encoder"] == "wordllama"
    assert sheet["ties"] == [] and sheet["more_examples"] == [] and codes(sheet) == set()
    assert sheet["against_baseline"]["beaten"] and sheet["front"] == ["random:16", "wordllama"]
    asked = (sheet["task"], sheet["n"], sheet["protocol"])
    assert asked == ("upload:topics/classify", 160, "starter-3")
    assert sheet["columns"] == {"text": "text", "label": "label"}
    assert words.headline(sheet) == "wordllama is best"
    assert len(sheet["differ"]["examples"]) > 5
    runs = ready.store.runs.list()
    assert theodolite.choose(file, TWO, workspace=ready).sheet == sheet.sheet
    assert ready.store.runs.list() == runs


@pytest.mark.vnni
@pytest.mark.parametrize(("ms", "taken"), [(4.0, "minilm?dtype=int8"), (9.0, "minilm")])
def test_a_transformer_is_offered_in_int8(
    ready: Workspace, tmp_path: Path, ms: float, taken: str
) -> None:
    """Where it is as good and quicker; it stands in no ranking of those that were asked for."""
    if not int8.available():
        pytest.skip("this processor has no AVX-512 VNNI")
    for name, took in (("minilm", 8.0), ("minilm?dtype=int8", ms)):
        keep(ready, name, latency_ms=[took], dim=384)
    sheet = service.choose(ready, written(tmp_path / "t.csv", topics(12)), ["minilm"], margin=40)
    assert sheet["best"]["encoder"] == "minilm" and sheet["ties"] == []
    assert sheet["cheapest"]["encoder"] == taken
    assert sheet["cheapest"]["ms_per_sentence"] == min(ms, 8.0)
    assert [row["encoder"] for row in sheet["encoders"]] == ["minilm", "random:256"]
    assert f"{taken} with" in " ".join(words.sentences(sheet))


def test_ties_and_what_would_end_them(ready: Workspace, tmp_path: Path) -> None:
    """Labels that the texts do not say: random words of two sizes tie, nobody beats them."""
    file = written(tmp_path / "few.csv", [(a, "xy"[i % 2]) for i, (a, _) in enumerate(topics(12))])
    sheet = service.choose(ready, file, ["random:64", "random:16"])
    (more,) = sheet["more_examples"]
    assert len(sheet["ties"]) == 1 and {more["a"], more["b"]} == {"random:64", "random:16"}
    assert more["n"] is None or more["n"] > 0
    assert {"few_examples", "baseline_not_beaten"} <= codes(sheet)


def test_without_labels_there_is_no_best_but_a_sheet(ready: Workspace, tmp_path: Path) -> None:
    """What can be said: agreement of neighbours, duplicates, cost."""
    rows = [(line,) for line, _ in topics(10)]
    file = written(tmp_path / "plain.csv", [*rows, rows[0]], ("text",))
    sheet = service.choose(ready, file, TWO)
    assert sheet["best"] is None and sheet["cheapest"] is None and sheet["ties"] == []
    assert codes(sheet) == {"no_labels", "duplicates"}
    (pair,) = sheet["agreement"]
    assert 0 < pair["shared"] < 1 and all(row["ms_per_sentence"] for row in sheet["encoders"])


def test_rows_without_a_label_are_left_out_where_others_have_one(
    ready: Workspace, tmp_path: Path
) -> None:
    """And said to be; where none has one, it is a file without labels."""
    rows = [(line, name if i % 2 else "") for i, (line, name) in enumerate(topics(40))]
    sheet = service.choose(ready, written(tmp_path / "half.csv", rows), TWO)
    assert sheet["n"] == 80 and codes(sheet) >= {"unlabelled"}
    none = written(tmp_path / "none.csv", [(line, "") for line, _ in rows])
    brought = service.bring(ready, [none], "text=text,label=label")
    assert ready.catalog.load(brought).kind == "sentences"


def test_what_is_wrong_with_the_data_is_said(ready: Workspace, tmp_path: Path) -> None:
    """Rows that repeat others, some with another label, and a label that most rows have."""
    rows = [(line, name if name == "sea" else "other") for line, name in topics(20)]
    rows += [(rows[0][0].upper(), "sea")]
    sheet = service.choose(ready, written(tmp_path / "odd.csv", rows), TWO)
    assert {"duplicates", "dominant_class"} <= codes(sheet)
    assert "1 text has different" in warning(sheet, "duplicates")


def test_a_form_is_recommended_as_a_spec_that_scores_the_same(
    ready: Workspace, tmp_path: Path
) -> None:
    """Shown to lose less than the margin, against the best itself; with another margin another."""
    file = written(tmp_path / "topics.csv", topics(40))
    wide, narrow = (service.choose(ready, file, TWO, margin=points) for points in (12, 0.1))
    assert wide["best"] == narrow["best"] and wide["limits"]["margin"] == 12
    cheap = wide["cheapest"]
    assert cheap["bytes_per_vector"] < 256 and cheap["behind"]["low"] > -12
    assert cheap["spec"].startswith("wordllama | ") and "quantise:" in cheap["spec"]
    assert scored(ready, cheap["spec"], wide["task"]) == pytest.approx(cheap["score"])
    assert narrow["cheapest"]["spec"] == "wordllama" and narrow["nothing_cheaper"]["encoder"]


@pytest.mark.parametrize(
    ("named", "limits"),
    [
        ("0", {"margin": 0}),
        ("101", {"margin": 101}),
        ("15", {"max_bytes": 15}),
        ("0", {"max_ms": 0}),
    ],
)
def test_impossible_limits_are_refused(named: str, limits: dict[str, Any]) -> None:
    with refused("invalid", named):
        ChooseJob.of("starter-topics", TWO, **limits)


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
    ready: Workspace, tmp_path: Path, head: Any, rows: Any, used: dict[str, str]
) -> None:
    """Numbers that repeat are labels, ids, dates and measurements are not; the plan says which."""
    name = service.bring(ready, [written(tmp_path / "mine.csv", rows, head)])
    assert data.columns_of(ready, name) == used
    said = " and ".join(f"{role} = {column}" for role, column in used.items())
    assert service.plan(ready, ChooseJob.of(name, TWO))[0].startswith(f"Columns used: {said}.")


def test_several_columns_that_could_be_meant_are_asked_for(
    ready: Workspace, tmp_path: Path
) -> None:
    """The candidates and what to type; what is typed is then used, and stands on the sheet."""
    texts = topics(9)
    rows = [(f"P{i % 3}", line, f"{line} {line}", label) for i, (line, label) in enumerate(texts)]
    file = written(tmp_path / "mine.csv", rows, ("product", "title", "body", "label"))
    with refused("ambiguous", "body and title", "--columns text=body,label=label"):
        service.bring(ready, [file])
    assert ready.store.uploads.list() == []
    sheet = service.choose(ready, file, TWO, columns="text=title,label=label")
    assert sheet["columns"] == {"text": "title", "label": "label"}
    assert "- Columns used: text = title and label = label." in words.markdown(sheet)
    with refused("conflict", sheet["data"]):
        service.choose(ready, sheet["data"], TWO, columns="text=body,label=label")


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
    ready: Workspace, tmp_path: Path, rows: Any, head: Any, columns: str | None, named: str
) -> None:
    """And nothing is begun."""
    with pytest.raises(UserError, match=named):
        service.choose(ready, written(tmp_path / "bad.csv", rows, head), TWO, columns=columns)
    assert ready.store.runs.list() == [] and ready.store.uploads.list() == []


def test_three_examples_are_not_scored(ready: Workspace, tmp_path: Path) -> None:
    """A sheet says so, and what can be said without them."""
    sheet = service.choose(ready, written(tmp_path / "three.csv", topics(1)[:3]), TWO)
    assert sheet["best"] is None and codes(sheet) == {"few_examples"}


def test_an_encoder_that_fails_leaves_the_others(ready: Workspace, tmp_path: Path) -> None:
    """It is named with its reason; a run that is asked for again tries it again."""
    file = written(tmp_path / "topics.csv", topics(40))
    sheet = service.choose(ready, file, [*TWO, "dir:/nowhere"])
    assert sheet["best"]["encoder"] == "wordllama"
    assert codes(sheet) == {"encoder_failed"}
    assert not ChooseJob.of(sheet["data"], [*TWO, "dir:/nowhere"]).is_stored(ready)


def test_encoders_that_do_the_same_are_never_told_apart(ready: Workspace, tmp_path: Path) -> None:
    """Cosines do not change with the length of vectors."""
    keep(ready, "wordllama | normalise", latency_ms=[2.0], dim=256)
    texts = [line for line, _ in topics(10)]
    pairs = [(texts[i], texts[-i], str(i % 6)) for i in range(1, 40)]
    file = written(tmp_path / "pairs.csv", pairs, ("left", "right", "score"))
    sheet = service.choose(ready, file, ["wordllama", "wordllama|normalise", "random:16"])
    assert "same_answers" in codes(sheet)
    alike = [one for one in sheet["more_examples"] if one["power"] == 0.0]
    assert all(one["n"] is None for one in alike)


def test_limits_leave_out_and_shrink(ready: Workspace, tmp_path: Path) -> None:
    """What is too slow is not chosen from; too large vectors are measured smaller."""
    file = written(tmp_path / "topics.csv", topics(40))
    slow = service.choose(ready, file, TWO, max_ms=1.0)
    assert slow["best"]["encoder"] == "random:16" and "limits" in codes(slow)
    small = service.choose(ready, file, TWO, max_bytes=64)
    row = next(row for row in small["encoders"] if row["encoder"] == "wordllama")
    assert (row["dim"], row["dtype"], row["bytes_per_vector"]) == (64, "int8", 64)
    assert small["cheapest"]["bytes_per_vector"] <= 64
    assert row["spec"] == (spec := "wordllama | dims:64,first | quantise:int8,upload:topics")
    assert row["score"] == pytest.approx(scored(ready, spec, small["task"]))
    free = service.choose(ready, file, TWO, licences=["gpl"])
    assert free["best"] is None and "no_encoder_within_limits" in codes(free)


def test_a_queued_job_is_the_same_work(ready: Workspace, tmp_path: Path) -> None:
    """Done by another after it was read back from its spec, it leaves the same sheet."""
    name = service.bring(ready, [written(tmp_path / "topics.csv", topics(40))])
    job = ChooseJob.of(name, TWO, max_ms=5.0)
    again = ChooseJob.from_spec(json.loads(json.dumps(job.to_spec())))
    assert again == job
    do_units(ready, again)
    assert job.is_stored(ready)


def test_the_sheet_as_files(home: Path, ready: Workspace) -> None:
    """HTML shows text as text, in it and in Markdown and JSON stands the same decision."""
    rows = [(f"{line} <script>alert(1)</script>|", name) for line, name in topics(40)]
    file, fields = written(home / "odd.csv", rows), {}
    for ending in ("html", "md", "json"):
        out = home / f"sheet.{ending}"
        run("choose", str(file), "-e", "wordllama", "-e", "random:16", "--out", str(out))
        fields[ending] = out.read_text("utf-8")
    page = unpacked(fields["html"])
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page
    assert "wordllama is best" in page and "Pareto front" in page
    assert fields["md"].startswith("# wordllama is best\n")
    assert json.loads(fields["json"])["best"]["encoder"] == "wordllama"
    assert "sheet.pdf" in run("choose", str(file), "--out", str(home / "sheet.pdf"), code=2)[-1]


def test_the_verb(home: Path, ready: Workspace) -> None:
    """An object for each encoder, and the sheet last; exit 0 with labels and without."""
    file = written(home / "topics.csv", topics(40))
    command = ["choose", str(file), "-e", "wordllama", "-e", "random:16", "--json"]
    *rows, sheet = objects(run(*command, "--columns", "text=text,label=label"))
    assert [row["encoder"] for row in rows] == ["wordllama", "random:16"]
    best = {"encoder", "score", "low", "high"}
    form = {"spec", "dim", "dtype", "ms_per_sentence", "bytes_per_vector", "behind"}
    assert (set(sheet["best"]), set(sheet["cheapest"])) == (best, best | form)
    few = written(home / "few.csv", [(a, "xy"[i % 2]) for i, (a, _) in enumerate(topics(12))])
    *_, tied = objects(run("choose", str(few), "-e", "random:16", "-e", "random:64", "--json"))
    assert [set(one) for one in tied["ties"]] == [best]
    assert [set(one) for one in tied["more_examples"]] == [{"a", "b", "n", "power"}]
    (home / "plain.txt").write_text("\n".join(line for line, _ in topics(10)), encoding="utf-8")
    *_, nothing = objects(run("choose", str(home / "plain.txt"), "-e", "random:16", "--json"))
    assert [nothing[key] for key in ("best", "ties", "cheapest")] == [None, [], None]
    assert {frozenset(one) for one in nothing["warnings"]} == {frozenset({"code", "message"})}
    *_, queued = objects(run(*command, "--max-ms", "9", "--queue"))
    assert ready.store.runs.get(queued["id"])["kind"] == "choose"


def test_texts_that_an_encoder_was_trained_on_are_said(ready: Workspace, tmp_path: Path) -> None:
    """Its files name a set that is here, and the data are of it."""
    ready.store.encoders.add("wordllama", {"trained_on": ["starter-topics"]})
    sheet = service.choose(ready, written(tmp_path / "topics.csv", topics(40)), TWO)
    said = warning(sheet, "leak")
    assert "160 of 160" in said and "starter-topics" in said and "wordllama" in said
