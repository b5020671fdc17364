"""SentEval's folder, read as the reference loaders read it: `downstream/` and `probing/`.

The text an encoder sees is `" ".join(s.split())` of the file's text, because the reference splits
a sentence into tokens on load and joins them in its batcher. Nothing is lower-cased. Files are
decoded as latin-1 where the reference does so: an accented letter of a UTF-8 file becomes two
characters, as in all published scores. Pairs keep the order of the file: the reference sorts them
by length, which affects its batches but no score.

Sources: `senteval/{sts,sick,binary,sst,trec,mrpc,snli,probing}.py` of facebookresearch/SentEval,
and `sts.py` and `sick.py` of the copy in princeton-nlp/SimCSE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from theodolite.engine.datasets.columns import PROBING_SPLITS
from theodolite.engine.datasets.files import (
    DatasetSource,
    existing,
    find,
    lines,
    number,
    shorten,
    where,
)
from theodolite.engine.datasets.languages import ENGLISH, codes
from theodolite.engine.datasets.types import (
    Dataset,
    DatasetInfo,
    Kind,
    LabelledPairs,
    LabelledSentences,
    LineRange,
    PairPart,
    ScoredPairs,
)
from theodolite.engine.errors import UserError

Labelled = tuple[str, str, str]
"""Sentence, label, split; the split is empty where there are none."""

STS_SUBSETS: dict[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    # SMT, the fourth subset of 2013, may not be redistributed; no published average includes it.
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""Subsets of each year, in the reference's order."""


class _Set(NamedTuple):
    """A data set below `downstream/`.

    Attributes:
        place: its folder.
        files: file by split, by subset of a year, or by label, in the order of the reference.
        splits: the splits that lists show.
        read: reads the folder.
    """

    kind: Kind
    place: str
    description: str
    files: dict[str, str]
    splits: tuple[str, ...]
    read: Callable[[Path, str], Dataset]
    licence: str = ""


def joined(text: str) -> str:
    """Return text with the reference's spacing: tokens joined by one space."""
    return " ".join(text.split())


# --- scored pairs ----------------------------------------------------------------------------


def _read_year(folder: Path, name: str) -> ScoredPairs:
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
        rows.append((cells[0], cells[1], number(score, f"{where(golds)}, line {line}")))
    return _pair_part(rows, inputs)


def _read_scored(folder: Path, name: str) -> ScoredPairs:
    """Read STS-B or SICK relatedness: tab-separated without quoting."""
    parts = {}
    for split, file in _SETS[name].files.items():
        path = existing(folder / file)
        parts[split] = _pair_part(list(_scored_rows(path, name)), path)
    return ScoredPairs(name, parts, "splits", (1.0, 5.0) if name in _HEADED else (0.0, 5.0))


def _scored_rows(path: Path, name: str) -> Iterator[tuple[str, str, float]]:
    left, right, score = _COLUMNS[name]
    for line, text in enumerate(lines(path), start=1):
        if (name in _HEADED and line == 1) or not text.strip():
            continue
        cells = text.strip().split("\t")  # more than needed are allowed, as in the reference
        if len(cells) <= max(_COLUMNS[name]):
            raise _ragged(path, line, len(cells), f"at least {max(_COLUMNS[name]) + 1}")
        yield cells[left], cells[right], number(cells[score], f"{where(path)}, line {line}")


def _pair_part(rows: list[tuple[str, str, float]], path: Path) -> PairPart:
    if not rows:
        raise UserError(
            f"{where(path)} contains no scored pair.", "Is the file complete?", code="missing"
        )
    left, right, gold = zip(*rows, strict=True)
    return PairPart(
        tuple(map(joined, left)), tuple(map(joined, right)), np.array(gold, dtype=np.float64)
    )


def _ragged(path: Path, line: int, got: int, wanted: str) -> UserError:
    return UserError(
        f"{where(path)}, line {line}: {got} tab-separated columns, expected {wanted}.",
        "Compare the line with its neighbours; a tab may be missing or too many.",
        code="damaged",
    )


# --- labelled sentences and pairs ------------------------------------------------------------


def _read_binary(folder: Path, name: str) -> LabelledSentences:
    """Read MR, CR, SUBJ or MPQA, which have a file per class."""
    files = ((label, existing(folder / file)) for label, file in _SETS[name].files.items())
    return _labelled(
        name,
        ((p, [(joined(line), label, "") for line in lines(p, "latin-1")]) for label, p in files),
    )


