"""How similar data sets are to an encoder: the cosines between the means of some sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Finding, Nothing
from theodolite.app.components.chart import drawing, plain
from theodolite.app.examples import shipped
from theodolite.app.finite import finite
from theodolite.app.jobs.job import Job
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.figures import axis, clear_colour, draw, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.errors import UserError
from theodolite.store.derived import array
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.web.figures import Figure
    from theodolite.engine.encoders import Encoder
    from theodolite.engine.space.dataset_similarity import Collection

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
        from theodolite.engine.encoders import parse

        object.__setattr__(self, "encoder", str(parse(self.encoder)))

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

    def units(self) -> list[str]:
        """A single unit; stored means are not computed again."""
        return [self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Compute the missing means."""
        rows = collections(workspace, self.compared)
        for done, row in enumerate(rows):
            reporter(done, len(rows), f"Encoding {row.name} with {self.encoder}")
            _measure(workspace, self, row)


@dataclass(frozen=True, eq=False, repr=False)
class Similarity(Answer):
    """A matrix of cosines between collections.

    Attributes:
        spec: the comparison.
        collections: those that are compared.
        counts: number of sentences drawn from each.
        cosines: float64 (collections, collections).
        missing: names of collections whose mean is not computed yet.
        shipped: whether some of the means ship with Theodolite.
        errors: name -> why a collection cannot be compared.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "first": str,
        "second": str,
        "cosine": float,
        "sentences": list[int],
    }

    spec: SimilaritySpec
    collections: Sequence[Collection]
    counts: Sequence[int]
    cosines: np.ndarray
    missing: Sequence[str]
    shipped: bool
    errors: Mapping[str, str]

    def rows(self) -> list[dict[str, Any]]:
        """A row per pair, the most similar first."""
        names = [one.name for one in self.collections]
        pairs = [
            {
                "first": names[i],
                "second": names[j],
                "cosine": float(self.cosines[i, j]),
                "sentences": [self.counts[i], self.counts[j]],
            }
            for i in range(len(names))
            for j in range(i + 1, len(names))
        ]
        return sorted(pairs, key=lambda pair: -float(str(pair["cosine"])))

    def table_columns(self) -> list[str]:
        """Without the numbers of sentences."""
        return ["first", "second", "cosine"]

    def notes(self) -> list[str]:
        """What is left out."""
        return [f"{name} is left out: {problem}" for name, problem in self.errors.items()]

    def blocks(self) -> list[Block]:
        """The most and the least similar pair, and a heat map."""
        lacking = formats.plural(len(self.missing), "data set")
        if not self.collections:
            hint = (
                f"{lacking} are to be compared. Up to {self.spec.sentences} sentences of each are "
                "encoded, unless they are encoded already."
            )
            return [Nothing(f"{self.spec.encoder} has not encoded these data sets yet", hint)]
        several = "up to " if len(set(self.counts)) > 1 else ""
        detail = (
            f"Cosines between the means of {several}"
            f"{formats.plural(max(self.counts), 'sentence')} of each, drawn with a fixed seed, as "
            f"{self.spec.encoder} sees them."
        )
        if self.errors:
            detail += f" Left out: {formats.listed(list(self.errors), 3)}, which cannot be read."
        if self.missing:
            detail += f" {lacking} are still to be compared."
        pairs = self.rows()
        if not pairs:
            return [Finding("There is nothing to compare", detail)]
        best, worst = pairs[0], pairs[-1]
        title = f"{best['first']} and {best['second']} are the most similar ({_cosine(best)})"
        if len(pairs) > 1:
            title += f", {worst['first']} and {worst['second']} the least similar"
            title += f" ({_cosine(worst)})"
        return [Finding(title, detail, self.shipped), Chart(_picture(self))]


def answer(workspace: Workspace, spec: SimilaritySpec, do: Do) -> Iterator[Similarity]:
    """Yield the comparison, as far as its means are stored unless they may be computed."""
    quick = spec.is_short(workspace) and not workspace.demo
    if find(workspace, spec).missing and (quick or do(spec)):
        for row in collections(workspace, spec.compared):
            _measure(workspace, spec, row)
    yield find(workspace, spec)


SIMILARITY = Question(
    "similarity",
    SimilaritySpec,
    answer,
    Similarity,
    ("data similarity", "data similarity xnli --encoder minilm --json"),
    group="data",
    queues=True,
)


def offered(workspace: Workspace) -> list[str]:
    """Possible comparisons: all, families in several languages, the starter set's topics."""
    from theodolite.engine.space.dataset_similarity import by_language, families

    members = families(workspace.catalog.list()).items()
    several = [name for name, some in members if len(by_language(some)) >= MIN_LANGUAGES]
    return [ALL, *several, EXAMPLE]


