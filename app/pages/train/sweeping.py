"""The kind of run `sweep`: several encoders in a row, each a unit, and the best of them told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from app.jobs.kinds import LeftOut, spec_of
from app.pages.train import making
from engine.training import Finished, TrainSpec, sweeps
from store.runs import STOP

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from store import Store

LEFT_OUT = "Left out: the sweep was asked to stop before."


def units(spec: Any) -> list[str]:
    """The children in order, by their labels."""
    return [child["label"] for child in spec["children"]]


def child(spec: Any, position: int) -> TrainSpec:
    """What the child at a position is asked to train."""
    return TrainSpec.from_dict(spec["children"][position]["spec"])


def work(workspace: Workspace, spec: Any, position: int, reporter: Reporter) -> None:
    """Train one child; once the sweep was asked to stop, none is begun any more.

    Raises:
        UserError: it cannot be trained.
        LeftOut: the sweep was asked to stop before.
    """
    over = workspace.store.events.last(reporter.run, Finished.kind, position)
    if over is None and reporter.asked(STOP):
        raise LeftOut(LEFT_OUT, "Try the run again to train it as well.")
    for _ in making.events(workspace, child(spec, position), reporter):
        pass


def ending(store: Store, run_id: str) -> str:
    """Which child is best by its dev score, and how many there are none of."""
    run = store.runs.get(run_id)
    spec = spec_of(run)
    children = spec["children"]
    states = store.runs.units(run_id)
    scored = scores(store, run_id, len(children))
    said = []
    first = best(spec, scored)
    if first is not None:
        said.append(
            f"Best of {sum(score is not None for score in scored)}: {children[first]['label']}, "
            f"{scored[first]:.2f} on {children[first]['spec']['dev']} dev."
        )
    left_out = sum(unit["state"] == "left out" for unit in states)
    failed = sum(unit["state"] == "failed" for unit in states)
    said += [f"{failed} failed."] if failed else []
    said += [f"{left_out} left out."] if left_out else []
    return " ".join(said)


def scores(store: Store, run_id: str, children: int) -> list[float | None]:
    """The dev score of the weights that were kept, one a child; None where there is none."""
    ends = [store.events.last(run_id, Finished.kind, position) for position in range(children)]
    return [None if over is None else over["best_score"] for over in ends]


def best(spec: Any, scored: Sequence[float | None]) -> int | None:
    """The position of the best child; None without scores, or where they are of several tasks."""
    if len({entry["spec"]["dev"] for entry in spec["children"]}) > 1:
        return None
    return sweeps.best(scored)
