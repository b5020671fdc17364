"""`theodolite encode | encoders`: vectors of sentences, and the encoders that are kept."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app import endpoints, formats
from app.pages.encoders import service
from app.terminal import (
    JsonOption,
    PriceOption,
    QueueOption,
    check_writable,
    do_here,
    done,
    emit,
    emit_json,
    progress_bar,
    queued,
    say,
    verb,
    verbs,
)
from app.workspace import Workspace
from engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from engine.encoders import Encoder
    from engine.encoders.endpoint import Sending

encoder_verbs = verbs("List, add, examine and remove encoders.")


SpecArgument = Annotated[str, typer.Argument(metavar="ENCODER", help="A spec string.")]


@verb
def encode(
    workspace: Workspace,
    encoder: Annotated[str, typer.Argument(help="A spec string, e.g. minilm | normalise.")],
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[SENTENCE]…", help="Sentences; none: stdin.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Read sentences from here, one a line (UTF-8).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write a float32 .npy of shape (n, dim) here.")
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option("--in", metavar="DATASET", help="Every sentence of a data set, each once."),
    ] = None,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what endpoints would be sent, and send nothing.")
    ] = False,
    price: PriceOption = None,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Turn sentences into vectors.

    theodolite encode minilm "a boat on the river" --json

    theodolite encode "wordllama | whiten:starter,64" --file sentences.txt --out vectors.npy

    theodolite encode minilm --in flickr30k --queue

    The vectors of a data set are kept in the store for whatever asks for them next.
    """
    from app.jobs import submit
    from app.pages.search.job import EncodeJob
    from engine.encoders import parse

    kept = out is not None or as_json or estimate
    _check(texts or file, dataset, queue=queue, kept=kept)
    if out is not None:
        check_writable(out)
    job = EncodeJob(str(parse(encoder)), dataset) if dataset else None
    if job and queue and not estimate:
        queued(submit.queue(workspace, job), as_json)
        return
    sentences = workspace.catalog.sentences(dataset)[0] if dataset else _sentences(texts, file)
    sending = _sending(workspace, encoder, sentences)
    if estimate:
        _estimate(sending, price, as_json)
        return
    for said in endpoints.in_words(sending, price):
        say(f"Sending {said}.")
    if job is None or dataset is None:
        vectors = _encoded(workspace.load(encoder), sentences, typed=bool(texts))
    else:
        do_here(workspace, job)
        vectors = workspace.bound(encoder, dataset).encode(sentences)
    if out is not None:
        import numpy as np

        with out.open("wb") as target:
            np.save(target, vectors, allow_pickle=False)
        say(f"{vectors.shape[0]} vectors of {vectors.shape[1]} dimensions written to {out}.")
    if as_json:
        for sentence, vector in zip(sentences, vectors.tolist(), strict=True):
            emit_json({"sentence": sentence, "vector": vector})


def _sending(workspace: Workspace, encoder: str, sentences: list[str]) -> list[Sending]:
    if not endpoints.addresses(encoder):
        return []  # nothing is loaded to say so
    return endpoints.sendings(workspace.load(encoder), sentences)


def _estimate(sending: list[Sending], price: float | None, as_json: bool) -> None:
    """Say what would be sent."""
    if as_json:
        for one in sending:
            emit_json(vars(one))
        return
    for said in endpoints.in_words(sending, price) or ["nothing"]:
        say(f"Would send {said}.")


def _check(given: object, dataset: str | None, *, queue: bool, kept: bool) -> None:
    """Refuse what leads nowhere: vectors of sentences must go somewhere, and no worker reads them.

    Raises:
        UserError: a combination that cannot be.
    """
    if dataset is not None and given:
        raise UserError("Sentences and a data set are given.", "Leave either out.")
    if dataset is None and queue:
        raise UserError("Only a data set is left to the worker.", "Name one with --in.")
    if dataset is None and not kept:
        raise UserError(
            "Nowhere to put the vectors.",
            "Add --out FILE.npy, or --json to print one object a sentence.",
        )


def _encoded(model: Encoder, sentences: list[str], *, typed: bool) -> np.ndarray:
    """Vectors with a bar; those of typed sentences are not kept on disk."""
    from app.typed import Typed

    with progress_bar("encoding") as move:
        return (Typed(model) if typed else model).encode(
            sentences, lambda done, total: move(done, total, "encoding")
        )


def _sentences(texts: list[str] | None, file: Path | None) -> list[str]:
    """Sentences of the command, of a file (`.gz` too) or of standard input, one a line."""
    from engine.datasets.files import decode, lines

    if texts:
        return texts
    if file is None:
        return list(decode(io.BytesIO(sys.stdin.buffer.read()), "Standard input"))
    try:
        return list(lines(file))
    except OSError as error:
        raise UserError(
            f"{str(file)!r} cannot be read: {error.strerror}.", "Check the path."
        ) from error