def _read_split(folder: Path, name: str) -> LabelledSentences:
    """Read SST2, SST5 or TREC, which have a file per split."""
    files = ((split, existing(folder / file)) for split, file in _SETS[name].files.items())
    return _labelled(name, ((path, list(_split_rows(path, name, split))) for split, path in files))


def _split_rows(path: Path, name: str, split: str) -> Iterator[Labelled]:
    for count, line in enumerate(lines(path, "latin-1" if name == "TREC" else "utf-8"), start=1):
        try:
            if name == "SST2":
                sentence, label = line.strip().split("\t")
            else:
                label, sentence = line.strip().split(":" if name == "TREC" else " ", 1)
            if name == "TREC":
                _, sentence = sentence.split(" ", 1)  # the first word is the fine class
        except ValueError:
            raise _bad_line(path, count) from None
        yield joined(sentence), label, split


def _labelled(name: str, parts: Iterable[tuple[Path, list[Labelled]]]) -> LabelledSentences:
    """Build a data set from the rows of each file."""
    parts = list(parts)
    _check_filled(parts, "sentence")
    rows = [row for _, some in parts for row in some]
    texts, labels, splits = (list(column) for column in zip(*rows, strict=True))
    files = tuple(LineRange(where(path), len(some)) for path, some in parts)
    return LabelledSentences(name, texts, labels, splits if any(splits) else [], files=files)


def _read_pairs(folder: Path, name: str) -> LabelledPairs:
    """Read MRPC or SICK entailment: a header line, then tab-separated columns."""
    parts = []
    for split, file in _SETS[name].files.items():
        path = existing(folder / file)
        parts.append((path, split, list(_pair_rows(path, _COLUMNS[name]))))
    return _labelled_pairs(name, parts, first_line=2)


def _pair_rows(path: Path, columns: tuple[int, int, int]) -> Iterator[tuple[str, str, str]]:
    left, right, label = columns
    for count, line in enumerate(lines(path), start=1):
        cells = line.strip().split("\t")
        if len(cells) <= max(columns):
            raise _bad_line(path, count)
        if count > 1:
            yield joined(cells[left]), joined(cells[right]), cells[label]


def _read_snli(folder: Path, name: str) -> LabelledPairs:
    """Read SNLI: line i of `s1.SPLIT`, `s2.SPLIT` and `labels.SPLIT` are one pair."""
    parts = []
    for split, file in _SETS[name].files.items():
        paths = [existing(folder / f"{part}.{split}") for part in ("s1", "s2")]
        columns = [[_ascii_joined(line) for line in lines(path, "latin-1")] for path in paths]
        paths.append(existing(folder / file))
        columns.append([line.strip() for line in lines(paths[-1])])
        if len({len(column) for column in columns}) > 1:
            counts = ", ".join(
                f"{where(p)} has {len(c)}" for p, c in zip(paths, columns, strict=True)
            )
            raise UserError(
                f"The files of SNLI's {split} split differ in their number of lines: {counts}.",
                "Line i of each belongs to pair i, so all three need the same number of lines.",
                code="mismatch",
            )
        parts.append((paths[-1], split, list(zip(*columns, strict=True))))
    return _labelled_pairs(name, parts)


def _ascii_joined(line: str) -> str:
    """Normalise ASCII white space only, since the reference splits SNLI's text as bytes."""
    return b" ".join(line.encode().split()).decode()


def _labelled_pairs(
    name: str,
    parts: Sequence[tuple[Path, str, Sequence[tuple[str, ...]]]],
    first_line: int = 1,
) -> LabelledPairs:
    """Build a data set from (left, right, label) of each file."""
    _check_filled([(path, rows) for path, _, rows in parts], "pair")
    columns = zip(*(row for _, _, rows in parts for row in rows), strict=True)
    left, right, labels = map(list, columns)
    splits = [split for _, split, rows in parts for _ in rows]
    files = tuple(LineRange(where(path), len(rows), first_line) for path, _, rows in parts)
    return LabelledPairs.of(name, left, right, labels, splits, files)


def _check_filled(parts: Iterable[tuple[Path, Sequence[object]]], what: str) -> None:
    empty = [where(path) for path, rows in parts if not rows]
    if empty:
        raise UserError(
            f"{' and '.join(empty)} contains no labelled {what}.", "Is it complete?", code="missing"
        )


def _bad_line(path: Path, number: int) -> UserError:
    return UserError(
        f"{where(path)}, line {number} is not laid out as SentEval's file is.",
        "Compare the line with its neighbours.",
        code="damaged",
    )


# --- what there is ---------------------------------------------------------------------------

