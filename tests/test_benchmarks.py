"""The lines that every benchmark ends with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.claims import at_least, at_most, claim, within

ROOT = Path(__file__).parents[1]


def test_a_claim_is_the_median_of_its_rounds(capsys: pytest.CaptureFixture[str]) -> None:
    """Above 1 we are faster; met when the median reaches the target."""
    rounds = ([3.0, 1.0, 2.0], [3.0, 1.0, 1.9])
    assert [claim("x.y", of, 2.0, "cpu") for of in rounds] == [True, False]
    met, missed = map(json.loads, capsys.readouterr().out.splitlines())
    assert met == {
        "name": "x.y",
        "ratio": 2.0,
        "target": 2.0,
        "clock": "cpu",
        "repeats": 3,
        "min": 1.0,
        "max": 3.0,
    }
    assert missed["ratio"] == 1.9


def test_a_limit_stands_in_the_place_of_the_peer(capsys: pytest.CaptureFixture[str]) -> None:
    """Half of it is a ratio of 2. What is no time is said in words, and counts all the same."""
    assert [within("x", 3.0, [seconds]) for seconds in (1.5, 3.5)] == [True, False]
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert (first["name"], first["ratio"], first["clock"]) == ("x within 3 s", 2.0, "wall")
    assert [at_least("recall", share, 0.99) for share in (0.995, 0.98)] == [True, False]
    assert [at_most("GiB", size, 2.5) for size in (2.5, 2.6)] == [True, False]
    assert "{" not in capsys.readouterr().out


@pytest.mark.long
def test_visitors_are_answered() -> None:
    """The benchmark of a demonstration opens every page as a browser does; it broke unnoticed."""
    command = [sys.executable, "-m", "benchmarks.visitors", "--visitors", "4", "--rate", "2"]
    done = subprocess.run(
        [*command, "--rounds", "2", "--seconds", "6"], cwd=ROOT, capture_output=True, text=True
    )
    assert "requests that failed: 0 (at most 0)" in done.stdout, done.stdout + done.stderr
    assert '"visitors.decode.p95 within 2 s"' in done.stdout
