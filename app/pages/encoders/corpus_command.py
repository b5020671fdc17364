"""`theodolite encode-corpus`: files of any size to a folder of vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.app import corpora, formats
from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    do_here,
    done,
    progress_bar,
    queued,
    verb,
)
from theodolite.app.workspace import Workspace

ROWS, MAX_ROWS = 16_384, 1_000_000
"""Sentences per shard: default, maximum."""


@verb
def encode_corpus(
    workspace: Workspace,
    encoder: Annotated[str, typer.Argument(help="A spec string, e.g. minilm | normalise.")],
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE…",
            help="Lines of text, csv, tsv, JSON lines or Parquet, all but the last also as .gz.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Write the shards here.")],
    column: Annotated[
        str | None, typer.Option(help="The column of tables that holds the sentences.")
    ] = None,
    shard_format: Annotated[
        str, typer.Option("--format", help="npy (read in place) or parquet.")
    ] = "npy",
    dtype: Annotated[str, typer.Option(help="float32 or float16.")] = "float32",
    shard_rows: Annotated[
        int, typer.Option(min=1, max=MAX_ROWS, help="Sentences of a shard.")
    ] = ROWS,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Encode files of any size, shard by shard, into a folder.

    theodolite encode-corpus minilm part-*.jsonl.gz --column text --out vectors

    The vectors are kept in the folder alone: interrupted, the same command goes on with the shards
    that are missing, and `vectors:FOLDER` reads them.
    """
    form = {"format": shard_format, "dtype": dtype, "rows": shard_rows}
    encode_files(workspace, files, column, encoder, out, form, queue=queue, as_json=as_json)


def encode_files(
    workspace: Workspace,
    files: list[Path],
    column: str | None,
    encoder: str,
    out: Path,
    form: dict[str, Any],
    *,
    queue: bool,
    as_json: bool,
) -> None:
    """Cut a corpus into shards and encode those that are missing."""
    from theodolite.app.jobs import submit
    from theodolite.app.pages.encoders.corpus import EncodeCorpusJob
    from theodolite.engine.corpus.reading import EncodedCorpus

    with progress_bar("reading") as move:
        job = EncodeCorpusJob.of(workspace, files, column, encoder, out, form, move)
    if queue and not job.is_stored(workspace):
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    made = EncodedCorpus(Path(job.out))  # raises if a shard failed
    name = corpora.add(workspace.store, Path(job.out))
    facts = {
        "out": job.out,
        "dataset": name,
        "count": made.size,
        "dim": made.dim,
        "bytes": made.file_bytes,
    }
    said = (
        f"{formats.count(made.size)} vectors of {made.dim} dimensions "
        f"({formats.size(made.file_bytes)}) in {job.out}. "
        f"Search them: theodolite search QUERY --in {name} --encoder '{made.encoder}'"
    )
    done(facts | {"hash": made.hash, "fingerprint": made.fingerprint}, said, as_json)
