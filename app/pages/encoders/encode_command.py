"""`theodolite encode` and `encode-corpus`: vectors of sentences, of a data set, or of files."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.app import corpora, endpoints, formats
from theodolite.app.formats import encodable
from theodolite.app.sending import in_words, sendings
from theodolite.app.terminal import (
    JsonOption,
    PriceOption,
    QueueOption,
    check_writable,
    do_here,
    done,
    emit_json,
    progress_bar,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.engine.encoders import Encoder
    from theodolite.engine.encoders.endpoint import Sending

ENDINGS = (".npy", ".parquet", ".csv", ".jsonl")


@verb
def encode(
    workspace: Workspace,
    given: Annotated[
        str | None,
        typer.Argument(metavar="[ENCODER]", help="A spec string, e.g. minilm | normalise."),
    ] = None,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[SENTENCE]…", help="Sentences; default: stdin.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", help="Read sentences from this file: one per line, or a table's column."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Write the vectors here: .npy (float32, n × dim), .parquet (which vectors:FILE "
            "reads), .csv or .jsonl.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--in", metavar="DATASET", help="Encode every sentence of a data set once."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option("--encoder", "-e", help="The encoder, if it is not named first."),
    ] = None,
    estimate: Annotated[
        bool,
        typer.Option("--estimate", help="Show what would be sent to endpoints, and send nothing."),
    ] = False,
    price: PriceOption = None,
    queue: QueueOption = False,
    column: Annotated[
        str | None, typer.Option("--column", help="The column of a table given as --file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Turn sentences into vectors; files of any size: `theodolite encode-corpus`.

    theodolite encode minilm "a boat on the river" --json

    theodolite encode "wordllama | whiten:starter,64" --file sentences.txt --out vectors.npy

    theodolite encode minilm --in flickr30k --queue

    The vectors of a data set are kept in the store for whatever asks for them next.
    """
    # With --encoder, the first argument is a sentence as well.
    if encoder is not None:
        texts = [*([] if given is None else [given]), *(texts or ())]
    elif given is None:
        raise UserError(
            "No encoder given.", "Write: theodolite encode ENCODER SENTENCE….", code="missing"
        )
    name = encoder or given or ""
    from theodolite.app.jobs import submit
    from theodolite.app.pages.search.job import EncodeJob
    from theodolite.engine.encoders import parse

    kept = out is not None or as_json or estimate
    _check(texts or file, dataset, out, queue=queue, kept=kept)
    job = EncodeJob(str(parse(name)), dataset) if dataset else None
    if job and queue and not estimate:
        queued(submit.queue(workspace, job), as_json)
        return
    sentences = (
        workspace.catalog.sentences(dataset)[0] if dataset else _sentences(texts, file, column)
    )
    sending = _sending(workspace, name, sentences)
    if estimate:
        _estimate(sending, price, as_json)
        return
    for line in in_words(sending, price):
        say(f"Sending {line}.")
    _warn(name, sentences, dataset or "")
    if job is None or dataset is None:
        vectors = _encoded(workspace.load(name), sentences, typed=bool(texts))
    else:
        do_here(workspace, job)
        vectors = workspace.bound(name, dataset).encode(sentences)
    if out is not None:
        _write(out, sentences, vectors)
        say(f"{vectors.shape[0]} vectors of {vectors.shape[1]} dimensions written to {out}.")
    if as_json:
        for sentence, vector in zip(sentences, vectors.tolist(), strict=True):
            emit_json({"sentence": sentence, "vector": vector})


def _write(out: Path, sentences: list[str], vectors: np.ndarray) -> None:
    """Write vectors in the format of the file's ending, with their sentences unless it is .npy."""
    import numpy as np
    import pandas as pd

    from theodolite.engine.encoders import vectors as files

    texts = [encodable(sentence) for sentence in sentences]
    if out.suffix == ".parquet":
        files.save(out, texts, vectors)
    elif out.suffix == ".csv":
        table = pd.DataFrame(vectors)
        table.insert(0, "sentence", texts)
        table.to_csv(out, index=False, encoding="utf-8")
    elif out.suffix == ".jsonl":
        with out.open("w", encoding="utf-8") as lines:
            for text, vector in zip(texts, vectors.tolist(), strict=True):
                lines.write(json.dumps({"sentence": text, "vector": vector}) + "\n")
    else:
        with out.open("wb") as target:
            np.save(target, vectors, allow_pickle=False)


def _warn(encoder: str, sentences: list[str], dataset: str) -> None:
    """Say what contradicts a model's files, and which texts it will cut."""
    from theodolite.engine.encoders import cuts_of, warnings_of

    for warning in (*warnings_of(encoder), *cuts_of(encoder, sentences, dataset)):
        say(f"Warning: {warning}")


def _sending(workspace: Workspace, encoder: str, sentences: list[str]) -> list[Sending]:
    if not endpoints.addresses(encoder):
        return []  # decided without loading the encoder
    return sendings(workspace.load(encoder), sentences)


def _estimate(sending: list[Sending], price: float | None, as_json: bool) -> None:
    """Print what would be sent."""
    if as_json:
        for one in sending:
            emit_json(vars(one))
        return
    for line in in_words(sending, price) or ["nothing"]:
        say(f"Would send {line}.")


def _check(
    given: object, dataset: str | None, out: Path | None, *, queue: bool, kept: bool
) -> None:
    """Refuse invalid combinations, and files that cannot be written, before anything is encoded."""
    if dataset is not None and given:
        raise UserError(
            "Both sentences and a data set are given.", "Leave either out.", code="conflict"
        )
    if dataset is None and queue:
        raise UserError("Only a data set can be queued.", "Name one with --in.", code="missing")
    if dataset is None and not kept:
        raise UserError(
            "No output given.",
            f"Add --out FILE ({', '.join(ENDINGS)}), or --json to print one object per sentence.",
            code="missing",
        )
    if out is not None:
        if out.suffix not in ("", *ENDINGS):  # without an ending, as into a pipe: .npy
            raise UserError(
                f"{str(out)!r} has no known ending.",
                f"Use one of {', '.join(ENDINGS)}.",
                code="wrong-kind",
            )
        check_writable(out)


def _encoded(model: Encoder, sentences: list[str], *, typed: bool) -> np.ndarray:
    """Encode with a progress bar; vectors of typed sentences are not stored on disk."""
    from theodolite.app.typed import Typed

    with progress_bar("encoding") as move:
        return (Typed(model) if typed else model).encode(
            sentences, lambda done, total: move(done, total, "encoding")
        )


def _sentences(texts: list[str] | None, file: Path | None, column: str | None) -> list[str]:
    """Sentences of the command, of a file (`.gz` too) or standard input, one per line or row."""
    from theodolite.engine.corpus.texts import texts_of
    from theodolite.engine.datasets.dialect import ENDINGS
    from theodolite.engine.datasets.files import decode, lines

    if texts:
        return texts
    if file is None:
        return list(decode(io.BytesIO(sys.stdin.buffer.read()), "Standard input"))
    name = file.name.lower().removesuffix(".gz")
    table = name.endswith(ENDINGS) and not name.endswith(".txt")
    try:
        return list(texts_of(file, column) if table else lines(file))
    except OSError as error:
        raise UserError(
            f"{str(file)!r} cannot be read: {error.strerror}.", "Check the path.", code="no-file"
        ) from error


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
    from theodolite.app.jobs import submit
    from theodolite.app.pages.encoders.corpus import EncodeCorpusJob
    from theodolite.engine.corpus.reading import EncodedCorpus

    form = {"format": shard_format, "dtype": dtype, "rows": shard_rows}
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
