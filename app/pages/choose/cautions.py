"""The warnings of a decision sheet: each with a code for programs and a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.app import beforehand, endpoints, formats
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data, words
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
    from theodolite.app.pages.choose.job import ChooseJob
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets.types import Dataset

Caution = tuple[str, str]
"""A code and a sentence."""
DOMINANT = 0.5
"""Share of the rows from which one label dominates."""


def found(
    workspace: Workspace,
    job: ChooseJob,
    dataset: Dataset,
    every: Sequence[Candidate],
    sheet: Mapping[str, Any],
) -> list[Caution]:
    """All warnings of a sheet, the gravest first.

    Args:
        workspace: holds the data that encoders were trained on.
        job: the job of the sheet.
        dataset: the data set of the job.
        every: the evaluated encoders, the baseline among them.
        sheet: the sheet without its warnings.
    """
    return [
        *_unscored(dataset, sheet),
        *_failed(every),
        *_baseline(sheet),
        *_leaks(workspace, every, sheet["task"]),
        *_few(sheet),
        *_limits(job, every),
        *_alike(every),
        *_dominant(dataset),
        *_duplicates(dataset),
        *_settings(job),
        *_cut(workspace, job),
        *_left_out(every, sheet),
        *_disturbed(every),
    ]


def _disturbed(every: Sequence[Candidate]) -> Iterator[Caution]:
    if text := cost.disturbance(one.costs for one in every if one.costs):
        yield "timed_disturbed", text


def _unscored(dataset: Dataset, sheet: Mapping[str, Any]) -> Iterator[Caution]:
    if sheet["task"] is not None:
        return
    rows = data.examples(dataset)
    if rows:
        many = formats.plural(rows, "labelled example")
        yield (
            "few_examples",
            f"{dataset.name} has {many}; below {data.MIN_EXAMPLES} nothing is scored.",
        )
    else:
        text = (
            f"{dataset.name} has no labels, so no encoder can be called best. Compare them by hand "
            "on the page Judge, or add a column of labels."
        )
        yield "no_labels", text


def _failed(every: Sequence[Candidate]) -> Iterator[Caution]:
    for one in every:
        if one.error is not None:
            yield "encoder_failed", f"{one.encoder} was left out: {one.error}"


def _baseline(sheet: Mapping[str, Any]) -> Iterator[Caution]:
    over = sheet["against_baseline"]
    if over is not None and not over["beaten"]:
        text = (
            f"{sheet['best']['encoder']} is not significantly better than {sheet['baseline']}, "
            "which only knows which words texts share. Either that is enough here, or there are "
            "too few examples, or the texts do not tell the labels."
        )
        yield "baseline_not_beaten", text


def _leaks(workspace: Workspace, every: Sequence[Candidate], task: str | None) -> Iterator[Caution]:
    """Texts that are also in an encoder's training data, where that is known and installed."""
    for one in every:
        if task is None or one.sample is None:
            continue
        sets = leaks.here(workspace, leaks.known(workspace, one.encoder)).values()
        for name in dict.fromkeys(place for those in sets for place in those):
            leak = leaks.look(workspace, task, name)
            if leak.same + leak.nearly:
                text = (
                    f"{leak.same + leak.nearly:,} of {formats.plural(leak.tested, 'text')} "
                    f"{'is' if leak.same + leak.nearly == 1 else 'are'} also in {name}, which "
                    f"{one.encoder} was trained on: its score may be too high."
                )
                yield "leak", text


def _few(sheet: Mapping[str, Any]) -> Iterator[Caution]:
    if sheet["best"] is not None and sheet["n"] < data.FEW:
        wide = sheet["best"]["high"] - sheet["best"]["low"]
        text = (
            f"Only {words.examples(sheet)}: the best encoder's 95 % interval is {wide:.0f} points "
            "wide."
        )
        yield "few_examples", text


def _limits(job: ChooseJob, every: Sequence[Candidate]) -> Iterator[Caution]:
    requested = [one for one in every if one.encoder in job.encoders]
    outside = [f"{one.encoder} ({one.outside})" for one in requested if one.outside]
    if outside:
        whole = "no_encoder_within_limits" if len(outside) == len(requested) else "limits"
        yield whole, f"Left out by the limits: {formats.listed(outside)}."


def _alike(every: Sequence[Candidate]) -> Iterator[Caution]:
    known = [one for one in every if one.sample is not None]
    for a, b in combinations(known, 2):
        assert a.sample is not None  # noqa: S101 - for the type checker
        assert b.sample is not None  # noqa: S101 - for the type checker
        if np.allclose(a.sample.values, b.sample.values, atol=1e-6):
            text = (
                f"{a.encoder} and {b.encoder} score the same on every example: more examples like "
                "these would not tell them apart."
            )
            yield "same_answers", text


def _dominant(dataset: Dataset) -> Iterator[Caution]:
    counts = data.labels_of(dataset)
    if not counts:
        return
    (label, most), total = counts.most_common(1)[0], counts.total()
    if most > DOMINANT * total:
        text = (
            f"{100 * most / total:.0f} % of the rows have the label {label[:40]!r}: always "
            "guessing it is right that often."
        )
        yield "dominant_class", text


def _duplicates(dataset: Dataset) -> Iterator[Caution]:
    texts, labels = _rows(dataset)
    groups = exact_duplicates(texts)
    if not groups.count:
        return
    spare = len(groups.ids) - groups.count
    split = 0
    if labels:
        kept: dict[int, set[str]] = {}
        for row, group in zip(groups.ids.tolist(), groups.group.tolist(), strict=True):
            kept.setdefault(group, set()).add(labels[row])
        split = sum(len(found) > 1 for found in kept.values())
    contradicting = ""
    if split:
        several = f"{formats.plural(split, 'text')} {'has' if split == 1 else 'have'}"
        contradicting = f" {several} different labels or scores."
    text = (
        f"{spare:,} of {formats.plural(len(texts), 'row')} {'repeats' if spare == 1 else 'repeat'} "
        "another, up to case, spaces and final punctuation. They count more than once and can "
        f"inflate scores.{contradicting}"
    )
    yield "duplicates", text


def _rows(dataset: Dataset) -> tuple[list[str], list[str]]:
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


def _settings(job: ChooseJob) -> Iterator[Caution]:
    for name in job.encoders:
        code = "endpoint" if endpoints.addresses(name) else "settings_contradicted"
        for text in warnings_of(name):
            yield code, f"{name}: {text}"


def _cut(workspace: Workspace, job: ChooseJob) -> Iterator[Caution]:
    for name in job.encoders:
        for text in beforehand.cuts(workspace, name, [job.dataset]):
            yield "texts_cut", f"{name}: {text}"


def _left_out(every: Sequence[Candidate], sheet: Mapping[str, Any]) -> Iterator[Caution]:
    if sheet["unlabelled"]:
        rows = formats.plural(sheet["unlabelled"], "row")
        yield "unlabelled", f"{rows} without a label were left out."
    details: Mapping[str, Any] = next((one.row["details"] for one in every if one.row), {})
    if details.get("left_out"):
        rows = formats.plural(details["left_out"], "row")
        yield "rare_labels", f"{rows} were left out: their labels occur fewer than five times."
