"""Checks of a collection: duplicates, outliers, leaks, and its typical sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from theodolite.app import formats, vectors
from theodolite.app.blocks import Block, Cell, Finding, Link, Nothing, Table
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.geometry.service import ALL, take
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec, parameters
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import parse
from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.search import curation
from theodolite.engine.search.ann_index import index_of
from theodolite.store.derived import array
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import pandas as pd

KIND, FORMAT = "curate", 1
"""The format is increased whenever the result of the same check would change."""
NAMES = {
    "exact": "Exact duplicates",
    "near": "Near duplicates",
    "outliers": "Outliers",
    "typical": "Typical",
    "leaks": "Leaks",
}
VALUES: Mapping[str, tuple[str, ...]] = {
    "exact": (),
    "near": ("encoder", "threshold"),
    "outliers": ("encoder", "neighbours", "many"),
    "typical": ("encoder", "many"),
    "leaks": ("encoder", "threshold", "against", "against_split"),
}
"""Check -> the values that it depends on, besides the collection and its split."""
HEADS = {
    "id": "Id",
    "sentence": "Sentence",
    "group": "Group",
    "occurs": "Occurs",
    "most": "End",
    "cosine": "Cosine",
    "exact": "Identical",
    "twin": "Also found as",
}
MAX_ROWS, MAX_SHOWN = 10_000, 200
"""Rows of an answer, the rest of which is left out with a note, and of its table on a page."""
MAX_IDS = 500
"""Sentences in the address of a map: longer addresses are refused."""
MAX_QUERY = 2000
"""Characters of a query in an address."""
AT_ONCE = 3000
"""Sentences that are checked while the page waits, within a second or two."""
Arrays = dict[str, Any]


@dataclass(frozen=True)
class CurateSpec(Spec, Job):
    """Find duplicates, outliers, leaks, or the most and least typical sentences.

    Exact duplicates have the same words, ignoring case, spaces and final punctuation; near ones
    are groups in which each sentence is close to another, by cosine. The nearest neighbours of an
    outlier are far away. Typical are the sentences nearest to the mean direction of all, and
    those farthest from it. Leaks are sentences of one part that also occur in another.
    """

    kind = KIND
    interactive = True

    find: Annotated[str, Field("Look for", choices=NAMES, key="job")]
    dataset: Annotated[
        str,
        Field(
            "Collection",
            "The collection to check; see `theodolite data`.",
            names="dataset",
            key="in",
            argument=True,
        ),
    ] = "starter-topics"
    encoder: Annotated[
        str,
        Field(
            "Encoder", "A spec string.", names="encoder", key="encoder", flags=("--encoder", "-e")
        ),
    ] = "minilm"
    split: Annotated[str, Field("Split", "A split, or all of them.")] = ALL
    threshold: Annotated[
        float, Field("Minimum cosine", "Of near duplicates and leaks.", ge=-1, le=1)
    ] = 0.9
    neighbours: Annotated[
        int, Field("n_neighbors", "Neighbours per sentence, to find outliers.", ge=1, le=100)
    ] = 10
    many: Annotated[
        int,
        Field(
            "Top k",
            "Number of outliers, or of sentences at each end of typical.",
            flags=("-n",),
            ge=1,
            le=MAX_ROWS // 2,
        ),
    ] = 100
    against: Annotated[
        str,
        Field(
            "Already seen: collection", "Leaks: the training data; default: the same.", "dataset"
        ),
    ] = ""
    against_split: Annotated[str, Field("Already seen: split", "Leaks: its split.")] = ALL

    def check(self) -> None:
        """Reset the values that the check does not depend on: equal questions are equal."""
        used = {*VALUES[self.find], "split"}
        rest = [one for one in parameters(type(self))[3:] if one.name not in used]
        vars(self).update({one.name: one.default for one in rest})
        by_vectors = "encoder" in VALUES[self.find]
        if by_vectors and not self.encoder:
            raise UserError(
                "No encoder chosen.", "Only exact duplicates need none.", code="missing"
            )
        vars(self).update(encoder=str(parse(self.encoder)) if by_vectors else "")
        if self.find != "leaks":
            return
        vars(self).update(against=self.against or self.dataset)
        if (self.dataset, self.split) == (self.against, self.against_split):
            raise UserError(
                "A check for leaks needs two different parts.",
                "Choose another split, or another collection, to compare with.",
                code="conflict",
            )

    @property
    def title(self) -> str:
        """`Near duplicates in starter-pairs`."""
        return f"{NAMES[self.find]} in {self.dataset}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for an unknown data set or split."""
        _part(workspace, self.dataset, self.split)
        if self.against:
            _part(workspace, self.against, self.against_split)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the answer is stored or ships."""
        return stored(workspace, self) is not None

    def is_short(self, workspace: Workspace) -> bool:
        """Whether the check takes no more than a second or two."""
        places = {self.dataset, self.against or self.dataset}
        return all(
            len(workspace.catalog.load(place).sentences) <= AT_ONCE
            and not (
                self.encoder and vectors.missing(workspace, self.encoder, place) > vectors.SMALL
            )
            for place in places
        )

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Make the check."""
        measure(workspace, self, reporter)


