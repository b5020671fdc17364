"""Numbers and rows on their way to the browser."""

from __future__ import annotations

import json

import numpy as np

from app import formats


def test_json_has_no_number_that_is_none() -> None:
    """Arrays are lists, whatever lies between their numbers; NaN is null."""
    given = {"every other": np.arange(4)[::2], "one": np.float32(1), "none": [float("nan"), np.inf]}
    assert json.loads(formats.json_text(given)) == {
        "every other": [0, 2], "one": 1.0, "none": [None, None]}  # fmt: skip
