"""Training in the foreground: the same runs, done by the process that asks for them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from app.jobs.kinds import KINDS, LeftOut, conclude
from app.jobs.reporter import Reporter
from app.pages.train import decoder_making, making, sweeping
from engine.decoding.spec import DecoderSpec
from engine.errors import UserError
from engine.training import Event, TrainSpec
from store.errors import StoreError
from store.runs import STOP

if TYPE_CHECKING:
    from app.workspace import Workspace
    from store.runs import RunRow


def perform(
    workspace: Workspace, kind: str, spec: dict[str, Any], title: str
) -> Iterator[tuple[RunRow, int, Event | UserError | None]]:
    """Do a run here and now; yields its row with the position and what happened there.

    That is None before anything does, then events, and what went wrong with a child of a sweep.

    The run is in the store like any other: pages show it, `jobs stop` asks it to stop. Interrupted
    it counts as cancelled, and goes on from its checkpoint when it is asked for again.

    Args:
        workspace: which is to list the encoders.
        kind: `train`, `sweep` or `train-decoder`.
        spec: as the kind's runs have it.
        title: for people.

    Raises:
        UserError: it cannot be trained, or was cancelled from elsewhere.
        StoreError: a worker or another terminal is at it.
    """
    labels = KINDS[kind].units(spec)
    runs = workspace.store.runs
    with workspace.store.terminals.holding(kind, spec, title, labels) as run:
        own = (run["id"], run["attempt"])
        try:
            yield run, 0, None
            for unit in runs.units(run["id"]):
                if unit["state"] != "waiting":
                    continue
                for event in _unit(workspace, kind, spec, run, unit["position"], unit["label"]):
                    yield run, unit["position"], event
            conclude(workspace.store, *own, KINDS[kind])
        except (KeyboardInterrupt, GeneratorExit):
            runs.cancel(run["id"])
            raise
        except (UserError, StoreError) as error:
            runs.finish(*own, "failed", error=error.message, hint=error.hint)
            raise
        except Exception as error:
            runs.finish(*own, "failed", error=f"{type(error).__name__}: {error}")
            raise


def _unit(
    workspace: Workspace, kind: str, spec: dict[str, Any], run: RunRow, position: int, label: str
) -> Iterator[Event | UserError]:
    """One training. What goes wrong with a child of a sweep is told, and the sweep goes on."""
    runs, began = workspace.store.runs, time.monotonic()
    reporter = Reporter(workspace.store, run["id"], run["attempt"], position, label)
    try:
        if kind == "sweep" and reporter.asked(STOP):
            raise LeftOut(sweeping.LEFT_OUT, "Give the same command again to train it as well.")
        for event in _events(workspace, kind, spec, position, reporter):
            yield event
            if reporter.cancelled():
                raise StoreError("The run was cancelled from elsewhere.", "Its checkpoint is kept.")
    except UserError as error:
        runs.end_unit(
            run["id"], position, time.monotonic() - began, error.message, error.hint,
            left_out=isinstance(error, LeftOut),
        )  # fmt: skip
        if kind != "sweep":
            raise
        yield error
    else:
        runs.end_unit(run["id"], position, time.monotonic() - began)


def _events(
    workspace: Workspace, kind: str, spec: dict[str, Any], position: int, reporter: Reporter
) -> Iterator[Event]:
    if kind == decoder_making.KIND:
        return decoder_making.events(workspace, DecoderSpec.from_dict(spec), reporter)
    asked = TrainSpec.from_dict(spec) if kind == "train" else sweeping.child(spec, position)
    return making.events(workspace, asked, reporter)
