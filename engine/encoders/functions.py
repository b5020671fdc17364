"""A pair of functions in SentEval's style as an encoder.

    def prepare(params, samples): ...   # sees all sentences first, may keep things in params
    def batcher(params, batch): ...     # lists of tokens to an array, one row each

    encoder = FunctionEncoder(prepare, batcher, "my bag of words")
    for result in evaluate(encoder, "sts"): ...

Such an encoder exists only in the process with the functions. To use it in the app, write its
vectors of the tasks' sentences to a file, which is an encoder as `vectors:mine.parquet`:

    encoder.save(Path("mine.parquet"), ["STSBenchmark", "MR"])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders.base import encoder_repr
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.errors import UserError
from theodolite.engine.given import texts
from theodolite.engine.progress import Progress

Tokens = list[str]
Prepare = Callable[[Any, list[Tokens]], Any]
Batcher = Callable[[Any, list[Tokens]], Any]

BATCH = 128
_PROBE = ("the cat sat on the mat .", "a second sentence , with more words in it .", ".")
"""Sentences whose vectors give the dimension, and tell one pair of functions from another."""


class dotdict(dict[str, Any]):
    """A dictionary whose keys are attributes too; an unknown one is None, as in SentEval."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copying and pickling ask for these
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class FunctionEncoder:
    """Calls `prepare` once with all sentences of a call, then `batcher` with batches of them.

    Sentences are split at white space, as SentEval's loaders do, sorted by length, and each
    distinct one is encoded once.

    Args:
        prepare: called as prepare(params, samples); None does nothing.
        batcher: called as batcher(params, batch); gives a NumPy array or torch tensor (n, dim).
        name: as it appears in results.
        params: passed to both; a new `dotdict` by default. `batch_size` is read from it.
    """

    warnings: tuple[str, ...] = ()

    def __init__(
        self,
        prepare: Prepare | None,
        batcher: Batcher,
        name: str = "functions",
        params: dotdict | None = None,
    ) -> None:
        self.name = name
        self.params = dotdict() if params is None else params
        self._prepare = prepare
        self._batcher = batcher

    __repr__ = encoder_repr

    @property
    def dim(self) -> int:
        """Length of a vector, found by encoding three short sentences."""
        return self._probe.shape[1]

    @property
    def fingerprint(self) -> str:
        """Hash of the name and the vectors of three short sentences.

        The functions themselves cannot be hashed: give another name to functions that differ only
        on other sentences.
        """
        return fingerprint("functions", self.name, self._probe.tobytes().hex())

    @cached_property
    def _probe(self) -> np.ndarray:
        return self.encode(_PROBE)

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        sentences = texts(sentences)
        self.prepare(sentences)
        return self.vectors(sentences, progress).astype(np.float32)

    def save(
        self, path: Path, tasks: str | Sequence[str], data: Catalog | Path | str | None = None
    ) -> None:
        """Write the vectors of all sentences of some tasks, for the app: `vectors:FILE`.

        `prepare` sees the sentences of all tasks together, where `evaluate` shows it each task's.

        Args:
            path: ends in `.parquet`.
            tasks: names or suites, as for `engine.evaluate`.
            data: as for `engine.evaluate`.
        """
        from theodolite.engine import tasks as registry
        from theodolite.engine.encoders import vectors

        catalog = Catalog.of(data)
        names = registry.expand(tasks, catalog)
        sets = dict.fromkeys(registry.get(name, catalog).dataset for name in names)
        sentences = dict.fromkeys(s for name in sets for s in catalog.load(name).sentences)
        vectors.save(path, list(sentences), self.encode(list(sentences)))

    def prepare(self, sentences: Sequence[str]) -> None:
        """Call the function `prepare` with all sentences, if there is one."""
        if self._prepare is not None:
            self._prepare(self.params, [s.split() for s in sentences])

    def vectors(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Encode sentences that were prepared, in the batcher's own dtype: (n, dim)."""
        rows = {s: i for i, s in enumerate(dict.fromkeys(sentences))}
        tokens = {s: s.split() for s in rows}
        ordered = sorted(rows, key=lambda s: len(tokens[s]))
        size = int(self.params.batch_size or BATCH)
        out = np.empty((0, 0), np.float32)
        for start in range(0, len(ordered), size):
            batch = ordered[start : start + size]
            vectors = _matrix(self._batcher(self.params, [tokens[s] for s in batch]), len(batch))
            if start == 0:
                out = np.empty((len(ordered), vectors.shape[1]), vectors.dtype)
            if vectors.shape[1] != out.shape[1]:
                raise UserError(
                    f"The batcher of {self.name} gave {vectors.shape[1]} dimensions after "
                    f"{out.shape[1]} before.",
                    "Every call must give vectors of one dimension.",
                    code="mismatch",
                )
            out[[rows[s] for s in batch]] = vectors
            if progress:
                progress(len(sentences) * (start + len(batch)) // len(ordered), len(sentences))
        if not rows:
            return np.empty((0, self.dim), np.float32)
        return out[[rows[s] for s in sentences]]


def _matrix(vectors: Any, n: int) -> np.ndarray:
    """Convert a batcher's output: an array, a list of rows, or a tensor on any device."""
    if hasattr(vectors, "detach"):
        vectors = vectors.detach().cpu()
    array = np.asarray(vectors)
    if array.ndim != 2 or len(array) != n or array.dtype.kind not in "fiu":
        raise UserError(
            f"The batcher gave {array.dtype} of shape {array.shape} for {n} sentences.",
            f"Expected numbers of shape ({n}, dimensions), one row a sentence.",
            code="mismatch",
        )
    return array if array.dtype.kind == "f" else array.astype(np.float32)