_COLUMNS = {
    "STSBenchmark": (5, 6, 4),
    "SICKRelatedness": (1, 2, 3),
    "MRPC": (3, 4, 0),
    "SICKEntailment": (1, 2, 4),
}
"""Columns of left sentence, right sentence, and score or label."""
_HEADED = ("SICKRelatedness",)
"""Scored pairs below a line of names."""
_SPLITS = ("train", "dev", "test")
_SICK = {"train": "SICK_train.txt", "dev": "SICK_trial.txt", "test": "SICK_test_annotated.txt"}
_STS_LICENCE = "scores CC BY-SA 4.0; sentences under the terms of their sources"


def _year(name: str, subsets: tuple[str, ...]) -> _Set:
    what = f"SemEval 20{name[3:]} sentence pairs graded 0 to 5, in {len(subsets)} subsets"
    files = {subset: f"STS.input.{subset}.txt" for subset in subsets}
    return _Set("pairs", f"STS/{name}-en-test", what, files, ("test",), _read_year, _STS_LICENCE)


def _scored(place: str, what: str, files: dict[str, str], licence: str) -> _Set:
    what = f"{what}, with train, dev and test splits"
    return _Set("pairs", place, what, files, _SPLITS, _read_scored, licence)


def _by_class(place: str, what: str, files: dict[str, str]) -> _Set:
    return _Set("labels", place, what, files, (), _read_binary)


def _by_split(place: str, what: str, files: dict[str, str]) -> _Set:
    return _Set("labels", place, what, files, tuple(files), _read_split)


_SETS: dict[str, _Set] = {
    **{name: _year(name, subsets) for name, subsets in STS_SUBSETS.items()},
    "STSBenchmark": _scored(
        "STS/STSBenchmark",
        "STS Benchmark: sentence pairs graded 0 to 5",
        {split: f"sts-{split}.csv" for split in _SPLITS},
        _STS_LICENCE,
    ),
    "SICKRelatedness": _scored(
        "SICK", "SICK: pairs about images and videos graded 1 to 5", _SICK, "CC BY-NC-SA 3.0"
    ),
    "MR": _by_class(
        "MR",
        "Movie review snippets, positive or negative",
        {"positive": "rt-polarity.pos", "negative": "rt-polarity.neg"},
    ),
    "CR": _by_class(
        "CR",
        "Customer review snippets, positive or negative",
        {"positive": "custrev.pos", "negative": "custrev.neg"},
    ),
    "SUBJ": _by_class(
        "SUBJ",
        "Movie review and plot sentences, subjective or objective",
        {"objective": "subj.objective", "subjective": "subj.subjective"},
    ),
    "MPQA": _by_class(
        "MPQA",
        "Short opinion phrases, positive or negative",
        {"positive": "mpqa.pos", "negative": "mpqa.neg"},
    ),
    "SST2": _by_split(
        "SST/binary",
        "Stanford Sentiment Treebank, 2 classes; train holds phrases",
        {split: f"sentiment-{split}" for split in _SPLITS},
    ),
    "SST5": _by_split(
        "SST/fine",
        "Stanford Sentiment Treebank, 5 classes",
        {split: f"sentiment-{split}" for split in _SPLITS},
    ),
    "TREC": _by_split(
        "TREC",
        "Questions by the type of their answer, 6 classes",
        {"train": "train_5500.label", "test": "TREC_10.label"},
    ),
    "MRPC": _Set(
        "labelled-pairs",
        "MRPC",
        "Microsoft paraphrase corpus: pairs that mean the same or not",
        {split: f"msr_paraphrase_{split}.txt" for split in ("train", "test")},
        ("train", "test"),
        _read_pairs,
    ),
    "SICKEntailment": _Set(
        "labelled-pairs",
        "SICK",
        "SICK: pairs by entailment, 3 classes",
        _SICK,
        _SPLITS,
        _read_pairs,
        "CC BY-NC-SA 3.0",
    ),
    "SNLI": _Set(
        "labelled-pairs",
        "SNLI",
        "Stanford inference corpus: pairs by entailment, 3 classes",
        {split: f"labels.{split}" for split in _SPLITS},
        _SPLITS,
        _read_snli,
        "CC BY-SA 4.0",
    ),
}
PLACES = {name: known.place for name, known in _SETS.items()}
"""Data set -> its folder under `downstream/`."""


def downstream(root: Path) -> Path | None:
    """Return the `downstream/` folder in either layout of data folder, or None."""
    candidates = (root / "downstream", root / "senteval" / "downstream")
    return next((folder for folder in candidates if folder.is_dir()), None)


