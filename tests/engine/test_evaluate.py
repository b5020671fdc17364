"""evaluate: results in order, errors as values, progress, and what is refused at once."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.encoders import (
    BrokenEncoder,
    ConstantEncoder,
    HashEncoder,
    NaNEncoder,
    ShrinkingEncoder,
)
from theodolite import engine
from theodolite.engine import evaluate
from theodolite.engine.datasets import Catalog
from theodolite.engine.progress import Progress
from theodolite.engine.results import Result
from theodolite.store.errors import StoreError


@pytest.fixture
def year(tmp_path: Path) -> Path:
    """A SentEval folder with a small STS13."""
    folder = tmp_path / "downstream" / "STS" / "STS13-en-test"
    folder.mkdir(parents=True)
    for subset in ("FNWN", "headlines", "OnWN"):
        lines = [f"{subset} left {i}\t{subset} right {i}\n" for i in range(12)]
        (folder / f"STS.input.{subset}.txt").write_text("".join(lines))
        (folder / f"STS.gs.{subset}.txt").write_text("".join(f"{i % 6}\n" for i in range(12)))
    return tmp_path


def one(encoder: HashEncoder, task: str, data: Path | None = None) -> Result:
    """The result of a single task."""
    (result,) = evaluate(encoder, [task], data=data)
    return result


def test_three_lines_of_python() -> None:
    """As the README shows; the starter set needs no data folder."""
    results = list(evaluate(HashEncoder(), "starter"))
    assert [r.task for r in results] == ["StarterSTS", "StarterTopics", "StarterSearch"]
    assert [r.error for r in results] == [None] * 3
    assert abs(results[0].main.score) < 20, "random directions know nothing of meaning"
    # `engine.evaluate` is the function although a module has the same name.
    importlib.import_module("theodolite.engine.evaluate")
    assert callable(engine.evaluate) and engine.load.__name__ == "load"
    with pytest.raises(AttributeError):
        engine.nothing  # noqa: B018


def test_a_result_says_all_it_depends_on(year: Path) -> None:
    """Fingerprint, data, protocol, seed; and that the protocol was the task's own."""
    encoder = HashEncoder()
    result = one(encoder, "STS13", year)
    assert encoder.calls == [72], "in one call, so that the encoder can sort and batch all of it"
    assert result.fingerprint == encoder.fingerprint
    assert result.data_hash == Catalog(year).load("STS13").hash
    assert (result.protocol, result.seed, result.dim) == ("simcse-2021", 1111, 16)
    assert result.details["protocol_choice"] == "default of the task"
    assert result.seconds > 0
    assert sum(score.main for score in result.scores) == 1
    assert len(result.examples["cosine"]) == 36
    json.dumps([result.rows(), dict(result.details)], allow_nan=False)
    again = one(HashEncoder(), "STS13", year)
    assert again.scores == result.scores
    np.testing.assert_array_equal(again.examples["cosine"], result.examples["cosine"])
    (given,) = evaluate(HashEncoder(), "STS13", protocol="simcse-2021", seed=7, data=year)
    assert (given.seed, given.details["protocol_choice"]) == (7, "asked for")


def test_names_and_seeds_are_checked_before_anything_runs() -> None:
    with refused("unknown", "nonsense"):
        evaluate(HashEncoder(), ["StarterSTS", "nonsense"])
    with refused("unknown", "nonsense"):
        evaluate(HashEncoder(), ["StarterSTS"], protocol="nonsense")
    for seed in (-1, 2**32):
        with refused("invalid", seed):
            evaluate(HashEncoder(), "starter", seed=seed)


def test_missing_data_is_an_error_of_that_task_only(year: Path) -> None:
    """STS16 is a task whose files are not there: the next task still runs."""
    missing, present = evaluate(HashEncoder(), ["STS16", "STS13"], data=year)
    assert "STS16" in (missing.error or "")
    assert missing.hint
    assert missing.scores == ()
    assert present.error is None
    (other,) = evaluate(HashEncoder(), "StarterTopics", protocol="simcse-2021")
    assert "simcse-2021" in (other.error or "") and "starter-1" in other.hint
    with pytest.raises(ValueError, match="no score"):
        _ = missing.main


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (NaNEncoder(), "8 of 72"),
        (ShrinkingEncoder(), "expected (72, 16)"),
        (ConstantEncoder(), "STS13"),
        (BrokenEncoder(), "RuntimeError: CUDA error: device-side assert triggered"),
    ],
)
def test_an_encoder_that_fails_is_told(encoder: HashEncoder, said: str, year: Path) -> None:
    """A sentence and a hint, one line, no traceback; no score."""
    result = one(encoder, "STS13", year)
    assert said in (result.error or "")
    assert "\n" not in (result.error or "")
    assert result.hint
    assert result.scores == ()


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
    module = importlib.import_module("theodolite.engine.evaluate")  # beside it is the function
    seen: list[tuple[int, int]] = []
    clock = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: clock[0])

    def pause(*at: int) -> None:
        seen.append(at)  # type: ignore[arg-type]
        clock[0] += 100.0

    (result,) = evaluate(HashEncoder(), "STS13", data=year, progress=pause)
    assert (seen[0], seen[-1], result.seconds) == ((0, 72), (72, 72), 0.0)

    def stop(done: int, total: int) -> None:
        raise RuntimeError("cancelled")

    with pytest.raises(RuntimeError, match="cancelled"):
        list(evaluate(HashEncoder(), "STS13", data=year, progress=stop))


def test_steps_fitted_on_the_task(year: Path) -> None:
    """`center:@task` is completed with the task's hash: another fingerprint on each task."""
    from theodolite.engine import load

    encoder = load("random:32 | center:@task")
    years = list(evaluate(encoder, "STS13,StarterSTS", data=year))
    assert [result.error for result in years] == [None, None]
    assert len({encoder.fingerprint, *(result.fingerprint for result in years)}) == 3


def test_what_takes_more_than_memory_goes_through_a_file(
    monkeypatch: pytest.MonkeyPatch, year: Path
) -> None:
    """In pieces, with the same scores, and progress over the whole."""
    module = importlib.import_module(
        "theodolite.engine.evaluate"
    )  # by this name there is a function too
    whole, seen = one(HashEncoder(), "STS13", year), []
    monkeypatch.setattr(module, "_MAX_BYTES", 100)
    monkeypatch.setattr(module, "_PIECE", 10)
    (mapped,) = evaluate(
        HashEncoder(), ["STS13"], data=year, progress=lambda done, total: seen.append((done, total))
    )
    assert mapped.error is None
    assert mapped.scores == whole.scores
    assert seen == sorted(seen) and seen[-1][0] == seen[-1][1]


def test_only_what_is_needed_is_encoded(tmp_path: Path) -> None:
    """Of labelled sentences those drawn from train and the test split; of a bitext one split."""
    folder = tmp_path / "mteb" / "classification" / "banking77"
    folder.mkdir(parents=True)
    rows = "".join(f"sentence {i},label {i % 2}\n" for i in range(600))
    (folder / "train.csv").write_text("text,category\n" + rows)
    (folder / "test.csv").write_text("text,category\nsentence x,label 0\nsentence y,label 1\n")
    encoder = HashEncoder()
    assert one(encoder, "banking77/few-shot", tmp_path).error is None
    assert 2 + 16 <= sum(encoder.calls) <= 2 + 10 * 16
