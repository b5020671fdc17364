"""Views of the page *Two spaces*: headline, figures, two maps, changed sentences, cluster flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components import map_address
from theodolite.app.components.chart import drawing
from theodolite.app.components.map import points
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.spaces import flow as flows
from theodolite.app.pages.spaces.changes import Changed, Neighbour, listed
from theodolite.app.web import address, parts
from theodolite.app.web.figures import percent

if TYPE_CHECKING:
    from theodolite.app.pages.map.service import StoredMap
    from theodolite.app.pages.spaces.service import Pair

GROUP = "spaces"
NOWHERE: Mapping[str, Any] = MappingProxyType({})
"""The view of an address without one."""
COLOURS = ("label", "change", "cluster_a", "part", "role", "length")
COLUMNS = ("Neighbours shared", "Rank-biased overlap", "Linear CKA", "Procrustes residual")
KEYS = ("jaccard", "overlap", "cka", "residual")
_WHAT = (
    "Neighbours shared: of the nearest that either encoder names, the share that both name "
    "(Jaccard), on average over the sentences. Rank-biased overlap: the same with early ranks "
    "weighing more. Linear CKA: how alike the two spaces are as wholes. All three are 1 for the "
    "same space and fall with what changed. Procrustes residual: what is left after the best turn "
    "of one space onto the other, 0 for the same space, 2 at most. Neighbours and wholes are of "
    "unit vectors in all their dimensions."
)


def render(
    pair: Pair, sentences: Sequence[str], view: Mapping[str, Any], *, moves: bool, visitor: bool
) -> dict[str, Any]:
    """All views below the controls, by name.

    Args:
        pair: the pair to show.
        sentences: of the collection.
        view: the view of the maps in the address, see `map_address.from_address`.
        moves: whether one map shows both spaces, by moving its points.
        visitor: whether the reader is a visitor, who cannot start a run.
    """
    changed_head, changes = changed(pair, sentences)
    flow_head, picture = flow(pair.report)
    return {
        "words": finding(pair.report) if pair.report else _waiting(visitor),
        "figures": figures(pair.report) if pair.report else "",
        "show": gr.update(visible=True),
        "left_name": "" if moves else side(pair.first),
        "left": moving(pair, view) if moves else left(pair, view),
        "right_side": gr.update(visible=not moves),
        "right_name": side(pair.second),
        "right": None if moves else right(pair, view),
        "changed_head": changed_head,
        "changed": changes,
        "flow_head": flow_head,
        "flow": picture,
    }


def nothing(visitor: bool, count: int, alive: bool, seconds: float | None = None) -> dict[str, Any]:
    """The views without maps: what to do."""
    rest = "" if seconds is None else formats.time_left(seconds).removesuffix(" left")
    long = f" For one of them this takes {rest}." if rest else ""
    title = f"{count:,} sentences, not compared yet"
    hint = parts.next_step(
        visitor,
        "choose another collection, or other encoders",
        f"Press Compare: the sentences are encoded in the background, once.{long} The maps "
        "will appear here.",
    )
    if alive:
        title, hint = (
            f"{count:,} sentences, being encoded",
            "The maps will appear as soon as possible.",
        )
    empty = dict.fromkeys(
        ("left_name", "right_name", "figures", "changed_head", "changed", "flow_head"), ""
    )
    return {
        "words": parts.empty(title, hint),
        "show": gr.update(visible=False),
        **empty,
        "left": None,
        "right": None,
        "flow": None,
    }


def _waiting(visitor: bool) -> str:
    text = "These are the first two principal components of either, drawn immediately."
    if not visitor:
        text += " Press Compare for UMAP, what changed in all dimensions, and the clusters."
    return f'<p class="t-map-trust">{escape(text)}</p>'


def finding(report: dict[str, Any]) -> str:
    """The headline of the figures, with the number of sentences and neighbours."""
    return parts.heading(headline(report), _sampled(report))


def figures(report: dict[str, Any]) -> str:
    """The figures as a table, with the noise floor and chance below them."""
    rows = [
        [
            f"<strong>{escape(row['name'])}</strong>"
            if row["kind"] == "between"
            else _against(row),
            *(formats.MISSING if row[key] is None else f"{row[key]:.3f}" for key in KEYS),
        ]
        for row in report["rows"]
    ]
    table = parts.table(
        ("", *COLUMNS),
        rows,
        "The two spaces in figures",
        (1, 2, 3, 4),
        sortable=False,
        stacked=True,
    )
    return (
        f"{table}"
        f'<details class="t-twin"><summary>What these figures are</summary>'
        f'<p class="t-muted t-small">{escape(_WHAT)}</p></details>'
    )


def _against(row: dict[str, Any]) -> str:
    if row["kind"] == "chance":
        return f'Chance<br><small class="t-muted">{escape(row["how"])}</small>'
    return (
        f'{escape(row["name"])} against itself<br><small class="t-muted">noise floor, '
        f"{escape(row['how'])}</small>"
    )


def headline(report: dict[str, Any]) -> str:
    """Summarise the share of common neighbours, compared with the noise floor."""
    between, floors = report["rows"][0], [r for r in report["rows"] if r["kind"] == "floor"]
    first, second = report["encoders"]
    shared = percent(between["jaccard"])
    text = f"{first} and {second} share {shared} of the neighbours that either names"
    if not floors:
        return text
    same = " to ".join(dict.fromkeys(percent(f) for f in sorted(f["jaccard"] for f in floors)))
    if between["jaccard"] >= min(floor["jaccard"] for floor in floors):
        return f"{text}: no less than an encoder shares with itself ({same})"
    return f"{text}; noise alone would leave {same}"


def _sampled(report: dict[str, Any]) -> str:
    some = [f"{row['n']:,}" for row in report["rows"] if row["n"] < report["n"]]
    text = f"{report['n']:,} sentences of {report['dataset']}, {report['k']} neighbours of each."
    if report["looked_at"] < report["n"]:
        text += f" Neighbourhoods were compared for {report['looked_at']:,} of them, drawn evenly."
    elif some:
        text += f" The floor and chance were looked at on {some[-1]} of them."
    return text


def side(found: StoredMap) -> str:
    """The heading of a map: encoder, projection, and neighbour recall if measured."""
    trust = found.info["trust"]
    kept = (
        f"{maps.NAMES[found.info['method']]}; "
        f"{percent(trust['recall'])} of the {trust['k']} nearest "
        "of a sentence are its nearest here"
        if trust
        else maps.NAMES[found.info["method"]]
    )
    name = escape(found.info["encoder"])
    return f'<h3 class="t-side"><span class="t-spec">{name}</span><small>{kept}</small></h3>'


def left(pair: Pair, view: Mapping[str, Any] = NOWHERE) -> dict[str, Any]:
    """The first encoder's map, linked; it writes its view to the page's address."""
    return _map(pair.first, pair, view) | {"address": True}


def right(pair: Pair, view: Mapping[str, Any] = NOWHERE) -> dict[str, Any]:
    """The second encoder's map, linked and aligned with the first."""
    return _map(pair.second, pair, view)


