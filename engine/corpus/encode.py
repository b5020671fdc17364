"""Encodes shards, and writes the manifest when all are done."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.corpus.cut import Cut, Shard
from theodolite.engine.corpus.files import (
    ENDINGS,
    MANIFEST,
    SHARDS,
    leftovers,
    read_json,
    shard_file,
    whole,
    write_json,
)
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress

VERSION = 1
_BLOCK = 4096
"""Sentences whose vectors are in memory at once."""


def done(folder: Path, cut: Cut, shard: Shard) -> dict[str, Any] | None:
    """Return the facts on a shard, or None if it is not done: `bytes`, `dim`, `rows`, `sha256`."""
    facts = read_json(shard_file(folder, shard.name, ".json"))
    file = shard_file(folder, shard.name, ENDINGS[cut.format])
    if facts is None or not file.is_file() or file.stat().st_size != facts["bytes"]:
        return None
    return facts


def encode_shard(
    folder: Path, cut: Cut, shard: Shard, encoder: Encoder, progress: Progress | None = None
) -> None:
    """Encode a shard, unless it is done."""
    if encoder.fingerprint != cut.fingerprint:
        raise UserError(
            f"{encoder.name} is no longer the encoder that {folder.name} was started with.",
            "Its weights or settings have changed: encode into another folder.",
            code="stale",
        )
    if done(folder, cut, shard) is None:
        sentences = _sentences(folder, shard)
        with whole(shard_file(folder, shard.name, ".keys")) as path:
            path.write_bytes(b"".join(map(sentence_key, sentences)))
        file = shard_file(folder, shard.name, ENDINGS[cut.format])
        write = _write_npy if cut.format == "npy" else _write_parquet
        with whole(file) as path:
            write(path, sentences, encoder, cut.dtype, progress)
            with path.open("rb") as written:
                sha256 = hashlib.file_digest(written, "sha256").hexdigest()
        facts = {"rows": len(sentences), "dim": encoder.dim, "sha256": sha256}
        facts["bytes"] = file.stat().st_size
        write_json(shard_file(folder, shard.name, ".json"), facts)
        if cut.format == "parquet":  # the file holds the sentences too
            shard_file(folder, shard.name, ".txt").unlink(missing_ok=True)


def finish(folder: Path, cut: Cut) -> bool:
    """Write the manifest if every shard is done; return whether it is.

    The temporary files of killed processes are removed then.
    """
    if any(not shard_file(folder, shard.name, ".json").exists() for shard in reversed(cut.shards)):
        return False
    encoded = [done(folder, cut, shard) for shard in cut.shards]
    facts = [one for one in encoded if one is not None]
    if len(facts) < len(encoded):
        return False
    ending = ENDINGS[cut.format]
    shards = [
        {
            "file": f"{SHARDS}/{shard.name}{ending}",
            "sha256": known["sha256"],
            "bytes": known["bytes"],
            "rows": [shard.start, shard.stop],
            "source": shard.source,
            "sentences": shard.name,
        }
        for shard, known in zip(cut.shards, facts, strict=True)
    ]
    about = {"encoder": cut.encoder, "fingerprint": cut.fingerprint, "dim": facts[0]["dim"]}
    form = {"dtype": cut.dtype, "format": cut.format, "count": cut.rows, "corpus": cut.hash}
    manifest = {"version": VERSION, **about, **form, "shards": shards}
    if read_json(folder / MANIFEST) != manifest:
        try:
            write_json(folder / MANIFEST, manifest)
        except UserError:  # another process may have written it, and removed our temporary file
            if read_json(folder / MANIFEST) != manifest:
                raise
    for place in (folder, folder / SHARDS):
        for left in leftovers(place):
            left.unlink(missing_ok=True)
    return True


def _sentences(folder: Path, shard: Shard) -> list[str]:
    file = shard_file(folder, shard.name, ".txt")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserError(
            f"The sentences of {shard.source}, rows {shard.start + 1:,} to {shard.stop:,}, are not "
            f"in {folder}.",
            "Run `theodolite encode-corpus` again with the same files to restore them.",
            code="no-file",
        ) from error
    if hashlib.sha256(content).hexdigest() != shard.name:
        file.unlink(missing_ok=True)
        raise UserError(
            f"{file.name} in {folder} is damaged, and was removed.",
            "Run `theodolite encode-corpus` again with the same files to restore it.",
            code="damaged",
        )
    return content.decode().split("\n")[:-1]


def _write_npy(
    path: Path, sentences: Sequence[str], encoder: Encoder, dtype: str, progress: Progress | None
) -> None:
    shape = (len(sentences), encoder.dim)
    with path.open("wb") as file:
        header = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(sentences), _BLOCK):
            rows = _rows(encoder, sentences, start, dtype, progress)
            file.write(rows.tobytes())


def _write_parquet(
    path: Path, sentences: Sequence[str], encoder: Encoder, dtype: str, progress: Progress | None
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    vector = pa.list_(pa.from_numpy_dtype(np.dtype(dtype)), encoder.dim)
    schema = pa.schema([("sentence", pa.string()), ("vector", vector)])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as file:
        for start in range(0, len(sentences), _BLOCK):
            rows = _rows(encoder, sentences, start, dtype, progress)
            texts = pa.array(sentences[start : start + _BLOCK], pa.string())
            lists = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), encoder.dim)
            file.write_table(pa.table([texts, lists], schema=schema))


def _rows(
    encoder: Encoder, sentences: Sequence[str], start: int, dtype: str, progress: Progress | None
) -> np.ndarray:
    """Encode and check the block that starts at `start`."""
    block = sentences[start : start + _BLOCK]
    total = len(sentences)

    def moved(count: int, _: int) -> None:
        if progress is not None:
            progress(start + count, total)

    rows = encoder.encode(block, moved).astype(dtype, copy=False)
    return finite(rows, block, encoder.name, "Try --dtype float32, or another encoder.")