@dataclass(frozen=True, eq=False, repr=False)
class Curated(Answer):
    """The sentences that a check found.

    Attributes:
        spec: the check.
        info: `n` sentences checked, `found` in all, `kept` of them, and counts of the check; empty
            if it was not made yet.
        table: id of the sentence, the sentence, and its attributes.
        shipped: whether it ships with Theodolite.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "id": int,
        "sentence": str,
        "group": int | None,
        "occurs": int | None,
        "most": str | None,
        "cosine": float | None,
        "exact": bool | None,
        "twin": str | None,
    }

    spec: CurateSpec
    info: Mapping[str, Any]
    table: pd.DataFrame | None = None
    shipped: bool = False

    def to_pandas(self) -> pd.DataFrame:
        """A row per sentence."""
        import pandas as pd

        return pd.DataFrame() if self.table is None else self.table

    def rows(self) -> list[dict[str, Any]]:
        """A row per sentence, as in `to_pandas`."""
        return self.to_pandas().to_dict("records")

    def blocks(self) -> list[Block]:
        """A summary, and the sentences with links to the map and to searches."""
        table, spec = self.table, self.spec
        if table is None:
            hint = "A check of a large collection runs in the background, and is stored."
            return [Nothing(f"{NAMES[spec.find]}: not checked yet", hint)]
        place = {"in": spec.dataset, "encoder": spec.encoder or None}
        names = [name for name in HEADS if name in table and name != "id"]
        queries = [formats.encodable(row["sentence"])[:MAX_QUERY] for row in self.rows()]
        rows = [
            [
                *(
                    Cell(row[name], formats.cosine(row[name])) if name == "cosine" else row[name]
                    for name in names
                ),
                Link("search", "search", {"q": query, **place}),
            ]
            for row, query in zip(self.rows(), queries, strict=True)
        ]
        ids = list(dict.fromkeys(table["id"].tolist()))
        label = "Open" if len(ids) <= MAX_IDS else f"Open the first {MAX_IDS}"
        on_map = {**place, "ids": ",".join(map(str, ids[:MAX_IDS]))}
        total, listed = self.info["found"], self.info["kept"]
        return [
            Finding(self._sentence(), shipped=self.shipped),
            Table(
                f"theodolite-{spec.find}",
                [*(HEADS[name] for name in names), "More"],
                rows,
                MAX_SHOWN,
                f"Of {total:,} the first {listed:,} were kept." if total > listed else "",
                [Link(f"{label} on the map", "map", on_map)],
            ),
        ]

    def _sentence(self) -> str:
        info, spec = self.info, self.spec
        n = formats.plural(info["n"], "sentence")
        if spec.find in ("exact", "near"):
            if not info["groups"]:
                return f"None of {n} is a duplicate of another."
            groups = formats.plural(info["groups"], "group")
            return (
                f"{groups} of duplicates among {n}: without them there would be "
                f"{info['spare']:,} fewer ({formats.percent(info['spare'] / info['n'], 1)})."
            )
        if spec.find == "leaks":
            part = f"{spec.dataset} {spec.split}".removesuffix(f" {ALL}")
            where = f"{spec.against} {spec.against_split}".removesuffix(f" {ALL}")
            if not info["found"]:
                return f"None of {n} of {part} also occurs in {where}."
            share = formats.percent(info["found"] / info["n"], 1)
            return (
                f"{info['found']:,} of {n} of {part} ({share}) also occur in {where}, "
                f"{info['exact']:,} of them word for word and the others nearly."
            )
        if spec.find == "outliers":
            return (
                f"The {info['kept']} of {n} that are farthest from their {spec.neighbours} "
                f"nearest; the median cosine to them is {info['middle']:.3f}."
            )
        return (
            f"The {info['kept'] // 2} of {n} nearest to the mean direction and as many farthest "
            f"from it; the median cosine to it is {info['middle']:.3f}."
        )


def answer(workspace: Workspace, spec: CurateSpec, do: Do) -> Iterator[Curated]:
    """Yield what the check found, if it was made or may be."""
    known = stored(workspace, spec)
    if known is None and do(spec):
        known = measure(workspace, spec)
    yield known or Curated(spec, {})


CURATE = Question(
    "curate",
    CurateSpec,
    answer,
    Curated,
    (
        "curate near starter-pairs -e minilm --threshold 0.95 --out twins.csv",
        "curate leaks STSBenchmark --split test --against-split train -e wordllama --json",
    ),
    queues=True,
)


def stored(workspace: Workspace, spec: CurateSpec) -> Curated | None:
    """The stored or shipped answer; None for neither."""
    key = _key(workspace, spec)
    for place in (workspace, workspace.shipped):
        if row := place.store.derived.get(key):
            columns = {name: np.asarray(array(row, name)) for name in row["files"]}
            return Curated(spec, row["info"], _table(workspace, spec, columns), place.ships)
    return None


def measure(workspace: Workspace, spec: CurateSpec, progress: Progress | None = None) -> Curated:
    """The stored answer, or the one computed and stored now."""
    before = stored(workspace, spec)
    if before is not None:
        return before
    by = _exact if spec.find == "exact" else _by_vectors
    info, arrays = by(workspace, spec, progress)
    total = len(arrays["ids"])
    arrays = {name: values[:MAX_ROWS] for name, values in arrays.items()}
    info = {"found": total, "kept": len(arrays["ids"]), **info}
    workspace.store.derived.put(_key(workspace, spec), KIND, info, arrays)
    return Curated(spec, info, _table(workspace, spec, arrays))


def _key(workspace: Workspace, spec: CurateSpec) -> str:
    facts: dict[str, Any] = {
        parameter.name: getattr(spec, parameter.name) for parameter in parameters(CurateSpec)
    }
    facts |= {"job": facts.pop("find"), "format": FORMAT}
    for name in ("dataset", "against"):
        if facts[name]:
            # The hash of the data set, not of its sentences, covers labels and splits.
            facts[name] = workspace.catalog.load(facts[name]).hash
    if spec.encoder:
        facts["encoder"] = workspace.bound(spec.encoder, spec.dataset).fingerprint
    return hash_of(KIND, to_json(facts))


def _table(workspace: Workspace, spec: CurateSpec, arrays: Arrays) -> pd.DataFrame:
    import pandas as pd

    sentences, _ = workspace.catalog.sentences(spec.dataset)
    columns: Arrays = dict(arrays)
    ids = columns.pop("ids")
    columns |= {"id": ids, "sentence": [sentences[i] for i in ids]}
    if "twins" in columns:
        others, _ = workspace.catalog.sentences(spec.against)
        columns["twin"] = [others[i] for i in columns.pop("twins")]
    if "most" in columns:
        columns["most"] = ["most" if value else "least" for value in columns["most"]]
    if "exact" in columns:
        columns["exact"] = columns["exact"].astype(bool)
    return pd.DataFrame({name: columns[name] for name in HEADS if name in columns})


def _part(workspace: Workspace, dataset: str, split: str) -> tuple[list[str], np.ndarray]:
    """Distinct sentences of a split, and their positions in the collection's distinct ones."""
    whole, _ = workspace.catalog.sentences(dataset)
    if split == ALL:
        if len(whole) < 2:
            raise UserError(
                f"{dataset} has {formats.plural(len(whole), 'distinct sentence')}.",
                "There is nothing to compare.",
                code="too-few",
            )
        return whole, np.arange(len(whole))
    some = take(workspace.catalog.load(dataset), split, most=None).sentences
    place = {sentence: i for i, sentence in enumerate(whole)}
    return some, np.array([place[sentence] for sentence in some], np.int64)


