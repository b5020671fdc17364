"""What is shown of geometries and distributions: a headline, a chart, sentences on each encoder.

The distributions of cosines over graded pairs are read here, from results or from geometries.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Finding, Problem, Readings, Text
from theodolite.app.formats import percent
from theodolite.app.pages.geometry import service
from theodolite.app.pages.geometry.service import Geometry
from theodolite.app.web import figures
from theodolite.app.web.figures import Figure, Trace, axis, draw, log_axis, plain, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks
from theodolite.engine.errors import UserError
from theodolite.engine.stats.thresholds import judge, sweep
from theodolite.store import StoreError

HUBS, MANY_HUBS = 1.0, 3.0
"""Skew of the k-occurrence: hardly any hubs below the first, strong hubs from the second on."""
LITTLE = 0.02
"""A threshold must beat the accuracy of the majority class by more than this to be useful."""
MAX_DRAWN = 400
SAME = ("entailment", "entail", "1", "true", "yes", "same", "paraphrase", "duplicate")
"""Labels that most likely mark pairs of the same meaning, the likeliest first."""
Curves = dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]
"""(encoder, kind) -> x and y, float (m,)."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GRID_STEP = 0.005
GRID = np.arange(-1.0, 1.0 + 10 * GRID_STEP, GRID_STEP)
"""The cosines at which densities are evaluated, slightly past 1 so that curves reach zero."""
LITTLE_OVERLAP, MUCH_OVERLAP = 0.10, 0.35
SPREAD, CROWDED = 0.10, 0.40
"""Mean cosine of random pairs: below the first, directions are used evenly; above the second, all
vectors lie in a narrow cone (anisotropy, Ethayarajh 2019)."""
COLUMNS: Mapping[str, Any] = {
    "encoder": str,
    "task": str,
    "pairs": int,
    "mean_lowest": float | None,
    "mean_highest": float | None,
    "overlap": float | None,
    "random_cosine": float | None,
    "alignment": float | None,
    "uniformity": float | None,
    "score": float | None,
}
"""The numbers of a distribution, and their types."""


@dataclass(frozen=True)
class Distribution(figures.Panel):
    """One encoder's cosines on pairs: densities by group of grades, and numbers.

    Attributes:
        row: its numbers, by the names of `COLUMNS`; an empty group has no mean and no overlap, and
            what the task does not define is None.
    """

    row: dict[str, Any] = field(default_factory=dict)

    def words(self) -> str:
        """What it says of the encoder."""
        low, high, row = self.ridges[0], self.ridges[-1], self.row
        sentences = []
        if row["overlap"] is not None:
            much = (
                "hardly overlap"
                if row["overlap"] < LITTLE_OVERLAP
                else "overlap somewhat"
                if row["overlap"] < MUCH_OVERLAP
                else "overlap strongly"
            )
            sentences.append(
                f"Pairs graded {low.label} and {high.label} {much}: they share "
                f"{percent(row['overlap'])} of their area, and the mean cosine goes from "
                f"{formats.cosine(row['mean_lowest'])} to {formats.cosine(row['mean_highest'])}."
            )
        means = [ridge.mean for ridge in self.ridges if ridge.mean is not None]
        if means != sorted(means):
            sentences.append("The mean cosine does not rise from group to group.")
        if row["random_cosine"] is not None:
            sentences.append(f"Two {random_words(row['random_cosine'])}")
        return " ".join(sentences)


def read(
    workspace: Workspace, encoders: Sequence[str], task: str
) -> tuple[dict[str, Distribution], list[Problem]]:
    """Distributions by encoder, and why others cannot be read.

    They are of the newest result on the task; without one, the geometry of the task's data has the
    same cosines.
    """
    rows = workspace.store.results.table(encoders=list(encoders), tasks=[task])
    newest = {row["encoder"]: row["id"] for row in rows if row["error"] is None}
    known, failures = dict[str, Distribution](), []
    for name in encoders:
        try:
            if name in newest:
                known[name] = _of_result(workspace, newest[name])
                continue
            data = tasks.get(task, workspace.catalog).dataset
            measured = service.stored(workspace, name, data)
            if measured and (one := of_geometry(measured, task)):
                known[name] = one
        except (StoreError, UserError):
            if name in newest:
                text = f"The values per example of {name} on {task} cannot be read."
                hint = "Evaluate it again to restore them."
                failures.append(Problem(UserError(text, hint, code="damaged")))
    return known, failures


