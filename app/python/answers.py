"""The results of the functions of `import theodolite`: immutable, with three representations each.

`rows()` returns flat dictionaries, `to_pandas()` the same as a table, and a notebook shows the
blocks.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.blocks import Block, Finding
from theodolite.app.question import Answer

if TYPE_CHECKING:
    from theodolite.engine.training.events import Event, Finished


@dataclass(frozen=True, eq=False, repr=False)
class Training(Answer):
    """A finished training.

    Attributes:
        events: all its events, `Finished` last.
    """

    events: tuple[Event, ...]

    @property
    def encoder(self) -> str:
        """Spec string of the trained encoder."""
        last: Any = self.events[-1]
        finished: Finished = last
        return finished.encoder

    def rows(self) -> list[dict[str, Any]]:
        """A row per event: its `kind`, and its fields."""
        return [{"kind": event.kind, **asdict(event)} for event in self.events]

    def blocks(self) -> list[Block]:
        """Its outcome, and its curves."""
        from theodolite.app.pages.trainings.answer import charts
        from theodolite.app.pages.trainings.service import Curves
        from theodolite.engine.training.events import Finished, against_base

        curves, last = Curves(), self.events[-1]
        for event in self.events:
            data = event.to_dict()
            curves.add(data.pop("kind"), data)
        if not isinstance(last, Finished):
            return charts([("training", None, curves)])
        best = "" if last.best_score is None else f", best dev score {last.best_score:.2f}"
        base = against_base(last.best_score, last.base_score)
        outcome = f"Trained in {formats.duration(last.seconds)}{best}{base and f', {base}'}"
        finding = Finding(outcome, f"It is loaded as {last.encoder}.")
        return [finding, *charts([("training", last.best_step, curves)])]
