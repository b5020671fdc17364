"""The starter set: pairs and topics written for this project, shipped in the package.

Small on purpose and not a benchmark: it demonstrates Theodolite before any download.
"""

from functools import partial
from importlib.resources import files
from importlib.resources.abc import Traversable

import numpy as np

from theodolite.engine.datasets.files import DatasetSource
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.types import DatasetInfo, LabelledSentences, PairPart, ScoredPairs

FOLDER = files("theodolite.engine.datasets") / "starter"
_LICENCE = "Apache-2.0, part of Theodolite"

PAIRS = DatasetInfo(
    "starter-pairs",
    "pairs",
    "starter",
    "Sentence pairs graded 0 to 5, written by us under a written rubric; one grader, "
    "no agreement measured.",
    _LICENCE,
    task="StarterSTS",
    languages=ENGLISH,
)
TOPICS = DatasetInfo(
    "starter-topics",
    "labels",
    "starter",
    "Sentences on twenty everyday topics, written by us; one label each, given by the writer, "
    "no agreement measured.",
    _LICENCE,
    task="StarterTopics",
    tasks=("StarterTopics", "StarterSearch"),
    languages=ENGLISH,
)


def sources() -> list[DatasetSource]:
    """List the two shipped data sets."""
    return [
        DatasetSource(PAIRS, partial(read_pairs, FOLDER / "pairs.tsv")),
        DatasetSource(TOPICS, partial(read_topics, FOLDER / "topics")),
    ]


def rubric() -> str:
    """Return the text of the grading rubric."""
    return (FOLDER / "RUBRIC.md").read_text("utf-8")


def read_pairs(file: Traversable = FOLDER / "pairs.tsv") -> ScoredPairs:
    """Read the graded pairs as one part, `all`, since nothing is trained on them."""
    rows = [line.split("\t") for line in _lines(file)[1:]]
    left, right = tuple(row[1] for row in rows), tuple(row[2] for row in rows)
    gold = np.array([float(row[0]) for row in rows], dtype=np.float64)
    return ScoredPairs("starter-pairs", {"all": PairPart(left, right, gold)}, "splits")


def read_topics(folder: Traversable = FOLDER / "topics") -> LabelledSentences:
    """Read the labelled sentences; a topic is its file's name."""
    topics = sorted(
        (path for path in folder.iterdir() if path.name.endswith(".txt")),
        key=lambda path: path.name,
    )
    sentences, labels = [], []
    for path in topics:
        texts = _lines(path)
        sentences += texts
        labels += [path.name.removesuffix(".txt")] * len(texts)
    return LabelledSentences("starter-topics", sentences, labels)


def _lines(path: Traversable) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines() if line.strip()]
