"""Candidate encoders: their measurements, in a form that respects the limits, and the cheapest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from theodolite.app import formats
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data, setups
from theodolite.app.pages.evaluate.results import evaluate_one, known
from theodolite.app.spec import Encoders, Field, Spec
from theodolite.app.vectors import known as known_vectors
from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate, rankers
from theodolite.engine.datasets import chunks
from theodolite.engine.encoders import describe, variants
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.rankers import RankerSpec
from theodolite.engine.stats.bootstrap import Sample, main_sample
from theodolite.engine.stats.choice import Behind, behind, choose
from theodolite.engine.stats.power import to_show
from theodolite.engine.tasks import get

CHUNKS = "whole, recursive,800,100"
"""How documents are cut if nobody says: as they are, and in chunks of a paragraph or two."""
BASELINE = "random:256"
"""Baseline of every sheet: random word vectors, without learned knowledge."""
Dtype = Literal["int8", "binary"]
DTYPES: tuple[Dtype, ...] = ("int8", "binary")
"""Precisions of smaller vectors."""
BYTES = {"float32": 4.0, "int8": 1.0, "binary": 1 / 8}
MAX_SENTENCES = 40_000
"""Most sentences of data on which smaller vectors are tried."""


@dataclass(frozen=True)
class ChooseSpec(Spec):
    """Decide which encoder or retrieval set-up to take for your data, and how sure that is.

    Who is best, who ties with it, the cheapest that is shown to lose less than a margin, in its
    smallest vectors, how many more examples would end the ties, and what speaks against trusting
    it. Without encoders, all that are listed are compared. As JSON, a row for each encoder comes
    first, and the sheet last.

    For documents, name rankers: the sheet is on set-ups, a ranker and a way to cut the documents.
    """

    data: Annotated[
        str,
        Field(
            "Data",
            "CSV, TSV, JSONL, Parquet, plain text, ZIP or a folder of documents; or the name of a "
            "data set.",
            names="dataset",
        ),
    ]
    encoders: Encoders = ()
    columns: Annotated[
        str,
        Field(
            "Columns", "Of a file, as in text=review,label=stars; found by their values if empty."
        ),
    ] = ""
    max_ms: Annotated[
        float | None, Field("Maximum milliseconds per sentence", "On this machine.", ge=0.001)
    ] = None
    max_bytes: Annotated[
        int | None,
        Field(
            "Maximum bytes per vector",
            "Larger vectors are shortened and measured in int8.",
            ge=16,
        ),
    ] = None
    licences: Annotated[
        Sequence[str],
        Field(
            "Licences",
            "Allowed licences of the weights; any if empty.",
            key="licence",
            flags=("--licence",),
        ),
    ] = ()
    rankers: Annotated[
        str,
        Field(
            "Rankers", "Of documents, such as bm25, minilm, fuse(bm25, minilm).", names="rankers"
        ),
    ] = ""
    chunks: Annotated[
        str,
        Field(
            "Chunks",
            "How rankers get documents: whole, or METHOD,SIZE,OVERLAP by recursive, sentences, "
            f"headings or tokens. If empty: {CHUNKS}.",
        ),
    ] = ""
    train: Annotated[
        str,
        Field(
            "Encoder to train",
            "Trained on one part of the data; the sheet is then on the other part.",
            names="encoder",
            key="learns",  # in addresses `train` names files
        ),
    ] = ""
    margin: Annotated[
        float,
        Field(
            "Points that a cheaper form may lose",
            "Something cheaper is recommended only if it is shown to lose less.",
            ge=0.01,
            le=100,
        ),
    ] = 2.0

    def check(self) -> None:
        """Bring names to their canonical form, so that equal questions are equal jobs."""
        licences = {name.casefold() for name in names_in(*self.licences)}
        encoders = rankers.canonical(self.encoders)
        vars(self).update(encoders=encoders, licences=tuple(sorted(licences)))
        ranked = [one for one in encoders if isinstance(rankers.parse(one), RankerSpec)]
        if not (ranked or self.rankers or self.chunks):
            return
        if self.train:
            raise UserError(
                "Encoders are trained, not rankers.",
                "Leave out the rankers and chunks, or what to train.",
                code="conflict",
            )
        specs = rankers.canonical([*encoders, *rankers.split(self.rankers)])
        words = any(setups.is_words(name) for name in specs)
        ways = chunks.cuts(self.chunks or CHUNKS)
        vars(self).update(
            encoders=(),
            rankers=", ".join(specs if words else (setups.BM25, *specs)),
            chunks=chunks.written(ways),
        )

    @property
    def setups(self) -> list[str]:
        """The rankers, BM25 among them, on documents that are cut in each way."""
        return setups.grid(rankers.split(self.rankers), chunks.cuts(self.chunks))

    @property
    def baseline(self) -> str:
        """The random encoder that the others must beat."""
        random = (name for name in self.encoders if variants.baseline(name) == "random")
        return next(random, BASELINE)

    @property
    def measured(self) -> list[str]:
        """The encoders to choose from, and the baseline; or the set-ups."""
        return self.setups or list(dict.fromkeys([*self.encoders, self.baseline]))


@dataclass(frozen=True, eq=False)
class Candidate:
    """An encoder with its measurements.

    Attributes:
        encoder: canonical spec, as it was requested.
        spec: of the form that respects the limits.
        row: the store's result; None without one.
        error: why there is no result.
        sample: its score on each example, in the form that respects the limits.
        costs: its cost on this machine; None if unknown.
        licence: of its weights; None if unknown.
        outside: the limit that it exceeds; empty for none.
        dim, dtype, bytes: of a vector.
    """

    encoder: str
    spec: str
    row: Mapping[str, Any] | None
    error: str | None
    sample: Sample | None
    costs: Mapping[str, Any] | None
    licence: str | None
    outside: str
    dim: int
    dtype: str = "float32"

    @property
    def bytes(self) -> float:
        """Bytes per vector."""
        return self.dim * BYTES[self.dtype]

    @property
    def ms(self) -> float | None:
        """Median milliseconds for a single sentence."""
        return self.costs["latency_p50"] if self.costs else None

    def form(self) -> dict[str, Any]:
        """Spec, size and cost of its vectors."""
        return {
            "spec": self.spec,
            "dim": self.dim,
            "dtype": self.dtype,
            "ms_per_sentence": self.ms,
            "bytes_per_vector": self.bytes,
        }


def stored(workspace: Workspace, spec: ChooseSpec, task: str | None, name: str) -> Candidate:
    """A candidate from an encoder's result and costs in the store; nothing is tried again."""
    facts, costs, row = describe(name), cost.rows_by_encoder(workspace).get(name), None
    sample, error = None, None
    try:
        if task is None:
            there, _ = known_vectors(
                workspace.bound(name, spec.data), data.sample(workspace, spec.data)
            )
            left = int((~there).sum())
            error = f"{formats.plural(left, 'text')} could not be encoded." if left else None
        elif row := known(workspace, workspace.load(name), task, data.protocol_of(task), None):
            sample = main_sample(workspace.store.results.examples(row["id"]), row["details"])
        else:
            rows = workspace.store.results.table(encoders=[name], tasks=[task])[::-1]
            error = next((one["error"] for one in rows if one["error"]), "It crashed.")
    except UserError as failure:
        error = failure.message
    except ValueError:
        error = f"{task} keeps no values per example, so nothing can be told apart."
    dim = row["dim"] if row else int(facts["dim"] or (costs or {}).get("dim") or 0)
    one = Candidate(name, name, row, error, sample, costs, facts.get("licence"), "", dim)
    return within(workspace, spec, task, one) if name in spec.encoders else one


