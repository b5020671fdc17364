"""The making of the costs that ship."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.examples import shipped
from app.pages.board import cost, service
from app.pages.evaluate.results import measured
from app.workspace import STARTER_ENCODERS
from engine.tasks import SUITES

if TYPE_CHECKING:
    from app.workspace import Workspace

SUITE = "starter"


def make(workspace: Workspace) -> None:
    """Of the encoders that ship, on this machine, with what they are worth on the starter set."""
    for encoder in STARTER_ENCODERS:
        cost.measure(workspace, encoder)
        for task in SUITES[SUITE]:
            measured(workspace, encoder, task)
    board = service.board(workspace, service.BoardSpec(SUITE))
    shipped.write(cost.KIND, {
        "rows": list(cost.measured(workspace).values()),
        "quality": dict(zip(board.encoders, board.mean.tolist(), strict=True)),
        "tasks": len(board.columns),
    })  # fmt: skip
