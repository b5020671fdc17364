"""Data of which a part is held out: `upload:reviews|split:0` has the splits `train` and `test`.

A third of the examples is for testing, by the content of their texts and a seed: examples that have
a text in common, but for case, spaces and end marks, stay together, so that nothing is tested on
what was learned from. Where the data have splits of their own, these stay, and what `train` has in
common with `test` is left out of it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from theodolite.engine.datasets.types import (
    HOLDS,
    Dataset,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import connected_groups

SHARE = 1 / 3
"""Share of the examples that is held out, of each label."""
_NAME = re.compile(r"(.*?)\s*\|\s*split:(\d{1,9})(/[\w-]+)?")
_TRAIN, _TEST = "train", "test"


def split_name(name: str) -> tuple[str, int | None]:
    """Return the name of a data set or task without its split, and the seed of that, if any."""
    match = _NAME.fullmatch(name)
    return (match[1] + (match[3] or ""), int(match[2])) if match else (name, None)


def join(name: str, seed: int) -> str:
    """Return the name of a data set with a part held out."""
    return f"{name}|split:{seed}"


def split(data: Dataset, seed: int, name: str) -> Dataset:
    """Hold out a part of a data set."""
    texts: list[tuple[str, ...]]
    match data:
        case LabelledSentences():
            texts = [(text,) for text in data.sentences]
            splits = _splits(texts, data.labels, data.splits, seed)
            return replace(data, name=name, splits=splits)
        case LabelledPairs():
            pairs = zip(data.left.tolist(), data.right.tolist(), strict=True)
            texts = [(data.sentences[a], data.sentences[b]) for a, b in pairs]
            splits = _splits(texts, data.labels, data.splits, seed)
            return replace(data, name=name, splits=splits)
        case ScoredPairs():
            return _of_scores(data, seed, name)
        case Retrieval():
            rows = [(own, key) for own, judged in data.judgements.items() for key in judged]
            texts = [(data.queries[key],) for _, key in rows]
            splits = _splits(texts, [""] * len(rows), [own for own, _ in rows], seed)
            judgements: dict[str, dict[str, dict[str, int]]] = {_TRAIN: {}, _TEST: {}}
            for (own, key), to in zip(rows, splits, strict=True):
                if to in judgements:
                    judgements[to][key] = data.judgements[own][key]
            return replace(data, name=name, judgements=judgements)
    raise UserError(
        f"{data.name} holds {HOLDS[data.kind]}: there is nothing to learn from and to test on.",
        "Choose data with labels, scored or marked pairs, or judgements.",
        code="wrong-kind",
    )


def _of_scores(data: ScoredPairs, seed: int, name: str) -> ScoredPairs:
    rows = [
        (own, *row)
        for own, part in data.parts.items()
        for row in zip(part.left, part.right, part.gold.tolist(), strict=True)
    ]
    own = [part if data.parts_are == "splits" else "" for part, *_ in rows]
    splits = _splits([(a, b) for _, a, b, _ in rows], [""] * len(rows), own, seed)
    parts = {}
    for split in (_TRAIN, _TEST):
        mine = [row for row, to in zip(rows, splits, strict=True) if to == split]
        left, right = (tuple(row[side] for row in mine) for side in (1, 2))
        parts[split] = PairPart(left, right, np.array([row[3] for row in mine], np.float64))
    return replace(data, name=name, parts=parts, parts_are="splits")


def _splits(
    texts: Sequence[tuple[str, ...]], labels: Sequence[str], own: Sequence[str], seed: int
) -> list[str]:
    """The split of each example, from its texts, its label, and the split that it has."""
    group = _groups(texts)
    if {_TRAIN, _TEST} <= set(own):
        tested = {of for of, name in zip(group, own, strict=True) if name == _TEST}
        leaks = (name == _TRAIN and of in tested for of, name in zip(group, own, strict=True))
        return ["" if leak else name for leak, name in zip(leaks, own, strict=True)]
    sizes, label = Counter(group), dict(zip(group[::-1], labels[::-1], strict=True))
    room = {name: round(SHARE * count) for name, count in Counter(labels).items()}
    held_out = set()
    for of in sorted(sizes, key=lambda text: hashlib.blake2b(f"{seed} {text}".encode()).digest()):
        if sizes[of] <= room[label[of]]:
            room[label[of]] -= sizes[of]
            held_out.add(of)
    return [_TEST if of in held_out else _TRAIN for of in group]


def _groups(texts: Sequence[tuple[str, ...]]) -> list[str]:
    """For each example the first in the alphabet of all texts that are linked with its own."""
    from theodolite.engine.search.curation import plain_text

    plain = [tuple(map(plain_text, one)) for one in texts]
    groups, first = connected_groups(plain).tolist(), dict[int, str]()
    for group, one in zip(groups, plain, strict=True):
        first[group] = min(first.get(group, one[0]), *one)
    return [first[group] for group in groups]
