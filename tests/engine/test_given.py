"""Texts that a program hands over."""

import math

import numpy as np
import pandas as pd
import pytest

from theodolite.engine.encoders import load
from theodolite.engine.encoders.vectors import save
from theodolite.engine.errors import UserError
from theodolite.engine.given import text, texts


@pytest.mark.parametrize(
    "given",
    [
        ["a", "b"],
        ("a", "b"),
        (letter for letter in "ab"),
        np.array(["a", "b"]),
        np.array(["a", "b"], object),
        pd.Series(["a", "b"], index=[7, 3]),
        pd.DataFrame({"text": ["a", "b"]})["text"],
        {"a": 1, "b": 2}.keys(),
    ],
)
def test_any_sequence_of_texts_is_a_list(given):
    """In its order, whatever its index."""
    assert texts(given) == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["a", None], r"sentences\[1\] is None"),
        (["a", math.nan], r"sentences\[1\] is nan \(float\).*Leave it out"),
        (["a", "b", 3], r"sentences\[2\] is 3 \(int\)"),
        ([b"a"], r"sentences\[0\] is b'a' \(bytes\).*Decode"),
        ([["a"], ["b"]], r"sentences\[0\] is \['a'\] \(list\)"),
        (pd.Series(["a", None], index=["x", "y"]), r"sentences\[1\] is"),
        (pd.Series(["a", pd.NA]), r"sentences\[1\] is"),
        (np.array([1.0, 2.0]), r"sentences\[0\] is 1\.0"),
        ("a", "one text, where a list is expected"),
        (b"a", "of type bytes"),
        (None, "of type NoneType"),
        (5, "of type int"),
        ({"a": 1}, "of type dict"),
        ({"a", "b"}, "of type set"),  # without an order
        (pd.DataFrame({"text": ["a"]}), "of type DataFrame.*one column"),
        (np.array([["a"]]), "of type ndarray"),
    ],
)
def test_anything_else_is_named_with_its_place(given, says, tmp_path):
    """By every encoder: cached, side by side, after steps, and of vectors from a file."""
    save(tmp_path / "v.parquet", ["a"], np.ones((1, 2)))
    specs = ("random:4", "random:4 + random:2", "random:4 | normalise", "vectors:v.parquet")
    with pytest.raises(UserError, match=says):
        texts(given)
    for spec in specs:
        with pytest.raises(UserError, match=says):
            load(spec.replace("v.parquet", str(tmp_path / "v.parquet"))).encode(given)


def test_a_spec_is_a_text():
    """Not a list of them."""
    assert text("minilm", "encoder") == "minilm"
    for given in (None, 3, ["minilm"], b"minilm"):
        with pytest.raises(UserError, match=r"encoder is .*where a text is expected"):
            load(given)
