"""An encoded corpus, read in place: only the keys of its sentences are in memory."""

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np

from theodolite.engine.corpus.cut import Cut
from theodolite.engine.corpus.encode import VERSION
from theodolite.engine.corpus.files import CUT, MANIFEST, read_json
from theodolite.engine.encoders.base import sentence_key
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.source import KnownVectors
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.stamps import check_unchanged, stamp

_MAX_MAPPED, _MAX_DECODED = 64, 4
"""Most shards kept open: arrays are mapped, those of Parquet are decoded into memory."""


class EncodedCorpus:
    """The vectors and sentences of a folder that `engine.corpus` wrote.

    Args:
        folder: with its manifest.

    Attributes:
        encoder, fingerprint, dim, dtype: of the vectors, from the manifest.
        size: number of rows.
        hash: over the contents of all shards.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        stored = read_json(folder / MANIFEST)
        if stored is None:
            raise _incomplete(folder)
        if stored.get("version") != VERSION:
            raise UserError(
                f"{folder / MANIFEST} was written by another version of Theodolite.",
                "Update Theodolite.",
                code="unsupported",
            )
        try:
            self.encoder, self.fingerprint = str(stored["encoder"]), str(stored["fingerprint"])
            self.dim, self.dtype, self.size = int(stored["dim"]), stored["dtype"], stored["count"]
            self._shards: list[dict[str, Any]] = stored["shards"]
            stops = [shard["rows"][1] for shard in self._shards]
            self._names = [Path(shard["file"]).name for shard in self._shards]
            self.hash = fingerprint("corpus", *(shard["sha256"] for shard in self._shards))
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(
                f"{folder / MANIFEST} is not a manifest: {first_line(error)}", code="damaged"
            ) from error
        self._bounds = np.array([0, *stops], np.int64)
        if self._bounds[-1] != self.size or (np.diff(self._bounds) <= 0).any():
            raise UserError(
                f"The shards of {folder / MANIFEST} do not add up.",
                "Encode it again.",
                code="damaged",
            )
        self._opened: dict[int, np.ndarray] = {}
        self._lock = threading.Lock()

    @property
    def file_bytes(self) -> int:
        """Total bytes of the shards' files."""
        return sum(shard["bytes"] for shard in {s["file"]: s for s in self._shards}.values())

    def vectors(self, positions: np.ndarray) -> np.ndarray:
        """Return the vectors at positions int64 (n,), as float32 (n, dim)."""
        out = np.empty((len(positions), self.dim), np.float32)
        shards = np.searchsorted(self._bounds, positions, side="right") - 1
        for shard in np.unique(shards).tolist():
            here = np.flatnonzero(shards == shard)
            out[here] = self._array(shard)[positions[here] - self._bounds[shard]]
        return out

    def find(self, keys: Sequence[bytes]) -> np.ndarray:
        """Return positions of sentences by `sentence_key`, int64 (n,); -1 for a missing one."""
        known, prefixes, order = self._keys
        targets = np.frombuffer(b"".join(keys), "<u8").reshape(-1, 2)
        # The first of duplicate sentences; half a key tells a billion sentences apart.
        at = order[np.minimum(np.searchsorted(prefixes, targets[:, 0]), len(prefixes) - 1)]
        return np.where((known[at] == targets).all(axis=1), at, -1)

    def sentences(self) -> Iterator[str]:
        """Yield every sentence, in the order of the rows."""
        for name in self._names:
            file = self._file(name)
            if file.suffix == ".npy":
                yield from file.with_suffix(".txt").read_text("utf-8").split("\n")[:-1]
            else:
                yield from _parquet(file, "sentence").to_pylist()

    @cached_property
    def _keys(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Keys uint64 (n, 2), their first halves sorted, and the positions of these."""
        parts = [np.fromfile(self._file(name, ".keys"), "<u8") for name in self._names]
        for part, (start, stop), name in zip(
            parts, pairwise(self._bounds.tolist()), self._names, strict=True
        ):
            if len(part) != 2 * (stop - start):
                raise UserError(
                    f"The keys of {name} in {self.folder} are not complete.", _AGAIN, code="damaged"
                )
        keys = np.concatenate(parts).reshape(-1, 2)
        order = np.argsort(keys[:, 0], kind="stable")
        return keys, keys[order, 0], order

    def _array(self, shard: int) -> np.ndarray:
        with self._lock:
            if (known := self._opened.get(shard)) is not None:
                return known
            name = self._names[shard]
            rows = int(self._bounds[shard + 1] - self._bounds[shard])
            array = _map_file(self._file(name))
            if array.shape != (rows, self.dim):
                raise UserError(
                    f"{name} in {self.folder} has the shape {array.shape}.", _AGAIN, code="damaged"
                )
            most = _MAX_MAPPED if name.endswith(".npy") else _MAX_DECODED
            while len(self._opened) >= most:
                del self._opened[next(iter(self._opened))]
            self._opened[shard] = array
            return array

    def _file(self, name: str, ending: str | None = None) -> Path:
        file = self.folder / "shards" / name
        file = file if ending is None else file.with_suffix(ending)
        if not file.is_file():
            raise UserError(f"{file} is missing.", _AGAIN, code="no-file")
        return file


_AGAIN = "Remove its .json and run `theodolite encode-corpus` again to make the shard again."


def _incomplete(folder: Path) -> UserError:
    if not (folder / CUT).is_file():
        return UserError(
            f"{folder} contains no encoded corpus.",
            "It needs a manifest.json beside its shards.",
            code="no-file",
        )
    shards = Cut.read(folder).shards
    there = sum((folder / "shards" / f"{shard.name}.json").is_file() for shard in shards)
    return UserError(
        f"{folder} is not complete: {there:,} of {len(shards):,} shards are encoded.",
        "Run `theodolite encode-corpus` again with the same files: it resumes.",
        code="no-result",
    )


def _map_file(file: Path) -> np.ndarray:
    if file.suffix == ".npy":
        try:
            return cast("np.ndarray", np.load(file, mmap_mode="r", allow_pickle=False))
        except (ValueError, OSError, EOFError) as error:
            raise UserError(
                f"{file} cannot be read: {first_line(error)}", _AGAIN, code="damaged"
            ) from error
    column = _parquet(file, "vector")
    flat = column.combine_chunks().flatten().to_numpy()
    return cast("np.ndarray", flat.reshape(len(column), -1))


def _parquet(file: Path, column: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(file, columns=[column]).column(0)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UserError(
            f"{file} cannot be read: {first_line(error)}", _AGAIN, code="damaged"
        ) from error


class VectorFolder(KnownVectors):
    """The vectors of a folder, looked up in place.

    A sentence is looked up as it is, then with each run of white space as one space.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.path = name, folder
        self._stamp = stamp(folder / MANIFEST)
        self._corpus = EncodedCorpus(folder)
        self.dim, self.bytes = self._corpus.dim, self._corpus.file_bytes
        self.fingerprint = self._corpus.hash

    def missing(self, sentences: Sequence[str]) -> list[str]:
        """See `KnownVectors.missing`."""
        at = self._positions(sentences)
        return [s for s, position in zip(sentences, at, strict=True) if position < 0]

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        vectors = self._corpus.vectors(self._positions(sentences))
        check_unchanged(self._stamp, stamp(self.path / MANIFEST), self.path.name)
        return vectors

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