def within(workspace: Workspace, spec: ChooseSpec, task: str | None, one: Candidate) -> Candidate:
    """The candidate in a form that respects the limits, or marked as outside of them."""
    if spec.licences and (one.licence or "").casefold() not in spec.licences:
        return replace(one, outside=f"licence {one.licence or 'not known'}")
    if spec.max_ms is not None and (one.ms is None or one.ms > spec.max_ms):
        took = "speed not known" if one.ms is None else f"{cost.brief(one.ms)} ms per sentence"
        return replace(one, outside=took)
    if spec.max_bytes is None or one.bytes <= spec.max_bytes:
        return one
    return shrunk(workspace, spec, task, one, "int8", min(one.dim, spec.max_bytes))


def shrunk(
    workspace: Workspace,
    spec: ChooseSpec,
    task: str | None,
    one: Candidate,
    dtype: Dtype,
    dim: int,
) -> Candidate:
    """The candidate with smaller vectors; without a sample if they cannot be scored.

    Args:
        workspace: its store has the vectors, so that nothing is encoded.
        spec: what was asked.
        task: what scores them; None for nothing.
        one: with vectors as large as the encoder's, or as the limits allow.
        dtype: precision of the new vectors.
        dim: number of dimensions kept.
    """
    full = one.row["dim"] if one.row else one.dim
    form = variants.smaller(one.encoder, dim if dim < full else None, dtype, spec.data)
    small = replace(one, dtype=dtype, dim=dim, spec=form, sample=None)
    catalog = workspace.catalog
    if (
        task is None
        or one.sample is None
        or len(catalog.load(get(task, catalog).dataset).sentences) > MAX_SENTENCES
    ):
        return small
    protocol = data.protocol_of(task)
    (result,) = evaluate(workspace.load(form), [task], protocol=protocol, data=catalog)
    sample = None if result.error else main_sample(result.examples, result.details)
    return replace(small, sample=sample)


