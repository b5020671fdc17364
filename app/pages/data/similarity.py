"""How similar data sets are to an encoder: the cosines between the means of some sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, groupby
from typing import Annotated, Any, ClassVar

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Finding, Nothing
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.figures import Figure, axis, clear_colour, draw, plain, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import Encoder, parse
from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.space import dataset_similarity as engine
from theodolite.engine.space.dataset_similarity import Collection
from theodolite.store.derived import array
from theodolite.store.hashing import hash_of, to_json

TITLE, PATH, BUTTON = "Similarity", "similarity", "Compare"
KIND, FORMAT = "dataset-similarity", "1"
ALL = "all"
"""Every data set, but only one of a family in several languages."""
EXAMPLE = "starter-topics"
"""The default comparison until others are computed: its topics take no time."""
SENTENCES = 100
MIN_LANGUAGES = 3
MAX_NUMBERS, MAX_HEADS = 12, 24
"""Maximum number of rows with a number in each cell, and with a name on each column."""
NAMED = 22
"""Characters of a name on the axes."""


def comparisons(workspace: Workspace) -> dict[str, str]:
    """Possible comparisons, a quick one first until that of all was computed."""
    members = engine.families(workspace.catalog.list()).items()
    several = [name for name, some in members if len(engine.by_language(some)) >= MIN_LANGUAGES]
    rows = workspace.store.derived.list(KIND)
    first = [ALL, EXAMPLE] if ALL in [row["info"]["compared"] for row in rows] else [EXAMPLE, ALL]
    labels = {ALL: "All data sets", EXAMPLE: f"{EXAMPLE}, by topic"}
    return {name: labels.get(name, f"{name}, by language") for name in [*first, *several]}


@dataclass(frozen=True)
class SimilaritySpec(Spec, Job):
    """Compare data sets by the cosine between the mean vectors of their sentences.

    Sentences of each are drawn with a fixed seed, as for figure 2 of MTEB. `all` includes a family
    in several languages once. The name of a family compares its languages, and that of labelled
    sentences their labels. The most similar pairs come first.
    """

    kind = KIND
    interactive = True

    compared: Annotated[
        str,
        Field(
            "Compared",
            "all, a family in several languages (xnli), or labelled data.",
            key="of",
            argument=True,
            offers=comparisons,
        ),
    ] = ALL
    encoder: Annotated[
        str,
        Field(
            "Encoder",
            "The encoder whose vectors are compared.",
            names="encoder",
            flags=("--encoder", "-e"),
        ),
    ] = "wordllama"
    sentences: Annotated[
        int, Field("Sentences per data set", "Drawn with a fixed seed.", ge=10, le=1000)
    ] = SENTENCES
    order: Annotated[
        str,
        Field(
            "Order",
            "Of the rows of the picture.",
            choices={"cluster": "Clustering", "group": "Type, then clustering"},
        ),
    ] = "cluster"

    def check(self) -> None:
        """Write the encoder in its canonical form."""
        vars(self).update(encoder=str(parse(self.encoder)))

    @property
    def title(self) -> str:
        """`Similarity of data sets by minilm`."""
        of = "data sets" if self.compared == ALL else self.compared
        return f"Similarity of {of} by {self.encoder}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse an unknown family or data set."""
        collections(workspace, self.compared)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every mean is stored."""
        return not find(workspace, self).missing

    def is_short(self, workspace: Workspace) -> bool:
        """Whether it takes a second or two, as that of the starter set."""
        return self.compared == EXAMPLE and self.sentences <= SENTENCES

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Compute the missing means."""
        measure(workspace, self, reporter)


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean vector of a collection's sentences, or why it has none.

    Attributes:
        sentences: number of those drawn.
        vector: float64 (dim,).
        problem: why it cannot be computed; else empty.
        shipped: whether it ships with Theodolite.
    """

    sentences: int = 0
    vector: np.ndarray | None = None
    problem: str = ""
    shipped: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Similarity(Answer):
    """A matrix of cosines between collections.

    Attributes:
        spec: the comparison.
        known: each collection, with its mean if it was computed.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "first": str,
        "second": str,
        "cosine": float,
        "sentences": list[int],
    }
    in_terminal: ClassVar = ("first", "second", "cosine")

    spec: SimilaritySpec
    known: Sequence[tuple[Collection, Mean | None]]

    @property
    def compared(self) -> list[tuple[Collection, Mean]]:
        """The collections that have a mean."""
        return [(row, mean) for row, mean in self.known if mean and mean.vector is not None]

    @property
    def missing(self) -> list[str]:
        """Names of the collections whose mean is not computed yet."""
        return [row.name for row, mean in self.known if mean is None]

    @cached_property
    def cosines(self) -> np.ndarray:
        """float64 (compared, compared)."""
        vectors = [mean.vector for _, mean in self.compared if mean.vector is not None]
        return engine.similarity(np.stack(vectors))

    def rows(self) -> list[dict[str, Any]]:
        """A row per pair, the most similar first."""
        pairs = [
            {
                "first": row.name,
                "second": other.name,
                "cosine": float(self.cosines[i, j]),
                "sentences": [mean.sentences, other_mean.sentences],
            }
            for (i, (row, mean)), (j, (other, other_mean)) in combinations(
                enumerate(self.compared), 2
            )
        ]
        return sorted(pairs, key=lambda pair: -pair["cosine"])

    def notes(self) -> list[str]:
        """What is left out."""
        return [
            f"{row.name} is left out: {mean.problem}"
            for row, mean in self.known
            if mean and mean.problem
        ]

    def blocks(self) -> list[Block]:
        """The most and the least similar pair, and a heat map."""
        encoder, pairs = self.spec.encoder, self.rows()
        missing = formats.plural(len(self.missing), "data set")
        if not self.compared:
            hint = (
                f"{missing} are to be compared. Up to {self.spec.sentences} sentences of each are "
                "encoded, unless they are encoded already."
            )
            return [Nothing(f"{encoder} has not encoded these data sets yet", hint)]
        detail = (
            f"Cosines between the means of up to {self.spec.sentences} sentences of each, drawn "
            f"with a fixed seed, as {encoder} sees them. "
        )
        still = [f"{missing} are still to be compared."] if self.missing else []
        detail += " ".join([*still, *self.notes()])
        if not pairs:
            return [Finding("There is nothing to compare", detail)]
        best, worst = (
            f"{pair['first']} and {pair['second']} ({_score(pair['cosine'])})"
            for pair in (pairs[0], pairs[-1])
        )
        title = f"{best} are the most similar, {worst} the least"
        shipped_too = any(mean.shipped for _, mean in self.compared)
        return [Finding(title, detail, shipped_too), self._chart()]

    def _chart(self) -> Chart:
        """The heat map in an order, with every pair as a table."""
        rows = [row for row, _ in self.compared]
        groups = [row.group for row in rows] if self.spec.order == "group" else []
        several = len(set(groups)) > 1
        places = engine.order(self.cosines, groups if several else [])
        rows = [rows[i] for i in places]
        return Chart(
            _figure(rows, self.cosines[places][:, places], framed=several),
            f"Similarity of {len(rows)} data sets by {self.spec.encoder}, as a heat map.",
            name="theodolite-similarity",
            columns=["first", "second", "cosine", "sentences", "of the second"],
            rows=[[*list(pair.values())[:3], *pair["sentences"]] for pair in self.rows()],
        )