def opening(workspace: Workspace, encoder: str) -> str:
    """The initial comparison: ALL once it was computed, until then the quick example."""
    rows = workspace.store.derived.list(KIND)
    facts = [(row["info"]["encoder"], row["info"]["compared"]) for row in rows]
    return ALL if (encoder, ALL) in facts else EXAMPLE


def collections(workspace: Workspace, compared: str) -> list[Collection]:
    """The collections of a comparison."""
    from theodolite.engine.space import dataset_similarity as engine

    infos = workspace.catalog.list()
    if compared == ALL:
        return engine.everything(infos)
    members = engine.families(infos).get(compared)
    if members is not None:
        return engine.by_language(members)
    return engine.by_label(workspace.catalog.load(compared))


def find(workspace: Workspace, spec: SimilaritySpec) -> Similarity:
    """The stored part of a comparison."""
    import numpy as np

    from theodolite.engine.space.dataset_similarity import similarity

    encoder = _encoder(workspace, spec)
    rows = collections(workspace, spec.compared)
    known = [(row, _stored(workspace, _key(workspace, spec, encoder, row))) for row in rows]
    compared = [(row, mean) for row, mean in known if mean and mean.vector is not None]
    vectors = [mean.vector for _, mean in compared if mean.vector is not None]
    return Similarity(
        spec,
        [row for row, _ in compared],
        [mean.sentences for _, mean in compared],
        similarity(np.stack(vectors)) if vectors else np.empty((0, 0)),
        [row.name for row, mean in known if mean is None],
        any(mean.shipped for _, mean in compared),
        {row.name: mean.problem for row, mean in known if mean and mean.vector is None},
    )


def make_example(workspace: Workspace) -> None:
    """Compute the means of the topics for the shipped encoders, and write them as an example."""
    facts, arrays = {}, {}
    for spec in (SimilaritySpec(EXAMPLE, name) for name in STARTER_ENCODERS):
        encoder = _encoder(workspace, spec)
        for row in collections(workspace, EXAMPLE):
            _measure(workspace, spec, row)
            key = _key(workspace, spec, encoder, row)
            mean = _stored(workspace, key)
            if mean is not None and mean.vector is not None:
                facts[key], arrays[key] = mean.sentences, mean.vector
    shipped.write("similarity", facts, arrays)


@dataclass(frozen=True, eq=False)
class _Mean:
    """The mean of a collection or why it has none, and whether it ships with Theodolite."""

    sentences: int = 0
    vector: np.ndarray | None = None
    problem: str = ""
    shipped: bool = False


def _stored(workspace: Workspace, key: str) -> _Mean | None:
    row = workspace.store.derived.get(key)
    if row is not None:
        vector = array(row, "mean") if row["files"] else None
        return _Mean(row["info"].get("sentences", 0), vector, row["info"].get("problem", ""))
    example = shipped.read("similarity")
    if example is None or key not in example.facts:
        return None
    return _Mean(example.facts[key], example.arrays[key], shipped=True)


def _measure(workspace: Workspace, spec: SimilaritySpec, row: Collection) -> None:
    """Compute and store the mean of a collection, unless it is known."""
    from theodolite.engine.space.dataset_similarity import mean

    encoder, derived = _encoder(workspace, spec), workspace.store.derived
    key = _key(workspace, spec, encoder, row)
    if _stored(workspace, key) is not None:
        return
    facts = {"encoder": spec.encoder, "compared": spec.compared, "collection": row.name}
    try:
        texts = row.sample(workspace.catalog.load(row.dataset), spec.sentences)
        vectors = finite(encoder.encode(texts), texts)
    except UserError as error:
        derived.put(key, KIND, facts | {"problem": error.message})
    else:
        derived.put(key, KIND, facts | {"sentences": len(texts)}, {"mean": mean(vectors)})


def _encoder(workspace: Workspace, spec: SimilaritySpec) -> Encoder:
    encoder = workspace.load(spec.encoder)
    if getattr(encoder, "needs_task", False):
        raise UserError(
            f"{spec.encoder} is a different encoder on every task.",
            "Name the data its steps are fitted on, so that it is the same encoder for every "
            "data set.",
            code="unsupported",
        )
    return encoder


