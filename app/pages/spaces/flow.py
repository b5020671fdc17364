"""The flow of clusters: how the groups of one encoder map to those of another.

Numbers in, a figure out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.components.chart import plain
from theodolite.app.web.figures import Figure, clear_colour, percent
from theodolite.app.web.theme import SERIES

MAX_LINKS = 120
NOISE = "in no group"
_GREY = SERIES[-1]


def names(clusters: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Names of the groups of both sides, with noise last if there is any, as in the counts."""
    first, second = (
        [*own, NOISE] if noise else list(own)
        for own, noise in zip(clusters["names"], clusters["noise"], strict=True)
    )
    return first, second


def rows(clusters: dict[str, Any]) -> list[list[Any]]:
    """One row per pair of groups that share sentences, the largest first.

    Columns: name before, name after, sentences, whether the two are matched.
    """
    before, after = names(clusters)
    matched = {tuple(pair) for pair in clusters["pairs"]}
    found = [
        [before[i], after[j], count, (i, j) in matched]
        for i, counts in enumerate(clusters["counts"])
        for j, count in enumerate(counts)
        if count
    ]
    return sorted(found, key=lambda row: -row[2])


def figure(clusters: dict[str, Any], encoders: Sequence[str]) -> Figure:
    """A Sankey diagram: flows between matched groups in colour, all others in grey."""
    links = _links(clusters)
    used = [sorted({link[side] for link in links}) for side in (0, 1)]
    place = {(side, group): at for at, (side, group) in enumerate(_both(used))}
    trace = {
        "type": "sankey",
        "arrangement": "snap",
        "node": _nodes(clusters, encoders, used),
        "link": _bands(clusters, links)
        | {
            "source": [place[0, i] for i, _, _ in links],
            "target": [place[1, j] for _, j, _ in links],
        },
    }
    layout = {
        "height": 120 + 26 * max(map(len, used), default=0),
        "margin": {"l": 6, "r": 6, "t": 12, "b": 12},
    }
    return {"data": [trace], "layout": layout}


def _both(used: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    return [(side, group) for side in (0, 1) for group in used[side]]


def _nodes(
    clusters: dict[str, Any], encoders: Sequence[str], used: Sequence[Sequence[int]]
) -> dict[str, Any]:
    named, sizes = names(clusters), clusters["sizes"]
    labels = []
    for side, group in _both(used):
        real = group < len(sizes[side])
        count = sizes[side][group] if real else clusters["noise"][side]
        labels.append(plain(f"{named[side][group]}, {encoders[side]}, {count:,} sentences"))
    return {
        "label": [plain(formats.shorten(named[side][group], 22)) for side, group in _both(used)],
        "customdata": labels,
        "hovertemplate": "%{customdata}<extra></extra>",
        "color": [_colour(group, len(sizes[side])) for side, group in _both(used)],
        "pad": 9,
        "thickness": 14,
        "line": {"width": 0},
    }


def _bands(clusters: dict[str, Any], links: Sequence[tuple[int, int, int]]) -> dict[str, Any]:
    before, after = names(clusters)
    matched = {tuple(pair) for pair in clusters["pairs"]}
    count = len(clusters["sizes"][0])
    return {
        "value": [count for _, _, count in links],
        "color": [
            clear_colour(_colour(i, count), 0.5) if (i, j) in matched else clear_colour(_GREY, 0.22)
            for i, j, _ in links
        ],
        "customdata": [plain(f"{before[i]} → {after[j]}") for i, j, _ in links],
        "hovertemplate": "%{customdata}: %{value}<extra></extra>",
    }


def _links(clusters: dict[str, Any]) -> list[tuple[int, int, int]]:
    """The flows between matched groups and the largest others: (before, after, sentences)."""
    matched = {tuple(pair) for pair in clusters["pairs"]}
    every = [
        (i, j, count)
        for i, counts in enumerate(clusters["counts"])
        for j, count in enumerate(counts)
        if count
    ]
    every.sort(key=lambda link: (link[:2] not in matched, -link[2]))
    return every[: max(MAX_LINKS, len(matched))]


def _colour(group: int, count: int) -> str:
    return SERIES[group % (len(SERIES) - 1)] if group < count else _GREY


def extent(clusters: dict[str, Any]) -> tuple[int, int, float]:
    """Number of flows in the figure, number of all flows, and share of sentences in the figure."""
    shown = _links(clusters)
    total = sum(map(sum, clusters["counts"]))
    every = sum(count > 0 for counts in clusters["counts"] for count in counts)
    return len(shown), every, sum(count for *_, count in shown) / total


def headline(clusters: dict[str, Any], encoders: Sequence[str]) -> str:
    """Summarise how many sentences stay with their group."""
    total = sum(map(sum, clusters["counts"]))
    found = [sum(size > 0 for size in sizes) for sizes in clusters["sizes"]]
    if not all(found):
        alone = encoders[0 if not found[0] else 1]
        return f"With {alone}, every sentence is in no group"
    return (
        f"{found[0]} groups with {encoders[0]}, {found[1]} with {encoders[1]}: "
        f"{percent(clusters['kept'] / total)} of the sentences stay in the group matched to theirs"
    )


def agreement(report: Mapping[str, Any]) -> str:
    """The clustering method, and how well the clusters agree with each other and with labels."""
    clusters, encoders = report["clusters"], report["encoders"]
    between = clusters["between"]
    shown, every, share = extent(clusters)
    sentences = [
        f"{clusters['how'][0]}. The two divisions agree with V-measure "
        f"{between['v_measure']:.2f}, adjusted mutual information {between['ami']:.2f} and "
        f"adjusted Rand index {between['ari']:.2f} (1 is the same division, 0 for the last two is "
        "chance)."
    ]
    if clusters["labels"]:
        held = ", ".join(
            f"V-measure {found['v_measure']:.2f} and adjusted Rand {found['ari']:.2f} with {name}"
            for name, found in zip(encoders, clusters["labels"], strict=True)
        )
        sentences.append(f"Against the collection's labels: {held}.")
    loose = [n for n in clusters["noise"] if n]
    if loose:
        counts = " and ".join(f"{n:,}" for n in clusters["noise"])
        sentences.append(f"In no group: {counts}; they count as one more group.")
    if shown < every:
        sentences.append(
            f"Drawn: the {shown} largest of {every} flows, {percent(share)} of the sentences; the "
            "table has all."
        )
    sentences.append("Joined in colour: groups matched so that as many sentences as possible stay.")
    return " ".join(sentences)
