"""SentEval's data sets of labelled sentence pairs: MRPC, SICK entailment and SNLI.

Source: facebookresearch/SentEval, `senteval/{mrpc,sick,snli}.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from theodolite.engine.datasets.files import DatasetSource, existing, find, lines, where
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.senteval import downstream
from theodolite.engine.datasets.transfer import bad_line, joined
from theodolite.engine.datasets.types import DatasetInfo, Extent, LabelledPairs
from theodolite.engine.errors import UserError

_MRPC = {"train": "MRPC/msr_paraphrase_train.txt", "test": "MRPC/msr_paraphrase_test.txt"}
_SICK = {
    "train": "SICK/SICK_train.txt",
    "dev": "SICK/SICK_trial.txt",
    "test": "SICK/SICK_test_annotated.txt",
}
_SNLI = {split: f"SNLI/labels.{split}" for split in ("train", "dev", "test")}
# name -> description, files, and the columns of left sentence, right sentence and label.
_TABLES: dict[str, tuple[str, dict[str, str], tuple[int, int, int]]] = {
    "MRPC": ("Microsoft paraphrase corpus: pairs that mean the same or not", _MRPC, (3, 4, 0)),
    "SICKEntailment": ("SICK: pairs by entailment, 3 classes", _SICK, (1, 2, 4)),
}
PLACES = {"MRPC": "MRPC", "SICKEntailment": "SICK", "SNLI": "SNLI"}
"""Data set -> its folder under `downstream/`."""
_LICENCES = {"SICKEntailment": "CC BY-NC-SA 3.0", "SNLI": "CC BY-SA 4.0"}

_Row = tuple[str, str, str]
"""Left, right, label."""


def sources(root: Path) -> list[DatasetSource]:
    """List the data sets under a data folder."""
    base = downstream(root)
    if base is None:
        return []
    found = []
    for name, (what, files, _) in _TABLES.items():
        if any(find(base / file) for file in files.values()):
            found.append(DatasetSource(_info(name, what), partial(read_table, base, name)))
    if any(find(base / file) for file in _SNLI.values()):
        what = "Stanford inference corpus: pairs by entailment, 3 classes"
        found.append(DatasetSource(_info("SNLI", what), partial(read_snli, base)))
    return found


def _info(name: str, what: str) -> DatasetInfo:
    licence = _LICENCES.get(name, "")
    splits = tuple(_TABLES[name][1] if name in _TABLES else _SNLI)
    return DatasetInfo(
        name,
        "labelled-pairs",
        "folder",
        f"{what}.",
        licence,
        task=name,
        languages=ENGLISH,
        splits=splits,
    )


def read_table(base: Path, name: str) -> LabelledPairs:
    """Read MRPC or SICK entailment: a header line, then tab-separated columns."""
    _, files, columns = _TABLES[name]
    rows: list[_Row] = []
    splits: list[str] = []
    extents: list[Extent] = []
    for split, file in files.items():
        before, path = len(rows), existing(base / file)
        rows += _rows(path, columns)
        splits += [split] * (len(rows) - before)
        extents.append(Extent(where(path), len(rows) - before, line=2))
    return _of(name, rows, splits, extents)


def _rows(path: Path, columns: tuple[int, int, int]) -> Iterator[_Row]:
    left, right, label = columns
    for number, line in enumerate(lines(path), start=1):
        cells = line.strip().split("\t")
        if len(cells) <= max(columns):
            raise bad_line(path, number)
        if number > 1:
            yield joined(cells[left]), joined(cells[right]), cells[label]


def read_snli(base: Path) -> LabelledPairs:
    """Read SNLI: line i of `s1.SPLIT`, `s2.SPLIT` and `labels.SPLIT` are one pair."""
    rows: list[_Row] = []
    splits: list[str] = []
    files: list[Extent] = []
    for split in _SNLI:
        paths = [existing(base / f"SNLI/{part}.{split}") for part in ("s1", "s2", "labels")]
        columns = [
            [_ascii_joined(line) for line in lines(paths[0], "latin-1")],
            [_ascii_joined(line) for line in lines(paths[1], "latin-1")],
            [line.strip() for line in lines(paths[2])],
        ]
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(
                f"{where(p)} has {len(c)}" for p, c in zip(paths, columns, strict=True)
            )
            raise UserError(
                f"The files of SNLI's {split} split differ in their number of lines: {counts}.",
                "Line i of each belongs to pair i, so all three need the same number of lines.",
                code="mismatch",
            )
        rows += zip(*columns, strict=True)
        splits += [split] * len(columns[0])
        files.append(Extent(where(paths[2]), len(columns[0])))
    return _of("SNLI", rows, splits, files)


def _ascii_joined(line: str) -> str:
    """Normalise ASCII white space only, since the reference splits SNLI's text as bytes."""
    return b" ".join(line.encode().split()).decode()


def _of(name: str, rows: list[_Row], splits: list[str], files: list[Extent]) -> LabelledPairs:
    empty = [extent.file for extent in files if not extent.rows]
    if empty:
        raise UserError(
            f"{' and '.join(empty)} holds no labelled pair.", "Is it complete?", code="missing"
        )
    left, right, labels = (list(column) for column in zip(*rows, strict=True))
    return LabelledPairs.of(name, left, right, labels, splits, tuple(files))