@lru_cache(maxsize=256)
def _of_result(workspace: Workspace, result: int) -> Distribution:
    """The distribution of a result; cached, since results never change."""
    results = workspace.store.results
    row, examples = results.by_id(result), results.examples(result)
    numbers = {score["metric"]: score["score"] for score in results.scores(result) if score["unit"]}
    labels = row["details"]["histogram"]["groups"]  # `0–1` … `4–5`
    scale = float(labels[0].split("–")[0]), float(labels[-1].split("–")[1])
    pairs = examples["cosine"], examples["gold"]
    return _distribution(
        row["encoder"], row["task"], *pairs, scale, numbers | {"score": row["score"]}
    )


def of_geometry(geometry: service.Geometry, task: str) -> Distribution | None:
    """The distribution of a geometry's pairs; None for pairs without scores."""
    info, pairs = geometry.info, (geometry.cosine, geometry.gold)
    if not len(geometry.gold) or info["labels"]:
        return None
    numbers = {
        "random_cosine": info["mean_cosine"],
        "alignment": info["alignment_over"],
        "uniformity": info["uniformity"],
    }
    return _distribution(geometry.encoder, task, *pairs, tuple(info["scale"]), numbers)


def _distribution(
    encoder: str,
    task: str,
    cosine: np.ndarray,
    gold: np.ndarray,
    scale: Any,
    numbers: dict[str, Any],
) -> Distribution:
    from theodolite.engine.space.geometry import densities, gold_groups

    groups = gold_groups(gold, scale)
    ridges = [
        figures.Ridge(label, n, density, float(cosine[groups.index == place].mean()) if n else None)
        for place, (label, n, density) in enumerate(densities(cosine, groups, GRID))
    ]
    known = Distribution(encoder, ridges, numbers.get("random_cosine"))
    facts = {
        "encoder": encoder,
        "task": task,
        "pairs": len(gold),
        "mean_lowest": ridges[0].mean,
        "mean_highest": ridges[-1].mean,
        "overlap": figures.panel_overlap(known, GRID),
    }
    return replace(known, row={name: (numbers | facts).get(name) for name in COLUMNS})


def random_words(cosine: float) -> str:
    """What the mean cosine of random pairs says."""
    crowd = (
        "directions are used evenly"
        if abs(cosine) < SPREAD
        else "vectors lean in one direction"
        if cosine < CROWDED
        else "all vectors lie in a narrow cone"
    )
    return f"random sentences have cosine {formats.cosine(cosine)}: {crowd}."


def section(
    headline: str,
    lead: str,
    figure: Figure,
    label: str,
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    readings: Mapping[str, str],
) -> list[Block]:
    """A headline, its chart and what that says of each encoder.

    Args:
        headline: what the chart shows.
        lead: what it is of.
        figure: for plotly.js.
        label: what kind of chart it is, for screen readers.
        name: of its files.
        columns: of its numbers.
        rows: of its numbers.
        readings: encoder -> a sentence or two.
    """
    picture = Chart(
        figure, f"{label}. {headline}.", name=f"theodolite-{name}", columns=columns, rows=rows
    )
    return [Finding(headline, lead), picture, Readings(readings)]


def cosines(known: Sequence[Distribution], data: str) -> list[Block]:
    """Densities of the cosine by gold score (SimCSE, figure 4); nothing for none."""
    if not known:
        return []
    labels = [ridge.label for ridge in known[0].ridges]
    columns = ["encoder", "pairs", *(f"mean cosine {label}" for label in labels)]
    rest = ("overlap", "random_cosine", "alignment", "uniformity", "score")
    return section(
        figures.ridges_headline(known, GRID),
        f"{formats.plural(known[0].row['pairs'], 'pair')} of {data} by grade. Diamonds mark the "
        "mean of a group, the dotted line the mean cosine of two random sentences.",
        figures.ridges(known, GRID),
        "Densities of the cosine by gold score",
        f"cosines-{data}",
        [*columns, "overlap", "random pairs", "alignment", "uniformity", "main score"],
        [
            [
                *(one.row["encoder"], one.row["pairs"]),
                *(ridge.mean for ridge in one.ridges),
                *(one.row[name] for name in rest),
            ]
            for one in known
        ],
        {one.encoder: one.words() for one in known},
    )


