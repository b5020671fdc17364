"""Readers of the folders beside SentEval's: `captions/`, `unlabelled/`, `nli/` and `mteb/`.

Collections to search and to fit on, labelled sentences, scored pairs and NLI triplets. Each source
has its own layout, and so its own short reader.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.engine.datasets.files import DatasetSource, existing, find, lines, number, where
from theodolite.engine.datasets.languages import ENGLISH, codes
from theodolite.engine.datasets.tables import read_columns
from theodolite.engine.datasets.types import (
    DatasetInfo,
    Kind,
    LabelledSentences,
    PairPart,
    ScoredPairs,
    Sentences,
    TaskType,
    Triplets,
)
from theodolite.engine.errors import UserError

_SPLITS = ("train", "dev", "val", "test", "testall")
_FLICKR_LICENCE = "non-commercial research and educational use"


def sources(root: Path) -> list[DatasetSource]:
    """List the data sets under a data folder."""
    return [
        *_pairs(root / "mteb" / "sts"),
        *_classification(root / "mteb" / "classification"),
        *_clustering(root / "mteb" / "clustering"),
        *_captions(root / "captions"),
        *_unlabelled(root / "unlabelled"),
        *_nli(root / "nli"),
    ]


def _info(
    name: str,
    kind: Kind,
    description: str,
    licence: str = "",
    languages: tuple[str, ...] = ENGLISH,
    splits: tuple[str, ...] = (),
    type: TaskType | None = None,
) -> DatasetInfo:
    task = {"pairs": name, "labels": f"{name}/classify"}.get(kind)
    return DatasetInfo(
        name,
        kind,
        "folder",
        f"{description}.",
        licence,
        task,
        type=type,
        languages=languages,
        splits=splits,
    )


# --- captions, unlabelled text, triplets -----------------------------------------------------


def _captions(folder: Path) -> list[DatasetSource]:
    """List Flickr30k (`SPLIT.LANGUAGE.token`) and COCO (`SPLIT_caps.txt`), whole and by split."""
    flickr = _by_split(folder / "flickr30k", "*.en.token*", "train", "val", "test")
    german = _by_split(folder / "flickr30k", "*.de.token*", "val", "test")
    coco = _by_split(folder / "coco", "*_caps.txt*", "dev", "testall")
    found = []
    for name, label, files, suffix, licence in (
        ("flickr30k", "Flickr30k captions of photographs", flickr, "", _FLICKR_LICENCE),
        ("flickr30k", "Flickr30k German captions", german, "-de", _FLICKR_LICENCE),
        ("coco-captions", "COCO captions of photographs, tokenised", coco, "", ""),
    ):
        whole = {"": list(files.values())} if files and not suffix else {}
        for split, paths in {**whole, **{f"-{s}": [p] for s, p in files.items()}}.items():
            what = f"{label}, {split[1:]} split" if split else f"{label}, every split here"
            full = f"{name}{split}{suffix}"
            language = codes("de" if suffix else "en")
            info = _info(full, "sentences", f"{what}, five an image", licence, language)
            found.append(DatasetSource(info, partial(read_captions, full, paths)))
    return found


def _by_split(folder: Path, pattern: str, *splits: str) -> dict[str, Path]:
    files = {path.name.replace("_", ".").split(".")[0]: path for path in folder.glob(pattern)}
    return {split: files[split] for split in splits if split in files}


def read_captions(name: str, paths: list[Path]) -> Sentences:
    """Read captions, one per line, after an optional image name and tab."""
    captions = (line.rpartition("\t")[2].strip() for path in paths for line in lines(path))
    return Sentences(name, [caption for caption in captions if caption])


def _unlabelled(folder: Path) -> list[DatasetSource]:
    stems = _stems(folder, ".txt")
    return [
        DatasetSource(
            _info(
                f"unlabelled/{stem}",
                "sentences",
                "Plain sentences without labels, one a line",
                languages=(),
            ),
            partial(read_lines, f"unlabelled/{stem}", path),
        )
        for stem, path in stems.items()
    ]


def _stems(folder: Path, ending: str) -> dict[str, Path]:
    """Return stem -> file for the files with this ending or its `.gz`, by name."""
    files = sorted([*folder.glob(f"*{ending}.gz"), *folder.glob(f"*{ending}")])
    return {path.name.removesuffix(".gz").removesuffix(ending): path for path in files}


def read_lines(name: str, path: Path) -> Sentences:
    """Read one sentence per line; empty lines are skipped."""
    return Sentences(name, [line.strip() for line in lines(path) if line.strip()])


def _nli(folder: Path) -> list[DatasetSource]:
    """List `nli` (all training triplets) and each file of triplets."""
    files = _stems(folder, ".csv") | _stems(folder / "triplets", ".csv")
    # Keep triplets made of test sentences out of `nli`, so that nothing is fitted on them.
    held_out = {stem for stem in files if {"dev", "test", "devtest"} & _words(stem)}
    train = [path for stem, path in files.items() if stem not in held_out]
    what = "NLI triplets: premise, what follows from it, what contradicts it"
    named = {"nli": (train, f"{what}; training pairs only")} if train else {}
    for stem, path in files.items():
        warning = "; made of dev or test pairs" if stem in held_out else ""
        named[f"nli/{stem}"] = ([path], what + warning)
    return [
        DatasetSource(_info(name, "triplets", about), partial(read_triplets, name, paths))
        for name, (paths, about) in named.items()
    ]


def _words(stem: str) -> set[str]:
    return set(stem.replace("-", "_").split("_"))


def read_triplets(name: str, paths: list[Path]) -> Triplets:
    """Read files in SimCSE's layout: `sent0,sent1,hard_neg`."""
    columns = {"anchor": "sent0", "positive": "sent1", "negative": "hard_neg"}
    files = [read_columns(path, path.name, columns, header=True) for path in paths]
    anchors, positives, negatives = ([s for f in files for s in f[role]] for role in columns)
    return Triplets(name, anchors, positives, negatives)


