"""Parallel sentences in `mteb/bitext/`, and from any two aligned files.

Three layouts are read, in any folder: `SPLIT.de` beside `SPLIT.en` (Multi30k), the pair of
languages before the ending (`tatoeba.afr-eng.afr`), and BUCC's `zh-en.dev.zh`, in which each line
begins with an id and `zh-en.dev.gold` pairs the ids.
"""

import re
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from theodolite.engine.datasets.files import DatasetSource, existing, find, lines, shorten, where
from theodolite.engine.datasets.languages import codes
from theodolite.engine.datasets.types import DatasetInfo, Parallel, ParallelPart
from theodolite.engine.errors import UserError

EXPECTED = "two files that differ only in their last ending, a language, such as test.de, test.en"
_KNOWN = {
    "tatoeba": ("Tatoeba: sentences and their translations", "CC BY 2.0 FR"),
    "bucc2018": ("BUCC 2018: sentences of two collections, few of them translations", ""),
    "multi30k": (
        "Multi30k: captions of photographs",
        "non-commercial research and educational use",
    ),
}
LANGUAGE = re.compile(r"(?!txt|tsv|csv|md|xml|zip)[a-z]{2,3}([-_][A-Za-z]{2,4})?")
_PAIR = re.compile(r"(?:^|[._])([a-z]{2,3})-([a-z]{2,3})(?=$|[._])")
_SPLITS = ("train", "dev", "val", "valid", "validation", "test")

_Files = dict[str, list[Path]]
"""Split -> files of left, right and optionally the gold pairs."""


def sources(root: Path) -> list[DatasetSource]:
    """List the language pairs of every folder; if English is among them, only pairs with it."""
    sets = []
    for folder in sorted((root / "mteb" / "bitext").glob("*/")):
        for (left, right), files in sorted(_pairs(folder).items()):
            family = re.sub(rf"[._-]{left}[_-]{right}$", "", folder.name)
            what, licence = _KNOWN.get(family, ("Sentences and their translations", ""))
            name = f"{family}/{left}-{right}"
            missing = [path for paths in files.values() for path in paths if not find(path)]
            info = DatasetInfo(
                name,
                "parallel",
                "folder",
                f"{what}, {left} and {right}.",
                licence,
                task=name,
                languages=codes(left, right),
                splits=tuple(files),
                problem=f"The file {where(missing[0])} is missing." if missing else None,
            )
            sets.append(DatasetSource(info, partial(read, name, (left, right), files)))
    return sets


def _pairs(folder: Path) -> dict[tuple[str, str], _Files]:
    """Return the language pairs of a folder, by its files' names."""
    stems: dict[str, dict[str, Path]] = {}
    for path in sorted(folder.iterdir()):
        stem, _, language = path.name.removesuffix(".gz").rpartition(".")
        if stem and LANGUAGE.fullmatch(language):
            stems.setdefault(stem, {})[language] = path
    by_languages: dict[tuple[str, str], _Files] = {}
    for stem, by_language in stems.items():
        pair = _PAIR.search(stem)
        split = _PAIR.sub("", stem).strip("._") if pair else stem
        if pair:
            split = split if split in _SPLITS else "test"
            pairs = [pair.groups()]
        else:
            others = [language for language in by_language if language != "en"]
            pairs = (
                [(language, "en") for language in others]
                if "en" in by_language
                else list(combinations(others, 2))
            )
        for left, right in pairs:
            sides = [by_language.get(of, folder / f"{stem}.{of}") for of in (left, right)]
            gold = find(folder / f"{stem}.gold")
            by_languages.setdefault((left, right), {})[split] = [*sides, *([gold] if gold else [])]
    return by_languages


def read(name: str, languages: tuple[str, str], files: _Files) -> Parallel:
    """Read pairs of files with one sentence per line."""
    parts = {}
    for split, (left, right, *gold) in files.items():
        first, second = (list(lines(existing(path))) for path in (left, right))
        if gold:
            parts[split] = _of_ids(left, right, (first, second), gold[0])
        else:
            parts[split] = align(first, second, where(left), where(right))
    return parallel(name, parts, languages)


def align(left: list[str], right: list[str], left_file: str, right_file: str) -> ParallelPart:
    """Pair the lines of two files."""
    if len(left) != len(right):
        raise UserError(
            f"{left_file} has {len(left)} lines and {right_file} has {len(right)}.",
            "Line i of one translates line i of the other, so both need as many lines.",
            code="mismatch",
        )
    return ParallelPart.aligned(left, right)


def parallel(
    name: str, parts: dict[str, ParallelPart], languages: tuple[str, str] = ("", "")
) -> Parallel:
    """Build a data set from parts, with a note on empty sentences."""
    for split, part in parts.items():
        if not len(part.gold):
            raise UserError(
                f"The split {split} of {name} has no pair of sentences.",
                "Is it complete?",
                code="missing",
            )
    empty = sum(
        not sentence.strip()
        for part in parts.values()
        for side in (part.left, part.right)
        for sentence in side
    )
    return Parallel(
        name, parts, languages, (f"Empty sentences, kept: {empty:,}.",) if empty else ()
    )


def _of_ids(left: Path, right: Path, sides: Sequence[list[str]], gold: Path) -> ParallelPart:
    """Pair two collections by the ids at the start of their lines."""
    ids: list[dict[str, int]] = []
    texts: list[list[str]] = []
    for path, rows in zip((left, right), sides, strict=True):
        cells = [_cells(path, number, row) for number, row in enumerate(rows, start=1)]
        texts.append([text for _, text in cells])
        ids.append({key: i for i, (key, _) in enumerate(cells)})
        if len(ids[-1]) < len(cells):
            raise UserError(
                f"{where(path)} gives an id twice.",
                "Every line needs one of its own.",
                code="conflict",
            )
    pairs = []
    for number, row in enumerate(lines(gold), start=1):
        keys = _cells(gold, number, row)
        unknown = [key for key, known in zip(keys, ids, strict=True) if key not in known]
        if unknown:
            raise UserError(
                f"{where(gold)}, line {number} names {shorten(unknown[0])}, which is not a line of "
                f"{where(left)} or {where(right)}.",
                "Each line is the id of a left sentence, a tab, the id of a right one.",
                code="unknown",
            )
        pairs.append([ids[0][keys[0]], ids[1][keys[1]]])
    return ParallelPart(
        tuple(texts[0]), tuple(texts[1]), np.array(pairs, dtype=np.int64).reshape(-1, 2)
    )


def _cells(path: Path, number: int, row: str) -> tuple[str, str]:
    first, tab, second = row.partition("\t")
    if not tab:
        raise UserError(
            f"{where(path)}, line {number} has no tab.",
            "Beside a file of gold pairs, every line begins with an id and a tab.",
            code="damaged",
        )
    return first, second.strip()