@encoder_verbs.command("list")
@verb
def list_encoders(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every encoder that this store knows.

    theodolite encoders list --json
    """
    rows = service.listed(workspace)
    emit(rows, ("name", "kind", "dim", "parameters", "pooling"), as_json)
    if not rows and not as_json:
        say(
            "None is listed yet. The app lists minilm, wordllama and random:256 at its first "
            "start, and whatever is measured; a spec can be used without being listed."
        )


@encoder_verbs.command("add")
@verb
def add_encoder(
    workspace: Workspace,
    spec: SpecArgument,
    send_texts: Annotated[
        bool,
        typer.Option("--send-texts", help="Allow what it encodes to be sent to its endpoint."),
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
        bool, typer.Option("--check", help="Also measure every pooling on STS-B dev.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say which pooling fits a checkpoint, and why: from its files, and by measuring it.

    theodolite encoders doctor hf:princeton-nlp/sup-simcse-bert-base-uncased --check
    """
    from engine.encoders import doctor

    diagnosis = doctor.diagnose(source)
    fields = {"source": source, "pooling": diagnosis.pooling}
    if as_json:
        emit_json(
            fields | {"reasons": list(diagnosis.reasons), "warnings": list(diagnosis.warnings)}
        )
    else:
        say(f"Recommended pooling: {diagnosis.pooling}")
        for line in (*diagnosis.reasons, *diagnosis.warnings):
            say(f"  {line}")
    if check:
        measured_on, rows = service.check_poolings(workspace, source)
        say(f"Measured on {measured_on}:")
        emit(rows, ("pooling", "spearman", "seconds"), as_json)


@encoder_verbs.command("audit")
@verb
def audit_encoder(
    workspace: Workspace,
    spec: Annotated[
        str, typer.Argument(metavar="ENCODER", help="hf:ID or dir:FOLDER, with any options.")
    ],
    examples: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="DATASET",
            help="Scored pairs, or queries with documents and judgements; default: STS-B.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure in seconds what each setting is worth: prompts, poolings, cuts, precision.

    theodolite encoders audit "hf:intfloat/e5-small-v2?prompt=query:%20"

    theodolite encoders audit dir:my-model?pooling=avg --on cranfield --json

    Every setting is compared with the encoder as given, on the same few pairs or queries. The
    interval is of the paired bootstrap: where it holds 0, the difference may be noise. Choose by
    this, then report on other data.
    """
    from engine.encoders.audit import Audit

    made = None
    with progress_bar("auditing") as move:
        for step in service.audit(workspace, spec, examples):
            if isinstance(step, Audit):
                made = step
            else:
                move(step[0], 1.0, step[1])
    assert made is not None  # noqa: S101 - for the type checker
    rows = service.audit_rows(made)
    shown = ("group", "setting", "score", "lost", "change", "low", "high", "verdict", "error")
    emit(rows, shown, as_json)
    if not as_json:
        say(f"{made.metric} on {formats.plural(made.n, 'example')} of {made.measured_on}, in "
            "points: lost against the best, and changed against the first row, with the 95 % "
            "interval of that change.")  # fmt: skip
        best = made.best
        if best.setting and best.change and best.change.verdict == "a":
            say(f"Best: {best.spec}")
        for note in made.notes:
            say(note)
    for warning in made.warnings:
        say(f"Warning: {warning}")


@encoder_verbs.command("coverage")
@verb
def cover_tasks(
    workspace: Workspace,
    spec: SpecArgument,
    tasks: Annotated[str | None, typer.Option(help="Comma-separated tasks or suites.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say how many sentences of each task a file of vectors lacks.

    theodolite encoders coverage vectors:mine.parquet --tasks sts
    """
    rows = list(service.coverage(workspace, spec, tasks))
    emit(rows, ("task", "sentences", "lacking", "first"), as_json)
    if not as_json:
        for row in rows:
            if row["error"]:
                say(f"{row['task']}: {row['error']}")


@encoder_verbs.command("remove")
@verb
def remove_encoder(workspace: Workspace, spec: SpecArgument, as_json: JsonOption = False) -> None:
    """Forget an encoder. Its results stay; `store clean` reclaims its vectors.

    theodolite encoders remove "minilm | normalise"
    """
    service.remove(workspace, spec)
    done({"removed": spec}, f"{spec} is no longer listed.", as_json)


VERBS = {"encode": encode, "encoders": encoder_verbs}
