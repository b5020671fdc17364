"""The first rows and the facts of a data set, for its preview."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice
from typing import Any

from theodolite.app import formats
from theodolite.engine.datasets.types import (
    Captions,
    Dataset,
    DatasetInfo,
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
    Summaries,
    Triplets,
)

ROWS = 20
JUDGED = 3
"""Most documents shown per query, the best first."""
CELL = 400
DOCUMENT = 160
"""Most characters of each document of a query."""


def cell(value: Any, most: int = CELL) -> str:
    """A table cell as escaped text, cut at `most` characters."""
    text = str(value)
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return f'<span dir="auto">{escape(cut)}</span>'


def facts(data: Dataset, info: DatasetInfo | None) -> list[tuple[str, str]]:
    """Size, description and hash of a data set, as pairs of name and text."""
    found = [("sentences", formats.count(len(data.sentences))), *counts(data).items()]
    if info is not None:
        found += [("what it is", info.description), ("licence", info.licence or "not stated")]
        named = {
            "type of task": info.type or "",
            "tasks": ", ".join(info.tasks),
            "languages": ", ".join(info.languages),
        }
        found += [(what, value) for what, value in named.items() if value]
    if clusters := getattr(data, "clusters", None):
        found.append(("clusters", formats.count(len(set(filter(None, clusters.values()))))))
    found += [("note", note) for note in getattr(data, "notes", ())]
    return [*found, ("content hash", data.hash)]


def counts(data: Dataset) -> dict[str, str]:
    """What a data set holds beside its sentences, such as its labels, as name -> text."""
    return dict(_counts(data))


def _counts(data: Dataset) -> Iterator[tuple[str, str]]:
    match data:
        case ScoredPairs():
            yield data.parts_are, _each({name: len(p.gold) for name, p in data.parts.items()})
            yield "scores", f"{data.scale[0]:g} to {data.scale[1]:g}"
        case Captions():
            yield "images", _each({name: len(p.images) for name, p in data.parts.items()})
        case LabelledSentences() | LabelledPairs():
            if isinstance(data, LabelledPairs):
                yield "pairs", formats.count(len(data.labels))
            counts = Counter(data.labels).most_common()
            more = f" and {len(counts) - 8} more" if len(counts) > 8 else ""
            yield formats.plural(len(counts), "label"), _each(dict(counts[:8])) + more
            if data.splits:
                yield "splits", _each(Counter(data.splits))
        case Retrieval():
            yield "queries", _each({name: len(of) for name, of in data.judgements.items()})
            yield "documents", formats.count(len(data.documents))
            judged = {name: sum(map(len, of.values())) for name, of in data.judgements.items()}
            yield "judgements", _each(judged)
            if data.candidates is not None:
                yield "searched in", "each query's own documents"
        case Parallel():
            yield "pairs", _each({name: len(p.gold) for name, p in data.parts.items()})
        case Summaries():
            yield "documents", formats.count(len(data.documents))
            yield (
                "summaries",
                _each(
                    {
                        "by people": sum(map(len, data.human)),
                        "by machines": sum(map(len, data.machine)),
                    }
                ),
            )
            yield "ratings", f"{', '.join(data.ratings)}, {data.scale[0]:g} to {data.scale[1]:g}"
        case _:
            pass


def _each(counts: dict[str, int] | Counter[str]) -> str:
    return ", ".join(f"{name} {formats.count(n)}" for name, n in counts.items())


def rows(data: Dataset) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Column heads and the first rows as HTML, numbered from 1."""
    heads, found = table(data)
    shown = [(str(i), *map(_html, row)) for i, row in enumerate(islice(found, ROWS), 1)]
    return ("Row", *heads), shown


def table(data: Dataset) -> tuple[tuple[str, ...], Iterable[Sequence[Any]]]:
    """Column heads and the rows; the documents of a query are a list of (grade, text)."""
    match data:
        case ScoredPairs():
            pairs = (
                (part, left, right, float(gold))
                for part, p in data.parts.items()
                for left, right, gold in zip(p.left, p.right, p.gold, strict=True)
            )
            return ("Part", "Left", "Right", "Score"), pairs
        case LabelledSentences():
            return ("Label", "Sentence"), zip(data.labels, data.sentences, strict=True)
        case LabelledPairs():
            sentences, places = data.sentences, zip(data.labels, data.left, data.right, strict=True)
            labelled = ((label, sentences[left], sentences[right]) for label, left, right in places)
            return ("Label", "Left", "Right"), labelled
        case Triplets():
            triplets = zip(data.anchors, data.positives, data.negatives, strict=True)
            return ("Anchor", "Positive", "Negative"), triplets
        case Retrieval():
            return ("Split", "Query", "Judged documents, grade first"), _judged(data)
        case Parallel():
            translations = (
                (split, p.left[a], p.right[b]) for split, p in data.parts.items() for a, b in p.gold
            )
            names = (
                name or side for name, side in zip(data.languages, ("Left", "Right"), strict=True)
            )
            return ("Split", *names), translations
        case Summaries():
            rated = (
                (document, human[0], machine[0], float(ratings[0]))
                for document, human, machine, ratings in zip(
                    data.documents, data.human, data.machine, data.ratings["relevance"], strict=True
                )
            )
            heads = ("Document", "First human summary", "First machine summary", "Relevance")
            return heads, rated
        case _:
            return ("Sentence",), ((sentence,) for sentence in data.sentences)


def _html(value: Any) -> str:
    if not isinstance(value, list):
        return cell(f"{value:.6g}" if isinstance(value, float) else value)
    shown = "".join(
        f"<div><b>{grade}</b> {cell(text, DOCUMENT)}</div>" for grade, text in value[:JUDGED]
    )
    rest = len(value) - JUDGED
    return shown + (f'<div class="t-muted">and {rest:,} more</div>' if rest > 0 else "")


def _judged(data: Retrieval) -> Iterator[tuple[str, str, list[tuple[int, str]]]]:
    for split, judged in data.judgements.items():
        for query, grades in judged.items():
            best = sorted(grades.items(), key=lambda item: -item[1])
            documents = [(n, data.documents.get(key, f"{key} (not there)")) for key, n in best]
            yield split, data.queries[query], documents