def space(
    points: Mapping[str, tuple[float, float]], near: str, every: str, data: str
) -> list[Block]:
    """Alignment against uniformity (SimCSE, figure 3); nothing for no points.

    Args:
        points: encoder -> alignment and uniformity.
        near: of which pairs alignment is.
        every: of which pairs uniformity is.
        data: the data set or task.
    """
    if not points:
        return []
    closest, widest = (_lowest(points, axis) for axis in (0, 1))
    other = "" if closest == widest else f"{formats.listed(widest)} "
    headline = (
        f"{formats.listed(closest)} keep{'s' * (len(closest) == 1)} paraphrases closest and "
        f"{other}spread{'s' * (len(widest) == 1)} sentences most evenly"
    )
    if len(points) == 1:
        headline = f"{closest[0]}: its position; measure a second encoder to compare"
    sums = sorted(map(sum, points.values()))
    readings = {
        name: f"Paraphrases are {formats.cosine(aligned**0.5)} apart; the typical distance of all "
        f"sentences is {formats.cosine((-uniform / 2) ** 0.5)} (1.414: unrelated). Rank "
        f"{sums.index(aligned + uniform) + 1} of {len(points)} on both together."
        for name, (aligned, uniform) in points.items()
    }
    return section(
        headline,
        f"Alignment: mean squared distance of {near}. Uniformity: log mean Gaussian potential of "
        f"{every} (Wang, Isola 2020; SimCSE, figure 3). Lower is better for both.",
        figures.space(points),
        "Alignment against uniformity",
        f"alignment-uniformity-{data}",
        ["encoder", "alignment", "uniformity"],
        [[name, *point] for name, point in points.items()],
        readings,
    )


def _lowest(points: Mapping[str, tuple[float, float]], axis: int) -> list[str]:
    """The encoders within a hundredth of the lowest value, which the chart does not tell apart."""
    least = min(point[axis] for point in points.values())
    return [name for name, point in points.items() if point[axis] < least + 0.01]


def alignment(everyone: Mapping[str, Mapping[str, Any]], rule: str, data: str) -> list[Block]:
    """Alignment against uniformity of all measured encoders; nothing without graded pairs."""
    known = {n: i for n, i in everyone.items() if i.get(f"alignment_{rule}") is not None}
    if not known:
        return []
    some = next(iter(known.values()))
    pairs = some["n_data"] * (some["n_data"] - 1) // 2
    sample = ", drawn at random from more" if some["drawn"] else ""
    return space(
        {n: (i[f"alignment_{rule}"], i["uniformity"]) for n, i in known.items()},
        f"the {some[f'n_{rule}']:,} pairs graded {'above' if rule == 'over' else rule} "
        f"{some['cut']:g}",
        f"all {pairs:,} pairs of {some['n_data']:,} sentences, both sides, duplicates kept{sample}",
        data,
    )


def spectrum(geometries: Sequence[Geometry]) -> list[Block]:
    """Singular values, effective rank, IsoScore, mean cosine."""
    values = {one.encoder: one.singular / (one.singular[0] or 1.0) for one in geometries}
    best, least = max(geometries, key=_use), min(geometries, key=_use)
    headline = f"{best.encoder} uses {percent(_use(best))} of its {best.info['dim']} dimensions"
    if best is not least:
        headline += f", {least.encoder} {percent(_use(least))} of {least.info['dim']}"
    return section(
        headline,
        "Singular values of the matrix of sentence vectors, as encoded, divided by the "
        "largest (SimCSE, figure E.1). A steep line means that few directions are in use.",
        lines(
            {(name, ""): (np.arange(1, len(one) + 1), one) for name, one in values.items()},
            "number %{x}: %{y:.4f}",
            axis("singular values, largest first", rangemode="tozero"),
            axis("size relative to the largest", rangemode="tozero"),
        ),
        "Singular values",
        "singular-values",
        ["number", *values],
        [[i, *one] for i, one in enumerate(zip_longest(*(v.tolist() for v in values.values())), 1)],
        {
            one.encoder: f"Of {one.info['dim']} dimensions {one.info['effective_rank']:.0f} are in "
            f"use (effective rank){_isoscore(one)}; the strongest direction holds "
            f"{percent(float(one.singular[0] ** 2 / ((one.singular**2).sum() or 1.0)))} of the "
            f"squared length, and two {random_words(one.info['mean_cosine'])}"
            for one in geometries
        },
    )


