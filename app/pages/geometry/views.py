"""Views of the page *Geometry*: title, chart and a sentence for each measured encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.chart import drawing
from theodolite.app.pages.geometry import densities
from theodolite.app.pages.geometry import figures as space_figures
from theodolite.app.pages.geometry.densities import CROWDED, SPREAD, number
from theodolite.app.web import figures, parts

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.geometry.service import Geometry

View = tuple[str, Any, str]
"""Title, value of a chart, readings; "" and None if there is nothing to show."""
NOTHING: View = ("", None, "")
HUBS, MANY_HUBS = 1.0, 3.0
"""Skew of the k-occurrence: hardly any hubs below the first, strong hubs from the second on."""
LITTLE = 0.02
"""A threshold must beat the accuracy of the majority class by more than this to be useful."""
RULES = {"over": "above", "from": "from"}


def missing(absent: Sequence[str], data: str, *, some: bool, visitor: bool) -> str:
    """Name the encoders that were not measured, and what to do if none was."""
    if not absent:
        return ""
    if some:
        return parts.say(f"Not measured on {data} yet: {', '.join(absent)}.")
    hint = parts.next_step(
        visitor,
        "choose other data",
        "Press the button below. It takes seconds to minutes, in the background.",
    )
    return parts.empty(f"None of them has been measured on {data}", hint)


def alignment(everyone: Mapping[str, Mapping[str, Any]], rule: str, dataset: str) -> View:
    """Alignment against uniformity of all measured encoders (SimCSE figure 3)."""
    known = {n: i for n, i in everyone.items() if i.get(f"alignment_{rule}") is not None}
    if not known:
        return NOTHING
    points = [
        figures.SpacePoint(n, i[f"alignment_{rule}"], i["uniformity"]) for n, i in known.items()
    ]
    some = next(iter(known.values()))
    headline = _best(points)
    pairs = some["n_data"] * (some["n_data"] - 1) // 2
    title = parts.heading(
        headline,
        f"Alignment: mean squared distance of the {some[f'n_{rule}']:,} pairs graded "
        f"{RULES[rule]} {some['cut']:g}. Uniformity: log mean Gaussian potential of all "
        f"{pairs:,} pairs of {some['n_data']:,} sentences, both sides, duplicates kept"
        f"{_drawn(some)} (Wang, Isola 2020; SimCSE, figure 3). Lower is better for both.",
    )
    rows = [
        [n, i[f"alignment_{rule}"], i["uniformity"], i[f"n_{rule}"], i["n_data"]]
        for n, i in known.items()
    ]
    value = drawing(
        figures.space(points),
        f"Alignment against uniformity. {headline}.",
        name=f"theodolite-alignment-uniformity-{dataset}",
        columns=["encoder", "alignment", "uniformity", "n_pos", "n_data"],
        rows=rows,
    )
    readings = {p.encoder: _apart(p, points) for p in points}
    return title, value, parts.readings(readings)


def _best(points: Sequence[figures.SpacePoint]) -> str:
    closest = min(points, key=lambda p: p.alignment)
    widest = min(points, key=lambda p: p.uniformity)
    if len(points) == 1:
        return f"{closest.encoder}: its position; measure a second encoder to compare"
    if closest is widest:
        return f"{closest.encoder} keeps paraphrases closest and spreads sentences most evenly"
    return (
        f"{closest.encoder} keeps paraphrases closest, {widest.encoder} spreads sentences most "
        "evenly"
    )


def _apart(point: figures.SpacePoint, points: Sequence[figures.SpacePoint]) -> str:
    """Describe both numbers of one encoder as distances, and its rank by their sum."""
    place = sorted(p.alignment + p.uniformity for p in points).index(
        point.alignment + point.uniformity
    )
    text = (
        f"Paraphrases are {number(point.alignment**0.5)} apart, all sentences "
        f"{number((-point.uniformity / 2) ** 0.5)} in the measure of uniformity (directions at "
        "right angles: 1.414)."
    )
    if len(points) > 1:
        text += f" The sum of both ranks {place + 1} of {len(points)}."
    return text


def spectrum(geometries: Sequence[Geometry]) -> View:
    """Singular values, effective rank, IsoScore, mean cosine."""
    import numpy as np

    curves, readings = [], {}
    for geometry in geometries:
        sizes = geometry.singular / (geometry.singular[0] or 1.0)
        curves.append(
            space_figures.EncoderCurve(geometry.encoder, np.arange(1, len(sizes) + 1), sizes)
        )
        readings[geometry.encoder] = _spectrum_words(geometry)
    longest = max(len(curve.y) for curve in curves)
    rows = [
        [i + 1, *(float(c.y[i]) if i < len(c.y) else None for c in curves)] for i in range(longest)
    ]
    ranked = sorted(geometries, key=lambda s: -s.info["effective_rank"] / s.info["dim"])
    best = ranked[0]
    headline = (
        f"{best.encoder} uses {figures.percent(best.info['effective_rank'] / best.info['dim'])} "
        f"of its {best.info['dim']} dimensions"
        + (
            ""
            if len(ranked) == 1
            else f", {ranked[-1].encoder} "
            f"{figures.percent(ranked[-1].info['effective_rank'] / ranked[-1].info['dim'])} of "
            f"{ranked[-1].info['dim']}"
        )
    )
    title = parts.heading(
        headline,
        "Singular values of the matrix of sentence vectors, as encoded, divided by the "
        "largest (SimCSE, figure E.1). A steep line means that few directions are in use.",
    )
    value = drawing(
        space_figures.spectrum(curves),
        f"Singular values. {headline}.",
        name="theodolite-singular-values",
        columns=["number", *(geometry.encoder for geometry in geometries)],
        rows=rows,
    )
    return title, value, parts.readings(readings)


def _spectrum_words(geometry: Geometry) -> str:
    info = geometry.info
    power = geometry.singular**2
    first = float(power[0] / (power.sum() or 1.0))
    mean = info["mean_cosine"]
    crowd = (
        "directions are used evenly"
        if abs(mean) < SPREAD
        else "vectors lean in one direction"
        if mean < CROWDED
        else "all vectors lie in a narrow cone"
    )
    score = info["isoscore"]
    even = "" if score is None else f" and the variance fills {figures.percent(score)} (IsoScore)"
    return (
        f"Of {info['dim']} dimensions {info['effective_rank']:.0f} are in use (effective rank)"
        f"{even}; the strongest direction holds {figures.percent(first)} of the squared length, "
        f"and two random sentences have cosine {number(mean)}: {crowd}."
    )


def hubs(geometries: Sequence[Geometry]) -> View:
    """How often a sentence is among the nearest of others."""
    import numpy as np

    known = [geometry for geometry in geometries if len(geometry.occurrence)]
    if not known:
        return NOTHING
    curves, rows, readings = [], [], {}
    for geometry in known:
        counts = np.sort(geometry.occurrence)
        times = np.unique(counts[counts > 0])
        share = 1 - np.searchsorted(counts, times, side="left") / len(counts)
        curves.append(space_figures.EncoderCurve(geometry.encoder, times, share))
        rows += [[geometry.encoder, int(t), float(s)] for t, s in zip(times, share, strict=True)]
        readings[geometry.encoder] = _hub_words(geometry)
    most = max(known, key=lambda s: s.info["hub_skew"])
    k = most.info["hub_k"]
    headline = (
        f"{most.encoder} has {_hub_kind(most.info['hub_skew'])}: one sentence is among the {k} "
        f"nearest of {most.info['hub_most']:,} others"
    )
    title = parts.heading(
        headline,
        f"Each sentence has {k} nearest others, so each is a neighbour {k} times on average. "
        "Hubs are neighbours of very many sentences and degrade search (Radovanović et al. "
        f"2010); {known[0].info['n_distinct']:,} distinct sentences.",
    )
    value = drawing(
        space_figures.hubs(curves, k),
        f"How often a sentence is a neighbour. {headline}.",
        name="theodolite-hubs",
        columns=["encoder", f"among the {k} nearest of so many, or more", "share of sentences"],
        rows=rows,
    )
    return title, value, parts.readings(readings)


def _hub_kind(skew: float) -> str:
    return "hardly any hubs" if skew < HUBS else "some hubs" if skew < MANY_HUBS else "strong hubs"


def _hub_words(geometry: Geometry) -> str:
    info = geometry.info
    hub = info["hub"] if len(info["hub"]) <= 80 else f"{info['hub'][:79]}…"
    return (
        f"Skew {info['hub_skew']:.2f}, {_hub_kind(info['hub_skew'])}: the greatest, “{hub}”, is a "
        f"neighbour {info['hub_most']:,} times, and {figures.percent(info['hub_never'])} of the "
        "sentences never are."
    )


def cosines(geometries: Sequence[Geometry], dataset: str) -> View:
    """Densities of the cosine by gold score; `NOTHING` for pairs without scores."""
    scored = [
        geometry for geometry in geometries if len(geometry.gold) and not geometry.info["labels"]
    ]
    if not scored:
        return NOTHING
    grid = densities.grid()
    found = {
        s.encoder: densities.of(
            s.encoder, s.cosine, s.gold, tuple(s.info["scale"]), s.info["mean_cosine"]
        )
        for s in scored
    }
    panels = [one.panel for one in found.values()]
    headline = figures.ridges_headline(panels, grid)
    labels = [ridge.label for ridge in panels[0].ridges]
    title = parts.heading(
        headline,
        f"{formats.plural(len(scored[0].gold), 'pair')} of {dataset} by the grade people gave "
        "them. Diamonds mark the mean of a group, the dotted line that of two random sentences.",
    )
    value = drawing(
        figures.ridges(panels, grid),
        f"Densities of the cosine by gold score. {headline}.",
        name=f"theodolite-cosines-{dataset}",
        columns=["encoder", *(f"mean cosine {label}" for label in labels), "overlap", "random"],
        rows=[
            [name, *(ridge.mean for ridge in s.panel.ridges), s.overlap, s.random]
            for name, s in found.items()
        ],
    )
    return title, value, parts.readings({n: densities.reading(s) for n, s in found.items()})


def thresholds(
    geometries: Sequence[Geometry], positive_from: float | None, label: str | None
) -> View:
    """The cosine thresholds of positive pairs with the best accuracy and F1.

    Args:
        geometries: of one data set.
        positive_from: for scored pairs, the lowest gold score of a positive pair.
        label: for labelled pairs, the positive label.
    """
    from theodolite.engine.stats.thresholds import sweep

    known = [geometry for geometry in geometries if len(geometry.gold)]
    if not known:
        return NOTHING
    some = known[0]
    positive, what = _positive(some, positive_from, label)
    if not positive.any() or positive.all():
        return (
            parts.heading(
                "No threshold to find", f"Either all pairs or none are {what}: choose another cut."
            ),
            None,
            "",
        )
    common = float(max(positive.mean(), 1 - positive.mean()))
    curves, rows, readings, best = [], [], {}, {}
    for geometry in known:
        swept = sweep(geometry.cosine, positive)
        right, f1 = swept.best("accuracy"), swept.best("f1")
        best[geometry.encoder] = right
        marks = {"accuracy": [(right.threshold, right.accuracy)], "F1": [(f1.threshold, f1.f1)]}
        places = _places(len(swept.thresholds))
        for kind, values in (("accuracy", swept.accuracy), ("F1", swept.f1)):
            curves.append(
                space_figures.EncoderCurve(
                    geometry.encoder, swept.thresholds[places], values[places], marks[kind], kind
                )
            )
        rows += [
            [geometry.encoder, aim, v.threshold, v.accuracy, v.precision, v.recall, v.f1]
            for aim, v in (("accuracy", right), ("F1", f1))
        ]
        held, more = _held_out(geometry, positive)
        rows += more
        readings[geometry.encoder] = (
            f"Cosine {number(right.threshold)} and above as the same gets "
            f"{figures.percent(right.accuracy)} right, while always predicting the majority "
            f"class gets {figures.percent(common)}; the best F1 is {f1.f1:.3f}, from "
            f"{number(f1.threshold)} on.{held}"
        )
    top = max(best, key=lambda name: best[name].accuracy)
    headline = (
        f"With {top}, pairs of cosine {number(best[top].threshold)} and above are best "
        f"considered the same: {figures.percent(best[top].accuracy)} right"
        if best[top].accuracy > common + LITTLE
        else "No threshold is much better than always predicting the majority class"
    )
    title = parts.heading(
        headline,
        f"{int(positive.sum()):,} of {len(positive):,} pairs are {what}. Diamonds mark the "
        "best accuracy and the best F1. A threshold looks better on the pairs used to choose "
        "it than on new ones.",
    )
    value = drawing(
        space_figures.thresholds(curves),
        f"Accuracy and F1 by threshold. {headline}.",
        name="theodolite-thresholds",
        rows=rows,
        columns=["encoder", "best", "threshold", "accuracy", "precision", "recall", "F1"],
    )
    return title, value, parts.readings(readings)


def _positive(
    geometry: Geometry, positive_from: float | None, label: str | None
) -> tuple[np.ndarray, str]:
    from theodolite.app.pages.geometry.service import cut

    labels = geometry.info["labels"]
    if labels:
        wanted = label if label in labels else default_label(labels)
        return geometry.gold == labels.index(wanted), f"labelled {wanted}"
    at = cut(geometry.info["scale"]) if positive_from is None else positive_from
    return geometry.gold >= at, f"graded from {at:g} on"


def default_label(labels: Sequence[str]) -> str:
    """The label that most likely marks pairs of the same meaning."""
    likely = ("entailment", "entail", "1", "true", "yes", "same", "paraphrase", "duplicate")
    return next((x for word in likely for x in labels if x.casefold() == word), labels[-1])


def _held_out(geometry: Geometry, positive: np.ndarray) -> tuple[str, list[list[Any]]]:
    """The threshold chosen on the dev split, judged on the test split; empty without both."""
    from theodolite.engine.stats.thresholds import judge, sweep

    parts = geometry.info["parts"]
    if not {"dev", "test"} <= set(parts):
        return "", []
    dev, test = geometry.part == parts.index("dev"), geometry.part == parts.index("test")
    if not dev.any() or not test.any():
        return "", []
    chosen = sweep(geometry.cosine[dev], positive[dev]).best("accuracy").threshold
    v = judge(geometry.cosine[test], positive[test], chosen)
    text = (
        f" Chosen on dev ({number(chosen)}), it gets {figures.percent(v.accuracy)} of test right."
    )
    values = [v.threshold, v.accuracy, v.precision, v.recall, v.f1]
    return text, [[geometry.encoder, "accuracy on dev, judged on test", *values]]


def _places(n: int, most: int = 400) -> np.ndarray:
    """Indices of at most `most` evenly spaced points of a curve."""
    import numpy as np

    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))


def _drawn(info: Mapping[str, Any]) -> str:
    return ", drawn at random from more" if info["drawn"] else ""