def moving(pair: Pair, view: Mapping[str, Any] = NOWHERE) -> dict[str, Any]:
    """The first encoder's map, whose points can be moved to the second's."""
    ends = (pair.first.info["encoder"], pair.second.info["encoder"])
    return left(pair, view) | {
        "towards": maps.url(pair.second.key),
        "ends": list(ends),
        "regions": [],
        "label": f"Map whose points move from {ends[0]} to {ends[1]}",
    }


def _map(found: StoredMap, pair: Pair, view: Mapping[str, Any] = NOWHERE) -> dict[str, Any]:
    info = found.info
    has = [column.key for column in found.columns]
    plain = next((key for key in COLOURS if key in has), None)
    return points(
        maps.url(found.key),
        f"Map of {len(found.points):,} sentences of {info['dataset']} as {info['encoder']} has "
        "them, linked to the other",
        name=f"map-{found.key[:8]}",
        columns=found.columns,
        regions=found.regions,
        plain=plain,
        whole=_frame(found, pair),
        collection=f"{info['data_hash']} {found.key}",
        neighbours=True,
        search=address.link("search", **{"in": info["dataset"], "encoder": info["encoder"]}),
        linked=GROUP,
        **map_address.opened(view, info["dataset"], has, plain),
    ) | {"view": _same_place(view.get("view", ""), found, pair)}


def _same_place(text: str, found: StoredMap, pair: Pair) -> str:
    """Convert a view from units of the first map's width to those of this map's width."""
    x, y, span = [*text.split(","), "", ""][:3]
    try:
        scaled = float(span) * _width(pair.first) / _width(found)
    except ValueError:
        return ""
    return f"{x},{y},{scaled:.6g}"


def _width(found: StoredMap) -> float:
    return float((found.points.max(axis=0) - found.points.min(axis=0)).max()) or 1.0


def _frame(found: StoredMap, pair: Pair) -> str:
    """A view that contains the points of both maps, so that both open on the same region."""
    import numpy as np

    every = np.vstack([pair.first.points, pair.second.points])
    low, high = every.min(axis=0), every.max(axis=0)
    x, y = (low + high) / 2
    span = 1.08 * (float((high - low).max()) or 1.0) / _width(found)
    return f"{x:.5g},{y:.5g},{min(span, 4.0):.4g}"


def changed(pair: Pair, sentences: Sequence[str]) -> tuple[str, str]:
    """Heading and list of the most changed sentences; empty for a quick pair."""
    report = pair.report
    if not report:
        return "", ""

    def near(found: Sequence[Sequence[float]]) -> list[Neighbour]:
        return [Neighbour(int(i), sentences[int(i)], cosine) for i, cosine in found]

    found = [
        Changed(
            one["id"],
            sentences[one["id"]],
            one["jaccard"],
            one["overlap"],
            near(one["first"]),
            near(one["second"]),
        )
        for one in report["changed"]
    ]
    first, second = report["encoders"]
    lead = (
        "By rank-biased overlap, then by how much less alike the other's neighbours are. Open one "
        "to see both lists."
    )
    title = f"The {len(found)} sentences whose neighbours changed most"
    return parts.heading(title, lead), listed(found, (first, second), GROUP)


def flow(report: dict[str, Any]) -> tuple[str, Any]:
    """Heading and figure of the clusters; empty for a quick pair."""
    if not report:
        return "", None
    clusters, encoders = report["clusters"], report["encoders"]
    title = flows.headline(clusters, encoders)
    head = parts.heading(title, _agreement(report))
    rows = flows.rows(clusters)
    if not rows:
        return head, None
    names = [f"Group with {name}" for name in encoders]
    picture = drawing(
        flows.figure(clusters, encoders),
        f"Flow of clusters from {encoders[0]} on the left to {encoders[1]} on the right. {title}.",
        name="theodolite-clusters",
        columns=[*names, "Sentences", "Matched"],
        rows=[[*row[:3], "yes" if row[3] else "no"] for row in rows],
    )
    return head, picture


def _agreement(report: dict[str, Any]) -> str:
    """The clustering method, and how well the clusters agree with each other and with labels."""
    clusters, encoders = report["clusters"], report["encoders"]
    between = clusters["between"]
    shown, every, share = flows.extent(clusters)
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
