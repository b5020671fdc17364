"""How much two encoders agree about a collection: what is said of a pair of spaces."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Component, Finding, Table
from theodolite.app.components.map import NEIGHBOURS, PROPS, StoredMap, folders, value
from theodolite.app.formats import percent
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import Unmade, is_running, preview
from theodolite.app.pages.spaces.job import Pair, SpacesSpec
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import query
from theodolite.app.web.figures import Figure, clear_colour, plain
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace

GROUP = "spaces"
"""The maps and the list of sentences that are linked with each other."""
MAX_PRINTED = 10
MAX_CHARACTERS = 400
MAX_LINKS = 120
"""Flows in the figure; the table has all."""
COLUMNS = {
    "name": "Spaces",
    "jaccard": "Neighbours shared",
    "overlap": "Rank-biased overlap",
    "cka": "Linear CKA",
    "residual": "Procrustes residual",
}
WHAT = (
    "Neighbours shared: of the neighbours that a sentence has with either encoder, the share that "
    "it has with both (Jaccard), averaged over the sentences. Rank-biased overlap: the same with "
    "early ranks weighing more. Linear CKA: how alike the two spaces are as wholes. All three are "
    "1 for the same space and fall with what changed. Procrustes residual: what is left after the "
    "best turn of one space onto the other, 0 for the same space, 2 at most. Neighbours and wholes "
    "are of unit vectors in all their dimensions."
)


@dataclass(frozen=True, eq=False, repr=False)
class Spaces(Answer, Pair):
    """Two spaces side by side.

    Attributes:
        workspace: where they are stored.
        spec: what was asked; until that is computed, these are principal components.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "name": str,
        "how": str,
        "kind": str,
        "k": int,
        "n": int,
        "jaccard": float,
        "overlap": float,
        "cka": float | None,
        "residual": float | None,
    }
    in_terminal: ClassVar = ("name", "how", "jaccard", "overlap", "cka", "residual")
    decimals: ClassVar[int] = 3

    workspace: Workspace
    spec: SpacesSpec

    @property
    def lack(self) -> str:
        """The comparison, while there are only principal components."""
        return "" if self.report or is_running(self.workspace, self.spec) else "Compare"

    def rows(self) -> list[dict[str, Any]]:
        """The figures of the two spaces, of each against itself, and of chance."""
        return [{"k": self.report["k"], **row} for row in self.report.get("rows", ())]

    def lines(self) -> list[dict[str, Any]]:
        """The figures, the sentences that changed most, and the clusters."""
        changed = [
            {"what": "changed", "rank": rank, "sentence": self.first.sentences[one["id"]], **one}
            for rank, one in enumerate(self.report["changed"], 1)
        ]
        figures = [{"what": "figures", **row} for row in self.rows()]
        return [*figures, *changed, {"what": "clusters", **self.report["clusters"]}]

    def notes(self) -> list[str]:
        """The sentences that changed most, and where the maps are."""
        report = self.report
        changed = [
            f"{rank}. {one['overlap']:.3f} {self.first.sentences[one['id']]}"
            for rank, one in enumerate(report["changed"][:MAX_PRINTED], 1)
        ]
        return [
            headline(report),
            f"{report['n']} sentences, {report['k']} neighbours. Those that changed most, with "
            "their overlap:",
            *changed,
            f"The two maps, in the app: spaces?{urlencode(query(self.spec), doseq=True)}",
        ]

    def blocks(self) -> list[Block]:
        """The finding, the two maps, and what is below them."""
        report = self.report
        if not report:
            waiting = Finding(
                "",
                "These are the first two principal components of either, drawn immediately: the "
                "comparison in all dimensions has not been computed yet.",
            )
            return [waiting, self._maps()]
        text = f"{report['n']:,} sentences of {report['dataset']}, {report['k']} neighbours of each"
        fewest = min(row["n"] for row in report["rows"])
        if fewest < report["n"]:
            text += (
                f". Neighbourhoods were compared for {report['looked_at']:,} of them, and for "
                f"{fewest:,} in the noise floor and in chance"
            )
        figures = [
            [_name(row), *(row[key] for key in COLUMNS if key != "name")] for row in report["rows"]
        ]
        return [
            Finding(headline(report), f"{text}."),
            self._maps(),
            Table(
                *("spaces", [*COLUMNS.values()], figures),
                note=WHAT,
                decimals=dict.fromkeys(COLUMNS.values(), 3),
            ),
            Finding(
                f"The {len(report['changed'])} sentences whose neighbours changed most",
                "By rank-biased overlap, then by how much less alike the other's neighbours are. "
                "Open one to see both lists.",
            ),
            self._changes(),
            *_clusters(report),
        ]

    def _maps(self) -> Component:
        """The maps side by side, or one that moves to the other: `js/map/pair.js`."""
        import numpy as np

        sides = (self.first, self.second)
        every = np.vstack([side.points for side in sides])
        low, high = every.min(axis=0), every.max(axis=0)
        x, y = map(float, (low + high) / 2)
        # Both open on the same region, which contains the points of both.
        whole = {"x": x, "y": y, "size": float((high - low).max()) or 1.0}
        k = min(NEIGHBOURS, len(self.first.points) - 1)
        files: dict[str, Any] = {}
        for side in sides:
            files |= folders(side, k, partial(maps.nearest, self.workspace, side))
        views = {
            "sides": [value(side, k, linked=GROUP, whole=whole) for side in sides],
            "notes": [_projection(side) for side in sides],
            "ends": [side.info["encoder"] for side in sides],
        }
        return Component("map/pair", views, PROPS, files)

    def _changes(self) -> Component:
        """The list of sentences with both lists of neighbours, which `js/changes.js` draws."""
        sentences, report = self.first.sentences, self.report

        def near(pairs: Sequence[tuple[int, float]]) -> list[dict[str, Any]]:
            return [{"id": i, "text": text(i), "cosine": cosine} for i, cosine in pairs]

        def text(number: int) -> str:
            sentence = sentences[number]
            return sentence if len(sentence) <= MAX_CHARACTERS else f"{sentence[:MAX_CHARACTERS]}…"

        items = [
            {
                "id": one["id"],
                "text": text(one["id"]),
                "jaccard": one["jaccard"],
                "overlap": one["overlap"],
                "lists": [near(one["first"]), near(one["second"])],
            }
            for one in report["changed"]
        ]
        return Component(
            "changes", {"encoders": report["encoders"], "group": GROUP, "items": items}
        )


