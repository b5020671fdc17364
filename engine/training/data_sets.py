"""Examples from a data set of the catalog, which keeps it in memory.

Where a set has a training split, the others are left out, so that no run trains on test data.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.types import (
    HOLDS,
    Captions,
    Dataset,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Parallel,
    Retrieval,
    ScoredPairs,
    Sentences,
    Triplets,
)
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import pair_classification
from theodolite.engine.training.losses import LOSSES
from theodolite.engine.training.presets import STARTER
from theodolite.engine.training.rows import (
    LABEL,
    PAIR,
    POSITIVE,
    SENTENCE,
    TRIPLET,
    Digest,
    Examples,
    ExamplesSpec,
    Premises,
    blank,
    count_note,
    good_pairs,
    in_turn,
    is_inference,
    kind_of,
    no_contradictions,
    no_pairs,
    no_running_text,
    positives,
)

_TRAIN = ("train", "tr")
_Tuples = Sequence[tuple[str, ...]]
_DRAWS, _DRAWN = 10, 2000
"""Pairs alike that are drawn for each sentence with a label, and as many that are not (SetFit,
Tunstall et al. 2022); fewer if there are more sentences, with so many pairs alike in all."""


def examples(name: str, wanted: ExamplesSpec, catalog: Catalog) -> Examples:
    """Open a data set; `starter` stands for the shipped topics, or with `sup` the shipped pairs."""
    if name == STARTER:
        name = "starter-pairs" if wanted.objective == "sup" else "starter-topics"
    data = catalog.load(name)
    if wanted.objective == "next-sentence":
        return _running_text(data, wanted)
    if wanted.single:
        texts, notes = _texts(data)
        distinct = [text for text in dict.fromkeys(text.strip() for text in texts) if text]
        notes += count_note(
            len(texts) - len(distinct),
            "sentence that is empty or came before was left out",
            "sentences that are empty or came before were left out",
        )
        return _examples(SENTENCE, [(text,) for text in distinct], notes, wanted)
    columns, tuples, notes = _positives(data, wanted)
    stripped = [tuple(cell.strip() for cell in row) for row in tuples]
    complete = [row for row in stripped if all(row)]
    notes += blank(len(tuples) - len(complete))
    return _examples(columns, complete, notes, wanted)


def with_labels(name: str, loss: str, catalog: Catalog, limit: int | None) -> Examples:
    """Open a data set for a loss of scores or labels: each example ends with its own, as a number.

    Scores are scaled to 0 to 1, labels are 0 and 1 of pairs
    (neutral ones are left out), and the place among all of sentences.
    """
    need = LOSSES[loss]
    if name == STARTER:
        name = "starter-pairs" if need.data == "scored" else "starter-topics"
    data, notes = catalog.load(name), list[str]()
    columns: tuple[str, ...] = (*PAIR, LABEL)
    rows: list[tuple[str, ...]] = []
    match need.data, data:
        case "scored", ScoredPairs():
            parts, notes = _train_parts(data)
            low, high = data.scale
            rows = [
                (left, right, repr(float((gold - low) / (high - low))))
                for part in parts
                for left, right, gold in zip(part.left, part.right, part.gold, strict=True)
            ]
        case "labelled-pairs", LabelledPairs() if None not in map(
            pair_classification.mark, set(data.labels)
        ):
            left, right, labels, notes = _labelled_pairs(data)
            marked = zip(left, right, map(pair_classification.mark, labels), strict=True)
            rows = [(one, other, same) for one, other, same in marked if same]
        case "labelled" | "labelled-pairs" | "scored", LabelledSentences():
            place = {label: str(at) for at, label in enumerate(sorted(set(data.labels)))}
            sentences, notes = _labelled_sentences(data)
            if need.data == "labelled":
                columns = (*SENTENCE, LABEL)
                rows = [(text, place[label]) for text, label in sentences]
            else:
                rows = _pairs_of_labels(sentences)
                notes.append(f"{len(rows):,} pairs are made of the labels: alike, and not.")
        case _:
            held = getattr(data, "labels", None)
            of = f" with the labels {', '.join(sorted(set(held))[:5])}" if held else ""
            raise UserError(
                f"{name} holds {HOLDS[data.kind]}{of}; {loss} learns from {need.needs}.",
                "Choose other data or another loss.",
                code="wrong-kind",
            )
    complete = [row for row in rows if all(cell.strip() for cell in row)]
    shape = ExamplesSpec("st", False, 1, limit)
    return _examples(columns, complete, notes + blank(len(rows) - len(complete)), shape)


def _labelled_sentences(data: LabelledSentences) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the sentences to learn from with their labels, and notes."""
    split, notes = _train_part(data.splits)
    splits = data.splits or [""] * len(data.sentences)
    rows = zip(data.sentences, data.labels, splits, strict=True)
    return [(text, label) for text, label, name in rows if split in (None, name)], notes


