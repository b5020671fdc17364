"""Summaries rated by experts in `mteb/summarization/`, one JSON object per document.

Source: Yale-LILY/SummEval; embeddings-benchmark/mteb, `abstasks/text/summarization.py`.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.datasets.columns import is_number
from theodolite.engine.datasets.files import DatasetSource, is_unicode, where
from theodolite.engine.datasets.formats import records
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.types import DatasetInfo, Summaries
from theodolite.engine.errors import UserError

EXPECTED = "JSON lines with text, human_summaries, machine_summaries and relevance"
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
_KNOWN = {
    "summeval": (
        "SummEval: news articles and machine summaries, rated by experts 1 to 5",
        "MIT; CNN/DailyMail text",
        ENGLISH,
    )
}


def sources(root: Path) -> list[DatasetSource]:
    """List the JSON lines files as data sets."""
    sets = []
    for path in sorted((root / "mteb" / "summarization").glob("*.jsonl*")):
        name = path.name.removesuffix(".gz").removesuffix(".jsonl")
        what, licence, languages = _KNOWN.get(name, ("Documents and rated summaries", "", ()))
        info = DatasetInfo(
            name,
            "summaries",
            "folder",
            f"{what}.",
            licence,
            task=name,
            splits=("test",),
            languages=languages,
        )
        sets.append(DatasetSource(info, partial(read, name, path)))
    return sets


def read(name: str, path: Path) -> Summaries:
    """Read the documents, their summaries, and the ratings of machine summaries."""
    documents, human, machine = [], [], []
    ratings: dict[str, list[np.ndarray]] = {}
    for place, row in records(path, where(path)):
        summaries = _texts(place, row, "machine_summaries")
        documents.append(_texts(place, {"text": [row.get("text")]}, "text")[0])
        human.append(_texts(place, row, "human_summaries"))
        machine.append(summaries)
        rated = [aspect for aspect in ASPECTS if aspect in row]
        if set(rated) != set(ratings or rated) or "relevance" not in rated:
            raise _wrong(place, "is not rated as the rows before")
        for aspect in rated:
            values = row[aspect]
            if not isinstance(values, list) or not all(map(is_number, values)):
                raise _wrong(place, f"has no list of numbers {aspect!r}")
            if len(values) != len(summaries):
                raise _wrong(
                    place, f"has {len(values)} ratings of {aspect} for {len(summaries)} summaries"
                )
            ratings.setdefault(aspect, []).append(np.array(values, dtype=np.float64))
    if not documents:
        raise UserError(f"{where(path)} holds no document.", "Is it complete?", code="missing")
    return Summaries(
        name,
        tuple(documents),
        tuple(human),
        tuple(machine),
        {aspect: tuple(of) for aspect, of in ratings.items()},
    )


def _texts(place: str, row: dict[str, Any], key: str) -> tuple[str, ...]:
    texts = row.get(key)
    if (
        not isinstance(texts, list)
        or not texts
        or not all(isinstance(text, str) and is_unicode(text) for text in texts)
    ):
        raise _wrong(place, f"has no list of texts {key!r}")
    return tuple(texts)


def _wrong(place: str, fault: str) -> UserError:
    return UserError(f"{place} {fault}.", f"Expected: {EXPECTED}.", code="damaged")
