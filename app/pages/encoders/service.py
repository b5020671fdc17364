"""The listed encoders: adding and removing them, and checks of encoders that read files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app import endpoints
from theodolite.app.workspace import STARTER_ENCODERS
from theodolite.engine.errors import UserError
from theodolite.store import StoreError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets.types import Dataset
    from theodolite.engine.encoders.audit import Audit, Audited
    from theodolite.store.nouns import EncoderRow

STARTERS = STARTER_ENCODERS[::-1]
"""Encoders that ship, the best first; a page starts with them, if they are listed."""
ALL_PAIRS = 10**9
"""More pairs than any data set has."""


def shown_first(workspace: Workspace, default: Sequence[str] = STARTERS) -> list[str]:
    """The encoders that a page of several starts with if none is named."""
    kept = names(workspace)
    first = [name for name in default if name in kept]
    return first if len(first) > 1 else list(dict.fromkeys([*first, *kept]))[:3]


def listed(workspace: Workspace) -> list[dict[str, Any]]:
    """The facts of every listed encoder, in the order they were added."""
    list_shipped(workspace)
    return [_flat(row) for row in workspace.store.encoders.list()]


def names(workspace: Workspace) -> list[str]:
    """The listed encoders in the order they were added."""
    return [row["name"] for row in listed(workspace)]


def list_shipped(workspace: Workspace) -> None:
    """List the encoders that ship, once per store: one that is removed later stays so."""
    settings = workspace.store.settings
    if workspace.store.reading or settings.get("shipped"):
        return
    with contextlib.suppress(StoreError):  # a full disk: what is listed is shown
        ensure_listed(workspace, STARTERS)
        settings.set("shipped", True)


def add(workspace: Workspace, spec: str, *, send_texts: bool = False) -> dict[str, Any]:
    """Try an encoder out, list it, and return its facts.

    A model that is on this machine is read, and encodes, and so are files of vectors and of word
    vectors; a model of the hub is tried when it is first used.
    """
    from theodolite.engine.encoders.facts import LATER, describe

    workspace.refuse_visitors()
    if send_texts:
        endpoints.allow(workspace, spec)
    facts = describe(spec, read=True)
    if facts["problem"] not in (None, LATER):
        raise UserError(facts["problem"])
    return _flat(_listed(workspace, facts))


def would_send_to(workspace: Workspace, spec: str) -> list[str]:
    """Hosts that would get texts but are not allowed to; empty for an invalid spec."""
    try:
        return [address.host for address in endpoints.unallowed(workspace.store, spec)]
    except UserError:
        return []


def refresh(workspace: Workspace, spec: str) -> None:
    """List an encoder that was trained or is in use, with its facts if there are any."""
    from theodolite.engine.encoders import describe

    try:
        _listed(workspace, describe(spec))
    except UserError:  # cannot be described: its use reports why
        workspace.store.encoders.add(spec)


def ensure_listed(workspace: Workspace, specs: Iterable[str]) -> None:
    """List the encoders that are not in the list yet."""
    for spec in specs:
        if workspace.store.encoders.get(spec) is None:
            refresh(workspace, spec)


def _listed(workspace: Workspace, facts: dict[str, Any]) -> EncoderRow:
    name = facts["spec"]
    if facts["dim"] is None and facts["available"]:
        facts["dim"] = workspace.load(name).dim  # its server, or the loaded model, alone knows it
    return workspace.store.encoders.add(name, facts)


def remove(workspace: Workspace, spec: str) -> None:
    """Remove an encoder, and the permission to send texts to its endpoint. Its results stay."""
    workspace.refuse_visitors()
    list_shipped(workspace)
    if not workspace.store.encoders.remove(spec):
        raise UserError(
            f"{spec!r} is not in the list.", "`theodolite encoders list` shows it.", code="unknown"
        )
    endpoints.forbid_unlisted(workspace.store)


def _flat(row: Any) -> dict[str, Any]:
    return {**row["info"], **{key: value for key, value in row.items() if key != "info"}}


def audit(
    workspace: Workspace, spec: str, data: str | None = None
) -> Iterator[tuple[float, str] | Audit]:
    """Measure the effect of each setting of a model on a few examples.

    Args:
        workspace: holds the data.
        spec: of one model; the steps after it are left out.
        data: scored pairs, or queries with documents and judgements; None for STS-B, or the
            starter pairs if that is missing.

    Yields:
        (share done, setting measured next), and finally the audit.
    """
    from theodolite.engine.encoders.audit import audit, some_of

    workspace.refuse_visitors()
    examples = some_of(_examples(workspace, data))
    yield from audit(source_of(spec), examples)


def check_poolings(workspace: Workspace, spec: str) -> tuple[str, list[dict[str, Any]]]:
    """Measure each pooling on all of STS-B dev, or on the starter pairs if STS-B is missing.

    Returns:
        (the data it was measured on, rows of pooling, spearman in points, seconds), best first.
    """
    from theodolite.engine.encoders.audit import Audit, audit, some_of

    workspace.refuse_visitors()
    examples = some_of(_examples(workspace), ALL_PAIRS)
    made = [step for step in audit(source_of(spec), examples, ("pooling",))][-1]
    assert isinstance(made, Audit)  # noqa: S101 - for the type checker
    seconds = sum(row.seconds for row in made.rows[1:])
    rows = [
        {"pooling": row.setting.label, "spearman": row.score, "seconds": seconds}
        for row in made.rows
        if row.setting and row.score is not None
    ]
    return made.measured_on, sorted(rows, key=lambda row: -row["spearman"])


def audit_rows(made: Audit) -> list[dict[str, Any]]:
    """An audit as a table: the spec as given first, then group by group.

    `change` and `lost` are points against the first and against the best row, each with its
    95 % interval; `verdict` says whether `change` is more than noise.
    """
    return [_audit_row(made, row) for row in made.rows]


def _audit_row(made: Audit, row: Audited) -> dict[str, Any]:
    change, lost, setting = row.change, row.lost, row.setting
    words = {"a": "better", "b": "worse", "tie": "no real difference"}
    return {
        "group": setting.group if setting else "asked",
        "setting": setting.label if setting else "as asked",
        "score": row.score,
        "change": change and change.delta,
        "low": change and change.low,
        "high": change and change.high,
        "verdict": words[change.verdict] if setting and change else "",
        "lost": lost and lost.delta,
        "lost_low": lost and lost.low,
        "lost_high": lost and lost.high,
        "by": setting.by if setting else "cosine",
        "metric": made.metric,
        "n": made.n,
        "data": made.measured_on,
        "seconds": row.seconds,
        "spec": row.spec,
        "error": row.error,
    }


def source_of(spec: str) -> str:
    """A spec without the steps after its source."""
    return spec.split("|")[0].strip()


def _examples(workspace: Workspace, data: str | None = None) -> Dataset:
    if data is not None:
        return workspace.catalog.load(data)
    try:
        return workspace.catalog.load("STSBenchmark")
    except UserError:
        return workspace.catalog.load("starter-pairs")


def coverage(
    workspace: Workspace, spec: str, tasks: str | Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Count the sentences of each task that a spec with files of vectors lacks.

    Yields:
        `task`, `sentences`, `lacking` (of the distinct sentences), `first` (of the lacking ones)
        and `error` (why the data cannot be read, else None).
    """
    from theodolite.engine import tasks as registry
    from theodolite.engine.encoders.vectors import Coverage

    workspace.refuse_visitors()
    report = Coverage(spec)
    if not report.files:
        raise UserError(
            f"{spec} does not read vectors from a file.",
            "It can encode every sentence; nothing is missing.",
            code="wrong-kind",
        )
    catalog = workspace.catalog
    names = (
        [task.name for task in registry.available(catalog)]
        if tasks is None
        else registry.expand(tasks, catalog)
    )
    for name in names:
        row = {"task": name, "sentences": 0, "lacking": 0, "first": "", "error": None}
        try:
            dataset = catalog.load(registry.get(name, catalog).dataset)
            sentences = list(dict.fromkeys(dataset.sentences))
            lacking = report.lacking(sentences)
            row |= {"sentences": len(sentences), "lacking": len(lacking)}
            row["first"] = lacking[0][:80] if lacking else ""
        except UserError as error:
            row["error"] = str(error)
        yield row
