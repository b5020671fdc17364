"""evaluate: results in order, errors as values, progress, and what is refused at once."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.encoders import (
    BrokenEncoder,
    ConstantEncoder,
    HashEncoder,
    NaNEncoder,
    ShrinkingEncoder,
)
from theodolite.engine import evaluate
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
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


def test_the_package_gives_the_function_whatever_was_imported_before() -> None:
    """`engine.evaluate` is the function although a module has the same name."""
    import theodolite.engine.evaluate

    package = theodolite.engine
    assert callable(package.evaluate)
    assert package.load.__name__ == "load"
    with pytest.raises(AttributeError):
        package.nothing  # noqa: B018


def test_a_result_says_all_it_depends_on(year: Path) -> None:
    """Fingerprint, data, protocol, seed; and that the protocol was the task's own."""
    encoder = HashEncoder()
    result = one(encoder, "STS13", year)
    assert result.fingerprint == encoder.fingerprint
    assert result.data_hash == Catalog(year).load("STS13").hash
    assert (result.protocol, result.seed, result.dim) == ("simcse-2021", 1111, 16)
    assert result.details["protocol_choice"] == "default of the task"
    assert result.seconds > 0
    assert sum(score.main for score in result.scores) == 1
    assert len(result.examples["cosine"]) == 36
    json.dumps([result.rows(), dict(result.details)], allow_nan=False)


def test_the_same_again_is_the_same(year: Path) -> None:
    """Twice the same encoder, twice the same numbers."""
    first, second = one(HashEncoder(), "STS13", year), one(HashEncoder(), "STS13", year)
    assert first.scores == second.scores
    np.testing.assert_array_equal(first.examples["cosine"], second.examples["cosine"])


def test_a_task_is_encoded_in_one_call(year: Path) -> None:
    """So that the encoder can sort and batch all of it."""
    encoder = HashEncoder()
    one(encoder, "STS13", year)
    assert encoder.calls == [72]


def test_names_are_checked_before_anything_runs() -> None:
    """An unknown task or protocol is refused at the call, not at the first result."""
    with pytest.raises(UserError, match="task"):
        evaluate(HashEncoder(), ["StarterSTS", "nonsense"])
    with pytest.raises(UserError, match="protocol"):
        evaluate(HashEncoder(), ["StarterSTS"], protocol="nonsense")


def test_missing_data_is_an_error_of_that_task_only(year: Path) -> None:
    """STS16 is a task whose files are not there: the next task still runs."""
    missing, present = evaluate(HashEncoder(), ["STS16", "STS13"], data=year)
    assert "STS16" in (missing.error or "")
    assert missing.hint
    assert missing.scores == ()
    assert present.error is None
    with pytest.raises(ValueError, match="no score"):
        _ = missing.main


@pytest.mark.parametrize(
    ("encoder", "said"),
    [
        (NaNEncoder(), "NaN or infinity for 8 of 72"),
        (ShrinkingEncoder(), "expected (72, 16)"),
        (ConstantEncoder(), "same cosine"),
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


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_generator_takes(seed: int) -> None:
    """Is refused before anything runs."""
    with pytest.raises(UserError, match="seed"):
        evaluate(HashEncoder(), "starter", seed=seed)


def test_a_protocol_that_does_not_cover_the_task(year: Path) -> None:
    """It is said which would."""
    (result,) = evaluate(HashEncoder(), "StarterTopics", protocol="simcse-2021")
    assert "simcse-2021" in (result.error or "")
    assert "starter-1" in result.hint


def test_asking_for_the_protocol_and_seed(year: Path) -> None:
    """Both are in the result."""
    (result,) = evaluate(HashEncoder(), "STS13", protocol="simcse-2021", seed=7, data=year)
    assert (result.seed, result.details["protocol_choice"]) == (7, "asked for")


def test_progress_counts_sentences(year: Path) -> None:
    """From 0 to all of the task's."""
    seen: list[tuple[int, int]] = []
    list(evaluate(HashEncoder(), "STS13", data=year, progress=lambda *at: seen.append(at)))
    assert seen[0] == (0, 72)
    assert seen[-1] == (72, 72)


def test_a_callback_that_pauses_is_no_part_of_the_time(year: Path) -> None:
    """Whoever hears of the progress may take as long as they like."""
    told = []

    def pause(done: int, total: int) -> None:
        told.append(done)
        time.sleep(0.2)

    [result] = evaluate(HashEncoder(), "STS13", data=year, progress=pause)
    assert len(told) > 1
    assert result.seconds < 0.2 * len(told)


def test_progress_can_stop_the_evaluation(year: Path) -> None:
    """What it raises reaches the caller, even a RuntimeError, and is no fault of the encoder."""

    def stop(done: int, total: int) -> None:
        raise RuntimeError("cancelled by the person")

    with pytest.raises(RuntimeError, match="cancelled by the person"):
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
    monkeypatch.setattr(module, "_IN_MEMORY", 100)
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
    seen: list[int] = []
    encode = encoder.encode

    def counted(sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        seen.append(len(sentences))
        return encode(sentences, progress)

    encoder.encode = counted  # type: ignore[method-assign]
    assert one(encoder, "banking77/few-shot", tmp_path).error is None
    assert 2 + 16 <= sum(seen) <= 2 + 10 * 16
