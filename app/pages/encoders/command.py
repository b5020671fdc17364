"""`theodolite encoders`, `encode` and `encode-corpus`: the listed encoders, and vectors by them."""

import io
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from theodolite.app import corpora, endpoints, formats
from theodolite.app.pages.encoders import service
from theodolite.app.pages.encoders.checks import check_poolings
from theodolite.app.sending import in_words, sendings
from theodolite.app.terminal import (
    JsonOption,
    PriceOption,
    QueueOption,
    check_writable,
    do_here,
    done,
    emit,
    emit_json,
    progress_bar,
    report_queued,
    say,
    verb,
    verbs,
)
from theodolite.app.typed import Typed
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.dialect import ENDINGS as TABLES, dialect_of
from theodolite.engine.datasets.files import decode, lines, read_as
from theodolite.engine.encoders import cuts_of, parse, vectors as files, warnings_of
from theodolite.engine.errors import Code, UserError

ENDINGS = (".npy", ".parquet", ".csv", ".jsonl")
"""Endings of files of vectors."""
ROWS, MAX_ROWS = 16_384, 1_000_000
"""Sentences per shard: default, maximum."""
encoder_verbs = verbs("List, add, examine and remove encoders.")


SpecArgument = Annotated[str, typer.Argument(metavar="ENCODER", help="A spec string.")]


