"""Data folders, of files that a test names or in SentEval's layout, and what files may hold."""

import io
import shutil
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_THINGS = ("harbour", "kettle", "orchard", "lantern", "violin", "glacier", "saddle", "teapot")
_WAYS = ("quietly", "at once", "without a word", "in the rain", "after supper", "for a while")
_QUESTIONS = {"HUM": "Who carried the {}", "LOC": "Where is the {}", "NUM": "How old is the {}"}


def _said(pattern: str, i: int) -> str:
    """One of many sentences that differ."""
    thing, way = _THINGS[i % len(_THINGS)], _WAYS[i // len(_THINGS) % len(_WAYS)]
    return f"{pattern.format(thing)} {way} {i}"


def write(root: Path) -> Path:
    """Write MR (nested folds), TREC (folds) and SST5 (splits); return the root."""
    base, made = root / "downstream", {}
    for sign, pattern in (("pos", "We loved the {}"), ("neg", "Nobody needs the {}")):
        made[f"MR/rt-polarity.{sign}"] = "".join(_said(pattern, i) + "\n" for i in range(40))
    for name, n in (("train_5500", 60), ("TREC_10", 21)):
        expected = [
            f"{label}:any {_said(pattern, i)} ?"
            for i in range(n // 3)
            for label, pattern in _QUESTIONS.items()
        ]
        made[f"TREC/{name}.label"] = "\n".join(expected) + "\n"
    for split, n in (("train", 60), ("dev", 20), ("test", 20)):
        rated = [f"{i % 5} {_said(f'Rated {i % 5} was the {{}}', i)}" for i in range(n)]
        made[f"SST/fine/sentiment-{split}"] = "\n".join(rated) + "\n"
    files(base, made)
    return root


def files(root: Path, contents: Mapping[str, str | bytes]) -> Path:
    """Write files and the folders above them; return the root."""
    for name, content in contents.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def packed(folder: Path, target: Path) -> Path:
    """A folder as an archive."""
    return Path(shutil.make_archive(str(target.with_suffix("")), "zip", folder))


def parquet(table: pa.Table, **options: object) -> bytes:
    """As Parquet, written with some options."""
    pq.write_table(table, made := io.BytesIO(), **options)
    return made.getvalue()


def npy(array: np.ndarray, **options: object) -> bytes:
    """As NumPy writes it, with some options."""
    np.save(made := io.BytesIO(), array, **options)
    return made.getvalue()


class Calls:
    """Pickles as a call of any function, as a hostile pickle does."""

    def __init__(self, function, *arguments) -> None:
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call