def _encode(
    workspace: Workspace, spec: CurateSpec, dataset: str, split: str, progress: Progress | None
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Sentences of a split, their positions in the collection, and their vectors."""
    some, positions = _part(workspace, dataset, split)
    encoder = workspace.bound(spec.encoder, spec.dataset)
    return some, positions, finite(encoder.encode(some, progress), some)


def _exact(
    workspace: Workspace, spec: CurateSpec, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    """Exact duplicates: a sentence that recurs verbatim is one row with a count of occurrences."""
    data = take(workspace.catalog.load(spec.dataset), spec.split, most=None)
    whole, _ = workspace.catalog.sentences(spec.dataset)
    place = {sentence: i for i, sentence in enumerate(whole)}
    often = np.bincount(data.rows, minlength=len(data.sentences))
    # Sentences that recur are passed twice, so that each forms a group by itself.
    again = np.flatnonzero(often > 1)
    doubled = curation.exact_duplicates([*data.sentences, *(data.sentences[i] for i in again)])
    rows = np.concatenate([np.arange(len(data.sentences)), again])[doubled.ids]
    _, first = np.unique(rows, return_index=True)
    keep = np.sort(first)
    rows, group = rows[keep], doubled.group[keep]
    spare = int(often[rows].sum()) - doubled.count
    info = {"n": len(data.rows), "groups": doubled.count, "spare": spare}
    ids = np.array([place[data.sentences[i]] for i in rows], np.int64)
    return info, {"ids": ids, "group": group + 1, "occurs": often[rows]}


def _by_vectors(
    workspace: Workspace, spec: CurateSpec, progress: Progress | None
) -> tuple[Arrays, Arrays]:
    """Facts of a check that compares vectors, and the rows that it found."""
    part = spec.dataset, spec.split
    sentences, positions, vectors = _encode(workspace, spec, *part, progress)
    n = len(vectors)
    info: Arrays = {"n": n}
    if spec.find == "near":
        groups = curation.near_duplicates(vectors, spec.threshold, index_of(vectors), progress)
        info |= {"groups": groups.count, "spare": len(groups.ids) - groups.count}
        arrays = {"ids": groups.ids, "group": groups.group + 1, "cosine": groups.closest}
    elif spec.find == "leaks":
        part = spec.against, spec.against_split
        known, places, seen_vectors = _encode(workspace, spec, *part, progress)
        leaks = curation.leaks(
            known, seen_vectors, sentences, vectors, spec.threshold, progress, use_index=index_of
        )
        info |= {"seen": len(known), "exact": int(leaks.exact.sum())}
        twins, exact = places[leaks.twins], leaks.exact.astype("int8")
        arrays = {"ids": leaks.ids, "twins": twins, "cosine": leaks.cosines, "exact": exact}
    elif spec.find == "outliers":
        ranked = curation.outliers(vectors, spec.neighbours, index_of(vectors), progress)
        info["middle"] = float(ranked.scores[n // 2])
        arrays = {"ids": ranked.ids[: spec.many], "cosine": ranked.scores[: spec.many]}
    else:
        ranked, many = curation.typical(vectors), min(spec.many, n // 2)
        ends = np.concatenate([np.arange(many), np.arange(n - 1, n - 1 - many, -1)])
        info["middle"] = float(ranked.scores[n // 2])
        arrays = {"ids": ranked.ids[ends], "most": np.repeat([1, 0], many)}
        arrays["cosine"] = ranked.scores[ends]
    return info, arrays | {"ids": positions[arrays["ids"]]}