def answer(workspace: Workspace, spec: SpacesSpec, do: Do) -> Iterator[Any]:
    """Read the pair, or have it computed; until then, principal components or what to do."""
    spec.validate(workspace)
    result = spec.stored(workspace)
    if result is None and do(spec):
        result = spec.make(workspace)
    if result is None:
        result = yield from preview(workspace, spec, spec.encoders, "Compare")
    yield (
        result
        if isinstance(result, Unmade)
        else Spaces(**vars(result), workspace=workspace, spec=spec)
    )


SPACES = Question(
    "spaces",
    SpacesSpec,
    answer,
    Spaces,
    (
        "spaces minilm wordllama",
        'spaces minilm "minilm | dims:64,pca,starter" --in STSBenchmark -k 20 --json',
    ),
    queues=True,
)


def headline(report: Mapping[str, Any]) -> str:
    """The share of common neighbours, compared with the noise floor."""
    between, *others = report["rows"]
    floors = sorted(row["jaccard"] for row in others if row["kind"] == "floor")
    first, second = report["encoders"]
    same = " to ".join(dict.fromkeys(map(percent, floors)))
    text = f"{percent(between['jaccard'])} of the neighbours of {first} and {second} agree"
    if between["jaccard"] >= floors[0]:
        return f"{text}: an encoder agrees no better with a noisy copy of itself ({same})"
    return f"{text}; an encoder and a noisy copy of itself agree on {same}"


def _name(row: Mapping[str, Any]) -> str:
    return {
        "between": f"{row['name']}",
        "floor": f"{row['name']} against itself: noise floor, {row['how']}",
        "chance": f"Chance: {row['how']}",
    }[row["kind"]]


def _projection(side: StoredMap) -> str:
    """The projection of a map, and its neighbour recall if measured."""
    name, trust = maps.NAMES[side.info["method"]], side.info["trust"]
    if not trust:
        return name
    return (
        f"{name}; on average {percent(trust['recall'])} of a sentence's {trust['k']} true "
        "neighbours are neighbours here too"
    )


class Flow(NamedTuple):
    """The sentences of one group of the first encoder that are in one of the second's."""

    before: int
    after: int
    sentences: int
    is_matched: bool


def flows(clusters: Mapping[str, Any]) -> list[Flow]:
    """Every flow, the largest first."""
    matched = {tuple(pair) for pair in clusters["pairs"]}
    every = [
        Flow(i, j, count, (i, j) in matched)
        for i, counts in enumerate(clusters["counts"])
        for j, count in enumerate(counts)
        if count
    ]
    return sorted(every, key=lambda flow: -flow.sentences)


