"""An encoded corpus as an encoder: `vectors:FOLDER`, for the sentences that it contains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from theodolite.engine.corpus.files import MANIFEST
from theodolite.engine.corpus.reading import EncodedCorpus
from theodolite.engine.encoders.base import sentence_key
from theodolite.engine.encoders.known import KnownVectors
from theodolite.engine.errors import UserError
from theodolite.engine.stamps import check_unchanged, stamp


class VectorFolder(KnownVectors):
    """The vectors of a folder, looked up in place.

    A sentence is looked up as it is, then with each run of white space as one space.

    Args:
        name: canonical spec.
        folder: with a manifest.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.path = name, folder
        self._stamp = stamp(folder / MANIFEST)
        self._corpus = EncodedCorpus(folder)
        self.dim, self.bytes = self._corpus.dim, self._corpus.file_bytes
        self.fingerprint = self._corpus.hash

    def __len__(self) -> int:
        """Number of sentences."""
        return self._corpus.size

    def lacking(self, sentences: Sequence[str]) -> list[str]:
        """See `KnownVectors.lacking`."""
        at = self._positions(sentences)
        return [s for s, position in zip(sentences, at, strict=True) if position < 0]

    def _look_up(self, sentences: Sequence[str]) -> np.ndarray:
        found = self._corpus.vectors(self._positions(sentences))
        check_unchanged(self._stamp, stamp(self.path / MANIFEST), self.path.name)
        return found

    def _positions(self, sentences: Sequence[str]) -> np.ndarray:
        if not len(sentences):
            return np.empty(0, np.int64)
        at = self._corpus.find([sentence_key(s) for s in sentences])
        rest = np.flatnonzero(at < 0)
        if len(rest):
            spaced = [sentence_key(" ".join(sentences[i].split())) for i in rest.tolist()]
            at[rest] = self._corpus.find(spaced)
        return at


def open_folder(name: str, folder: Path, columns: Sequence[str | None]) -> VectorFolder:
    """Open the encoder of a folder."""
    if any(columns):
        raise UserError(
            f"{folder.name} has no columns to choose.", "Only Parquet takes text and vector."
        )
    return VectorFolder(name, folder)