# --- mteb ------------------------------------------------------------------------------------


def _pairs(folder: Path) -> list[DatasetSource]:
    found = []
    if (folder / "biosses").is_dir():
        what = "BIOSSES: biomedical sentence pairs graded 0 to 4"
        info = _info("biosses", "pairs", what, splits=("test",))
        found.append(DatasetSource(info, partial(read_biosses, folder / "biosses")))
    files = _stems(folder / "stsb_multi_mt", ".csv")  # stsb-de-test.csv
    for language in sorted({stem.split("-", 1)[1].rsplit("-", 1)[0] for stem in files}):
        name = f"stsb_multi_mt/{language}"
        splits = {s: files[key] for s in _SPLITS if (key := f"stsb-{language}-{s}") in files}
        what = f"STS Benchmark in {language}, pairs graded 0 to 5"
        info = _info(name, "pairs", what, languages=codes(language), splits=tuple(splits))
        found.append(DatasetSource(info, partial(read_stsb_multi, name, splits)))
    return found


def read_biosses(folder: Path) -> ScoredPairs:
    """Read BIOSSES: the sentences of pair i are lines 2i-1 and 2i, its score is line i.

    Spaces around a sentence stay, as mteb leaves them.
    """
    texts, scores = existing(folder / "sentence_pairs.txt"), folder / "annotation_scores.txt"
    sentences = list(lines(texts))
    gold = [
        number(line, f"{where(scores)}, line {i}")
        for i, line in enumerate(lines(existing(scores)), start=1)
    ]
    if len(sentences) != 2 * len(gold):
        raise UserError(
            f"{where(texts)} has {len(sentences)} lines and {where(scores)} has {len(gold)}.",
            "There should be two sentences for every score.",
            code="mismatch",
        )
    part = PairPart(tuple(sentences[::2]), tuple(sentences[1::2]), np.array(gold, np.float64))
    return ScoredPairs("biosses", {"test": part}, "splits", scale=(0.0, 4.0))


def read_stsb_multi(name: str, splits: dict[str, Path]) -> ScoredPairs:
    """Read `s1,s2,score` files without a header."""
    columns = {"left": "column 1", "right": "column 2", "score": "column 3"}
    parts = {}
    for split, path in splits.items():
        c = read_columns(path, path.name, columns, header=False)
        parts[split] = PairPart(tuple(c["left"]), tuple(c["right"]), np.array(c["score"]))
    return ScoredPairs(name, parts, "splits")


_LabelledRows = Iterable[tuple[str, str]]
"""Sentence and label."""


def _labelled(name: str, parts: dict[str, _LabelledRows]) -> LabelledSentences:
    rows = [(text, label, split) for split, part in parts.items() for text, label in part]
    if not rows:
        raise UserError(f"The files of {name} hold no row.", "Are they complete?", code="missing")
    texts, labels, splits = (list(column) for column in zip(*rows, strict=True))
    return LabelledSentences(name, texts, labels, splits if any(splits) else [])


def _classification(folder: Path) -> list[DatasetSource]:
    return [
        DatasetSource(
            _info(name, "labels", what, licence, splits=splits), partial(reader, folder / name)
        )
        for name, (what, licence, reader, splits) in _CLASSIFICATION.items()
        if (folder / name).is_dir()
    ]


def read_banking(folder: Path) -> LabelledSentences:
    """Read `text,category` files with a header."""
    parts: dict[str, _LabelledRows] = {}
    for split in ("train", "test"):
        path = existing(folder / f"{split}.csv")
        c = read_columns(path, path.name, {"text": "text", "label": "category"}, header=True)
        parts[split] = zip(c["text"], c["label"], strict=True)
    return _labelled("banking77", parts)


