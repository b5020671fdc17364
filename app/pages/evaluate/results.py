"""One result: from the store if it was computed before, otherwise computed now."""

from typing import Any

from theodolite.app.workspace import Workspace
from theodolite.engine import evaluate, protocols, tasks
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.rankers.base import Ranker
from theodolite.engine.results import Result

Row = dict[str, Any]
"""A row of the store's results."""


def evaluate_one(
    workspace: Workspace,
    encoder: str,
    task: str,
    protocol: str | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Row:
    """The result of one encoder on one task, stored or computed; errors are in the row."""
    try:
        loaded = workspace.ranker(encoder)
    except UserError as error:
        return workspace.keep_result(_not_loadable(workspace, encoder, task, protocol, seed, error))
    row = known(workspace, loaded, task, protocol, seed)
    if row is not None:
        return row
    (result,) = evaluate(
        loaded, [task], protocol=protocol, seed=seed, data=workspace.catalog, progress=progress
    )
    return workspace.keep_result(result)


def known(
    workspace: Workspace,
    encoder: Encoder | Ranker,
    task: str,
    protocol: str | None,
    seed: int | None,
) -> Row | None:
    """The stored result for these settings, weights and data, if any.

    A result whose per-example values cannot be read counts as missing.
    """
    from theodolite.engine.evaluate import bind

    definition = tasks.get(task, workspace.catalog)
    rules = protocols.get(protocol or definition.protocol)
    try:
        dataset = workspace.catalog.load(definition.dataset)
        bound = bind(encoder, definition, rules, dataset)
    except UserError:
        return None  # the evaluation will report it
    results = workspace.store.results
    row = results.get(
        encoder=encoder.name,
        fingerprint=bound.fingerprint,
        task=task,
        protocol=rules.name,
        seed=rules.seed if seed is None else seed,
        data_hash=dataset.hash,
    )
    if row is None or row["error"] is not None or not results.is_readable(row):
        return None
    return row


def _not_loadable(
    workspace: Workspace,
    encoder: str,
    task: str,
    protocol: str | None,
    seed: int | None,
    error: UserError,
) -> Result:
    rules = protocols.get(protocol or tasks.get(task, workspace.catalog).protocol)
    return Result(
        encoder=encoder,
        fingerprint="",
        dim=0,
        task=task,
        protocol=rules.name,
        seed=rules.seed if seed is None else seed,
        data_hash="",
        error=error.message,
        hint=error.hint,
    )
