"""Results in mteb's layout and the hub's: what is written, mteb reads and we read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.engine.mteb import reading, results

RESULT = {
    "encoder": "wordllama | normalise",
    "fingerprint": "abc",
    "dim": 256,
    "task": "biosses",
    "data_hash": "d1",
    "seconds": 1.5,
    "created": 1_700_000_000.0,
    "details": {},
    "scores": [
        {
            "split": "test",
            "aggregation": None,
            "metric": "cosine_spearman",
            "score": 71.25,
            "n": 100,
            "main": True,
            "unit": "",
        },
        {
            "split": "test",
            "aggregation": None,
            "metric": "cosine_pearson",
            "score": 70.5,
            "n": 100,
            "main": False,
            "unit": "",
        },
    ],
}


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
    found = reading.read(reading.inside(tmp_path))
    assert not found.problems and not found.notes
    (one,) = found.results
    assert (one.model, one.revision) == ("theodolite/wordllama | normalise", "abc")
    assert (one.main.metric, one.main.score) == ("cosine_spearman", pytest.approx(71.25))


def test_the_hubs_list_is_read_again(tmp_path: Path) -> None:
    """The value is in points; whose it is has to be said."""
    file = tmp_path / "one.yaml"
    file.write_text(results.as_yaml([RESULT], {"biosses": "mteb/biosses"}))
    (found,) = reading.read(reading.inside(file), "org/model", "r1").results
    assert (found.model, found.task, found.data_revision) == ("org/model", "mteb:biosses", "d1")
    assert found.main.score == pytest.approx(71.25)