def answer(workspace: Workspace, spec: SimilaritySpec, do: Do) -> Iterator[Similarity]:
    """Yield the comparison, as far as its means are stored unless they may be computed."""
    quick = spec.is_short(workspace) and not workspace.demo
    if find(workspace, spec).missing and (quick or do(spec)):
        measure(workspace, spec)
    yield find(workspace, spec)


QUESTION = Question(
    "similarity",
    SimilaritySpec,
    answer,
    Similarity,
    ("data similarity", "data similarity xnli --encoder minilm --json"),
    group="data",
    queues=True,
)


def collections(workspace: Workspace, compared: str) -> list[Collection]:
    """The collections of a comparison."""
    infos = workspace.catalog.list()
    if compared == ALL:
        return engine.all_collections(infos)
    members = engine.families(infos).get(compared)
    if members is not None:
        return engine.by_language(members)
    return engine.by_label(workspace.catalog.load(compared))


def find(workspace: Workspace, spec: SimilaritySpec) -> Similarity:
    """The stored part of a comparison."""
    _, rows = _keys(workspace, spec)
    return Similarity(spec, [(row, _load_mean(workspace, key)) for key, row in rows.items()])


def measure(workspace: Workspace, spec: SimilaritySpec, reporter: Reporter | None = None) -> None:
    """Compute and store the means that are not known."""
    encoder, rows = _keys(workspace, spec)
    for done, (key, row) in enumerate(rows.items()):
        if reporter is not None:
            reporter(done, len(rows), f"Encoding {row.name} with {spec.encoder}")
        if _load_mean(workspace, key) is not None:
            continue
        facts = {"encoder": spec.encoder, "compared": spec.compared, "collection": row.name}
        try:
            texts = row.sample(workspace.catalog.load(row.dataset), spec.sentences)
            arrays = {"mean": engine.mean(finite(encoder.encode(texts), texts))}
            workspace.store.derived.put(key, KIND, facts | {"sentences": len(texts)}, arrays)
        except UserError as error:
            workspace.store.derived.put(key, KIND, facts | {"problem": error.message})


