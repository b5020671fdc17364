"""Choosing on each kind of data, and with an encoder behind an endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.app.pages.choose.test_service import codes, topics, warning, written
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
    assert "80 queries (nDCG at 10;" in words.sentences(sheet)[0]
    assert "80 queries" in service.plan(ready, ChooseJob.of(sheet["data"], TWO))[0]


def test_labelled_pairs(ready: Workspace, tmp_path: Path) -> None:
    """Measured by average precision, resampled by pairs."""
    file = pairs_file(tmp_path / "same.csv", ("left", "right", "label"), "1", "0")
    sheet = service.choose(ready, file, TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("labelled-pairs", "max_ap", 159)
    assert "159 pairs (Average precision, best similarity;" in words.sentences(sheet)[0]
    assert sheet["best"]["encoder"] == "wordllama"
    assert sheet["best"]["low"] < sheet["best"]["score"] < sheet["best"]["high"]


def test_scored_pairs(ready: Workspace, tmp_path: Path) -> None:
    """Measured by Spearman's correlation; equal pairs with other scores are said."""
    file = pairs_file(tmp_path / "near.csv", ("left", "right", "score"), "5", "1")
    file.write_text(file.read_text("utf-8") + f'"{couples()[0][0]}","{couples()[0][1]}",1\n')
    sheet = service.choose(ready, file, TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("pairs", "spearman", 160)
    assert sheet["best"]["encoder"] == "wordllama"
    assert "rank by cosine" in words.differ(sheet)
    assert "1 text has different" in warning(sheet, "duplicates")


def test_parallel_sentences(ready: Workspace, tmp_path: Path) -> None:
    """The translation is what is to be found: here the same words in another order."""
    rows = [(text, " ".join(text.split()[::-1])) for text in TEXTS]
    sheet = service.choose(ready, written(tmp_path / "both.csv", rows, ("en", "de")), TWO)
    assert (sheet["kind"], sheet["metric"], sheet["n"]) == ("parallel", "f1", 80)
    assert "same_answers" in codes(sheet) and "baseline_not_beaten" in codes(sheet)
    assert "80 translations" in words.headline(sheet)
    assert "no_labels" not in codes(sheet) and sheet["data"] in service.offered(ready)


def test_judgements_that_contradict_each_other(ready: Workspace, tmp_path: Path) -> None:
    """The same document right and wrong for one query: which line, and nothing is kept."""
    with pytest.raises(UserError, match="line 2"):
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
    assert "80 texts" in sent and "2 requests" in sent
    sheet = service.sheet_of(ready, job)
    assert sorted(server.texts) == sorted([*TEXTS, "theodolite"])
    assert sheet["best"]["encoder"] == "wordllama" and "endpoint" in codes(sheet)
    row = next(row for row in sheet["encoders"] if row["encoder"] == spec)
    assert row["score"] is not None and (row["dim"], row["ms_per_sentence"]) == (DIM, 20.0)
    server.requests = []
    assert list(service.sent(ready, job)) == []
    service.choose(ready, sheet["data"], [*TWO, spec], max_bytes=64)
    assert server.requests == []


def test_settings_that_the_files_of_a_model_deny(ready: Workspace, tmp_path: Path) -> None:
    """Its prompts, of which none is asked for: said, with the encoder's name."""
    folder = save_sentence_transformer(tmp_path / "model", prompts={"query": "the cat "})
    keep(ready, f"dir:{folder}", latency_ms=[5.0])
    file = written(tmp_path / "topics.csv", topics(10))
    sheet = service.choose(ready, file, [*TWO, f"dir:{folder}"])
    said = warning(sheet, "settings_contradicted")
    assert f"dir:{folder}: " in said and "prompts" in said


def test_an_endpoint_vanishes_in_the_middle(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """The others are chosen from; what it gave is kept, and only the rest is sent another time."""
    spec = f"api:{server.url}#fake?batch=30"
    keep(ready, spec, latency_ms=[20.0], dim=DIM)
    server.next = [*[saying(lambda _: None)] * 2, *[hang_up] * 40]
    file = written(tmp_path / "topics.csv", topics(20))
    sheet = service.choose(ready, file, [*TWO, spec])
    assert sheet["best"]["encoder"] == "wordllama"
    said = warning(sheet, "encoder_failed")
    assert spec in said and "30 of 80 texts" in said
    server.next, server.requests = [], []
    again = service.choose(ready, file, [*TWO, spec])
    assert "encoder_failed" not in codes(again) and len(server.texts) == 50


def test_without_labels_a_vanished_endpoint_is_said_too(
    ready: Workspace, server: FakeOpenAI, tmp_path: Path
) -> None:
    """It is left out of what is compared, and asked no more."""
    spec = f"api:{server.url}#fake?batch=30"
    keep(ready, spec, latency_ms=[20.0], dim=DIM)
    server.next = [*[saying(lambda _: None)] * 2, *[hang_up] * 40]
    file = tmp_path / "plain.txt"
    file.write_text("\n".join(TEXTS), encoding="utf-8")
    sheet = service.choose(ready, file, [*TWO, spec])
    assert codes(sheet) == {"no_labels", "encoder_failed", "endpoint"}
    assert {row["a"] for row in sheet["agreement"]} == {"wordllama"}
    assert words.headline(sheet) == "Undecided: the data has no labels"
    server.next.clear()
    assert codes(service.choose(ready, file, [*TWO, spec])) == {"no_labels", "endpoint"}


def test_rare_labels_have_a_ceiling(ready: Workspace, tmp_path: Path) -> None:
    """Two sentences of a label cannot be ten nearest neighbours of one another."""
    rows = [(text, f"label {i // 2}") for i, (text, _) in enumerate(topics(10))]
    sheet = service.choose(ready, written(tmp_path / "rare.csv", rows), TWO)
    assert (sheet["metric"], sheet["highest"]) == ("precision_at_10", pytest.approx(10.0))
    assert any(text.startswith("10.00 is the highest") for text in words.sentences(sheet))
