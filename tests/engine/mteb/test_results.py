"""Results in mteb's layout: mteb reads what we write, and we read what it writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import app
from engine.errors import UserError
from engine.mteb import results

RESULT = {
    "encoder": "wordllama | normalise", "fingerprint": "abc", "dim": 256, "task": "biosses",
    "data_hash": "d1", "seconds": 1.5, "created": 1_700_000_000.0, "details": {},
    "scores": [
        {"split": "test", "aggregation": None, "metric": "cosine_spearman", "score": 71.25,
         "n": 100, "main": True, "unit": ""},
        {"split": "test", "aggregation": None, "metric": "cosine_pearson", "score": 70.5,
         "n": 100, "main": False, "unit": ""},
    ],
}  # fmt: skip


def of_mteb(folder: Path, revision: str = "r1", data: str = "d1") -> Path:
    """A file as mteb writes it, with two subsets."""
    place = folder / "results" / "org__model" / revision
    place.mkdir(parents=True, exist_ok=True)
    parts = [
        {"hf_subset": name, "languages": ["eng-Latn"], "main_score": score,
         "cosine_spearman": score, "cosine_pearson": score / 2}
        for name, score in (("en", 0.8), ("de", 0.6))
    ]  # fmt: skip
    said = {
        "dataset_revision": data, "task_name": "STS17", "mteb_version": "2.20.0",
        "scores": {"test": parts}, "evaluation_time": 1.0, "kg_co2_emissions": None,
    }  # fmt: skip
    file = place / "STS17.json"
    file.write_text(json.dumps(said))
    return file


def test_mteb_reads_what_is_written(tmp_path: Path) -> None:
    """As a result of its own, with the score as a share."""
    from mteb.results.task_result import TaskResult

    (file,) = results.write(tmp_path, [RESULT])
    found = TaskResult.from_disk(file)
    assert found.get_score() == pytest.approx(0.7125, abs=1e-9)
    assert found.task_name == "biosses"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Name, revision and every score."""
    results.write(tmp_path, [RESULT])
    (found,), problems = results.read(tmp_path)
    assert not problems
    assert (found.model, found.revision) == ("theodolite/wordllama | normalise", "abc")
    assert (found.main.metric, found.main.score) == ("cosine_spearman", pytest.approx(71.25))


def test_a_published_folder(tmp_path: Path) -> None:
    """The mean of the subsets is the main score; what is no result is said."""
    file = of_mteb(tmp_path)
    (file.parent / "Broken.json").write_text("{")
    (found,), problems = results.read(tmp_path)
    assert (found.model, found.revision, found.task) == ("org/model", "r1", "mteb:STS17")
    assert found.main.score == pytest.approx(70.0)
    assert [score.aggregation for score in found.scores[:2]] == ["mean", "en"]
    assert problems[0].startswith("Broken.json")
    with pytest.raises(UserError, match="holds no results"):
        results.read(
            tmp_path.parent / tmp_path.name / "results" / "org__model" / "r1" / "Broken.json"
        )


def test_the_hubs_list_of_results(tmp_path: Path) -> None:
    """Written and read: the value is in points."""
    file = tmp_path / "one.yaml"
    file.write_text(results.as_yaml([RESULT], {"biosses": "mteb/biosses"}))
    (found,) = results.read_yaml(file, "org/model", "r1")
    assert (found.task, found.data_revision) == ("mteb:biosses", "d1")
    assert found.main.score == pytest.approx(71.25)


def test_other_revisions_are_other_results(tmp_path: Path) -> None:
    """Of the model or of the data; what is read again is not kept twice."""
    for revision, data in (("r1", "d1"), ("r2", "d1"), ("r1", "d1"), ("r1", "d2")):
        of_mteb(tmp_path, revision, data)
        options = ["--store", str(tmp_path / "store")]
        done = CliRunner().invoke(app, ["results", "import", str(tmp_path / "results"), *options])
        assert done.exit_code == 0, done.output
    shown = CliRunner().invoke(app, ["results", "published", "--json", *options])
    rows = [json.loads(line) for line in shown.output.splitlines()]
    kept = {(row["revision"], row["data_revision"]) for row in rows}
    assert kept == {("r1", "d1"), ("r2", "d1"), ("r1", "d2")}
    assert len(rows) == 3
