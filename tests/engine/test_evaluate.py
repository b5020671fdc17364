"""evaluate: results in order, errors as values, progress, and what is refused at once."""

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes import folder
from tests.fakes.encoders import HashEncoder
from theodolite import engine
from theodolite.engine import evaluate
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import Code
from theodolite.engine.progress import Progress
from theodolite.engine.results import Result
from theodolite.store.errors import StoreError

MODULE = importlib.import_module("theodolite.engine.evaluate")
"""By this name there is a function, too."""


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A SentEval folder with a small STS13."""
    lines = {"input": "{0} left {1}\t{0} right {1}\n", "gs": "{2}\n"}
    files = {
        f"STS.{kind}.{subset}.txt": "".join(line.format(subset, i, i % 6) for i in range(12))
        for kind, line in lines.items()
        for subset in ("FNWN", "headlines", "OnWN")
    }
    folder.files(tmp_path / "downstream" / "STS" / "STS13-en-test", files)
    return tmp_path


def one(encoder: HashEncoder, task: str, data: Path | None = None) -> Result:
    """The result of a single task."""
    (result,) = evaluate(encoder, [task], data=data)
    return result


def test_a_result_says_all_it_depends_on(year: Path) -> None:
    """Fingerprint, data, protocol, seed; and that the protocol was the task's own."""
    encoder = HashEncoder()
    result, data = one(encoder, "STS13", year), Catalog(year).load("STS13")
    assert encoder.calls == [72], "in one call, so that the encoder can sort and batch all of it"
    assert (result.fingerprint, result.data_hash) == (encoder.fingerprint, data.hash)
    assert (result.protocol, result.seed, result.dim) == ("simcse-2021", 1111, 16)
    assert result.details["protocol_choice"] == "default of the task"
    assert result.seconds > 0 and sum(score.main for score in result.scores) == 1
    assert len(result.examples["cosine"]) == 36
    json.dumps([result.rows(), dict(result.details)], allow_nan=False)
    (given,) = evaluate(HashEncoder(), "STS13", protocol="simcse-2021", seed=7, data=year)
    assert (given.seed, given.details["protocol_choice"]) == (7, "asked for")
    assert given.scores == result.scores
    np.testing.assert_array_equal(given.examples["cosine"], result.examples["cosine"])


@pytest.mark.parametrize(
    ("tasks", "options", "code", "named"),
    [
        ("StarterSTS,nonsense", {}, "unknown", "nonsense"),
        ("StarterSTS", {"protocol": "nonsense"}, "unknown", "nonsense"),
        ("starter", {"seed": -1}, "invalid", -1),
        ("starter", {"seed": 2**32}, "invalid", 2**32),
    ],
)
def test_names_and_seeds_are_checked_before_anything_runs(
    tasks: str, options: dict[str, Any], code: Code, named: object
) -> None:
    with refused(code, named):
        evaluate(HashEncoder(), tasks, **options)


def test_missing_data_is_an_error_of_that_task_only(year: Path) -> None:
    """STS16 is a task whose files are not there: the next task still runs."""
    missing, present = evaluate(HashEncoder(), ["STS16", "STS13"], data=year)
    assert "STS16" in (missing.error or "") and missing.hint
    assert (missing.scores, present.error) == ((), None)
    (other,) = evaluate(HashEncoder(), "StarterTopics", protocol="simcse-2021")
    assert "simcse-2021" in (other.error or "") and "starter-1" in other.hint
    with pytest.raises(ValueError, match="no score"):
        _ = missing.main


def test_a_failing_task_prints_nothing() -> None:
    """Its traceback is for whoever listens to the log of `engine`."""
    code = (
        "from theodolite.engine import evaluate\n"
        "from tests.fakes.encoders import BrokenEncoder\n"
        "print([result.error is None for result in evaluate(BrokenEncoder(), 'StarterSTS')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[False]\n", "")


def test_a_full_disk_is_told_in_the_caches_own_words(year: Path) -> None:
    """A durable cache is not of the engine, yet what it says to people reaches them."""

    class Full(HashEncoder):
        def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
            raise StoreError("No space is left.", "Free some space.")

    result = one(Full(), "STS13", year)
    assert (result.error, result.hint) == ("No space is left.", "Free some space.")


def test_progress_counts_sentences_and_can_stop(
    year: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pause in the callback is no part of the time, and what it raises reaches the caller."""
    seen: list[tuple[int, int]] = []
    clock = [0.0]
    monkeypatch.setattr(MODULE.time, "perf_counter", lambda: clock[0])

    def pause(*at: int) -> None:
        seen.append(at)  # type: ignore[arg-type]
        clock[0] += 100.0

    (result,) = evaluate(HashEncoder(), "STS13", data=year, progress=pause)
    assert (seen[0], seen[-1], result.seconds) == ((0, 72), (72, 72), 0.0)

    def stop(done: int, total: int) -> None:
        raise RuntimeError("cancelled")

    with pytest.raises(RuntimeError, match="cancelled"):
        list(evaluate(HashEncoder(), "STS13", data=year, progress=stop))


def test_only_what_is_needed_is_encoded(tmp_path: Path) -> None:
    """Of labelled sentences those drawn from train and the test split; of a bitext one split."""
    rows = "".join(f"sentence {i},label {i % 2}\n" for i in range(600))
    files = {
        "train.csv": "text,category\n" + rows,
        "test.csv": "text,category\nsentence x,label 0\nsentence y,label 1\n",
    }
    folder.files(tmp_path / "mteb" / "classification" / "banking77", files)
    encoder = HashEncoder()
    assert one(encoder, "banking77/few-shot", tmp_path).error is None
    assert 2 + 16 <= sum(encoder.calls) <= 2 + 10 * 16


def test_steps_fitted_on_the_task(year: Path) -> None:
    """`center:@task` is completed with the task's hash: another fingerprint on each task."""
    encoder = engine.load("random:32 | center:@task")
    years = list(evaluate(encoder, "STS13,StarterSTS", data=year))
    assert [result.error for result in years] == [None, None]
    assert len({encoder.fingerprint, *(result.fingerprint for result in years)}) == 3