def in_int8(workspace: Workspace, spec: ChooseSpec, task: str, one: Candidate) -> Candidate | None:
    """A transformer in int8, measured here; None if that fails, or is not faster."""
    name = variants.in_int8(one.encoder)
    if name is None or one.ms is None:
        return None
    try:
        if evaluate_one(workspace, name, task, data.protocol_of(task))["error"] is not None:
            return None
        cost.ensure(workspace, name)
    except UserError:  # not on this machine
        return None
    small = within(workspace, spec, task, stored(workspace, spec, task, name))
    fits = not small.outside and small.sample is not None
    return small if fits and small.ms is not None and small.ms < one.ms else None


class _Trials:
    """All that was compared with the best: at once, so that choosing among them is accounted for.

    Args:
        best: the best encoder.
        refit: see `engine.stats.choice.choose`.
        margin: points that may be lost.
        others: encoders to compare with it.
    """

    def __init__(
        self, best: Candidate, refit: float, margin: float, others: Iterable[Candidate]
    ) -> None:
        self.best, self.margin, self._refit = best, margin, refit
        self._samples: dict[str, Sample] = {}
        self.behind: dict[str, Behind] = {}
        self.add(*others)

    def add(self, *more: Candidate) -> None:
        """Compare more encoders, all of them anew."""
        added = {one.spec: one.sample for one in more if one.sample is not None}
        if added and self.best.sample is not None:
            self._samples |= added
            self.behind = behind(self.best.sample, self._samples, self._refit)

    def shows(self, one: Candidate) -> bool:
        """Whether it is the best, or shown to lose less than the margin."""
        less = self.behind.get(one.spec)
        return one is self.best or (less is not None and less.within(self.margin))


def cheapest(
    best: Candidate,
    scored: Mapping[str, Candidate],
    margin: float,
    refit: float,
    faster: Callable[[Candidate], Candidate | None],
    shrunk: Callable[[Candidate, Dtype, int], Candidate],
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The fastest encoder shown to lose less than a margin, in the smallest vectors so shown.

    In each precision of vectors, the dimensions are halved as long as the result is within the
    margin. Random encoders are not chosen.

    Args:
        best: the best encoder.
        scored: encoders to choose from, the best among them.
        margin: points that may be lost.
        refit: see `engine.stats.choice.choose`.
        faster: returns an encoder in a faster form; None if there is none.
        shrunk: returns an encoder with vectors of another precision and dimension.

    Returns:
        What was chosen; and, if that is the best as it is, how many more examples would show that
        something cheaper is within the margin. None if there is nothing cheaper.
    """
    others = [one for one in scored.values() if one is not best]
    trials = _Trials(best, refit, margin, others)
    able = [one for one in others if variants.baseline(one.encoder) != "random"]
    quickest = min([best, *filter(trials.shows, able)], key=_price)
    if other := faster(quickest):
        trials.add(other)
        able.append(other)
        quickest = other if trials.shows(other) else quickest
    forms = [quickest]
    for dtype in DTYPES:
        for dim in variants.ladder(quickest.dim)[::-1]:
            form = shrunk(quickest, dtype, dim)
            if form.bytes < quickest.bytes:
                trials.add(form)
                forms.append(form)
                if not trials.shows(form):
                    break
    least = min([best, *filter(trials.shows, forms)], key=lambda one: (*_price(one)[:2], one.bytes))
    less = trials.behind.get(least.spec) if least is not best else None
    assert least.sample is not None  # noqa: S101 - for the type checker
    score, low, high = choose({least.spec: least.sample}, refit).intervals[least.spec]
    facts = {"encoder": least.encoder, "score": score, "low": low, "high": high, **least.form()}
    facts["behind"] = {key: getattr(less, key, 0.0) for key in ("delta", "low", "high")}
    cheaper = [one for one in able if _price(one) < _price(best)]
    return facts, None if less else _next(trials, [*cheaper, *forms])


def _price(one: Candidate) -> tuple[bool, float, int]:
    """Sorts by speed, unknown last, then by dimensions."""
    return one.ms is None, one.ms or 0.0, one.dim


def _next(trials: _Trials, cheaper: list[Candidate]) -> dict[str, Any] | None:
    """What needs the fewest further examples to be shown within the margin."""
    needs = [
        (to_show(trials.behind[one.spec], trials.margin), one)
        for one in cheaper
        if one.spec in trials.behind
    ]
    if not needs:
        return None
    more, one = min(needs, key=lambda pair: (pair[0].n is None, pair[0].n or 0, -pair[0].power))
    return {"encoder": one.encoder, **one.form(), "n": more.n, "power": more.power}