def _use(one: Geometry) -> float:
    return float(one.info["effective_rank"] / one.info["dim"])


def _isoscore(one: Geometry) -> str:
    score = one.info["isoscore"]
    return "" if score is None else f" and the variance fills {percent(score)} (IsoScore)"


def hubs(geometries: Sequence[Geometry]) -> list[Block]:
    """How often a sentence is among the nearest of others; nothing for too few sentences."""
    if not geometries:
        return []
    curves = {(one.encoder, ""): _survival(np.sort(one.occurrence)) for one in geometries}
    most = max(geometries, key=lambda one: float(one.info["hub_skew"]))
    k = most.info["hub_k"]
    return section(
        f"{most.encoder} has {_hub_kind(most)}: one sentence is among the {k} nearest of "
        f"{most.info['hub_most']:,} others",
        f"Each sentence has {k} nearest others, so each is a neighbour {k} times on average. "
        "Hubs are neighbours of very many sentences and degrade search (Radovanović et al. "
        f"2010); {geometries[0].info['n_distinct']:,} distinct sentences.",
        lines(
            {name: (times, 100 * share) for name, (times, share) in curves.items()},
            f"among the {k} nearest of %{{x}} or more: %{{y:.3~g}} % of sentences",
            log_axis(
                f"among the {k} nearest of so many others, or more",
                np.concatenate([times for times, _ in curves.values()]).tolist(),
            ),
            axis("share of sentences, %", type="log", tickformat="~g"),
        ),
        "How often a sentence is a neighbour",
        "hubs",
        ["encoder", f"among the {k} nearest of so many, or more", "share of sentences"],
        [
            [name, int(times), float(share)]
            for (name, _), curve in curves.items()
            for times, share in zip(*curve, strict=True)
        ],
        {
            one.encoder: f"Skew {one.info['hub_skew']:.2f}, {_hub_kind(one)}: the greatest, "
            f"“{formats.shorten(one.info['hub'], 80)}”, is a neighbour {one.info['hub_most']:,} "
            f"times, and {percent(one.info['hub_never'])} of the sentences never are."
            for one in geometries
        },
    )


