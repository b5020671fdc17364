"""What is shown of geometries and distributions: a headline, a chart, a sentence an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Finding, Readings, Text
from theodolite.app.components.chart import drawing, plain
from theodolite.app.pages.geometry import densities, service
from theodolite.app.web import figures
from theodolite.app.web.figures import Figure, Trace, axis, draw, percent, scatter
from theodolite.app.web.theme import SERIES

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.geometry.densities import Distribution
    from theodolite.app.pages.geometry.service import Geometry

HUBS, MANY_HUBS = 1.0, 3.0
"""Skew of the k-occurrence: hardly any hubs below the first, strong hubs from the second on."""
LITTLE_OVERLAP, MUCH_OVERLAP = 0.10, 0.35
SPREAD, CROWDED = 0.10, 0.40
"""Mean cosine of random pairs: below the first, directions are used evenly; above the second, all
vectors lie in a narrow cone (anisotropy, Ethayarajh 2019)."""
LITTLE = 0.02
"""A threshold must beat the accuracy of the majority class by more than this to be useful."""
MAX_DRAWN = 400
RULES = {"over": "above", "from": "from"}
SAME = ("entailment", "entail", "1", "true", "yes", "same", "paraphrase", "duplicate")
"""Labels that most likely mark pairs of the same meaning, the likeliest first."""
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")


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
    picture = drawing(
        figure, f"{label}. {headline}.", name=f"theodolite-{name}", columns=columns, rows=rows
    )
    return [Finding(headline, lead), Chart(picture), Readings(readings)]


def alignment(everyone: Mapping[str, Mapping[str, Any]], rule: str, data: str) -> list[Block]:
    """Alignment against uniformity of all measured encoders; nothing without graded pairs.

    Args:
        everyone: numbers of each encoder.
        rule: key of `RULES`.
        data: the data set.
    """
    known = {n: i for n, i in everyone.items() if i.get(f"alignment_{rule}") is not None}
    if not known:
        return []
    some = next(iter(known.values()))
    pairs = some["n_data"] * (some["n_data"] - 1) // 2
    sample = ", drawn at random from more" if some["drawn"] else ""
    return space(
        {n: (i[f"alignment_{rule}"], i["uniformity"]) for n, i in known.items()},
        f"the {some[f'n_{rule}']:,} pairs graded {RULES[rule]} {some['cut']:g}",
        f"all {pairs:,} pairs of {some['n_data']:,} sentences, both sides, duplicates kept{sample}",
        data,
    )


def space(
    points: Mapping[str, tuple[float, float]], near: str, all_: str, data: str
) -> list[Block]:
    """Alignment against uniformity (SimCSE, figure 3).

    Args:
        points: encoder -> alignment and uniformity.
        near: of which pairs alignment is.
        all_: of which pairs uniformity is.
        data: the data set or task.
    """
    closest = min(points, key=lambda name: points[name][0])
    widest = min(points, key=lambda name: points[name][1])
    headline = (
        f"{closest}: its position; measure a second encoder to compare"
        if len(points) == 1
        else f"{closest} keeps paraphrases closest and spreads sentences most evenly"
        if closest == widest
        else f"{closest} keeps paraphrases closest, {widest} spreads sentences most evenly"
    )
    sums = sorted(map(sum, points.values()))
    readings = {}
    for name, (aligned, uniform) in points.items():
        readings[name] = (
            f"Paraphrases are {number(aligned**0.5)} apart; the typical distance of all sentences "
            f"is {number((-uniform / 2) ** 0.5)} (1.414: unrelated)."
        )
        if len(points) > 1:
            rank = sums.index(aligned + uniform) + 1
            readings[name] += f" Rank {rank} of {len(points)} on both together."
    return section(
        headline,
        f"Alignment: mean squared distance of {near}. Uniformity: log mean Gaussian potential of "
        f"{all_} (Wang, Isola 2020; SimCSE, figure 3). Lower is better for both.",
        figures.space([figures.SpacePoint(name, *point) for name, point in points.items()]),
        "Alignment against uniformity",
        f"alignment-uniformity-{data}",
        ["encoder", "alignment", "uniformity"],
        [[name, *point] for name, point in points.items()],
        readings,
    )


def spectrum(geometries: Sequence[Geometry]) -> list[Block]:
    """Singular values, effective rank, IsoScore, mean cosine."""
    import numpy as np

    curves = [
        EncoderCurve(
            one.encoder,
            np.arange(1, len(one.singular) + 1),
            one.singular / (one.singular[0] or 1.0),
        )
        for one in geometries
    ]
    longest = max(len(curve.y) for curve in curves)
    rows = [
        [i + 1, *(float(c.y[i]) if i < len(c.y) else None for c in curves)] for i in range(longest)
    ]
    used = {one.encoder: one.info["effective_rank"] / one.info["dim"] for one in geometries}
    dims = {one.encoder: one.info["dim"] for one in geometries}
    best, least = (pick(used, key=lambda name: used[name]) for pick in (max, min))
    headline = f"{best} uses {percent(used[best])} of its {dims[best]} dimensions"
    if len(used) > 1:
        headline += f", {least} {percent(used[least])} of {dims[least]}"
    return section(
        headline,
        "Singular values of the matrix of sentence vectors, as encoded, divided by the "
        "largest (SimCSE, figure E.1). A steep line means that few directions are in use.",
        lines(
            curves,
            "number %{x}: %{y:.4f}",
            axis("singular values, largest first", rangemode="tozero"),
            axis("size relative to the largest", rangemode="tozero"),
        ),
        "Singular values",
        "singular-values",
        ["number", *used],
        rows,
        {one.encoder: _spectrum_words(one) for one in geometries},
    )


def _spectrum_words(geometry: Geometry) -> str:
    info = geometry.info
    power = geometry.singular**2
    first = float(power[0] / (power.sum() or 1.0))
    score = info["isoscore"]
    even = "" if score is None else f" and the variance fills {percent(score)} (IsoScore)"
    return (
        f"Of {info['dim']} dimensions {info['effective_rank']:.0f} are in use (effective rank)"
        f"{even}; the strongest direction holds {percent(first)} of the squared length, "
        f"and {_random_words(info['mean_cosine'])}"
    )


def _random_words(cosine: float) -> str:
    """What the mean cosine of random pairs says."""
    crowd = (
        "directions are used evenly"
        if abs(cosine) < SPREAD
        else "vectors lean in one direction"
        if cosine < CROWDED
        else "all vectors lie in a narrow cone"
    )
    return f"two random sentences have cosine {number(cosine)}: {crowd}."


def hubs(geometries: Sequence[Geometry]) -> list[Block]:
    """How often a sentence is among the nearest of others; nothing for too few sentences."""
    import numpy as np

    known = [geometry for geometry in geometries if len(geometry.occurrence)]
    if not known:
        return []
    curves, rows, readings = [], [], {}
    for geometry in known:
        counts = np.sort(geometry.occurrence)
        times = np.unique(counts[counts > 0])
        share = 1 - np.searchsorted(counts, times, side="left") / len(counts)
        curves.append(EncoderCurve(geometry.encoder, times, share))
        rows += [[geometry.encoder, int(t), float(s)] for t, s in zip(times, share, strict=True)]
        info = geometry.info
        hub = info["hub"] if len(info["hub"]) <= 80 else f"{info['hub'][:79]}…"
        readings[geometry.encoder] = (
            f"Skew {info['hub_skew']:.2f}, {_hub_kind(info['hub_skew'])}: the greatest, “{hub}”, "
            f"is a neighbour {info['hub_most']:,} times, and {percent(info['hub_never'])} of the "
            "sentences never are."
        )
    most = max(known, key=lambda one: one.info["hub_skew"])
    k = most.info["hub_k"]
    return section(
        f"{most.encoder} has {_hub_kind(most.info['hub_skew'])}: one sentence is among the {k} "
        f"nearest of {most.info['hub_most']:,} others",
        f"Each sentence has {k} nearest others, so each is a neighbour {k} times on average. "
        "Hubs are neighbours of very many sentences and degrade search (Radovanović et al. "
        f"2010); {known[0].info['n_distinct']:,} distinct sentences.",
        lines(
            curves,
            f"among the {k} nearest of %{{x}} or more: %{{y:.2%}} of sentences",
            axis(f"among the {k} nearest of so many others, or more", type="log"),
            axis("share of sentences", type="log", tickformat=".2~%"),
        ),
        "How often a sentence is a neighbour",
        "hubs",
        ["encoder", f"among the {k} nearest of so many, or more", "share of sentences"],
        rows,
        readings,
    )


def _hub_kind(skew: float) -> str:
    return "hardly any hubs" if skew < HUBS else "some hubs" if skew < MANY_HUBS else "strong hubs"


def cosines(known: Sequence[Distribution], data: str) -> list[Block]:
    """Densities of the cosine by gold score (SimCSE, figure 4)."""
    if not known:
        return []
    grid, panels = densities.grid(), [one.panel for one in known]
    labels = [ridge.label for ridge in panels[0].ridges]
    columns = ["encoder", "pairs", *(f"mean cosine {label}" for label in labels)]
    return section(
        figures.ridges_headline(panels, grid),
        f"{formats.plural(known[0].n, 'pair')} of {data} by grade. Diamonds mark the mean of a "
        "group, the dotted line the mean cosine of two random sentences.",
        figures.ridges(panels, grid),
        "Densities of the cosine by gold score",
        f"cosines-{data}",
        [*columns, "overlap", "random pairs", "alignment", "uniformity", "main score"],
        [
            [
                one.panel.encoder,
                one.n,
                *one.means,
                one.overlap,
                one.panel.random,
                one.alignment,
                one.uniformity,
                one.score,
            ]
            for one in known
        ],
        {one.panel.encoder: _density_words(one) for one in known},
    )


def _density_words(one: Distribution) -> str:
    lowest, highest = one.panel.ridges[0], one.panel.ridges[-1]
    sentences = []
    if one.overlap is not None and lowest.mean is not None and highest.mean is not None:
        much = (
            "hardly overlap"
            if one.overlap < LITTLE_OVERLAP
            else "overlap somewhat"
            if one.overlap < MUCH_OVERLAP
            else "overlap strongly"
        )
        sentences.append(
            f"Pairs graded {lowest.label} and {highest.label} {much}: they share "
            f"{percent(one.overlap)} of their area, and the mean cosine goes from "
            f"{number(lowest.mean)} to {number(highest.mean)}."
        )
    means = [mean for mean in one.means if mean is not None]
    if means != sorted(means):
        sentences.append("The mean cosine does not rise from group to group.")
    if one.panel.random is not None:
        words = _random_words(one.panel.random)
        sentences.append(f"{words[0].upper()}{words[1:]}")
    return " ".join(sentences)


def thresholds(
    geometries: Sequence[Geometry], positive_from: float | None, label: str | None
) -> list[Block]:
    """The cosine thresholds of positive pairs with the best accuracy and F1; nothing without pairs.

    Args:
        geometries: of one data set.
        positive_from: for scored pairs, the lowest gold score of a positive pair.
        label: for labelled pairs, the positive label.
    """
    import numpy as np

    from theodolite.engine.stats.thresholds import sweep

    known = [geometry for geometry in geometries if len(geometry.gold)]
    if not known:
        return []
    positive, what = _positive(known[0], positive_from, label)
    if not positive.any() or positive.all():
        lead = f"Either all pairs or none are {what}: choose another cut."
        return [Text("No threshold to find", lead)]
    common = float(max(positive.mean(), 1 - positive.mean()))
    curves, rows, readings, best = [], [], {}, {}
    for geometry in known:
        name, swept = geometry.encoder, sweep(geometry.cosine, positive)
        right, f1 = swept.best("accuracy"), swept.best("f1")
        best[name] = right
        marks = {"accuracy": (right.threshold, right.accuracy), "F1": (f1.threshold, f1.f1)}
        n = len(swept.thresholds)
        places = np.unique(np.linspace(0, n - 1, min(n, MAX_DRAWN)).round().astype(np.int64))
        for kind, values in (("accuracy", swept.accuracy), ("F1", swept.f1)):
            x = swept.thresholds[places]
            curves.append(EncoderCurve(name, x, values[places], [marks[kind]], kind))
        readings[name] = (
            f"Cosine {number(right.threshold)} and above as the same gets "
            f"{percent(right.accuracy)} right, while always predicting the majority "
            f"class gets {percent(common)}; the best F1 is {f1.f1:.3f}, from "
            f"{number(f1.threshold)} on."
        )
        verdicts = {"accuracy": right, "F1": f1}
        if test := _held_out(geometry, positive):
            verdicts["accuracy on dev, judged on test"] = test
            readings[name] += (
                f" Chosen on dev ({number(test.threshold)}), it gets {percent(test.accuracy)} of "
                "test right."
            )
        rows += [
            [name, aim, v.threshold, v.accuracy, v.precision, v.recall, v.f1]
            for aim, v in verdicts.items()
        ]
    top = max(best, key=lambda name: best[name].accuracy)
    return section(
        f"With {top}, pairs of cosine {number(best[top].threshold)} and above are best "
        f"considered the same: {percent(best[top].accuracy)} right"
        if best[top].accuracy > common + LITTLE
        else "No threshold is much better than always predicting the majority class",
        f"{int(positive.sum()):,} of {len(positive):,} pairs are {what}. Diamonds mark the "
        "best accuracy and the best F1. A threshold looks better on the pairs used to choose "
        "it than on new ones.",
        lines(
            curves,
            "from cosine %{x:.3f}: %{y:.3f}",
            axis("cosine threshold for the same meaning"),
            axis("accuracy, F1", range=[0, 1.02]),
        ),
        "Accuracy and F1 by threshold",
        "thresholds",
        ["encoder", "best", "threshold", "accuracy", "precision", "recall", "F1"],
        rows,
        readings,
    )


def _positive(
    geometry: Geometry, positive_from: float | None, label: str | None
) -> tuple[np.ndarray, str]:
    """Which pairs are positive, and what these are called."""
    labels = geometry.info["labels"]
    if labels:
        wanted = label if label in labels else default_label(labels)
        return geometry.gold == labels.index(wanted), f"labelled {wanted}"
    at = service.cut(geometry.info["scale"]) if positive_from is None else positive_from
    return geometry.gold >= at, f"graded from {at:g} on"


def default_label(labels: Sequence[str]) -> str:
    """The label that most likely marks pairs of the same meaning."""
    return next((x for word in SAME for x in labels if x.casefold() == word), labels[-1])


def _held_out(geometry: Geometry, positive: np.ndarray) -> Any:
    """The threshold chosen on the dev split, judged on the test split; None without both."""
    from theodolite.engine.stats.thresholds import judge, sweep

    names = geometry.info["parts"]
    if not {"dev", "test"} <= set(names):
        return None
    dev, test = (geometry.part == names.index(name) for name in ("dev", "test"))
    if not dev.any() or not test.any():
        return None
    chosen = sweep(geometry.cosine[dev], positive[dev]).best("accuracy").threshold
    return judge(geometry.cosine[test], positive[test], chosen)


def number(value: float) -> str:
    """A cosine or another raw number with three decimals."""
    return f"{value:.3f}".replace("-", "−")


@dataclass(frozen=True, eq=False)
class EncoderCurve:
    """A curve of one encoder.

    Attributes:
        encoder: its name.
        x, y: float (m,).
        marks: (x, y) of points to mark.
        kind: the kind of curve, for the legend; curves of one encoder share their colour.
    """

    encoder: str
    x: np.ndarray
    y: np.ndarray
    marks: Sequence[tuple[float, float]] = ()
    kind: str = ""


def lines(
    curves: Sequence[EncoderCurve], hover: str, x: dict[str, Any], y: dict[str, Any]
) -> Figure:
    """Curves with a legend."""
    names = list(dict.fromkeys(curve.encoder for curve in curves))
    kinds = list(dict.fromkeys(curve.kind for curve in curves))
    traces: list[Trace] = []
    for curve in curves:
        place = names.index(curve.encoder)
        line: dict[str, Any] = {"color": SERIES[place % len(SERIES)], "width": 2}
        # With one curve per encoder the dash distinguishes encoders; with several, their kinds.
        line["dash"] = DASHES[(kinds.index(curve.kind) if len(kinds) > 1 else place) % len(DASHES)]
        label = plain(formats.shorten(curve.encoder) + (f" · {curve.kind}" if curve.kind else ""))
        traces.append(
            scatter(
                x=curve.x.astype("float32"),
                y=curve.y.astype("float32"),  # half as many digits
                mode="lines",
                name=label,
                line=line,
                hovertemplate=f"{hover}<extra>{label}</extra>",
            )
        )
        if curve.marks:
            traces.append(
                scatter(
                    x=[x for x, _ in curve.marks],
                    y=[y for _, y in curve.marks],
                    mode="markers",
                    marker={"symbol": "diamond", "size": 10, "color": line["color"]},
                    showlegend=False,
                    hovertemplate=f"best: {hover}<extra>{label}</extra>",
                )
            )
    return draw(traces, x, y, height=370, left=68, legend=True)
