"""SentEval's folder, read as the reference loaders read it: `downstream/` and `probing/`.

The text an encoder sees is `" ".join(s.split())` of the file's text, because the reference splits
a sentence into tokens on load and joins them in its batcher. Nothing is lower-cased. Files are
decoded as latin-1 where the reference does so: an accented letter of a UTF-8 file becomes two
characters, as in all published scores. Pairs keep the order of the file: the reference sorts them
by length, which affects its batches but no score.

Sources: `senteval/{sts,sick,binary,sst,trec,mrpc,snli,probing}.py` of facebookresearch/SentEval,
and `sts.py` and `sick.py` of the copy in princeton-nlp/SimCSE.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from theodolite.engine.datasets.columns import PROBING_SPLITS
from theodolite.engine.datasets.files import (
    DatasetSource,
    existing,
    find,
    lines,
    number,
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

STS_SUBSETS: dict[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    # SMT, the fourth subset of 2013, may not be redistributed; no published average includes it.
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""Subsets of each year, in the reference's order."""


_SPLITS = ("train", "dev", "test")


class _Set(NamedTuple):
    """A data set below `downstream/`.

    Attributes:
        place: its folder.
        files: the files of each split, of each subset of a year or of each label, in the order of
            the reference: line i of all of them is row i.
        row: from these lines to the sentences, then the score or label; gives more or fewer, or
            raises IndexError, for lines that are laid out otherwise. None where a line is a
            sentence and the files are those of its label.
        splits: the splits that lists show.
        headed: whether the first line has names.
        joined: the spacing of the reference's sentences.
    """

    kind: Kind
    place: str
    description: str
    files: Mapping[str, Sequence[str]]
    row: Callable[..., Sequence[str]] | None
    licence: str = ""
    splits: tuple[str, ...] = _SPLITS
    headed: bool = False
    encoding: str = "utf-8"
    joined: Callable[[str], str] = lambda text: " ".join(text.split())


def _columns(*places: int) -> Callable[[str], Sequence[str]]:
    """Some columns of a line; more than needed are allowed, as in the reference."""
    choose = itemgetter(*places)
    return lambda line: choose(line.strip().split("\t"))


def _read(folder: Path, name: str) -> Dataset:
    """Read a data set as its entry says."""
    known = _SETS[name]
    parts = {part: _rows(known, part, folder) for part in known.files}
    if known.kind == "pairs":
        pairs: dict[str, PairPart] = {}
        for part, (_, rows) in parts.items():
            left, right, gold = zip(*rows, strict=True)
            pairs[part] = PairPart(left, right, np.array(gold, np.float64))
        scale = (1.0, 5.0) if known.headed else (0.0, 5.0)
        return ScoredPairs(name, pairs, "subsets" if name in STS_SUBSETS else "splits", scale)
    every = [row for _, rows in parts.values() for row in rows]
    first, *others = (list(column) for column in zip(*every, strict=True))
    splits = [part for part, (_, rows) in parts.items() for _ in rows if known.splits]
    files = tuple(
        LineRange(where(path), len(rows), 1 + known.headed) for path, rows in parts.values()
    )
    if known.kind == "labelled-pairs":
        return LabelledPairs.of(name, first, others[0], others[1], splits, files)
    return LabelledSentences(name, first, others[0], splits, files=files)


def _rows(known: _Set, part: str, folder: Path) -> tuple[Path, list[tuple[Any, ...]]]:
    """The file of a part's scores or labels, and its rows: the sentences, then that."""
    paths = [existing(folder / file) for file in known.files[part]]
    columns = [list(lines(path, known.encoding)) for path in paths]
    if len(set(map(len, columns))) > 1:
        counts = (f"{where(p)} has {len(c)} lines" for p, c in zip(paths, columns, strict=True))
        raise UserError(
            f"{' and '.join(counts)}.",
            "Line i of each belongs to row i, so all need the same number of lines.",
            code="mismatch",
        )
    rows: list[tuple[Any, ...]] = []
    scored = known.kind == "pairs"
    for line, row in enumerate(zip(*columns, strict=True), start=1):
        # The reference drops pairs without a score.
        if line <= known.headed or (scored and not row[-1].strip()):
            continue
        try:
            *texts, last = known.row(*row) if known.row else (*row, part)
            if len(texts) != (1 if known.kind == "labels" else 2):
                raise IndexError
        except (ValueError, IndexError):
            raise _wrong(paths[0], line, "Compare the line with its neighbours.") from None
        value = number(last, f"{where(paths[-1])}, line {line}") if scored else last
        rows.append((*map(known.joined, texts), value))
    return paths[-1], _not_empty(rows, paths[-1])


def _not_empty(rows: list[tuple[Any, ...]], path: Path) -> list[tuple[Any, ...]]:
    if not rows:
        raise UserError(f"{where(path)} contains no row.", "Is it complete?", code="missing")
    return rows


def _wrong(path: Path, line: int, hint: str) -> UserError:
    return UserError(
        f"{where(path)}, line {line} is not laid out as SentEval's file is.", hint, code="damaged"
    )


_SICK = {
    split: (f"SICK_{stem}.txt",)
    for split, stem in zip(_SPLITS, ("train", "trial", "test_annotated"), strict=True)
}
_STS_LICENCE = "scores CC BY-SA 4.0; sentences under the terms of their sources"