def _pairs_of_labels(sentences: Sequence[tuple[str, str]]) -> list[tuple[str, ...]]:
    """For each sentence as many others of its label, marked 1, as of other labels, marked 0."""
    rng, draws = np.random.default_rng(0), max(1, min(_DRAWS, _DRAWN // max(1, len(sentences))))
    labels = np.array([label for _, label in sentences])
    of_label = {label: np.flatnonzero(labels == label) for label in np.unique(labels)}
    others = {label: np.flatnonzero(labels != label) for label in of_label}
    pairs: list[tuple[str, ...]] = []
    for at, (text, label) in enumerate(sentences):
        alike = of_label[label][of_label[label] != at]
        for mark, among in ("1", alike), ("0", others[label]):
            picks = rng.integers(len(among), size=draws) if len(alike) and len(among) else ()
            pairs += [(text, sentences[among[place]][0], mark) for place in picks]
    return pairs


def _examples(
    columns: tuple[str, ...], tuples: _Tuples, notes: list[str], wanted: ExamplesSpec
) -> Examples:
    tuples = tuples[: wanted.limit]
    digest = Digest()
    for row in tuples:
        digest.add(row)
    return Examples(columns, str(digest), tuple(notes), len(tuples), tuples.__getitem__)


def _train_part(splits: Iterable[str]) -> tuple[str | None, list[str]]:
    """Return the name of the training split, if there is one, and a note on it."""
    name = next((split for split in dict.fromkeys(splits) if split in _TRAIN), None)
    return name, [f"Only its {name} split is learned from."] if name else []


def _texts(data: Dataset) -> tuple[list[str], list[str]]:
    """Return the sentences to learn from, and notes."""
    match data:
        case ScoredPairs():
            parts, notes = _train_parts(data)
            return [s for part in parts for side in (part.left, part.right) for s in side], notes
        case Captions():
            split, notes = _train_part(data.parts)
            return list(data.parts[split].captions) if split else data.sentences, notes
        case LabelledSentences():
            rows, notes = _labelled_sentences(data)
            return [text for text, _ in rows], notes
        case LabelledPairs():
            left, right, _, notes = _labelled_pairs(data)
            return [*left, *right], notes
        case _:
            return list(data.sentences), []


def _train_parts(data: ScoredPairs) -> tuple[list[PairPart], list[str]]:
    """Return the training split alone, if there is one, else all parts; and notes."""
    split, notes = _train_part(data.parts if data.parts_are == "splits" else ())
    return [data.parts[split]] if split else list(data.parts.values()), notes


def _labelled_pairs(data: LabelledPairs) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return left, right and labels of the training split, and notes."""
    split, notes = _train_part(data.splits)
    rows = [i for i, p in enumerate(data.splits) if split is None or p == split]
    left, right = ([data.sentences[side[i]] for i in rows] for side in (data.left, data.right))
    return left, right, [data.labels[i] for i in rows], notes


def _positives(data: Dataset, wanted: ExamplesSpec) -> tuple[tuple[str, ...], _Tuples, list[str]]:
    """Return columns, pairs or triplets, and notes."""
    match data:
        case Triplets():
            sides = (data.anchors, data.positives, data.negatives)[: wanted.width(TRIPLET)]
            return TRIPLET[: len(sides)], list(zip(*sides, strict=True)), []
        case ScoredPairs():
            return PAIR, *_good_pairs(data)
        case LabelledPairs():
            return _by_label(data, wanted)
        case Retrieval():
            return _by_judgements(data, wanted)
        case Parallel():
            return PAIR, *_translations(data)
        case _:
            raise no_pairs(data.name, "single sentences")


def _translations(data: Parallel) -> tuple[_Tuples, list[str]]:
    """Return sentences with their translations, and notes; a file of any pairs is read so too."""
    split, notes = _train_part(data.parts)
    parts = [data.parts[split]] if split else data.parts.values()
    return [(part.left[a], part.right[b]) for part in parts for a, b in part.gold.tolist()], notes


def _by_judgements(
    data: Retrieval, wanted: ExamplesSpec
) -> tuple[tuple[str, ...], _Tuples, list[str]]:
    """Pair queries with their relevant documents, and with those judged 0 if most have such."""
    split, notes = _train_part(data.judgements)
    rows = [
        (
            [data.queries[query]],
            _documents(data, grades, relevant=True),
            _documents(data, grades, relevant=False),
        )
        for name, of in data.judgements.items()
        if split in (None, name)
        for query, grades in of.items()
    ]
    rows = [row for row in rows if row[1]]
    notes.append("Each query is paired with its relevant documents.")
    complete = [row for row in rows if row[2]]
    if not wanted.hard_negatives or 2 * len(complete) <= len(rows):
        return PAIR, [pair for row in rows for pair in in_turn(row[:2])], notes
    notes.append("Documents judged 0 are its hard negatives.")
    notes += count_note(
        len(rows) - len(complete),
        "query without a document judged 0 was left out",
        "queries without a document judged 0 were left out",
    )
    return TRIPLET, [triplet for row in complete for triplet in in_turn(row)], notes


def _documents(data: Retrieval, grades: Mapping[str, int], *, relevant: bool) -> list[str]:
    """Return the texts of the documents that are relevant, or those that are not."""
    return [
        data.documents[document]
        for document, grade in grades.items()
        if (grade > 0) == relevant and document in data.documents
    ]


def _good_pairs(data: ScoredPairs) -> tuple[_Tuples, list[str]]:
    parts, notes = _train_parts(data)
    pairs = [pair for part in parts for pair in zip(part.left, part.right, strict=True)]
    note, good = good_pairs(np.concatenate([part.gold for part in parts]).tolist(), data.scale)
    return [pair for pair, is_good in zip(pairs, good, strict=True) if is_good], [*notes, note]


def _by_label(
    data: LabelledPairs, wanted: ExamplesSpec
) -> tuple[tuple[str, ...], _Tuples, list[str]]:
    left, right, labels, notes = _labelled_pairs(data)
    if not is_inference(set(labels)):
        rows = zip(left, right, labels, strict=True)
        pairs = [(a, b) for a, b, label in rows if pair_classification.mark(label) == POSITIVE]
        if not pairs:
            raise no_pairs(data.name, f"pairs with the labels {', '.join(sorted(set(labels)))}")
        return PAIR, pairs, [*notes, positives(set(labels))]
    premises = Premises()
    for row, (premise, label) in enumerate(zip(left, labels, strict=True)):
        premises.add(premise, kind_of(label), row)
    if not wanted.hard_negatives:
        return PAIR, [(left[row], right[row]) for row in premises.pairs()], notes
    both = premises.triplets()
    if not both:
        raise no_contradictions(data.name)
    return TRIPLET, [(left[e], right[e], right[c]) for e, c in both], notes


def _running_text(data: Dataset, wanted: ExamplesSpec) -> Examples:
    """Treat the sentences, in their order, as running text."""
    if not isinstance(data, Sentences):
        raise no_running_text(data.name, "no plain collection of sentences")
    texts, columns = data.sentences, wanted.following
    tuples = [tuple(texts[i : i + len(columns)]) for i in range(len(texts) - 1)]
    note = "All sentences count as one document, in their order."
    return _examples(columns, tuples, [note], wanted)