def read_emotion(folder: Path) -> LabelledSentences:
    """Read `text;label_name` files with a header; the text may hold `;`."""
    parts: dict[str, _LabelledRows] = {}
    for split in _SPLIT3:
        rows = list(lines(existing(folder / f"{split}.txt")))[1:]
        parts[split] = [(text, label) for text, _, label in (row.rpartition(";") for row in rows)]
    return _labelled("emotion", parts)


def read_tweeteval(folder: Path) -> LabelledSentences:
    """Read `SPLIT_text.txt` beside `SPLIT_labels.txt`, and the names of the labels."""
    names = dict(line.split("\t", 1) for line in lines(existing(folder / "mapping.txt")))
    parts: dict[str, _LabelledRows] = {}
    for split in _SPLIT3:
        rows = _parallel(folder / f"{split}_text.txt", folder / f"{split}_labels.txt")
        parts[split] = [(text, names.get(label, label)) for text, label in rows]
    return _labelled(folder.name, parts)


def _parallel(texts: Path, labels: Path) -> list[tuple[str, str]]:
    """Pair the lines of two files; raise UserError if one is longer."""
    left = [line.strip() for line in lines(existing(texts))]
    right = [line.strip() for line in lines(existing(labels))]
    if len(left) != len(right):
        raise UserError(
            f"{where(texts)} has {len(left)} lines and {where(labels)} has {len(right)}.",
            "Line i of one is the label of line i of the other, so both need as many lines.",
            code="mismatch",
        )
    return list(zip(left, right, strict=True))


_SPLIT3 = ("train", "val", "test")
_TWEETS = "Tweets by {} (TweetEval)"
_CLASSIFICATION = {
    "banking77": (
        "Questions to a bank by intent, 77 classes",
        "CC BY 4.0",
        read_banking,
        ("train", "test"),
    ),
    "emotion": ("Short texts by emotion, 6 classes", "", read_emotion, _SPLIT3),
    "tweeteval_emotion": (_TWEETS.format("emotion"), "Twitter terms", read_tweeteval, _SPLIT3),
    "tweeteval_irony": (_TWEETS.format("irony"), "Twitter terms", read_tweeteval, _SPLIT3),
    "tweeteval_offensive": (
        _TWEETS.format("offensiveness"),
        "Twitter terms",
        read_tweeteval,
        _SPLIT3,
    ),
}
"""Folder under `mteb/classification/` -> description, licence, reader and splits."""

_SHORT = {
    "search_snippets": ("search_snippets_true_text.tsv", "Web search snippets, 8 domains"),
    "tweet": ("tweet-original-order.tsv", "Tweets by event, 89 labels"),
    "googlenews": ("T.tsv", "News titles by event, 152 labels"),
}
"""Folder under `mteb/clustering/` -> its file of `label TAB text`, and description."""


def _clustering(folder: Path) -> list[DatasetSource]:
    found = []
    if (folder / "stackoverflow").is_dir():
        what = "Titles of programming questions, 20 subjects"
        info = _info("stackoverflow", "labels", what, type="Clustering")
        found.append(DatasetSource(info, partial(read_stackoverflow, folder / "stackoverflow")))
    if find(folder / "bbc_news" / "bbc_news.jsonl"):
        what = "BBC news articles, 5 sections"
        info = _info("bbc_news", "labels", what, "research use", type="Clustering")
        found.append(DatasetSource(info, partial(read_bbc, folder / "bbc_news")))
    for name, (file, what) in _SHORT.items():
        path = find(folder / name / file)
        if path is not None:
            info = _info(name, "labels", what, type="Clustering")
            found.append(DatasetSource(info, partial(read_short, name, path)))
    return found


def read_stackoverflow(folder: Path) -> LabelledSentences:
    """Read `titles.txt` beside `labels.txt`."""
    rows = _parallel(folder / "titles.txt", folder / "labels.txt")
    return _labelled("stackoverflow", {"": rows})


def read_bbc(folder: Path) -> LabelledSentences:
    """Read the articles: title and text joined, labelled by section."""
    path = existing(folder / "bbc_news.jsonl")
    c = read_columns(path, path.name, {role: role for role in ("title", "text", "label")})
    texts = [f"{title}\n{text}" for title, text in zip(c["title"], c["text"], strict=True)]
    return LabelledSentences("bbc_news", texts, c["label"])


def read_short(name: str, path: Path) -> LabelledSentences:
    """Read `label TAB text` lines."""
    rows = []
    for count, line in enumerate(lines(path), start=1):
        label, tab, text = line.partition("\t")
        if not tab:
            raise UserError(
                f"{where(path)}, line {count} has no tab.",
                "Every line is `label TAB text`.",
                code="damaged",
            )
        rows.append((text.strip(), label.strip()))
    return _labelled(name, {"": rows})
