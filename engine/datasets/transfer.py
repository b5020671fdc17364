"""SentEval's classification data sets of single sentences.

Text and decoding are those of the reference loaders: tokens joined by one space, and latin-1 where
they use it (so an accented letter of a UTF-8 file becomes two characters, as in all published
scores).

Source: facebookresearch/SentEval, `senteval/{binary,sst,trec}.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from theodolite.engine.datasets.files import DatasetSource, existing, find, lines, where
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.senteval import downstream
from theodolite.engine.datasets.types import DatasetInfo, Extent, LabelledSentences
from theodolite.engine.errors import UserError

Labelled = tuple[str, str]
"""Sentence and label."""

# name -> description, and label -> file, in the order in which the reference stacks the classes.
_BINARY: dict[str, tuple[str, dict[str, str]]] = {
    "MR": (
        "Movie review snippets, positive or negative",
        {"positive": "MR/rt-polarity.pos", "negative": "MR/rt-polarity.neg"},
    ),
    "CR": (
        "Customer review snippets, positive or negative",
        {"positive": "CR/custrev.pos", "negative": "CR/custrev.neg"},
    ),
    "SUBJ": (
        "Movie review and plot sentences, subjective or objective",
        {"objective": "SUBJ/subj.objective", "subjective": "SUBJ/subj.subjective"},
    ),
    "MPQA": (
        "Short opinion phrases, positive or negative",
        {"positive": "MPQA/mpqa.pos", "negative": "MPQA/mpqa.neg"},
    ),
}
# name -> description, and split -> file.
_SPLIT: dict[str, tuple[str, dict[str, str]]] = {
    "SST2": (
        "Stanford Sentiment Treebank, 2 classes; train holds phrases",
        {split: f"SST/binary/sentiment-{split}" for split in ("train", "dev", "test")},
    ),
    "SST5": (
        "Stanford Sentiment Treebank, 5 classes",
        {split: f"SST/fine/sentiment-{split}" for split in ("train", "dev", "test")},
    ),
    "TREC": (
        "Questions by the type of their answer, 6 classes",
        {"train": "TREC/train_5500.label", "test": "TREC/TREC_10.label"},
    ),
}

PLACES: dict[str, str] = {
    name: str(Path(next(iter(files.values()))).parent)
    for name, (_, files) in (_BINARY | _SPLIT).items()
}
"""Data set -> its folder under `downstream/`."""


def sources(root: Path) -> list[DatasetSource]:
    """List the data sets under a data folder."""
    base = downstream(root)
    found = []
    for name, (what, files) in (_BINARY | _SPLIT).items():
        if base is not None and any(find(base / file) for file in files.values()):
            splits = tuple(files) if name in _SPLIT else ()
            info = DatasetInfo(
                name, "labels", "folder", f"{what}.", task=name, languages=ENGLISH, splits=splits
            )
            read = read_binary if name in _BINARY else read_split
            found.append(DatasetSource(info, partial(read, base, name)))
    return found


def read_binary(base: Path, name: str) -> LabelledSentences:
    """Read MR, CR, SUBJ or MPQA, which have a file per class."""
    rows: list[Labelled] = []
    files: list[Extent] = []
    for label, file in _BINARY[name][1].items():
        path = existing(base / file)
        before = len(rows)
        rows += ((joined(line), label) for line in lines(path, "latin-1"))
        files.append(Extent(where(path), len(rows) - before))
    return labelled(name, rows, files=files)


def read_split(base: Path, name: str) -> LabelledSentences:
    """Read SST2, SST5 or TREC, which have a file per split."""
    parse, encoding = {
        "SST2": (_sst2, "utf-8"),
        "SST5": (_sst5, "utf-8"),
        "TREC": (_trec, "latin-1"),
    }[name]
    rows: list[Labelled] = []
    splits: list[str] = []
    files: list[Extent] = []
    for split, file in _SPLIT[name][1].items():
        path = existing(base / file)
        before = len(rows)
        for number, line in enumerate(lines(path, encoding), start=1):
            try:
                rows.append(parse(line.strip()))
            except ValueError:
                raise bad_line(path, number) from None
            splits.append(split)
        files.append(Extent(where(path), len(rows) - before))
    return labelled(name, rows, splits, files)


def _sst2(line: str) -> Labelled:
    sentence, label = line.split("\t")
    return joined(sentence), label


def _sst5(line: str) -> Labelled:
    label, sentence = line.split(" ", 1)
    return joined(sentence), label


def _trec(line: str) -> Labelled:
    label, rest = line.split(":", 1)
    _, question = rest.split(" ", 1)  # the first word is the fine class
    return joined(question), label


def labelled(
    name: str,
    rows: Sequence[Labelled],
    splits: list[str] | None = None,
    files: Sequence[Extent] = (),
) -> LabelledSentences:
    """Build a data set from (sentence, label) rows."""
    empty = [extent.file for extent in files if not extent.rows]
    if empty:
        raise UserError(
            f"{' and '.join(empty)} holds no labelled sentence.", "Is it complete?", code="missing"
        )
    if not rows:
        raise UserError(
            f"The files of {name} hold no labelled sentence.", "Are they complete?", code="missing"
        )
    sentences, labels = (list(column) for column in zip(*rows, strict=True))
    return LabelledSentences(name, sentences, labels, splits or [], files=tuple(files))


def joined(text: str) -> str:
    """Return text with the reference's spacing: tokens joined by one space."""
    return " ".join(text.split())


def bad_line(path: Path, number: int) -> UserError:
    """Return the error for a malformed line."""
    return UserError(
        f"{where(path)}, line {number} is not laid out as SentEval's file is.",
        "Compare the line with its neighbours.",
        code="damaged",
    )
