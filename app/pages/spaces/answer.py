"""How much two encoders agree about a collection: what is said of a pair of spaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

from theodolite.app.blocks import Block, Chart, Component, Finding, Nothing, Table
from theodolite.app.components.chart import drawing
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.spaces import flow
from theodolite.app.pages.spaces.job import Pair, SpacesSpec
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import query
from theodolite.app.web.figures import percent

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

GROUP = "spaces"
"""The maps and the list of sentences that are linked with each other."""
MAX_PRINTED = 10
MAX_CHARACTERS = 400
COLUMNS = {
    "name": "Spaces",
    "jaccard": "Neighbours shared",
    "overlap": "Rank-biased overlap",
    "cka": "Linear CKA",
    "residual": "Procrustes residual",
}
WHAT = (
    "Neighbours shared: of the nearest that either encoder names, the share that both name "
    "(Jaccard), on average over the sentences. Rank-biased overlap: the same with early ranks "
    "weighing more. Linear CKA: how alike the two spaces are as wholes. All three are 1 for the "
    "same space and fall with what changed. Procrustes residual: what is left after the best turn "
    "of one space onto the other, 0 for the same space, 2 at most. Neighbours and wholes are of "
    "unit vectors in all their dimensions."
)


@dataclass(frozen=True, eq=False, repr=False)
class Spaces(Answer):
    """Two spaces side by side.

    Attributes:
        spec: what was asked.
        pair: the maps, and the measurements; None until they are computed.
        sentences: of the collection.
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
    decimals: ClassVar[int] = 3

    spec: SpacesSpec
    pair: Pair | None
    sentences: Sequence[str]

    @property
    def report(self) -> Mapping[str, Any]:
        """The measurements; empty without any."""
        return self.pair.report if self.pair else {}

    def rows(self) -> list[dict[str, Any]]:
        """The figures of the two spaces, of each against itself, and of chance."""
        return [{"k": self.report["k"], **row} for row in self.report.get("rows", ())]

    def lines(self) -> list[dict[str, Any]]:
        """The figures, the sentences that changed most, and the clusters."""
        report = self.report
        changed = [
            {"what": "changed", "rank": rank, "sentence": self.sentences[one["id"]], **one}
            for rank, one in enumerate(report["changed"], 1)
        ]
        figures = [{"what": "figures", **row} for row in self.rows()]
        return [*figures, *changed, {"what": "clusters", **report["clusters"]}]

    def table_columns(self) -> list[str]:
        """The figures."""
        return ["name", "how", "jaccard", "overlap", "cka", "residual"]

    def notes(self) -> list[str]:
        """The sentences that changed most, and where the maps are."""
        report = self.report
        changed = [
            f"{rank}. {one['overlap']:.3f} {self.sentences[one['id']]}"
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
        if self.pair is None:
            return [Nothing(f"{len(self.sentences):,} sentences, not compared yet")]
        sides = (self.pair.first, self.pair.second)
        return [
            finding(self.report),
            *(maps.component(side, linked=GROUP) for side in sides),
            *below(self.report, self.sentences),
        ]


def answer(workspace: Workspace, spec: SpacesSpec, do: Do) -> Iterator[Spaces]:
    """Read the pair, or have it computed."""
    there = spec.is_stored(workspace) or do(spec)
    yield Spaces(spec, spec.make(workspace) if there else None, spec.sentences(workspace))


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


def finding(report: Mapping[str, Any]) -> Finding:
    """The headline of the figures, with the number of sentences and neighbours."""
    some = [f"{row['n']:,}" for row in report["rows"] if row["n"] < report["n"]]
    text = f"{report['n']:,} sentences of {report['dataset']}, {report['k']} neighbours of each."
    if report["looked_at"] < report["n"]:
        text += f" Neighbourhoods were compared for {report['looked_at']:,} of them, drawn evenly."
    elif some:
        text += f" The floor and chance were measured on {some[-1]} of them."
    return Finding(headline(report), text)


def headline(report: Mapping[str, Any]) -> str:
    """The share of common neighbours, compared with the noise floor."""
    between, *others = report["rows"]
    floors = sorted(row["jaccard"] for row in others if row["kind"] == "floor")
    first, second = report["encoders"]
    text = f"{percent(between['jaccard'])} of the neighbours of {first} and {second} agree"
    if not floors:
        return text
    same = " to ".join(dict.fromkeys(map(percent, floors)))
    if between["jaccard"] >= floors[0]:
        return f"{text}: no less than of an encoder and a noisy copy of itself ({same})"
    return f"{text}; of an encoder and a noisy copy of itself, {same} agree"


def below(report: Mapping[str, Any], sentences: Sequence[str]) -> list[Block]:
    """The figures, the sentences that changed most, and the clusters; nothing for a quick pair."""
    if not report:
        return []
    clusters, encoders = report["clusters"], report["encoders"]
    blocks: list[Block] = [
        Table("spaces", [*COLUMNS.values()], [_figures(row) for row in report["rows"]], note=WHAT),
        Finding(
            f"The {len(report['changed'])} sentences whose neighbours changed most",
            "By rank-biased overlap, then by how much less alike the other's neighbours are. Open "
            "one to see both lists.",
        ),
        _changes(report, sentences),
        Finding(flow.headline(clusters, encoders), flow.agreement(report)),
    ]
    if rows := flow.rows(clusters):
        picture = drawing(
            flow.figure(clusters, encoders),
            f"Flow of clusters from {encoders[0]} on the left to {encoders[1]} on the right. "
            f"{flow.headline(clusters, encoders)}.",
            name="theodolite-clusters",
            columns=[*(f"Group with {name}" for name in encoders), "Sentences", "Matched"],
            rows=[[*row[:3], "yes" if row[3] else "no"] for row in rows],
        )
        blocks.append(Chart(picture))
    return blocks


def _figures(row: Mapping[str, Any]) -> list[Any]:
    name = {
        "between": row["name"],
        "floor": f"{row['name']} against itself: noise floor, {row['how']}",
        "chance": f"Chance: {row['how']}",
    }[row["kind"]]
    return [name, *(row[key] for key in COLUMNS if key != "name")]


def _changes(report: Mapping[str, Any], sentences: Sequence[str]) -> Component:
    """The list of sentences with both lists of neighbours, which `js/changes.js` draws."""

    def text(number: int) -> str:
        sentence = sentences[number]
        return sentence if len(sentence) <= MAX_CHARACTERS else f"{sentence[:MAX_CHARACTERS]}…"

    items = [
        {
            "id": one["id"],
            "text": text(one["id"]),
            "jaccard": one["jaccard"],
            "overlap": one["overlap"],
            "lists": [
                [{"id": int(i), "text": text(int(i)), "cosine": c} for i, c in one[side]]
                for side in ("first", "second")
            ],
        }
        for one in report["changed"]
    ]
    value = {"encoders": report["encoders"], "group": GROUP, "items": items}
    return Component("changes", value)