def _load_mean(workspace: Workspace, key: str) -> Mean | None:
    for place in (workspace, workspace.shipped):
        if row := place.store.derived.get(key):
            vector, info = array(row, "mean") if row["files"] else None, row["info"]
            return Mean(info.get("sentences", 0), vector, info.get("problem", ""), place.ships)
    return None


def _keys(workspace: Workspace, spec: SimilaritySpec) -> tuple[Encoder, dict[str, Collection]]:
    """The encoder, and the collections by the keys of their means in the store."""
    encoder, rows = workspace.load(spec.encoder), {}
    if getattr(encoder, "needs_task", False):
        raise UserError(
            f"{spec.encoder} is a different encoder on every task.",
            "Name the data its steps are fitted on, so that it is the same encoder for every "
            "data set.",
            code="unsupported",
        )
    for row in collections(workspace, spec.compared):
        content = workspace.catalog.content(row.dataset)
        facts = to_json([spec.sentences, engine.SEED, row.dataset, row.part, content])
        rows[hash_of(KIND, FORMAT, encoder.fingerprint, facts)] = row
    return encoder, rows


def _score(cosine: float) -> str:
    return formats.score(round(cosine, 2) + 0.0)


def _figure(rows: Sequence[Collection], cosines: np.ndarray, *, framed: bool) -> Figure:
    n, places = len(rows), list(range(len(rows)))
    names = [plain(f"{row.name} ({row.group})" if row.group else row.name) for row in rows]
    traces: list[dict[str, Any]] = [
        {
            "type": "heatmap",
            "x": places,
            "y": places,
            "z": cosines.round(4).tolist(),
            "zmin": min(float(cosines.min()), 0.99),
            "zmax": 1,
            "xgap": int(n < MAX_HEADS),
            "ygap": int(n < MAX_HEADS),
            "colorscale": [[0, clear_colour(SERIES[0], 0.04)], [1, clear_colour(SERIES[0], 0.95)]],
            "colorbar": {
                "orientation": "h",
                "thickness": 8,
                "outlinewidth": 0,
                "len": 0.6,
                "tickformat": ".2f",
                "y": 0,
                "yanchor": "top",
                "ypad": 14,
            },
            "customdata": [
                [f"{name} and {names[i]}: {formats.cosine(at)}" for i, at in enumerate(row)]
                for name, row in zip(names, cosines, strict=True)
            ],
            "hovertemplate": "%{customdata}<extra></extra>",
        }
    ]
    if n <= MAX_NUMBERS:
        # plotly draws the heatmap's own text in black or white; this takes the page's text colour.
        cells = [(x, y) for y in places for x in places]
        numbers = scatter(
            x=[x for x, _ in cells],
            y=[y for _, y in cells],
            mode="text",
            hoverinfo="skip",
            text=[_score(cosines[y, x]).replace("0.", ".", 1) for x, y in cells],
            textfont={"size": 11},
            showlegend=False,
        )
        traces.append(numbers)
    ticks = [plain(formats.shorten(row.name, NAMED)) for row in rows]
    shared: dict[str, Any] = {"showgrid": False, "zeroline": False, "tickvals": places}
    across = axis(
        ticktext=ticks if n <= MAX_HEADS else [""] * n,
        side="top",
        tickangle=-55 if n <= MAX_NUMBERS else -90,
        tickfont={"size": 11},
        range=[-0.5, n - 0.5],
        **shared,
    )
    down = axis(ticktext=ticks, range=[n - 0.5, -0.5], tickfont={"size": 12}, **shared)
    height = 150 + max(n, 6) * (30 if n <= MAX_NUMBERS else 22 if n <= MAX_HEADS else 15)
    frames, labels = _frames(rows) if framed else ([], [])
    return draw(traces, across, down, height=height, left=60, shapes=frames, annotations=labels)


def _frames(rows: Sequence[Collection]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A frame around the rows of each group, and its name beside it."""
    frames, names, low = [], [], -0.5
    for group, members in groupby(rows, key=lambda row: row.group):
        high = low + len(list(members))
        line = {"color": SERIES[1], "width": 1.5}
        frames.append({"type": "rect", "x0": low, "x1": high, "y0": low, "y1": high, "line": line})
        beside = high + low < len(rows)
        names.append(
            {
                "x": high if beside else low,
                "y": low,
                "xanchor": "left" if beside else "right",
                "yanchor": "top",
                "text": f"<b>{plain(group)}</b>",
                "showarrow": False,
                "font": {"size": 11},
            }
        )
        low = high
    return frames, names
