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
        {"split": "test", "aggregation": None, "metric": metric, "n": 100, "unit": "", **score}
        for metric, score in (
            ("cosine_spearman", {"score": 71.25, "main": True}),
            ("cosine_pearson", {"score": 70.5, "main": False}),
        )
    ],
}


def test_what_is_written_is_read_by_mteb_and_by_us(tmp_path: Path) -> None:
    """The score as a share; name, revision and every score."""
    from mteb.results.task_result import TaskResult

    (file,) = results.write(tmp_path, [RESULT])
    theirs = TaskResult.from_disk(file)
    assert (theirs.task_name, theirs.get_score()) == ("biosses", pytest.approx(0.7125, abs=1e-9))
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
