"""Several encoders side by side: `a + b`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite.engine.encoders.base import Encoder, encoder_repr
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.encoders.sides import bind_task, query_side
from theodolite.engine.given import texts
from theodolite.engine.progress import Progress


class Concatenated:
    """The parts' vectors one after the other, unscaled: normalise each part's source if it matters.

    Attributes:
        parts: at least one encoder.
    """

    def __init__(self, name: str, parts: Sequence[Encoder]) -> None:
        self.name = name
        self.parts = tuple(parts)

    __repr__ = encoder_repr

    @property
    def dim(self) -> int:
        """Sum of the parts' dimensions."""
        return sum(part.dim for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """See `Encoder`."""
        return fingerprint("concatenation", *(part.fingerprint for part in self.parts))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Every part's warnings, each once."""
        return tuple(dict.fromkeys(w for part in self.parts for w in part.warnings))

    @property
    def queries(self) -> Concatenated | None:
        """The parts' query sides, where any part has one of its own."""
        sides = [query_side(part) for part in self.parts]
        return None if sides == list(self.parts) else Concatenated(self.name, sides)

    @property
    def needs_task(self) -> bool:
        """Whether a part takes its prompts from the task."""
        return any(getattr(part, "needs_task", False) for part in self.parts)

    def bind(
        self, sentences: Sequence[str], data_hash: str, task: PromptTask | None = None
    ) -> Concatenated:
        """A copy with its parts bound to the task."""
        parts = [bind_task(part, sentences, data_hash, task) for part in self.parts]
        return Concatenated(self.name, parts)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`. Parts are encoded in turn; progress counts them equally."""
        sentences = texts(sentences)
        out = np.empty((len(sentences), self.dim), np.float32)
        column = 0
        for number, part in enumerate(self.parts):
            report = _share(progress, number, len(self.parts))
            out[:, column : column + part.dim] = part.encode(sentences, report)
            column += part.dim
        return out


def _share(progress: Progress | None, number: int, count: int) -> Progress | None:
    """Progress of one part of several, reported as progress of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress((number * total + done) // count, total)
