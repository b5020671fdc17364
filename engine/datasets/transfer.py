"""The other tasks in SentEval's folder: classification, paraphrase, inference and probing.

For now as labelled sentences or as plain collections to search and to fit on. Text and decoding
are those of the reference loaders: tokens joined by one space, and latin-1 where they say latin-1
(so an accented letter of a UTF-8 file becomes two characters, as in every published score).

Source: facebookresearch/SentEval, `senteval/{binary,sst,trec,mrpc,snli,probing}.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from engine.datasets.files import Source, existing, find, lines, where
from engine.datasets.senteval import downstream
from engine.datasets.types import DatasetInfo, LabelledSentences, Sentences
from engine.errors import UserError

_Labelled = tuple[str, str]
"""Sentence and label."""

# name -> what it is, then label -> file, in the order in which the reference stacks the classes.
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
# name -> what it is, then split -> file.
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
_MRPC = ("MRPC/msr_paraphrase_train.txt", "MRPC/msr_paraphrase_test.txt")
_SNLI = tuple(f"SNLI/{side}.{split}" for split in ("train", "dev", "test") for side in ("s1", "s2"))
_PROBING = {
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
_PROBING_SPLITS = {"tr": "train", "va": "dev", "te": "test"}


def sources(root: Path) -> list[Source]:
    """List the sets that lie under a data folder."""
    base = downstream(root)
    return ([] if base is None else _downstream(base)) + _probing(root)


def _downstream(base: Path) -> list[Source]:
    found = []
    for name, (what, files) in (_BINARY | _SPLIT).items():
        if any(find(base / file) for file in files.values()):
            info = DatasetInfo(name, "labels", "folder", f"{what}.")
            read = read_binary if name in _BINARY else read_split
            found.append(Source(info, partial(read, base, name)))
    collections: list[tuple[str, str, str, Callable[[], Sentences]]] = [
        (
            _MRPC[0],
            "MRPC",
            "Sentences of the Microsoft paraphrase corpus",
            partial(read_mrpc, base),
        ),
        (_SNLI[0], "SNLI", "Premises and hypotheses of SNLI", partial(read_snli, base)),
    ]
    for file, name, what, read_all in collections:
        if find(base / file):
            found.append(Source(DatasetInfo(name, "sentences", "folder", f"{what}."), read_all))
    return found


def _probing(root: Path) -> list[Source]:
    """List the probing sets; the official files come before stand-ins of the same format."""
    found: dict[str, Source] = {}
    for place in ("probing", "senteval/probing", "senteval/probing_derived"):
        for name, (stem, what) in _PROBING.items():
            path = find(root / place / f"{stem}.txt")
            if path is None or name in found:
                continue
            kind = "a stand-in, not the official data" if "derived" in place else "probing"
            info = DatasetInfo(name, "labels", "folder", f"Sentences by {what} ({kind}).")
            found[name] = Source(info, partial(read_probing, path, name))
    return list(found.values())


def read_binary(base: Path, name: str) -> LabelledSentences:
    """Read MR, CR, SUBJ or MPQA: a file for each class."""
    rows = [
        (_joined(line), label)
        for label, file in _BINARY[name][1].items()
        for line in lines(existing(base / file), "latin-1")
    ]
    return _labelled(name, rows)


def read_split(base: Path, name: str) -> LabelledSentences:
    """Read SST2, SST5 or TREC: a file for each split."""
    parse, encoding = {
        "SST2": (_sst2, "utf-8"),
        "SST5": (_sst5, "utf-8"),
        "TREC": (_trec, "latin-1"),
    }[name]
    rows: list[_Labelled] = []
    splits: list[str] = []
    for split, file in _SPLIT[name][1].items():
        path = existing(base / file)
        for number, line in enumerate(lines(path, encoding), start=1):
            try:
                rows.append(parse(line.strip()))
            except ValueError:
                raise _bad_line(path, number) from None
            splits.append(split)
    return _labelled(name, rows, splits)


def _sst2(line: str) -> _Labelled:
    sentence, label = line.split("\t")
    return _joined(sentence), label


def _sst5(line: str) -> _Labelled:
    label, sentence = line.split(" ", 1)
    return _joined(sentence), label


def _trec(line: str) -> _Labelled:
    label, rest = line.split(":", 1)
    _, question = rest.split(" ", 1)  # the first word is the fine class
    return _joined(question), label


def read_mrpc(base: Path) -> Sentences:
    """Read both sentences of every MRPC pair, test included."""
    sentences: list[str] = []
    for file in _MRPC:
        path = existing(base / file)
        for number, line in enumerate(lines(path), start=1):
            cells = line.strip().split("\t")
            if len(cells) < 5:
                raise _bad_line(path, number)
            if number > 1:
                sentences += [_joined(cells[3]), _joined(cells[4])]
    return Sentences("MRPC", sentences)


def read_snli(base: Path) -> Sentences:
    """Read every premise and hypothesis of the SNLI files."""
    paths = [existing(base / file) for file in _SNLI]
    return Sentences("SNLI", [_joined(s) for path in paths for s in lines(path, "latin-1")])


def read_probing(path: Path, name: str) -> LabelledSentences:
    """Read `tr/va/te TAB label TAB sentence`."""
    rows: list[_Labelled] = []
    splits: list[str] = []
    for number, line in enumerate(lines(path), start=1):
        cells = line.rstrip().split("\t")
        if len(cells) < 3 or cells[0] not in _PROBING_SPLITS:
            raise _bad_line(path, number)
        rows.append((_joined(cells[-1]), cells[1]))
        splits.append(_PROBING_SPLITS[cells[0]])
    return _labelled(name, rows, splits)


def _labelled(
    name: str, rows: Iterable[_Labelled], splits: list[str] | None = None
) -> LabelledSentences:
    sentences, labels = (list(column) for column in zip(*rows, strict=True))
    return LabelledSentences(name, sentences, labels, splits or [])


def _joined(text: str) -> str:
    return " ".join(text.split())


def _bad_line(path: Path, number: int) -> UserError:
    return UserError(
        f"{where(path)}, line {number} is not laid out as SentEval's file is.",
        "Compare the line with its neighbours.",
    )
