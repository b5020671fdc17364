"""The uncertainty of the ranks on the board."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.app.pages.board.service import Standings
    from theodolite.app.pages.compare.service import Ranking
    from theodolite.app.workspace import Workspace

MOST_RANKED = 50
"""Number of encoders, the best ones, whose ranks are resampled."""
_KEPT = 8
_RANKED: dict[Standings, Ranking] = {}
"""Rankings of the last boards, the oldest first; `service.board` caches the boards."""


def ranking(workspace: Workspace, standings: Standings) -> Ranking | None:
    """The uncertainty of ranks by mean; None if fewer than two are ranked."""
    from theodolite.app.pages.compare import service as comparison

    names = standings.ranked[:MOST_RANKED]
    if len(names) < 2:
        return None
    found = _RANKED.get(standings)
    if found is None:
        found = comparison.ranking(workspace, names, standings.shared, standings.cells)
        while len(_RANKED) >= _KEPT:
            _RANKED.pop(next(iter(_RANKED)), None)
        _RANKED[standings] = found
    return found


def at_once(standings: Standings) -> bool:
    """Whether `ranking` can answer without resampling."""
    return standings in _RANKED or len(standings.ranked) < 2
