"""Whether a newer encoder is worth it: keep the old index, bridge to it, or encode all again?"""

import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Caveat, Caveats, Cell, Code, Finding, Nothing, Table, Text
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.encoders import parse, query_side
from theodolite.engine.encoders.finite import check_vectors
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.base import best
from theodolite.engine.space.bridge import Bridge, fit
from theodolite.engine.stats.significance import Difference, difference
from theodolite.store.derived import arrays
from theodolite.store.hashing import hash_of, to_json

TITLE, PATH, BUTTON = "Upgrade", "upgrade", "Measure"
KIND, FORMAT = "upgrade", 1
K = 10
MIN_QUERIES, MAX_QUERIES, MAX_FITTED, TIMED = 20, 1_000, 20_000, 64
NAMES = {"procrustes": "Procrustes", "ridge": "ridge", "low-rank": "low rank"}
USE = (
    "import numpy as np",
    "",
    'bridge = np.load("bridge.npz")',
    "",
    "def to_old_space(vectors):",
    '    """Vectors of queries by the new encoder, float32 (n, dim), for the old index."""',
    "    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)",
    '    mapped = vectors / np.maximum(lengths, 1e-12) @ bridge["matrix"] + bridge["shift"]',
    "    return mapped / np.linalg.norm(mapped, axis=1, keepdims=True)",
)


@dataclass(frozen=True)
class UpgradeSpec(Spec, Job):
    """Say whether to keep an old encoder's index, to bridge to it, or to encode everything again.

    Maps from the new space into the old one are fitted on one half of the documents. Queries that
    are not in it then search all documents three ways, by what is judged relevant. Without
    judgements, the new encoder's own neighbours count as relevant.

    The map is written with --out FILE.npz, for queries of the new encoder in the old index.
    """

    kind = KIND
    interactive = True

    old: Annotated[str, Field("Old encoder", "That of the existing index.", names="encoder")]
    new: Annotated[str, Field("New encoder", "The one that may replace it.", names="encoder")]
    data: Annotated[
        str,
        Field(
            "Texts",
            "Queries with judgements, pairs, labelled sentences, or any texts like yours.",
            names="dataset",
            key="in",
            flags=("--in",),
        ),
    ] = "starter-topics"
    texts: Annotated[
        int | None,
        Field("Texts in the index", "To estimate time and size; default: those here.", ge=1),
    ] = None
    least: Annotated[
        float, Field("Smallest difference", "Points of recall that count.", ge=0.0, le=100.0)
    ] = 1.0

    def check(self) -> None:
        """There are two different encoders, in their canonical form."""
        vars(self).update(old=str(parse(self.old)), new=str(parse(self.new)))
        if self.old == self.new:
            raise UserError(
                f"Both encoders are {self.old}.", "Choose two different ones.", code="conflict"
            )

    @property
    def title(self) -> str:
        """`Upgrade from minilm to wordllama on starter-topics`."""
        return f"Upgrade from {self.old} to {self.new} on {self.data}"

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the answer is stored."""
        return workspace.store.derived.get(key(workspace, self)) is not None

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Measure, and store the answer."""
        measure(workspace, self)


class Search(NamedTuple):
    """What is searched for what.

    Attributes:
        queries, documents: texts.
        relevant: positions of the documents for each query; None if nobody judged.
    """

    queries: list[str]
    documents: list[str]
    relevant: list[set[int]] | None


