"""Numbers on their way out: to the browser, to programs, into words."""

import json

import numpy as np
import pytest

from theodolite.app import formats
from theodolite.app.terminal import emit_json


def test_json_has_no_number_that_is_none() -> None:
    """Arrays are lists, whatever lies between their numbers; NaN is null."""
    given = {"every other": np.arange(4)[::2], "one": np.float32(1), "none": [float("nan"), np.inf]}
    assert json.loads(formats.json_text(given)) == {
        "every other": [0, 2],
        "one": 1.0,
        "none": [None, None],
    }


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (0.000541, "541 µs"),
        (0.00836, "8.4 ms"),
        (0.01249, "12 ms"),
        (0.9996, "1.0 s"),
        (0.9994, "999 ms"),
        (0.0009996, "1.0 ms"),
        (200, "3 min 20 s"),
    ],
)
def test_a_duration_has_a_unit_that_fits(seconds: float, words: str) -> None:
    """Two or three figures, whatever it took."""
    assert formats.duration(seconds) == words


def test_no_p_value_is_printed_as_zero() -> None:
    """A p that three decimals cannot hold is said to be smaller than they can."""
    expected = {0.0344: "0.034", 0.001: "0.001", 0.00099: "< 0.001", 0.0: "< 0.001"}
    assert {p: formats.p_value(p) for p in expected} == expected


def test_output_for_programs_has_no_nan(capfd: pytest.CaptureFixture[str]) -> None:
    """JSON has no NaN and no infinity, however deep they lie."""
    emit_json({"score": float("nan"), "vector": [1.0, float("inf")], "n": 3})
    assert capfd.readouterr().out == '{"score": null, "vector": [1.0, null], "n": 3}\n'
