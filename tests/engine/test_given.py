"""Texts that a program hands over."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.errors import refused
from theodolite.engine.encoders import load, parse
from theodolite.engine.encoders.vectors import save
from theodolite.engine.given import names_in, texts
from theodolite.engine.paths import expand


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
    ("given", "named"),
    [
        (["a", None], "sentences[1] is None"),
        (["a", math.nan], "sentences[1] is nan (float)"),
        (["a", "b", 3], "sentences[2] is 3 (int)"),
        ([b"a"], "sentences[0] is b'a' (bytes)"),
        ([["a"], ["b"]], "sentences[0] is ['a'] (list)"),
        (pd.Series(["a", None], index=["x", "y"]), "sentences[1]"),
        (pd.Series(["a", pd.NA]), "sentences[1]"),
        (np.array([1.0, 2.0]), "sentences[0] is 1.0"),
        ("a", "one text"),
        (b"a", "type bytes"),
        (None, "type NoneType"),
        (5, "type int"),
        ({"a": 1}, "type dict"),
        ({"a", "b"}, "type set"),  # without an order
        (pd.DataFrame({"text": ["a"]}), "type DataFrame"),
        (np.array([["a"]]), "type ndarray"),
    ],
)
def test_anything_else_is_named_with_its_place(given, named, tmp_path):
    """By every encoder: cached, side by side, after steps, and of vectors from a file."""
    save(tmp_path / "v.parquet", ["a"], np.ones((1, 2)))
    with refused("invalid", named):
        texts(given)
    for spec in ("random:4", "random:4 + random:2", "random:4 | normalise", "vectors:v.parquet"):
        with refused("invalid", named):
            load(spec.replace("v.parquet", str(tmp_path / "v.parquet"))).encode(given)


def test_a_spec_is_a_text():
    for given in (None, 3, ["minilm"], b"minilm"):
        with refused("invalid", "encoder"):
            load(given)


def test_commas_within_names_do_not_part_them():
    """Those of suites and of chunks do."""
    suite, chunks = "MTEB(eng, v2)", "upload:mine|chunks:words,200,50"
    assert names_in(f"a, {suite},,a", f"{chunks},b") == ("a", suite, chunks, "b")


# --- paths ---


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Offices leave files such as `~$list.csv` beside those that are open."""
    monkeypatch.setenv("HOME", str(tmp_path))
    expected = {"~/list.csv": tmp_path / "list.csv", "~$list.csv": Path("~$list.csv")}
    assert {text: expand(text) for text in expected} == expected


@pytest.mark.parametrize("text", ["\0", "~\0/.//list.csv", "list.csv\0"])
@pytest.mark.parametrize("read", [expand, lambda text: parse(f"dir:a{text}")])
def test_nul(text: str, read) -> None:
    """No file system has it in a name."""
    with refused("invalid", "NUL"):
        read(text)