def _year(name: str, subsets: tuple[str, ...]) -> _Set:
    what = f"SemEval 20{name[3:]} sentence pairs graded 0 to 5, in {len(subsets)} subsets"
    files = {subset: (f"STS.input.{subset}.txt", f"STS.gs.{subset}.txt") for subset in subsets}
    return _Set(
        "pairs",
        f"STS/{name}-en-test",
        what,
        files,
        lambda pair, score: (*pair.split("\t"), score),
        _STS_LICENCE,
        ("test",),
    )


def _by_class(place: str, what: str, files: dict[str, str]) -> _Set:
    by_label = {label: (file,) for label, file in files.items()}
    return _Set("labels", place, what, by_label, None, splits=(), encoding="latin-1")


_SST = {split: (f"sentiment-{split}",) for split in _SPLITS}
_SETS: dict[str, _Set] = {
    **{name: _year(name, subsets) for name, subsets in STS_SUBSETS.items()},
    "STSBenchmark": _Set(
        "pairs",
        "STS/STSBenchmark",
        "STS Benchmark: sentence pairs graded 0 to 5, with train, dev and test splits",
        {split: (f"sts-{split}.csv",) for split in _SPLITS},
        _columns(5, 6, 4),
        _STS_LICENCE,
    ),
    "SICKRelatedness": _Set(
        "pairs",
        "SICK",
        "SICK: pairs about images and videos graded 1 to 5, with train, dev and test splits",
        _SICK,
        _columns(1, 2, 3),
        "CC BY-NC-SA 3.0",
        headed=True,
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
    "SST2": _Set(
        "labels",
        "SST/binary",
        "Stanford Sentiment Treebank, 2 classes; train holds phrases",
        _SST,
        lambda line: line.strip().split("\t"),
    ),
    "SST5": _Set(
        "labels",
        "SST/fine",
        "Stanford Sentiment Treebank, 5 classes",
        _SST,
        lambda line: line.strip().split(" ", 1)[::-1],
    ),
    "TREC": _Set(
        "labels",
        "TREC",
        "Questions by the type of their answer, 6 classes",
        {"train": ("train_5500.label",), "test": ("TREC_10.label",)},
        # Between the label and the question stands the fine class.
        lambda line: re.split(r":[^ ]* ", line.strip(), maxsplit=1)[::-1],
        splits=("train", "test"),
        encoding="latin-1",
    ),
    "MRPC": _Set(
        "labelled-pairs",
        "MRPC",
        "Microsoft paraphrase corpus: pairs that mean the same or not",
        {split: (f"msr_paraphrase_{split}.txt",) for split in ("train", "test")},
        _columns(3, 4, 0),
        splits=("train", "test"),
        headed=True,
    ),
    "SICKEntailment": _Set(
        "labelled-pairs",
        "SICK",
        "SICK: pairs by entailment, 3 classes",
        _SICK,
        _columns(1, 2, 4),
        "CC BY-NC-SA 3.0",
        headed=True,
    ),
    "SNLI": _Set(
        "labelled-pairs",
        "SNLI",
        "Stanford inference corpus: pairs by entailment, 3 classes",
        {split: (f"s1.{split}", f"s2.{split}", f"labels.{split}") for split in _SPLITS},
        lambda left, right, label: (left, right, label.strip()),
        "CC BY-SA 4.0",
        encoding="latin-1",
        # Only ASCII white space is normalised: the reference splits SNLI's text as bytes.
        joined=lambda line: b" ".join(line.encode().split()).decode(),
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
    sets = []
    for name, known in _SETS.items():
        folder = base / known.place
        if any(find(folder / file) for files in known.files.values() for file in files):
            trained = known.kind == "pairs" and name not in STS_SUBSETS
            info = DatasetInfo(
                name,
                known.kind,
                "folder",
                f"{known.description}.",
                known.licence,
                task=name,
                tasks=(name, f"{name}-finetune") if trained else (name,),
                languages=ENGLISH,
                splits=known.splits,
            )
            sets.append(DatasetSource(info, partial(_read, folder, name)))
    return [*sets, *_probing_sources(root)]


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


def _probing_sources(root: Path) -> list[DatasetSource]:
    """List the probing sets; official files take precedence over stand-ins in the same format.

    Any other file of that format is named by its path: `probing/my_probe`,
    `probing_multilingual/ru/voice`.
    """
    tasks: dict[str, DatasetSource] = {}

    def add(name: str, path: Path, about: str, task: str, languages: tuple[str, ...]) -> None:
        info = DatasetInfo(name, "labels", "folder", about, task=task, languages=languages)
        tasks.setdefault(name, DatasetSource(info, partial(_read_probing, path, name)))

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
    return list(tasks.values())


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
    rows: list[tuple[Any, ...]] = []
    for count, line in enumerate(lines(path), start=1):
        mark, *cells = line.rstrip().split("\t")
        whole = mark in PROBING_SPLITS and line.count("\t") > 1 and cells[0].strip()
        if not whole:
            layout = "Each line is `tr`, `va` or `te`, a tab, the label, a tab, the sentence."
            raise _wrong(path, count, layout)
        text = " ".join(cells[-1].split()) if len(cells) > 1 else ""
        rows.append((text, cells[0], PROBING_SPLITS[mark]))
    texts, labels, splits = (list(column) for column in zip(*_not_empty(rows, path), strict=True))
    return LabelledSentences(
        name, texts, labels, splits, files=(LineRange(where(path), len(rows)),)
    )
