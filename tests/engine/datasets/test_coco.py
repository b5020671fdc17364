"""COCO: features beside the captions of each image; pickles are not read."""

import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.pickles import Calls
from theodolite.engine.datasets import Catalog, coco
from theodolite.engine.errors import Code

SIZES = {"train": 2, "valid": 3, "test": 4}


def features(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 6)).astype(np.float32)


def captions(n: int) -> list[list[str]]:
    return [[f"photograph {i} seen {k} times ." for k in range(5)] for i in range(n)]


def write(root: Path) -> Path:
    folder = root / "downstream" / "COCO"
    for stem, n in SIZES.items():
        files(folder, {f"{stem}.json": json.dumps(captions(n))})
        np.save(folder / f"{stem}.npy", features(n))
    return folder


def test_features_and_captions_of_each_split(tmp_path: Path) -> None:
    write(tmp_path)
    data = Catalog(tmp_path).load("COCO")
    assert list(data.parts) == ["train", "dev", "test"]
    for part, n in zip(data.parts.values(), SIZES.values(), strict=True):
        np.testing.assert_array_equal(part.images, features(n))
        assert list(part.captions) == [text for five in captions(n) for text in five]


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path)
    expected = coco.read(folder).hash
    (folder / "train.npy").unlink()
    pq.write_table(pa.table({"features": features(2).tolist()}), folder / "train.parquet")
    assert coco.read(folder).hash == expected


def array(value: Any) -> Any:
    return lambda folder: np.save(folder / "test.npy", value)


def text(value: str) -> Any:
    return lambda folder: (folder / "test.json").write_text(value)


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (lambda folder: (folder / "test.npy").unlink(), "no-file", "COCO/test.npy"),
        (lambda folder: (folder / "test.json").unlink(), "no-file", "COCO/test.json"),
        (array(features(9)), "mismatch", "COCO/test.json has 20 captions of 4 images"),
        (array(np.full((4, 6), np.nan, np.float32)), "damaged", "COCO/test.npy"),
        (array(features(4).astype(np.float64)), "wrong-kind", "float64"),
        (array(np.zeros((0, 6), np.float32)), "wrong-kind", "COCO/test.npy"),
        (
            lambda folder: (folder / "test.npy").write_bytes(b"\x93NUMPY"),
            "damaged",
            "COCO/test.npy",
        ),
        (text("{"), "damaged", "COCO/test.json"),
        (text("7"), "damaged", "COCO/test.json"),
        (text(json.dumps([["too few"]] * 4)), "mismatch", "4 captions"),
        (text(json.dumps([[1] * 5] * 4)), "mismatch", "COCO/test.json"),
        (
            lambda folder: pq.write_table(
                pa.table({"features": [[1.0], [1.0, 2.0]]}), folder / "test.parquet"
            ),
            "damaged",
            "COCO/test.parquet",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    tmp_path: Path, change: Any, code: Code, named: str
) -> None:
    folder = write(tmp_path)
    change(folder)
    with refused(code, named):
        Catalog(tmp_path).load("COCO")


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    """It is named with what to do; what it would run leaves no trace."""
    trace = tmp_path / "trace"
    attack = pickle.dumps(Calls(os.system, f"touch {trace}"))
    files(tmp_path / "downstream" / "COCO", {f"{stem}.pkl": attack for stem in SIZES})
    with refused("wrong-kind", "COCO/train.pkl", "train.npy"):
        Catalog(tmp_path).load("COCO")
    assert not trace.exists()