def _survival(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct counts above 0 of those sorted, and the share of all that are as high."""
    times = np.unique(counts[counts > 0])
    return times, 1 - np.searchsorted(counts, times, side="left") / len(counts)


def _hub_kind(one: Geometry) -> str:
    skew = one.info["hub_skew"]
    return "hardly any hubs" if skew < HUBS else "some hubs" if skew < MANY_HUBS else "strong hubs"


def thresholds(
    geometries: Sequence[Geometry], positive_from: float | None, label: str | None
) -> list[Block]:
    """The cosine thresholds of positive pairs with the best accuracy and F1; nothing without pairs.

    Args:
        geometries: of one data set.
        positive_from: for scored pairs, the lowest gold score of a positive pair.
        label: for labelled pairs, the positive label.
    """
    gold, info = geometries[0].gold, geometries[0].info
    if not len(gold):
        return []
    if labels := info["labels"]:
        class_label = label if label in labels else default_label(labels)
        positive, what = gold == labels.index(class_label), f"labelled {class_label}"
    else:
        at = service.cut(info["scale"]) if positive_from is None else positive_from
        positive, what = gold >= at, f"graded from {at:g} on"
    if not positive.any() or positive.all():
        lead = f"Either all pairs or none are {what}: choose another cut."
        return [Text("No threshold to find", lead)]
    common = float(max(positive.mean(), 1 - positive.mean()))
    curves, marks = Curves(), {}
    rows, readings, best = [], {}, {}
    for geometry in geometries:
        name, swept = geometry.encoder, sweep(geometry.cosine, positive)
        right, f1 = swept.best("accuracy"), swept.best("f1")
        n = len(swept.thresholds)
        places = np.unique(np.linspace(0, n - 1, min(n, MAX_DRAWN)).round().astype(np.int64))
        for kind, values in (("accuracy", swept.accuracy), ("F1", swept.f1)):
            curves[name, kind] = swept.thresholds[places], values[places]
        marks[name, "accuracy"] = (right.threshold, right.accuracy)
        marks[name, "F1"] = (f1.threshold, f1.f1)
        readings[name] = (
            f"Taking pairs of cosine {formats.cosine(right.threshold)} and above as the same gets "
            f"{percent(right.accuracy)} right, while always predicting the majority class gets "
            f"{percent(common)}; the best F1 is {f1.f1:.3f}, from {formats.cosine(f1.threshold)} "
            "on."
        )
        best[name] = right
        aims = {"accuracy": right, "F1": f1}
        parts = np.array(geometry.info["parts"])[geometry.part]
        dev, test = parts == "dev", parts == "test"
        if dev.any() and test.any():
            cutoff = sweep(geometry.cosine[dev], positive[dev]).best("accuracy").threshold
            judged = judge(geometry.cosine[test], positive[test], cutoff)
            aims["accuracy on dev, judged on test"] = judged
            readings[name] += (
                f" Chosen on dev ({formats.cosine(cutoff)}), it gets {percent(judged.accuracy)} of "
                "test right."
            )
        rows += [
            [name, aim, v.threshold, v.accuracy, v.precision, v.recall, v.f1]
            for aim, v in aims.items()
        ]
    top = max(best, key=lambda name: best[name].accuracy)
    headline = "No threshold is much better than always predicting the majority class"
    if best[top].accuracy > common + LITTLE:
        headline = (
            f"With {top}, pairs of cosine {formats.cosine(best[top].threshold)} and above are best "
            f"considered the same: {percent(best[top].accuracy)} right"
        )
    return section(
        headline,
        f"{int(positive.sum()):,} of {len(positive):,} pairs are {what}. Diamonds mark the "
        "best accuracy and the best F1. A threshold looks better on the pairs used to choose "
        "it than on new ones.",
        lines(
            curves,
            "from cosine %{x:.3f}: %{y:.3f}",
            axis("cosine threshold for the same meaning"),
            axis("accuracy, F1", range=[0, 1.02]),
            marks,
        ),
        "Accuracy and F1 by threshold",
        "thresholds",
        ["encoder", "best", "threshold", "accuracy", "precision", "recall", "F1"],
        rows,
        readings,
    )


def default_label(labels: Sequence[str]) -> str:
    """The label that most likely marks pairs of the same meaning."""
    return next((x for word in SAME for x in labels if x.casefold() == word), labels[-1])


def lines(
    curves: Curves,
    hover: str,
    x: dict[str, Any],
    y: dict[str, Any],
    marks: Mapping[tuple[str, str], tuple[float, float]] | None = None,
) -> Figure:
    """Curves with a legend.

    Args:
        curves: those of one encoder share their colour.
        hover: what is said of a point.
        x: its axis.
        y: likewise.
        marks: (encoder, kind) -> a point to mark.
    """
    names, kinds = (list(dict.fromkeys(key[side] for key in curves)) for side in (0, 1))
    traces: list[Trace] = []
    for (encoder, kind), (across, up) in curves.items():
        place = names.index(encoder)
        # With one curve per encoder the dash distinguishes encoders; with several, their kinds.
        dash = DASHES[(kinds.index(kind) if len(kinds) > 1 else place) % len(DASHES)]
        colour = SERIES[place % len(SERIES)]
        label = plain(formats.shorten(encoder) + (f" · {kind}" if kind else ""))
        traces.append(
            scatter(
                x=across.astype("float32"),
                y=up.astype("float32"),  # half as many digits
                mode="lines",
                name=label,
                line={"color": colour, "width": 2, "dash": dash},
                hovertemplate=f"{hover}<extra>{label}</extra>",
            )
        )
        if marks:
            at, high = marks[encoder, kind]
            traces.append(
                scatter(
                    x=[at],
                    y=[high],
                    mode="markers",
                    marker={"symbol": "diamond", "size": 10, "color": colour},
                    showlegend=False,
                    hovertemplate=f"best: {hover}<extra>{label}</extra>",
                )
            )
    return draw(traces, x, y, height=370, left=68, legend=True)
