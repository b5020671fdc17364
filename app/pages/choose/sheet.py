"""The decision sheet: the best encoder on your own data, ties, costs and warnings.

The job *choose* measures one encoder a unit, then makes the sheet from what they stored. A sheet is
JSON-able, so that it is stored and shipped unchanged. What it says is in `answer.py`.
"""

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from theodolite.app import beforehand, endpoints, formats, sending
from theodolite.app.formats import percent
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.names import labelled
from theodolite.app.pages.board import cost
from theodolite.app.pages.board.examples import compare
from theodolite.app.pages.choose import candidates, data, improve, setups, without_queries
from theodolite.app.pages.choose.candidates import Candidate, ChooseSpec
from theodolite.app.pages.curate import leaks
from theodolite.app.pages.encoders.service import ensure_listed
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.vectors import known
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.datasets.chunks import base, split_name
from theodolite.engine.datasets.types import (
    HOLDS,
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.encoders import warnings_of
from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.search.curation import exact_duplicates
from theodolite.engine.space.compare import change
from theodolite.engine.stats.choice import REFIT, behind, choose
from theodolite.engine.stats.power import to_tell_apart
from theodolite.engine.training.base_spec import relative_path
from theodolite.store.hashing import hash_of, to_json

Sheet = Mapping[str, Any]
"""A decision sheet as `make` returns it."""
KIND = "choose"
MAX_DIFFERING = 5
"""Most examples on which the finalists differ, in favour of each."""
FEW = 100
"""Examples below which an interval is as wide as most differences between encoders."""
DOMINANT = 0.5
"""Share of the rows from which one label dominates."""
LIMITS = ("max_ms", "max_bytes", "licences", "margin")
OPEN: dict[str, Any] = {
    "task": None,
    "metric": None,
    "protocol": None,
    "n": 0,
    "intervals": {},
    "optimism": None,
    "best": None,
    "ties": [],
    "cheapest": None,
    "nothing_cheaper": None,
    "more_examples": [],
    "against_baseline": None,
    "front": [],
    "differ": None,
    "improvement": None,
}
"""The fields of an undecided sheet."""


def key(workspace: Workspace, spec: ChooseSpec) -> str:
    """The key of a stored sheet: a hash of what was asked, the data and this machine."""
    data_hash = workspace.catalog.load(spec.data).hash
    return hash_of(KIND, to_json(asdict(spec)), data_hash, cost.machine())


def stored(workspace: Workspace, spec: ChooseSpec) -> Sheet | None:
    """The stored sheet; None without one."""
    row = workspace.store.derived.get(key(workspace, spec))
    return None if row is None else row["info"]


def make(workspace: Workspace, spec: ChooseSpec, tick: ProgressCallback = nobody) -> Sheet:
    """Make the sheet from the measurements, and store it; `tick` gets the share done, may raise."""
    if spec.rankers:
        sheet = _of_setups(workspace, spec, tick)
        workspace.store.derived.put(key(workspace, spec), KIND, sheet)
        return sheet
    dataset = workspace.catalog.load(spec.data)
    task = data.task_of(workspace, spec.data)
    every = [candidates.stored(workspace, spec, task, name) for name in spec.measured]
    tick(0.2)
    inside = [one for one in every if one.encoder in spec.encoders and not one.outside]
    scored = {one.encoder: one for one in inside if one.sample is not None}
    decided = OPEN | (
        _decide(workspace, spec, task, every, scored, tick) if task and scored else {}
    )
    columns, unlabelled = data.columns_of(workspace, spec.data)
    tick(0.9)
    sheet = {
        "data": spec.data,
        "asked": spec.encoders,
        "kind": dataset.kind,
        "sentences": len(dataset.sentences),
        "examples": data.count_examples(dataset),
        "unlabelled": unlabelled,
        "columns": columns,
        "limits": {name: getattr(spec, name) for name in LIMITS},
        "machine": cost.machine(),
        "baseline": spec.baseline,
        **decided,
        "highest": data.highest(dataset, decided["metric"]),
        "encoders": [_row(one, decided["intervals"]) for one in every],
        "agreement": [] if task else list(_agreement(workspace, spec)),
        "fingerprints": {one.encoder: _fingerprint(workspace, one.encoder) for one in every},
    }
    warnings = [
        *_about_decision(spec, dataset, every, sheet),
        *_about_data(workspace, dataset, every, sheet),
        *_about_encoders(workspace, spec, every),
    ]
    sheet["warnings"] = [{"code": code, "message": text} for code, text in warnings]
    workspace.store.derived.put(key(workspace, spec), KIND, sheet)
    tick(1.0)
    return sheet


def _of_setups(workspace: Workspace, spec: ChooseSpec, tick: ProgressCallback) -> Sheet:
    """The sheet of rankers on documents that are cut in several ways."""
    task = without_queries.task_of(workspace, spec.data)
    is_made = without_queries.is_made(task)
    dataset = workspace.catalog.load(task if is_made else spec.data)
    every = [setups.stored(workspace, task, name) for name in spec.setups]
    tick(0.2)
    scored = any(one.sample for one in every)
    decision = OPEN | (setups.decide(every, spec.margin) if scored else {"rankers": True})
    sheet = {
        "data": spec.data,
        "asked": (),
        "kind": dataset.kind,
        "sentences": len(dataset.sentences),
        "examples": data.count_examples(dataset),
        "unlabelled": 0,
        "columns": {},
        "limits": {name: getattr(spec, name) for name in (*LIMITS, "rankers", "chunks")},
        "machine": cost.machine(),
        "baseline": setups.BM25,
        **decision,
        "task": task,
        "by_rule": is_made,
        "kinds": without_queries.firsts(workspace, task, every) if is_made and scored else [],
        "highest": None,
        "encoders": [setups.row_of(one, decision["intervals"]) for one in every],
        "agreement": [],
        "fingerprints": {name: _fingerprint(workspace, name) for name in spec.setups},
    }
    points = {
        one.name: (one.price[0], decision["intervals"][one.name][0])
        for one in every
        if one.name in decision["intervals"] and one.costs.get("ms_per_query")
    }
    warnings = [
        *_about_decision(spec, dataset, [], sheet),
        *_about_data(workspace, dataset, [], sheet),
        *setups.warnings(workspace, task, every, sheet),
    ]
    codes = [{"code": code, "message": text} for code, text in warnings]
    return {**sheet, "front": cost.front(points, more_is_better=False), "warnings": codes}


def _decide(
    workspace: Workspace,
    spec: ChooseSpec,
    task: str,
    every: Sequence[Candidate],
    scored: Mapping[str, Candidate],
    tick: ProgressCallback,
) -> dict[str, Any]:
    samples = {name: one.sample for name, one in scored.items() if one.sample is not None}
    row = next(one.row for one in scored.values() if one.row)
    refit = REFIT if "repeats" in row["details"] else 0.0
    choice = choose(samples, refit)
    tick(0.3)
    best = scored[choice.names[0]]
    cheap, nothing_cheaper = candidates.cheapest(
        best,
        scored,
        spec.margin,
        refit,
        partial(candidates.in_int8, workspace, spec, task),
        partial(candidates.shrunk, workspace, spec, task),
    )
    tick(0.8)
    places = {
        name: {"encoder": name, "score": score, "low": low, "high": high}
        for name, (score, low, high) in choice.intervals.items()
    }
    further = {name: to_tell_apart(choice.behind[name]) for name in choice.ties}
    points = {name: (one.ms, choice.intervals[name][0]) for name, one in scored.items() if one.ms}
    baseline = next(one for one in every if one.encoder == spec.baseline)
    # The cheapest is compared with the best, else the second best is.
    others = [name for name in (cheap["encoder"], *choice.names[1:]) if name in scored]
    other = next((scored[name] for name in others if name != best.encoder), None)
    return {
        "task": task,
        "metric": row["metric"],
        "protocol": row["protocol"],
        "n": len(samples[best.encoder].values),
        "intervals": choice.intervals,
        "optimism": choice.optimism if len(scored) > 1 else 0.0,
        "best": places[best.encoder],
        "ties": [places[name] for name in choice.ties],
        "cheapest": cheap,
        "nothing_cheaper": nothing_cheaper,
        "more_examples": [
            {"a": best.encoder, "b": name, "n": more.n, "power": more.power}
            for name, more in further.items()
        ],
        "against_baseline": _against(best, baseline, refit),
        "front": cost.front(points, more_is_better=False),
        "differ": _differ(workspace, task, best, other),
        "improvement": improve.compare(workspace, spec, scored, refit),
    }


def _against(best: Candidate, baseline: Candidate, refit: float) -> dict[str, Any] | None:
    """Difference of the best to the random baseline; None if that was not measured."""
    if best.sample is None or baseline.sample is None:
        return None
    less = behind(best.sample, {baseline.encoder: baseline.sample}, refit)[baseline.encoder]
    return {
        "score": baseline.sample.statistic,
        "delta": -less.delta,
        "low": -less.high,
        "high": -less.low,
        "beaten": less.high < 0,
    }


def _differ(
    workspace: Workspace, task: str, best: Candidate, other: Candidate | None
) -> dict[str, Any] | None:
    """Examples on which the finalists differ most, in favour of each."""
    if other is None or best.row is None or other.row is None:
        return None
    pair, ids = (best.encoder, other.encoder), (best.row["id"], other.row["id"])
    sides = [compare(workspace, task, *pair[::way], *ids[::way]) for way in (1, -1)]
    first = sides[0]
    return {
        "a": pair[0],
        "b": pair[1],
        "ahead": first.ahead,
        "behind": first.behind,
        "of": first.of,
        "graded": first.graded,
        "examples": [
            {
                "texts": list(example.texts),
                "label": example.label,
                "better": side.better,
                side.better: example.right,
                side.worse: example.wrong,
            }
            for side in sides
            for example in side.examples[:MAX_DIFFERING]
        ],
    }


def _row(one: Candidate, intervals: Mapping[str, tuple[float, float, float]]) -> dict[str, Any]:
    """The row of an encoder in the table."""
    own = one.sample.statistic if one.sample else None
    score, low, high = intervals.get(one.encoder, (own, None, None))
    costs = one.costs or {}
    return {
        "encoder": one.encoder,
        "score": score,
        "low": low,
        "high": high,
        "error": one.error,
        "outside": one.outside,
        "licence": one.licence,
        **one.form(),
        **{name: costs.get(name) for name in ("per_second_16", "per_second_64", "memory", "disk")},
        "timed_disturbed": costs.get("disturbed", False),
    }


def _agreement(workspace: Workspace, spec: ChooseSpec) -> Iterator[dict[str, Any]]:
    """The share of nearest neighbours in common, for each pair of encoders."""
    texts, vectors = data.sample(workspace, spec.data), {}
    for name in spec.measured:
        with contextlib.suppress(UserError):
            there, encoded = known(workspace.bound(name, spec.data), texts)
            if there.all():
                vectors[name] = finite(encoded, texts)
    for a, b in combinations(vectors, 2) if len(texts) > 2 else ():
        moved = change(vectors[a], vectors[b], min(10, len(texts) - 1))
        shared = 2 * moved.jaccard / (1 + moved.jaccard)
        yield {"a": a, "b": b, "k": moved.k, "shared": float(shared.mean())}


def _fingerprint(workspace: Workspace, encoder: str) -> str:
    """Of an encoder; empty if it cannot be loaded."""
    try:
        return workspace.ranker(split_name(encoder)[0]).fingerprint
    except UserError:
        return ""


Warnings = Iterator[tuple[str, str]]
"""A code for programs and a sentence each."""


def _about_decision(
    spec: ChooseSpec, dataset: Dataset, every: Sequence[Candidate], sheet: Sheet
) -> Warnings:
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
    if over is not None and not over["beaten"] and not spec.rankers:
        name = best["encoder"]
        yield (
            "baseline_not_beaten",
            f"{'No encoder is' if name == sheet['baseline'] else f'{name} is not'} significantly "
            f"better than {sheet['baseline']}, which only knows which words texts share. "
            "Either that is enough here, or there are too few examples, or the labels cannot be "
            "predicted from the texts.",
        )
    if best is not None and sheet["n"] < FEW:
        yield (
            "few_examples",
            f"Only {data.in_words(sheet['n'], sheet['kind'])}: "
            + (
                f"the best encoder's 95 % interval is {best['high'] - best['low']:.0f} points wide."
                if best["high"] > best["low"]
                else "too few to tell how much its score varies."
            ),
        )
    outside = [f"{one.encoder} ({one.outside})" for one in every if one.outside]
    if outside:
        code = "limits" if len(outside) < len(spec.encoders) else "no_encoder_within_limits"
        yield code, f"Left out by the limits: {formats.listed(outside)}."


def _about_data(
    workspace: Workspace, dataset: Dataset, every: Sequence[Candidate], sheet: Sheet
) -> Warnings:
    """What of the texts an encoder was trained on, as far as is known here, and odd rows."""
    for one in every if sheet["task"] else ():
        places = leaks.here(workspace, leaks.known(workspace, one.encoder)).values()
        for name in dict.fromkeys(place for some in places for place in some if one.sample):
            leak = leaks.look(workspace, sheet["task"], name)
            if many := leak.same + leak.nearly:
                yield (
                    "leak",
                    f"Also in {name}, which {one.encoder} was trained on: {many:,} of "
                    f"{formats.plural(leak.tested, 'text')}. Its score may be too high.",
                )
    counts = data.labels_of(dataset)
    for label, most in counts.most_common(1):
        if most > DOMINANT * counts.total():
            yield (
                "dominant_class",
                f"{percent(most / counts.total())} of the rows have the label {label[:40]!r}: "
                "always guessing it is right that often.",
            )
    texts, labels = _texts(dataset)
    groups = exact_duplicates(texts)
    labels_of: defaultdict[int, set[str]] = defaultdict(set)
    for row, group in zip(groups.ids.tolist(), groups.group.tolist(), strict=True):
        labels_of[group] |= set(labels[row : row + 1])
    if groups.count:
        split = sum(len(different) > 1 for different in labels_of.values())
        yield (
            "duplicates",
            "Rows that repeat another, up to case, spaces and final punctuation: "
            f"{len(groups.ids) - groups.count:,} of {len(texts):,}. They count more than once and "
            f"can inflate scores. Texts with different labels or scores: {split:,}.",
        )
    if sheet["unlabelled"]:
        yield "unlabelled", f"Rows left out for lack of a label: {sheet['unlabelled']:,}."
    details: Mapping[str, Any] = next((one.row["details"] for one in every if one.row), {})
    if rare := details.get("left_out"):
        yield (
            "rare_labels",
            f"Rows left out, as their labels occur fewer than five times: {rare:,}.",
        )


def _texts(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The texts of the rows, and their labels; no labels where rows have none."""
    match dataset:
        case LabelledSentences():
            return dataset.sentences, dataset.labels
        case LabelledPairs():
            sides = np.array(dataset.sentences, object)[[dataset.left, dataset.right]].T
            return ["\n".join(both) for both in sides], dataset.labels
        case ScoredPairs():
            rows = [
                row
                for part in dataset.parts.values()
                for row in zip(part.left, part.right, part.gold, strict=True)
            ]
            return [f"{a}\n{b}" for a, b, _ in rows], [f"{grade:g}" for *_, grade in rows]
        case Retrieval():
            return list(dataset.queries.values()), []
    return list(dataset.sentences), []


def _about_encoders(workspace: Workspace, spec: ChooseSpec, every: Sequence[Candidate]) -> Warnings:
    """What to know of an encoder, or of two."""
    values = {one.encoder: one.sample.values for one in every if one.sample is not None}
    for a, b in combinations(values, 2):
        if np.allclose(values[a], values[b], atol=1e-6):
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


@dataclass(frozen=True)
class ChooseJob(ChooseSpec, Job):
    """Chooses among encoders for a data set."""

    kind = KIND
    continue_on_crash = True
    continue_on_failure = True

    @property
    def title(self) -> str:
        """`Choose among minilm and wordllama for upload:reviews`."""
        if self.train:
            return f"Train {labelled(self.train)} on {base(self.data)}"
        return f"Choose among {formats.listed(self.setups or self.encoders, 3)} for {self.data}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse data that cannot be read, or whose labels are all the same."""
        dataset = workspace.catalog.load(self.data)
        data.check(dataset)
        if self.rankers and not isinstance(dataset, Retrieval):
            raise UserError(
                f"{dataset.name} holds {HOLDS[dataset.kind]}, and rankers order documents.",
                "Choose documents with queries, or encoders in place of rankers.",
                code="wrong-kind",
            )
        if self.rankers and without_queries.is_made(
            task := without_queries.task_of(workspace, self.data)
        ):
            workspace.catalog.load(task)  # refuses documents of which no query can be made
        if self.train:
            improve.check(workspace, self.data, self.train)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether there is a sheet of these encoders and data in which none failed.

        Set-ups that were timed while the machine was busy are timed again.
        """
        sheet = stored(workspace, self)
        if sheet is None or any(row["error"] for row in sheet["encoders"]):
            return False
        if self.rankers and "timed_disturbed" in {one["code"] for one in sheet["warnings"]}:
            return False
        return all(
            _fingerprint(workspace, name) == known for name, known in sheet["fingerprints"].items()
        )

    def notices(self, workspace: Workspace) -> Iterator[str]:
        """The texts that endpoints would get, and settings that a model's files deny."""
        timed = cost.rows_by_encoder(workspace)
        specs = self.encoders or tuple(rankers.split(self.rankers))
        for name, counts in sending.announcements(workspace, specs, self.data):
            yield counts if name in timed else f"{counts} Made-up texts are sent too, to time it."
        for name in specs:
            for text in beforehand.of(workspace, name, [self.data]):
                yield f"{name}: {text}"

    def units(self) -> list[str]:
        """One unit for the training, if there is one, one per encoder, and one for the sheet."""
        learns, *names = (relative_path(labelled(name)) for name in (self.train, *self.measured))
        first = [f"Training {learns} on most of {base(self.data)}"] * bool(learns)
        where = "the rest" if learns else self.data
        evaluations = (f"Evaluating {name} on {where}" for name in names)
        return [*first, *evaluations, "Decision sheet"]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[object]:
        """Train, measure one encoder, or make and yield the sheet."""
        if self.train and position == 0:
            training = improve.training(workspace, self.data, self.train)
            yield from training.work(workspace, position, reporter)
            return
        position -= bool(self.train)
        if position == len(self.measured):
            yield make(workspace, self, reporter.tick)
            return
        encoder = self.measured[position]
        if self.rankers:
            own = without_queries.task_of(workspace, self.data)
            setups.measure(workspace, own, encoder, reporter)
            return
        task = data.task_of(workspace, self.data)
        if task is None:
            texts = data.sample(workspace, self.data)
            finite(workspace.bound(encoder, self.data).encode(texts, reporter), texts)
        else:
            row = evaluate_one(workspace, encoder, task, data.protocol_of(task), progress=reporter)
            if row["error"] is not None:
                raise UserError(row["error"], row["hint"] or "", code="failed")
        if encoder in self.encoders:
            ensure_listed(workspace, [encoder])
        with contextlib.suppress(UserError):  # files of vectors cannot encode
            cost.ensure(workspace, encoder)
        sheet = stored(workspace, self)
        if sheet is not None and any(one["error"] for one in sheet["encoders"]):
            make(workspace, self)  # the encoder may have failed in that sheet
