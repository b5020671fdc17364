"""Candidate encoders: their measurements, in a form that respects the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from theodolite.app import formats
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data
from theodolite.app.pages.evaluate.results import evaluated, known
from theodolite.engine import evaluate
from theodolite.engine.encoders import describe, variants
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import get

if TYPE_CHECKING:
    from theodolite.app.pages.choose.spec import ChooseSpec
    from theodolite.app.workspace import Workspace
    from theodolite.engine.stats.bootstrap import Sample

Dtype = Literal["int8", "binary"]
DTYPES: tuple[Dtype, ...] = ("int8", "binary")
"""Precisions of smaller vectors."""
MAX_SENTENCES = 40_000
"""Most sentences of data on which smaller vectors are tried."""
_TIMED = "latency_p50"


@dataclass(frozen=True, eq=False)
class Candidate:
    """An encoder with its measurements.

    Attributes:
        encoder: canonical spec, as it was requested.
        row: the store's result; None without one.
        error: why there is no result.
        sample: its score on each example, in the form that respects the limits.
        costs: its cost on this machine; None if unknown.
        licence: of its weights; None if unknown.
        outside: the limit that it exceeds; empty for none.
        dim, dtype, bytes: of a vector.
        form_spec: spec of smaller vectors; empty for the encoder's own.
    """

    encoder: str
    row: Mapping[str, Any] | None
    error: str | None
    sample: Sample | None
    costs: Mapping[str, Any] | None
    licence: str | None
    outside: str
    dim: int
    dtype: str = "float32"
    form_spec: str = ""

    @property
    def spec(self) -> str:
        """Of the form that respects the limits."""
        return self.form_spec or self.encoder

    @property
    def bytes(self) -> float:
        """Bytes per vector."""
        return self.dim * {"float32": 4.0, "int8": 1.0, "binary": 1 / 8}[self.dtype]

    @property
    def ms(self) -> float | None:
        """Median milliseconds for a single sentence."""
        return self.costs[_TIMED] if self.costs else None

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
    """A candidate from an encoder's result and costs in the store."""
    facts, costs, sample = describe(name), cost.measured(workspace).get(name), None
    dim = int(facts["dim"] or (costs or {}).get("dim") or 0)
    row, error = _result(workspace, spec.data, name, task)
    if row is not None:
        dim = row["dim"]
        try:
            sample = main_sample(workspace.store.results.examples(row["id"]), row["details"])
        except ValueError:
            error = f"{task} keeps no values per example, so nothing can be told apart."
    made = Candidate(name, row, error, sample, costs, facts.get("licence"), "", dim)
    if name in spec.encoders:
        made = within(workspace, spec, task, made)
    return made


def _result(
    workspace: Workspace, dataset: str, name: str, task: str | None
) -> tuple[Mapping[str, Any] | None, str | None]:
    """The stored result, or why there is none; failed evaluations are not retried."""
    try:
        if task is None:
            left = data.lacking(workspace, name, dataset)
            return None, f"{formats.plural(left, 'text')} could not be encoded." if left else None
        row = known(workspace, workspace.load(name), task, data.protocol_of(task), None)
    except UserError as error:
        return None, error.message
    if row is not None:
        return row, None
    failed = workspace.store.results.table(encoders=[name], tasks=[task])
    return None, next((one["error"] for one in failed[::-1] if one["error"]), "It crashed.")


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
    sample, catalog = one.sample, workspace.catalog
    if task is not None and sample is not None:
        sample = None
        if len(catalog.load(get(task, catalog).dataset).sentences) <= MAX_SENTENCES:
            protocol = data.protocol_of(task)
            (made,) = evaluate(workspace.load(form), [task], protocol=protocol, data=catalog)
            sample = None if made.error else main_sample(made.examples, made.details)
    return replace(one, dtype=dtype, dim=dim, form_spec=form, sample=sample)


def in_int8(workspace: Workspace, spec: ChooseSpec, task: str, one: Candidate) -> Candidate | None:
    """A transformer in int8, measured here; None if that fails, or is not faster."""
    name = variants.in_int8(one.encoder)
    if name is None or one.ms is None:
        return None
    try:
        if evaluated(workspace, name, task, data.protocol_of(task))["error"] is not None:
            return None
        cost.ensure(workspace, name)
    except UserError:  # not on this machine
        return None
    found = within(workspace, spec, task, stored(workspace, spec, task, name))
    fits = not found.outside and found.sample is not None
    return found if fits and found.ms is not None and found.ms < one.ms else None