@dataclass(frozen=True, eq=False, repr=False)
class Upgrade(Answer):
    """The verdict.

    Attributes:
        spec: what was asked.
        info: the measurements, see `measure`; empty if they were not made yet.
        bridge: `matrix` and `shift` of the best map.
        shipped: whether it ships with Theodolite, without the map.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "option": str,
        "recall": float,
        "change": float,
        "low": float,
        "high": float,
        "verdict": bool,
    }

    spec: UpgradeSpec
    info: Mapping[str, Any]
    bridge: Mapping[str, np.ndarray] = field(default_factory=dict)
    shipped: bool = False

    @property
    def title(self) -> str:
        """`Upgrade from minilm to wordllama on starter-topics`."""
        return self.spec.title

    def rows(self) -> list[dict[str, Any]]:
        """A row per option; `change` is against keeping, in points."""
        return list(self.info.get("rows", ()))

    def facts(self) -> Mapping[str, Any]:
        """All of it, with the finding."""
        return {"finding": self.finding, **self.info} if self.info else {}

    @property
    def finding(self) -> str:
        """The verdict in a sentence."""
        info, old, new = self.info, self.spec.old, self.spec.new
        keep, again = self.rows()[0], self.rows()[-1]
        gain = f"{formats.signed(again['change'])} points of recall"
        if info["verdict"] == "keep":
            return f"Keep {old}: {new} is not shown to find more ({gain} if all is encoded again)."
        if info["verdict"] == "bridge":
            return f"Bridge: mapped queries of {new} find as much in the index of {old} ({gain})."
        return (
            f"Encode again with {new}: {gain} over the {formats.score(keep['recall'])} of {old}, "
            "which no bridge reaches."
        )

    @property
    def price(self) -> str:
        """What encoding again costs, in a sentence."""
        info = self.info
        return (
            f"Encoding {info['texts']:,} texts again takes about "
            f"{formats.duration(info['seconds'])} on "
            f"{'the machine it was measured on' if self.shipped else 'this machine'}; their "
            f"vectors take {formats.size(info['bytes'])}."
        )

    def notes(self) -> list[str]:
        """The verdict and the price."""
        return [*super().notes(), *([self.price] if self.info else [])]

    def npz(self, file: Path) -> None:
        """Write the map."""
        arrays: dict[str, Any] = {"old": self.spec.old, "new": self.spec.new, **self.bridge}
        np.savez(file, **arrays)

    formats: ClassVar[Any] = {".npz": npz}

    def blocks(self) -> list[Block]:
        """The verdict, the options, the price, and how to use the map."""
        info, spec = self.info, self.spec
        if not info:
            return [
                Nothing("Not measured yet", "It takes minutes in the background, and is stored.")
            ]
        detail = (
            f"Recall at {K} of {info['queries']:,} queries among {info['documents']:,} documents "
            f"of {spec.data}; maps fitted on {info['fitted']:,} of them."
        )
        heads = ("Option", f"Recall at {K}", "Change", "95 % interval", "Verdict")
        cells = []
        for row in self.rows():
            interval = f"{formats.signed(row['low'])} to {formats.signed(row['high'])}"
            change = Cell(row["change"], formats.signed(row["change"]))
            if row["option"] == "keep":  # the others' changes are against it
                change, interval = Cell(None, formats.MISSING), formats.MISSING
            verdict = Cell("this one", tag="this one", kind="good") if row["verdict"] else ""
            recall = Cell(row["recall"], formats.score(row["recall"]))
            cells.append((row["option"], recall, change, interval, verdict))
        unjudged = (
            f"These texts have no judgements, so those that {spec.new} itself finds nearest count "
            "as relevant. This shows what a bridge loses, not whether the new encoder is better."
        )
        command = ["theodolite", "upgrade", spec.old, spec.new, "--in", spec.data]
        use: list[Block] = [
            Text("Use the map", "For new queries in the old index, until all is encoded again."),
            Code([shlex.join([*command, "--out", "bridge.npz"])]),
            Code(["\n".join(USE)], shell=False),
        ]
        return [
            Finding(self.finding, detail, self.shipped),
            Table("theodolite-upgrade", heads, cells),
            Text("What it costs", self.price),
            Caveats([] if info["judged"] else [Caveat(unjudged)]),
            *([] if info["verdict"] == "keep" else use),
        ]


def answer(workspace: Workspace, spec: UpgradeSpec, do: Do) -> Iterator[Upgrade]:
    """Yield what is stored or ships, or is measured now."""
    if not spec.is_stored(workspace) and do(spec):
        measure(workspace, spec)
    cache_key = key(workspace, spec)
    own = workspace.store.derived.get(cache_key)
    row = own or workspace.shipped.store.derived.get(cache_key)
    yield Upgrade(spec, row["info"], arrays(row), own is None) if row else Upgrade(spec, {})


UPGRADE = QUESTION = Question(
    "upgrade",
    UpgradeSpec,
    answer,
    Upgrade,
    (
        "upgrade wordllama minilm",
        "upgrade wordllama minilm --in cranfield --texts 1000000 --out bridge.npz",
    ),
    queues=True,
)


def key(workspace: Workspace, spec: UpgradeSpec) -> str:
    """Of the stored answer."""
    prints = [workspace.bound(name, spec.data).fingerprint for name in (spec.old, spec.new)]
    facts = vars(spec) | {"format": FORMAT, "data": workspace.catalog.load(spec.data).hash}
    return hash_of(to_json(facts), *prints)


def measure(workspace: Workspace, spec: UpgradeSpec) -> None:
    """Measure the options, and store the answer.

    Its `info` has `verdict`, `judged`, the numbers of `queries`, `documents` and `fitted` ones, the
    `rows`, and `texts`, `seconds` and `bytes` of encoding again.
    """
    from theodolite.engine.space import bridge

    task = search_of(workspace.catalog.load(spec.data))
    if len(task.queries) < MIN_QUERIES or len(task.documents) < 2 * MIN_QUERIES:
        raise UserError(
            f"{spec.data} has {formats.plural(len(task.queries), 'query', 'queries')} and "
            f"{formats.plural(len(task.documents), 'document')}.",
            f"It takes {MIN_QUERIES} queries and {2 * MIN_QUERIES} documents at least.",
            code="too-few",
        )
    options, fitted = qualities(
        task, *(encodes(workspace, name, spec.data) for name in (spec.old, spec.new))
    )
    keep, again = options.pop("keep"), options.pop("re-encode")
    best = next(iter(options))
    verdict = bridge.verdict(keep, options[best], again, spec.least)
    rows = [("keep", keep), *((f"bridge, {NAMES[k]}", v) for k, v in options.items())]
    names = {"keep": "keep", "bridge": f"bridge, {NAMES[best]}", "re-encode": "re-encode"}
    sample = task.documents[:TIMED]
    seconds = _seconds(workspace, spec.new, sample) / len(sample)
    texts, dim = spec.texts or len(task.documents), fitted[0].matrix.shape[0]
    info = {
        "verdict": verdict,
        "judged": task.relevant is not None,
        "queries": len(keep),
        "documents": len(task.documents),
        "fitted": min(len(task.documents) // 2, MAX_FITTED),
        "rows": [_row(name, v, keep, names[verdict]) for name, v in [*rows, ("re-encode", again)]],
        "texts": texts,
        "seconds": seconds * texts,
        "bytes": 4 * dim * texts,
    }
    arrays = {"matrix": fitted[0].matrix, "shift": fitted[0].shift}
    workspace.store.derived.put(key(workspace, spec), KIND, info, arrays)


def encodes(workspace: Workspace, encoder: str, data: str) -> Callable[..., np.ndarray]:
    """What encodes texts, as queries if so asked."""
    bound = workspace.bound(encoder, data)

    def encode(texts: list[str], queries: bool = False) -> np.ndarray:
        return check_vectors((query_side(bound) if queries else bound).encode(texts), texts)

    return encode


def qualities(
    task: Search, old: Callable[..., np.ndarray], new: Callable[..., np.ndarray]
) -> tuple[dict[str, np.ndarray], list[Bridge]]:
    """What share of its relevant documents each query finds, by option; the maps, best first."""
    documents = {"old": old(task.documents), "new": new(task.documents)}
    rng = np.random.default_rng(0)
    some = rng.permutation(len(task.documents))[: min(len(task.documents) // 2, MAX_FITTED)]
    bridges = fit(documents["new"][some], documents["old"][some])
    taken = {task.documents[i] for i in some.tolist()}
    free = [i for i, text in enumerate(task.queries) if text not in taken]
    picked = np.sort(rng.permutation(free)[:MAX_QUERIES]).tolist()
    texts = [task.queries[i] for i in picked]
    queries = {"old": old(texts, queries=True), "new": new(texts, queries=True)}
    place = {text: i for i, text in enumerate(task.documents)}
    own = np.array([place.get(text, -1) for text in texts])
    lists = {
        "keep": _nearest(queries["old"], documents["old"], own),
        **{
            bridge.name: _nearest(bridge(queries["new"]), documents["old"], own)
            for bridge in bridges
        },
        "re-encode": _nearest(queries["new"], documents["new"], own),
    }
    relevant = task.relevant and [task.relevant[i] for i in picked]
    if relevant is None:
        relevant = [set(row) for row in lists["re-encode"]]
    shares = {
        name: np.array(
            [
                len(answers.intersection(row)) / min(K, len(answers))
                for row, answers in zip(rows, relevant, strict=True)
            ]
        )
        for name, rows in lists.items()
    }
    return shares, bridges


def _nearest(queries: np.ndarray, documents: np.ndarray, own: np.ndarray) -> list[list[int]]:
    """The K nearest documents of each query, without the one that has its text."""
    from theodolite.engine.search.ranked import most_similar

    ranked = (best(*hits, K + 1)[0].tolist() for hits in most_similar(queries, documents, K + 1))
    return [
        [i for i in row if i != same][:K] for row, same in zip(ranked, own.tolist(), strict=True)
    ]


def search_of(data: Dataset) -> Search:
    """The search that a data set describes."""
    from theodolite.engine.tasks.pair_classification import labelled_texts

    if isinstance(data, Retrieval):
        place = {name: i for i, name in enumerate(data.documents)}
        judged = {
            query: {place[d] for d, grade in grades.items() if grade > 0 and d in place}
            for of_split in data.judgements.values()
            for query, grades in of_split.items()
        }
        queries = [query for query, some in judged.items() if some]
        texts = [data.queries[query] for query in queries]
        return Search(texts, [*data.documents.values()], [judged[query] for query in queries])
    documents = list(dict.fromkeys(data.sentences))
    place = {text: i for i, text in enumerate(documents)}
    if isinstance(data, LabelledPairs | ScoredPairs):
        partners: dict[str, set[int]] = {}
        for left, right, same in zip(*labelled_texts(data), strict=True):
            if same and left != right:
                partners.setdefault(left, set()).add(place[right])
        return Search([*partners], documents, [*partners.values()])
    if not isinstance(data, LabelledSentences):
        return Search(documents, documents, None)
    labels = dict(zip(data.sentences, data.labels, strict=True))
    groups: dict[str, set[int]] = {}
    for text, label in labels.items():
        groups.setdefault(label, set()).add(place[text])
    queries = [text for text in documents if len(groups[labels[text]]) > 1]
    return Search(queries, documents, [groups[labels[text]] - {place[text]} for text in queries])


def _row(name: str, values: np.ndarray, keep: np.ndarray, choice: str) -> dict[str, Any]:
    change = _change(values, keep)
    return {
        "option": name,
        "recall": 100.0 * float(values.mean()),
        "change": change.delta,
        "low": change.low,
        "high": change.high,
        "verdict": name == choice,
    }


def _change(values: np.ndarray, keep: np.ndarray) -> Difference:
    from theodolite.engine.stats.bootstrap import Sample, resample_all

    one, base = resample_all([Sample(values), Sample(keep)])
    return difference([one], [base])


def _seconds(workspace: Workspace, encoder: str, texts: Sequence[str]) -> float:
    """How long it takes to encode some texts, after the model was loaded."""
    fresh = workspace.fresh(encoder)
    if getattr(fresh, "needs_task", False):
        fresh = workspace.bound(encoder, "starter-topics")
    fresh.encode(list(texts[:1]))
    began = time.perf_counter()
    fresh.encode(list(texts))
    return time.perf_counter() - began
