"""`theodolite encoders`: the listed encoders."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.app import formats
from theodolite.app.pages.encoders import service
from theodolite.app.terminal import (
    JsonOption,
    done,
    emit,
    emit_json,
    progress_bar,
    say,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace

encoder_verbs = verbs("List, add, examine and remove encoders.")


SpecArgument = Annotated[str, typer.Argument(metavar="ENCODER", help="A spec string.")]


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
        say(f"On {measured_on}:")
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
    from theodolite.engine.encoders.audit import Audit

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
        say(
            f"{made.metric} on {formats.plural(made.n, 'example')} of {made.measured_on}, in "
            "points: loss against the best, and change against the first row, with the 95 % "
            "interval of the change."
        )
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
