"""The warnings of a decision sheet: each with a code for programs and a sentence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.app import beforehand, endpoints, formats
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data
from theodolite.app.pages.curate import leaks
from theodolite.engine.datasets.types import (
    LabelledPairs,
    LabelledSentences,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.encoders import warnings_of
from theodolite.engine.search.curation import exact_duplicates

if TYPE_CHECKING:
    from theodolite.app.pages.choose.candidates import Candidate
    from theodolite.app.pages.choose.spec import ChooseSpec
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets.types import Dataset

Caution = tuple[str, str]
"""A code and a sentence."""
DOMINANT = 0.5
"""Share of the rows from which one label dominates."""


def found(
    workspace: Workspace,
    spec: ChooseSpec,
    dataset: Dataset,
    every: Sequence[Candidate],
    sheet: Mapping[str, Any],
) -> list[Caution]:
    """All warnings of a sheet, the gravest first.

    Args:
        workspace: holds the data that encoders were trained on.
        spec: what was asked.
        dataset: that encoders are chosen for.
        every: the evaluated encoders, the baseline among them.
        sheet: the sheet without its warnings.
    """
    return [
        *_decision(spec, dataset, every, sheet),
        *_leaks(workspace, every, sheet["task"]),
        *_rows(dataset, every, sheet),
        *_encoders(workspace, spec, every),
    ]


def _decision(
    spec: ChooseSpec, dataset: Dataset, every: Sequence[Candidate], sheet: Mapping[str, Any]
) -> Iterator[Caution]:
    """Why nothing can be decided, or not for sure."""
    best, labelled, over = sheet["best"], sheet["examples"], sheet["against_baseline"]
    if sheet["task"] is None and labelled:
        yield (
            "few_examples",
            f"{dataset.name} has {formats.plural(labelled, 'labelled example')}; below "
            f"{data.MIN_EXAMPLES} nothing is scored.",
        )
    elif sheet["task"] is None:
        yield (
            "no_labels",
            f"{dataset.name} has no labels, so no encoder can be called best. Compare them by hand "
            "on the page Judge, or add a column of labels.",
        )
    for one in every:
        if one.error is not None:
            yield "encoder_failed", f"{one.encoder} was left out: {one.error}"
    if over is not None and not over["beaten"]:
        yield (
            "baseline_not_beaten",
            f"{best['encoder']} is not significantly better than {sheet['baseline']}, which only "
            "knows which words texts share. Either that is enough here, or there are too few "
            "examples, or the labels cannot be predicted from the texts.",
        )
    if best is not None and sheet["n"] < data.FEW:
        yield (
            "few_examples",
            f"Only {data.in_words(sheet['n'], sheet['kind'])}: the best encoder's 95 % interval is "
            f"{best['high'] - best['low']:.0f} points wide.",
        )
    asked = [one for one in every if one.encoder in spec.encoders]
    outside = [f"{one.encoder} ({one.outside})" for one in asked if one.outside]
    if outside:
        code = "no_encoder_within_limits" if len(outside) == len(asked) else "limits"
        yield code, f"Left out by the limits: {formats.listed(outside)}."


def _leaks(workspace: Workspace, every: Sequence[Candidate], task: str | None) -> Iterator[Caution]:
    """Texts that are also in an encoder's training data, where that is known and installed."""
    for one in every:
        if task is None or one.sample is None:
            continue
        sets = leaks.here(workspace, leaks.known(workspace, one.encoder)).values()
        for name in dict.fromkeys(place for those in sets for place in those):
            leak = leaks.look(workspace, task, name)
            if many := leak.same + leak.nearly:
                yield (
                    "leak",
                    f"{many:,} of {formats.plural(leak.tested, 'text')} "
                    f"{'is' if many == 1 else 'are'} also in {name}, which {one.encoder} was "
                    "trained on: its score may be too high.",
                )


def _rows(
    dataset: Dataset, every: Sequence[Candidate], sheet: Mapping[str, Any]
) -> Iterator[Caution]:
    """What is wrong with the data."""
    counts = data.labels_of(dataset)
    for label, most in counts.most_common(1):
        if most > DOMINANT * counts.total():
            yield (
                "dominant_class",
                f"{100 * most / counts.total():.0f} % of the rows have the label {label[:40]!r}: "
                "always guessing it is right that often.",
            )
    texts, labels = _texts(dataset)
    groups = exact_duplicates(texts)
    if groups.count:
        spare = len(groups.ids) - groups.count
        of_group = defaultdict[int, set[str]](set)
        for row, group in zip(groups.ids.tolist(), groups.group.tolist(), strict=True):
            of_group[group] |= set(labels[row : row + 1])
        split = sum(len(different) > 1 for different in of_group.values())
        has = f"{formats.plural(split, 'text')} {'has' if split == 1 else 'have'}"
        yield (
            "duplicates",
            f"{spare:,} of {formats.plural(len(texts), 'row')} "
            f"{'repeats' if spare == 1 else 'repeat'} another, up to case, spaces and final "
            "punctuation. They count more than once and can inflate scores."
            + (f" {has} different labels or scores." if split else ""),
        )
    if sheet["unlabelled"]:
        rows = formats.plural(sheet["unlabelled"], "row")
        yield "unlabelled", f"{rows} without a label were left out."
    details: Mapping[str, Any] = next((one.row["details"] for one in every if one.row), {})
    if details.get("left_out"):
        rows = formats.plural(details["left_out"], "row")
        yield "rare_labels", f"{rows} were left out: their labels occur fewer than five times."


def _texts(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The texts of the rows, and their labels; no labels where rows have none."""
    match dataset:
        case LabelledSentences():
            return dataset.sentences, dataset.labels
        case LabelledPairs():
            sides = zip(dataset.left.tolist(), dataset.right.tolist(), strict=True)
            texts = [f"{dataset.sentences[a]}\n{dataset.sentences[b]}" for a, b in sides]
            return texts, dataset.labels
        case ScoredPairs():
            parts = dataset.parts.values()
            return (
                [f"{a}\n{b}" for part in parts for a, b in zip(part.left, part.right, strict=True)],
                [f"{grade:g}" for part in parts for grade in part.gold],
            )
        case Retrieval():
            return list(dataset.queries.values()), []
    return list(dataset.sentences), []


def _encoders(
    workspace: Workspace, spec: ChooseSpec, every: Sequence[Candidate]
) -> Iterator[Caution]:
    """What to know of an encoder, or of two."""
    known = [(one.encoder, one.sample.values) for one in every if one.sample is not None]
    for (a, of_a), (b, of_b) in combinations(known, 2):
        if np.allclose(of_a, of_b, atol=1e-6):
            yield (
                "same_answers",
                f"{a} and {b} score the same on every example: more examples like these would not "
                "tell them apart.",
            )
    for name in spec.encoders:
        code = "endpoint" if endpoints.addresses(name) else "settings_contradicted"
        for text in warnings_of(name):
            yield code, f"{name}: {text}"
        for text in beforehand.cuts(workspace, name, [spec.data]):
            yield "texts_cut", f"{name}: {text}"
    if text := cost.disturbance(one.costs for one in every if one.costs):
        yield "timed_disturbed", text
