"""Candidate encoders: their measurements, in a form that respects the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from app import formats
from app.pages.board import cost, curves
from app.pages.choose import data
from app.pages.evaluate.results import known
from engine.errors import UserError

if TYPE_CHECKING:
    from app.pages.choose.job import ChooseJob
    from app.workspace import Workspace
    from engine.stats.bootstrap import Sample

DTYPES = {"first": "float32", "int8": "int8", "binary": "binary"}
"""Method that makes vectors smaller -> the resulting dtype."""
_TIMED = "latency_p50"


@dataclass(frozen=True, eq=False)
class Candidate:
    """An encoder with its measurements.

    Attributes:
        encoder: canonical spec.
        row: the store's result; None without one.
        error: why there is no result.
        sample: its score on each example, in the form that respects the limits.
        costs: its cost on this machine; None if unknown.
        licence: of its weights; None if unknown.
        outside: the limit that it exceeds; empty for none.
        dim, dtype, bytes: of a vector.
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

    @property
    def bytes(self) -> float:
        """Bytes per vector."""
        return self.dim * {"float32": 4.0, "int8": 1.0, "binary": 1 / 8}[self.dtype]

    @property
    def ms(self) -> float | None:
        """Median milliseconds for a single sentence."""
        return self.costs[_TIMED] if self.costs else None

    def form(self) -> dict[str, Any]:
        """Size and cost of its vectors."""
        return {"dim": self.dim, "dtype": self.dtype, "ms_per_sentence": self.ms,
                "bytes_per_vector": self.bytes}  # fmt: skip


def stored(workspace: Workspace, job: ChooseJob, task: str | None, name: str) -> Candidate:
    """A candidate from an encoder's result and costs in the store."""
    from engine.encoders import describe
    from engine.stats.bootstrap import main_sample

    facts, costs, sample = describe(name), cost.measured(workspace).get(name), None
    dim = int(facts["dim"] or (costs or {}).get("dim") or 0)
    row, error = _result(workspace, job.dataset, name, task)
    if row is not None:
        dim = row["dim"]
        try:
            sample = main_sample(workspace.store.results.examples(row["id"]), row["details"])
        except ValueError:
            error = f"{task} keeps no values per example, so nothing can be told apart."
    made = Candidate(name, row, error, sample, costs, facts.get("licence"), "", dim)
    if name in job.encoders:
        made = within(workspace, job, task, made)
    return made


def _result(
    workspace: Workspace, dataset: str, name: str, task: str | None
) -> tuple[Mapping[str, Any] | None, str | None]:
    """The stored result, or why there is none; failed evaluations are not retried."""
    try:
        if task is None:
            left = data.lacking(workspace, name, dataset)
            return None, f"{formats.plural(left, 'text')} could not be encoded." if left else None
        row = known(workspace, workspace.load(name), task, None, None)
    except UserError as error:
        return None, error.message
    if row is not None:
        return row, None
    failed = workspace.store.results.table(encoders=[name], tasks=[task])
    return None, next((one["error"] for one in failed[::-1] if one["error"]), "It crashed.")


def within(workspace: Workspace, job: ChooseJob, task: str | None, one: Candidate) -> Candidate:
    """The candidate in a form that respects the limits, or marked as outside of them."""
    if job.licences and (one.licence or "").casefold() not in job.licences:
        return replace(one, outside=f"licence {one.licence or 'not known'}")
    if job.max_ms is not None and (one.ms is None or one.ms > job.max_ms):
        took = "speed not known" if one.ms is None else f"{cost.brief(one.ms)} ms per sentence"
        return replace(one, outside=took)
    if job.max_bytes is None or one.bytes <= job.max_bytes:
        return one
    smaller = replace(one, dtype="int8", dim=min(one.dim, job.max_bytes))
    if task is None or one.sample is None:
        return smaller
    return replace(smaller, sample=_smaller(workspace, smaller, task))


def _smaller(workspace: Workspace, form: Candidate, task: str) -> Sample | None:
    """The scores per example with smaller vectors; None if they cannot be scored."""
    from engine.stats.bootstrap import main_sample

    method = next(name for name, dtype in DTYPES.items() if dtype == form.dtype)
    try:
        made = curves.smaller_scored(workspace, form.encoder, task, lambda _: [form.dim], [method])
        return next((main_sample(one.examples, one.details) for _, one in made), None)
    except UserError:
        return None