def _key(workspace: Workspace, spec: SimilaritySpec, encoder: Encoder, row: Collection) -> str:
    from theodolite.engine.space.dataset_similarity import SEED

    facts = [spec.sentences, SEED, row.dataset, row.part, workspace.catalog.content(row.dataset)]
    return hash_of(KIND, FORMAT, encoder.fingerprint, to_json(facts))


def _cosine(pair: Mapping[str, Any]) -> str:
    return formats.score(round(pair["cosine"], 2) + 0.0)


def _picture(similar: Similarity) -> dict[str, Any]:
    """The heat map in an order, with every pair as a table."""
    from theodolite.engine.space.dataset_similarity import order

    groups = [one.group for one in similar.collections] if similar.spec.order == "group" else []
    places = order(similar.cosines, groups if len(set(groups)) > 1 else [])
    rows = [similar.collections[i] for i in places]
    label = f"Similarity of {len(rows)} data sets by {similar.spec.encoder}, as a heat map."
    return drawing(
        _figure(rows, similar.cosines[places][:, places]),
        label,
        name="theodolite-similarity",
        columns=["first", "second", "cosine", "sentences", "of the second"],
        rows=[[*list(pair.values())[:3], *pair["sentences"]] for pair in similar.rows()],
    )


def _figure(rows: Sequence[Collection], cosines: np.ndarray) -> Figure:
    n = len(rows)
    low = min(float(cosines.min()), 0.99)
    heat = {
        "type": "heatmap",
        "x": list(range(n)),
        "y": list(range(n)),
        "z": cosines.round(4).tolist(),
        "zmin": low,
        "zmax": 1,
        "xgap": 1 if n < MAX_HEADS else 0,
        "ygap": 1 if n < MAX_HEADS else 0,
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
        "customdata": [[f"{_hover(row)} and {_hover(other)}" for other in rows] for row in rows],
        "hovertemplate": "%{customdata}: %{z:.3f}<extra></extra>",
    }
    traces: list[dict[str, Any]] = [heat]
    if n <= MAX_NUMBERS:
        # plotly draws the heatmap's own text in black or white; this takes the page's text colour.
        cells = [(x, y) for y in range(n) for x in range(n)]
        traces.append(
            scatter(
                x=[x for x, _ in cells],
                y=[y for _, y in cells],
                mode="text",
                hoverinfo="skip",
                text=[
                    formats.score(round(cosines[y, x], 2) + 0.0).replace("0.", ".", 1)
                    for x, y in cells
                ],
                textfont={"size": 11},
                showlegend=False,
            )
        )
    ticks = [plain(formats.shorten(row.name, NAMED)) for row in rows]
    shared: dict[str, Any] = {"showgrid": False, "zeroline": False, "range": [-0.5, n - 0.5]}
    heads = ticks if n <= MAX_HEADS else [""] * n
    angle = -55 if n <= MAX_NUMBERS else -90
    across = axis(
        tickvals=list(range(n)),
        ticktext=heads,
        side="top",
        tickangle=angle,
        tickfont={"size": 11},
        **shared,
    )
    down = axis(
        tickvals=list(range(n)),
        ticktext=ticks,
        **shared | {"range": [n - 0.5, -0.5]},
        tickfont={"size": 12},
    )
    height = 150 + max(n, 6) * (30 if n <= MAX_NUMBERS else 22 if n <= MAX_HEADS else 15)
    frames, names = _frames(rows)
    return draw(traces, across, down, height=height, left=60, shapes=frames, annotations=names)


def _hover(row: Collection) -> str:
    return plain(f"{row.name} ({row.group})" if row.group else row.name)


def _frames(rows: Sequence[Collection]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """A frame around each contiguous group, and its name beside it."""
    sizes = [len(list(of)) for _, of in groupby(rows, key=lambda row: row.group)]
    if len(sizes) < 2 or len(sizes) != len({row.group for row in rows}):
        return [], []
    frames: list[dict[str, Any]] = []
    names: list[dict[str, Any]] = []
    start = 0
    for size in sizes:
        low, high = start - 0.5, start + size - 0.5
        frames.append(
            {
                "type": "rect",
                "x0": low,
                "x1": high,
                "y0": low,
                "y1": high,
                "line": {"color": SERIES[1], "width": 1.5},
            }
        )
        left = start + size / 2 < len(rows) / 2
        names.append(
            {
                "x": high if left else low,
                "y": low,
                "xanchor": "left" if left else "right",
                "yanchor": "top",
                "text": f"<b>{plain(rows[start].group)}</b>",
                "showarrow": False,
                "font": {"size": 11},
            }
        )
        start += size
    return frames, names