def sources(root: Path) -> list[DatasetSource]:
    """List the data sets under a data folder."""
    base = downstream(root) or root / "downstream"
    found = []
    for name, known in _SETS.items():
        folder = base / known.place
        if any(find(folder / file) for file in known.files.values()):
            trained = (f"{name}-finetune",) if known.read is _read_scored else ()
            info = DatasetInfo(
                name,
                known.kind,
                "folder",
                f"{known.description}.",
                known.licence,
                task=name,
                tasks=(name, *trained),
                languages=ENGLISH,
                splits=known.splits,
            )
            found.append(DatasetSource(info, partial(known.read, folder, name)))
    return [*found, *_probing(root)]


# --- probing ---------------------------------------------------------------------------------

TEN: dict[str, tuple[str, str]] = {
    "Length": ("sentence_length", "their length in six bins"),
    "WordContent": ("word_content", "which of many words they hold"),
    "Depth": ("tree_depth", "the depth of their parse tree"),
    "TopConstituents": ("top_constituents", "the top constituents of their parse"),
    "BigramShift": ("bigram_shift", "whether two adjacent words were swapped"),
    "Tense": ("past_present", "the tense of the main verb"),
    "SubjNumber": ("subj_number", "the number of the subject"),
    "ObjNumber": ("obj_number", "the number of the object"),
    "OddManOut": ("odd_man_out", "whether a word was replaced"),
    "CoordinationInversion": ("coordination_inversion", "whether two clauses were swapped"),
}
"""Probing task of Conneau et al. 2018 -> stem of its file, and the labelled property."""

_PROBING = ("probing", "senteval/probing", "senteval/probing_derived")
_MULTILINGUAL = ("probing_multilingual", "senteval/probing_multilingual")


def _probing(root: Path) -> list[DatasetSource]:
    """List the probing sets; official files take precedence over stand-ins in the same format.

    Any other file of that format is named by its path: `probing/my_probe`,
    `probing_multilingual/ru/voice`.
    """
    found: dict[str, DatasetSource] = {}

    def add(name: str, path: Path, about: str, task: str, languages: tuple[str, ...]) -> None:
        info = DatasetInfo(name, "labels", "folder", about, task=task, languages=languages)
        found.setdefault(name, DatasetSource(info, partial(_read_probing, path, name)))

    for place in _PROBING:
        kind = "a stand-in, not the official data" if "derived" in place else "probing"
        for name, (stem, what) in TEN.items():
            if path := find(root / place / f"{stem}.txt"):
                add(name, path, f"Sentences by {what} ({kind}).", name, ENGLISH)
    ten = {stem for stem, _ in TEN.values()}
    others = [
        (f"probing/{stem}", path, "")
        for place in _PROBING[:2]
        for stem, path in _texts(root / place, "*.txt*")
        if stem not in ten
    ] + [
        (f"probing_multilingual/{path.parent.name}/{stem}", path, path.parent.name)
        for place in _MULTILINGUAL
        for stem, path in _texts(root / place, "*/*.txt*")
    ]
    for name, path, language in others:
        what = path.name.partition(".")[0].replace("_", " ")
        add(name, path, f"Sentences by {what} (probing).", f"{name}/probe", codes(language))
    return list(found.values())


def _texts(folder: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """Yield stem and path of the files with the ending `.txt` or `.txt.gz`."""
    for path in sorted(folder.glob(pattern)):
        stem = path.name.partition(".txt")[0]
        if path.name in (f"{stem}.txt", f"{stem}.txt.gz"):
            yield stem, path


def _read_probing(path: Path, name: str) -> LabelledSentences:
    """Read `tr/va/te TAB label TAB sentence`.

    A line without a sentence gives an empty sentence; the reference would use the label as the
    text and so leak the answer.
    """
    return _labelled(name, [(path, list(_probing_rows(path)))])


def _probing_rows(path: Path) -> Iterator[Labelled]:
    layout = "Each line is `tr`, `va` or `te`, a tab, the label, a tab, the sentence."
    for count, line in enumerate(lines(path), start=1):
        place, cells = f"{where(path)}, line {count}", line.rstrip().split("\t")
        if cells[0] not in PROBING_SPLITS:
            raise UserError(
                f"{place} begins with {shorten(cells[0])}, not with a split.",
                layout,
                code="damaged",
            )
        if len(line.split("\t")) < 3:
            raise _bad_line(path, count)
        if not cells[1].strip():
            raise UserError(f"{place} has no label.", layout, code="missing")
        text = joined(cells[-1]) if len(cells) > 2 else ""
        yield text, cells[1], PROBING_SPLITS[cells[0]]