@encoder_verbs.command("list")
@verb
def list_encoders(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every encoder that this store knows.

    theodolite encoders list --json
    """
    rows = service.list_facts(workspace)
    problem = ["problem"] if any(row.get("problem") for row in rows) else []
    emit(rows, ("name", "kind", "dim", "parameters", "pooling", *problem), as_json)
    if not rows and not as_json:
        say(
            "No encoders listed yet. The app lists minilm, wordllama and random:256 when it "
            "first starts, and every encoder that is evaluated; a spec can be used without "
            "being listed."
        )


@encoder_verbs.command("add")
@verb
def add_encoder(
    workspace: Workspace,
    spec: SpecArgument,
    send_texts: Annotated[
        bool,
        typer.Option("--send-texts", help="Allow texts to be sent to its endpoint."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a spec and remember it, so that pages offer it.

    theodolite encoders add "hf:bert-base-uncased?pooling=avg_first_last | normalise"

    theodolite encoders add "api:https://api.openai.com/v1#text-embedding-3-small" --send-texts
    """
    row = service.add(workspace, spec, send_texts=send_texts)
    emit([row], ("name", "kind", "dim", "parameters", "pooling"), as_json)
    if not as_json:
        for warning in row.get("warnings") or ():
            say(f"Warning: {warning}")


@encoder_verbs.command("doctor")
@verb
def examine_encoder(
    workspace: Workspace,
    source: Annotated[str, typer.Argument(help="hf:ID or dir:FOLDER, without options.")],
    check: Annotated[
        bool, typer.Option("--check", help="Also evaluate every pooling on STS-B dev.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say which pooling fits a checkpoint, and why: from its files, and by measuring it.

    theodolite encoders doctor hf:princeton-nlp/sup-simcse-bert-base-uncased --check
    """
    from theodolite.engine.encoders.facts import diagnose

    diagnosis = diagnose(source)
    if as_json:
        emit_json({"source": source, **vars(diagnosis)})
    else:
        say(f"Recommended pooling: {diagnosis.pooling}")
        for line in (*diagnosis.reasons, *diagnosis.warnings):
            say(f"  {line}")
    if check:
        measured_on, rows = check_poolings(workspace, source)
        say(f"On {measured_on}:")
        emit(rows, ("pooling", "spearman", "seconds"), as_json)


@encoder_verbs.command("remove")
@verb
def remove_encoder(workspace: Workspace, spec: SpecArgument, as_json: JsonOption = False) -> None:
    """Forget an encoder. Its results stay; `store clean` reclaims its vectors.

    theodolite encoders remove "minilm | normalise"
    """
    done({"removed": spec}, f"{service.remove(workspace, spec)} is no longer listed.", as_json)


@encoder_verbs.command("rename")
@verb
def rename_encoder(
    workspace: Workspace,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Its name, or a spec dir:FOLDER.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Its new name.")],
    as_json: JsonOption = False,
) -> None:
    """Give an encoder in a folder a name, which is shown for it and can be used anywhere.

    theodolite encoders rename minilm-unsup-2026-11-28 reviews

    theodolite search "a dog runs" --encoder "reviews | normalise"
    """
    service.rename(workspace, old, new)
    done({"encoder": old, "name": new}, f"It is named {new} now.", as_json)


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
            help="Write the vectors here: .npy (float32, n × dim), or .parquet, .csv or .jsonl, "
            "which vectors:FILE reads.",
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
    from theodolite.app.jobs import submit
    from theodolite.app.pages.search.service import EncodeJob

    # With --encoder, the first argument is a sentence as well.
    texts = [*([given] if given is not None and encoder else []), *(texts or ())]
    encoder = encoder or given
    if encoder is None:
        raise UserError(
            "No encoder given.", "Write: theodolite encode ENCODER SENTENCE….", code="missing"
        )
    _check(texts or file, dataset, out, queue=queue, output=out or as_json or estimate)
    job = EncodeJob(str(parse(encoder)), dataset) if dataset else None
    if job and queue and not estimate:
        report_queued(submit.queue(workspace, job), as_json)
        return
    if dataset:
        sentences = workspace.catalog.sentences(dataset)[0]
    else:
        sentences = texts or _sentences(file, column)
    _announce(workspace, encoder, sentences, price, estimate=estimate, as_json=as_json)
    if estimate:
        return
    for warning in (*warnings_of(encoder), *cuts_of(encoder, sentences, dataset or "")):
        say(f"Warning: {warning}")
    if job and dataset:
        do_here(workspace, job)
        vectors = workspace.bound(encoder, dataset).encode(sentences)
    else:
        model = workspace.load(encoder)  # typed sentences are not stored on disk
        with progress_bar("encoding") as move:
            vectors = (Typed(model) if texts else model).encode(
                sentences, lambda done, total: move(done, total, "encoding")
            )
    if out is not None:
        _write(out, sentences, vectors)
        say(f"{vectors.shape[0]} vectors of {vectors.shape[1]} dimensions written to {out}.")
    if as_json:
        for sentence, vector in zip(sentences, vectors.tolist(), strict=True):
            emit_json({"sentence": sentence, "vector": vector})


def _check(
    spec: object, dataset: str | None, out: Path | None, *, queue: bool, output: object
) -> None:
    """Refuse invalid combinations, and files that cannot be written, before anything is encoded."""
    endings = ", ".join(ENDINGS)
    known = out is None or out.suffix in ("", *ENDINGS)  # without an ending, as into a pipe: .npy
    lacking = f"Add --out FILE ({endings}), or --json to print one object per sentence."
    both = "Both sentences and a data set are given."
    wrong: tuple[tuple[object, str, str, Code], ...] = (
        (spec and dataset, both, "Leave either out.", "conflict"),
        (queue and not dataset, "Only a data set can be queued.", "Name one with --in.", "missing"),
        (not (dataset or output), "No output given.", lacking, "missing"),
        (not known, f"{str(out)!r} has no known ending.", f"Use one of {endings}.", "wrong-kind"),
    )
    for applies, message, hint, code in wrong:
        if applies:
            raise UserError(message, hint, code=code)
    if out is not None:
        check_writable(out)


def _announce(
    workspace: Workspace,
    encoder: str,
    sentences: list[str],
    price: float | None,
    *,
    estimate: bool,
    as_json: bool,
) -> None:
    """Say what is sent to endpoints, or would be."""
    # Decided without loading the encoder.
    sending = sendings(workspace.load(encoder), sentences) if endpoints.addresses(encoder) else []
    if estimate and as_json:
        for one in sending:
            emit_json(vars(one))
        return
    for line in in_words(sending, price) or (["nothing"] if estimate else []):
        say(f"{'Would send' if estimate else 'Sending'} {line}.")


def _write(out: Path, sentences: list[str], vectors: np.ndarray) -> None:
    """Write vectors in the format of the file's ending, with their sentences unless it is .npy."""
    import pandas as pd

    texts = [formats.encodable(sentence) for sentence in sentences]
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


def _sentences(file: Path | None, column: str | None) -> list[str]:
    """Sentences of a file (`.gz` too) or standard input, one per line or row."""
    from theodolite.engine.corpus.cut import texts_of

    if file is None:
        return list(decode(io.BytesIO(sys.stdin.buffer.read()), "Standard input"))
    known = file.name.lower().removesuffix(".gz").endswith(TABLES)
    try:
        return list(texts_of(file, column) if known else lines(file))
    except OSError as error:
        raise UserError(
            f"{str(file)!r} cannot be read: {error.strerror}.", "Check the path.", code="no-file"
        ) from error


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
        report_queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    corpus = EncodedCorpus(Path(job.out))  # raises if a shard failed
    name = corpora.add(workspace.store, Path(job.out))
    facts = {
        "out": job.out,
        "dataset": name,
        "count": corpus.size,
        "dim": corpus.dim,
        "bytes": corpus.file_bytes,
    }
    notes = [read_as(file.name, dialect_of(file, file.name).encoding) for file in files]
    message = (
        f"{formats.count(corpus.size)} vectors of {corpus.dim} dimensions "
        f"({formats.size(corpus.file_bytes)}) in {job.out}. "
        f"Search them: theodolite search QUERY {shlex.join(['--in', name, '-e', corpus.encoder])}"
    )
    message = "\n".join([message, *filter(None, notes)])
    done(facts | {"hash": corpus.hash, "fingerprint": corpus.fingerprint}, message, as_json)
