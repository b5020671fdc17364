"""All diagnoses together: whether they rank encoders as other scores do.

Vec2Sent, figure 2, table 1 and section 3.3, over the results in the store.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.diagnose.service import PROTOCOL
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.stats.agreement import DecoderAgreement, Relations

Numbers = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Across:
    """Correlations over encoders, or why there are none.

    Attributes:
        text: the diagnosed text, as in the name of the task; empty without any diagnosis.
        relations: correlations of the diagnostics with every other score, over encoders.
        without: the same, leaving out each encoder in turn.
        problem: why there are no relations; None if there are.
        agreements: rank agreement of decoders of different kinds.
        unstable: why there are no agreements; None if there are.
    """

    text: str = ""
    relations: Relations | None = None
    without: Mapping[str, Relations] = field(default_factory=dict)
    problem: UserError | None = None
    agreements: tuple[DecoderAgreement, ...] = ()
    unstable: UserError | None = None


def across(workspace: Workspace) -> Across:
    """Correlate the diagnoses in the store with the other scores.

    Only diagnoses on the same sentences are compared: those with which most encoders were
    diagnosed. Of several decoders of one kind for an encoder, the newest counts.
    """
    from theodolite.engine.stats.agreement import between_decoders, relate, without_each

    rows = [
        row
        for row in workspace.store.results.table(protocols=[PROTOCOL], all_versions=True)
        if row["error"] is None
    ]
    if not rows:
        return Across(
            problem=UserError(
                "No decoder diagnosed yet.", "Diagnose some encoders first.", code="no-result"
            )
        )
    pairs = {(row["encoder"], row["data_hash"]) for row in rows}
    ((most, _),) = Counter(hashed for _, hashed in pairs).most_common(1)
    rows = [row for row in rows if row["data_hash"] == most]
    kinds = _kinds(workspace, rows)
    newest: Numbers = {}
    for numbers in kinds.values():
        newest |= numbers
    text = rows[-1]["task"].removeprefix("Vec2Sent").removeprefix("-")
    found: dict[str, Any] = {"text": text}
    scores = _scores(workspace)
    try:
        found["relations"] = relate(newest, scores)
        found["without"] = without_each(newest, scores)
    except UserError as error:
        found["problem"] = error
    try:
        found["agreements"] = between_decoders(kinds)
    except UserError as error:
        found["unstable"] = error
    return Across(**found)


def _kinds(workspace: Workspace, rows: list[dict[str, Any]]) -> dict[str, Numbers]:
    """Kind of decoder -> encoder -> its figures, the kind of the newest diagnosis last."""
    full = workspace.store.results.in_full([row["id"] for row in rows])
    found: dict[str, Numbers] = {}
    for row in rows:  # oldest first
        details = full[row["id"]]["details"]
        decoder = details.get("decoder") or {}
        size = decoder.get("sentences")
        kind = f"{decoder.get('architecture', '?')}, {size:,} sentences" if size else "unknown"
        figures = {
            score["metric"]: float(score["score"])
            for score in full[row["id"]]["scores"]
            if score["aggregation"] is None and not math.isnan(score["score"])
        }
        mine = found.pop(kind, {})
        found[kind] = mine | {row["encoder"]: figures}
    return found


def _scores(workspace: Workspace) -> Numbers:
    """Encoder -> task -> its main score under the task's own protocol."""
    from theodolite.app.results import has_score, under_own_protocol

    rows = [row for row in workspace.store.results.table() if row["protocol"] != PROTOCOL]
    found: Numbers = {}
    for (encoder, task), row in under_own_protocol(rows).items():
        if has_score(row):
            found.setdefault(encoder, {})[task] = float(row["score"])
    return found