def _clusters(report: Mapping[str, Any]) -> list[Block]:
    """How many sentences stay with their group, and the flow of groups as a figure."""
    clusters, encoders = report["clusters"], report["encoders"]
    every, names = flows(clusters), group_names(clusters)
    n = sum(flow.sentences for flow in every)
    groups = [sum(size > 0 for size in sizes) for sizes in clusters["sizes"]]
    title = (
        f"{groups[0]} groups with {encoders[0]}, {groups[1]} with {encoders[1]}: "
        f"{percent(clusters['kept'] / n)} of the sentences stay in the group matched to theirs"
    )
    between = clusters["between"]
    text = (
        f"{clusters['how'][0]}. The two divisions agree with V-measure {between['v_measure']:.2f}, "
        f"adjusted mutual information {between['ami']:.2f} and adjusted Rand index "
        f"{between['ari']:.2f} (1 is the same division, 0 for the last two is chance)."
    )
    for name, one in zip(encoders, clusters["labels"] or (), strict=False):
        text += (
            f" {name} agrees with the collection's labels by V-measure {one['v_measure']:.2f} "
            f"and adjusted Rand index {one['ari']:.2f}."
        )
    if any(clusters["noise"]):
        counts = " and ".join(f"{n:,}" for n in clusters["noise"])
        text += f" In no group: {counts}; they count as one more group."
    if len(every) > MAX_LINKS:
        text += f" The figure has {MAX_LINKS} of {len(every)} flows; the table has all."
    text += " Joined in colour: groups matched so that as many sentences as possible stay."
    rows = [
        [names[0][flow.before], names[1][flow.after], flow.sentences, flow.is_matched]
        for flow in every
    ]
    figure = Chart(
        sankey(clusters, encoders),
        f"Flow of clusters from {encoders[0]} on the left to {encoders[1]} on the right. {title}.",
        name="theodolite-clusters",
        columns=[*(f"Group with {name}" for name in encoders), "Sentences", "Matched"],
        rows=[[*row[:3], "yes" if row[3] else "no"] for row in rows],
    )
    return [Finding(title, text), figure]


def group_names(clusters: Mapping[str, Any]) -> list[list[str]]:
    """Names of the groups of both sides, with noise last if there is any, as in the counts."""
    return [
        [*own, *(["in no group"] if noise else [])]
        for own, noise in zip(clusters["names"], clusters["noise"], strict=True)
    ]


def sankey(clusters: Mapping[str, Any], encoders: Sequence[str]) -> Figure:
    """Flows between matched groups in colour, the largest others in grey."""
    grey, names, sizes = SERIES[-1], group_names(clusters), clusters["sizes"]
    most = max(MAX_LINKS, len(clusters["pairs"]))
    links = sorted(flows(clusters), key=lambda flow: not flow.is_matched)[:most]
    nodes = sorted({(side, link[side]) for link in links for side in (0, 1)})
    place = {node: at for at, node in enumerate(nodes)}

    def colour(side: int, group: int) -> str:
        return SERIES[group % (len(SERIES) - 1)] if group < len(sizes[side]) else grey

    def about(side: int, group: int) -> str:
        counts = [*sizes[side], clusters["noise"][side]]
        return f"{names[side][group]}, {encoders[side]}, {counts[group]:,} sentences"

    trace = {
        "type": "sankey",
        "arrangement": "snap",
        "node": {
            "label": [plain(formats.shorten(names[side][group], 22)) for side, group in nodes],
            "customdata": [plain(about(*node)) for node in nodes],
            "hovertemplate": "%{customdata}<extra></extra>",
            "color": [colour(*node) for node in nodes],
            "pad": 18,  # as high as a label: of small groups they lie side by side
            "thickness": 14,
            "line": {"width": 0},
        },
        "link": {
            "source": [place[0, link.before] for link in links],
            "target": [place[1, link.after] for link in links],
            "value": [link.sentences for link in links],
            "color": [
                clear_colour(colour(0, link.before), 0.5)
                if link.is_matched
                else clear_colour(grey, 0.22)
                for link in links
            ],
            "customdata": [
                plain(f"{names[0][link.before]} → {names[1][link.after]}") for link in links
            ],
            "hovertemplate": "%{customdata}: %{value}<extra></extra>",
        },
    }
    longest = max(sum(side == one for one, _ in nodes) for side in (0, 1))
    layout = {"height": 120 + 26 * longest, "margin": {"l": 6, "r": 6, "t": 12, "b": 12}}
    return {"data": [trace], "layout": layout}
