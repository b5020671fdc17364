"""The STS data sets of SentEval's folder, read as the reference loaders read them.

The text an encoder sees is `" ".join(s.split())` of the file's text, because the reference splits
a sentence into tokens on load and joins them in its batcher. Nothing is lower-cased. Pairs keep the
order of the file: the reference sorts them by length, which affects its batches but no score.

Sources: `senteval/sts.py` and `senteval/sick.py` of facebookresearch/SentEval and of the copy in
princeton-nlp/SimCSE.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.engine.datasets.files import DatasetSource, existing, find, lines, number, where
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.types import DatasetInfo, PairPart, ScoredPairs
from theodolite.engine.errors import UserError

STS_SUBSETS: dict[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    # SMT, the fourth subset of 2013, may not be redistributed; no published average includes it.
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""Subsets of each year, in the reference's order."""

_STSB = {"train": "sts-train.csv", "dev": "sts-dev.csv", "test": "sts-test.csv"}
_SICK = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_STS_LICENCE = "scores CC BY-SA 4.0; sentences under the terms of their sources"

PLACES: dict[str, str] = {
    **{year: f"STS/{year}-en-test" for year in STS_SUBSETS},
    "STSBenchmark": "STS/STSBenchmark",
    "SICKRelatedness": "SICK",
}
"""Data set -> its folder under `downstream/`."""


def downstream(root: Path) -> Path | None:
    """Return the `downstream/` folder in either layout of data folder, or None."""
    candidates = (root / "downstream", root / "senteval" / "downstream")
    return next((folder for folder in candidates if folder.is_dir()), None)


def sources(root: Path) -> list[DatasetSource]:
    """List the STS data sets under a data folder."""
    base = downstream(root)
    if base is None:
        return []
    found = []
    for year, subsets in STS_SUBSETS.items():
        folder = base / PLACES[year]
        if any(find(folder / f"STS.input.{subset}.txt") for subset in subsets):
            what = f"SemEval 20{year[3:]} sentence pairs graded 0 to 5, in {len(subsets)} subsets"
            found.append(
                DatasetSource(_info(year, what, _STS_LICENCE), partial(read_year, folder, year))
            )
    stsb, sick = base / PLACES["STSBenchmark"], base / PLACES["SICKRelatedness"]
    if any(find(stsb / file) for file in _STSB.values()):
        what = "STS Benchmark: sentence pairs graded 0 to 5, with train, dev and test splits"
        found.append(
            DatasetSource(_info("STSBenchmark", what, _STS_LICENCE), partial(read_stsb, stsb))
        )
    if any(find(sick / file) for file in _SICK.values()):
        what = "SICK: pairs about images and videos graded 1 to 5, with train, dev and test splits"
        info = _info("SICKRelatedness", what, "CC BY-NC-SA 3.0")
        found.append(DatasetSource(info, partial(read_sick, sick)))
    return found


def _info(name: str, description: str, licence: str) -> DatasetInfo:
    splits = tuple({"STSBenchmark": _STSB, "SICKRelatedness": _SICK}.get(name, ("test",)))
    trained = (f"{name}-finetune",) if len(splits) > 1 else ()
    return DatasetInfo(
        name,
        "pairs",
        "folder",
        f"{description}.",
        licence,
        task=name,
        tasks=(name, *trained),
        languages=ENGLISH,
        splits=splits,
    )


def read_year(folder: Path, name: str) -> ScoredPairs:
    """Read STS12 to STS16: `STS.input.X.txt` beside `STS.gs.X.txt` for each subset X."""
    parts = {subset: _read_subset(folder, subset) for subset in STS_SUBSETS[name]}
    return ScoredPairs(name, parts, "subsets")


def _read_subset(folder: Path, subset: str) -> PairPart:
    inputs = existing(folder / f"STS.input.{subset}.txt")
    golds = existing(folder / f"STS.gs.{subset}.txt")
    pairs, scores = list(lines(inputs)), list(lines(golds))
    if len(pairs) != len(scores):
        raise UserError(
            f"{where(inputs)} has {len(pairs)} lines and {where(golds)} has {len(scores)}.",
            "Line i of one scores line i of the other, so both need the same number of lines.",
            code="mismatch",
        )
    rows: list[tuple[str, str, float]] = []
    for line, (pair, score) in enumerate(zip(pairs, scores, strict=True), start=1):
        if not score.strip():  # an unscored pair, which the reference drops
            continue
        cells = pair.split("\t")
        if len(cells) != 2:
            raise _ragged(inputs, line, len(cells), "2")
        gold = number(score, f"{where(golds)}, line {line}")
        rows.append((cells[0], cells[1], gold))
    return pair_part(rows, inputs)


def read_stsb(folder: Path) -> ScoredPairs:
    """Read STS-B: tab-separated without quoting; score, s1 and s2 are columns 5, 6 and 7."""
    parts = {
        split: pair_part(list(_rows(existing(folder / file), 4, 5, 6)), folder / file)
        for split, file in _STSB.items()
    }
    return ScoredPairs("STSBenchmark", parts, "splits")


def read_sick(folder: Path) -> ScoredPairs:
    """Read SICK relatedness: a header line, then s1, s2 and score in columns 2, 3 and 4."""
    parts = {
        split: pair_part(list(_rows(existing(folder / file), 3, 1, 2, header=True)), folder / file)
        for split, file in _SICK.items()
    }
    return ScoredPairs("SICKRelatedness", parts, "splits", scale=(1.0, 5.0))


def _rows(
    path: Path, score: int, left: int, right: int, header: bool = False
) -> Iterator[tuple[str, str, float]]:
    """Yield (left, right, score) of a tab-separated file; columns count from 0."""
    needed = max(score, left, right) + 1
    for line, text in enumerate(lines(path), start=1):
        if (header and line == 1) or not text.strip():
            continue
        cells = text.strip().split(
            "\t"
        )  # more columns than needed are allowed, as in the reference
        if len(cells) < needed:
            raise _ragged(path, line, len(cells), f"at least {needed}")
        yield cells[left], cells[right], number(cells[score], f"{where(path)}, line {line}")


def pair_part(rows: list[tuple[str, str, float]], path: Path) -> PairPart:
    """Build a part from (left, right, score) rows, with the reference's spacing of text."""
    if not rows:
        raise UserError(
            f"{where(path)} holds no scored pair.", "Is the file complete?", code="missing"
        )
    left, right, gold = zip(*rows, strict=True)
    return PairPart(
        tuple(" ".join(s.split()) for s in left),
        tuple(" ".join(s.split()) for s in right),
        np.array(gold, dtype=np.float64),
    )


def _ragged(path: Path, line: int, got: int, wanted: str) -> UserError:
    return UserError(
        f"{where(path)}, line {line}: {got} tab-separated columns, expected {wanted}.",
        "Compare the line with its neighbours; a tab may be missing or too many.",
        code="damaged",
    )
