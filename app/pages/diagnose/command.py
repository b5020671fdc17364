"""`theodolite diagnose`: how well a decoder reconstructs held-out sentences."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    emit,
    emit_json,
    line,
    progress_bar,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.engine.decoding.diagnosis import Diagnosis, Figure

SHOWN = 5


@verb
def diagnose(
    workspace: Workspace,
    encoder: Annotated[
        str,
        typer.Argument(
            metavar="ENCODER", help="Spec of an encoder with a decoder; omit it with --across."
        ),
    ] = "",
    text: Annotated[
        str | None,
        typer.Option(
            "--in",
            metavar="TEXT",
            help="A data set or file of sentences, or held-out: sentences held out in "
            "training. Default: a text that is new to the decoder.",
        ),
    ] = None,
    sentences: Annotated[int, typer.Option(help="Maximum number of sentences.")] = 1000,
    across: Annotated[
        bool,
        typer.Option(
            "--across",
            help="Correlate the figures of all diagnosed encoders with their other scores, "
            "and decoders of different kinds with each other.",
        ),
    ] = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how well a decoder reconstructs sentences, against two baselines, with intervals.

    theodolite diagnose minilm

    theodolite diagnose wordllama --in unlabelled/abc --sentences 500 --json

    theodolite diagnose --across

    The baselines are the nearest training sentence, and the decoding of another sentence's vector:
    a figure is meaningful only if its interval does not overlap theirs. The result is stored like
    any score. With --json every figure and sample is one object; `what` tells them apart.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.decode.service import NoDecoder, with_offer
    from theodolite.app.pages.diagnose.service import DiagnoseJob, newest
    from theodolite.engine.decoding.diagnosis import Diagnosis

    if across or not encoder:
        if encoder or not across:
            raise UserError(
                "Give either an encoder or --across.",
                "Name one encoder, or use --across.",
                code="conflict",
            )
        _across(workspace, as_json)
        return
    try:
        job = DiagnoseJob.of(workspace, encoder, text, sentences)
    except NoDecoder as error:
        raise with_offer(workspace, encoder, error) from error
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    with progress_bar(job.title) as move:
        happened = [what for _, _, what in submit.perform(workspace, job, move=move)]
    made = (what for what in happened if isinstance(what, Diagnosis))
    found = next(made, None) or newest(workspace, job)  # a worker made it
    if as_json:
        _print_objects(found, job.text)
    else:
        _print_tables(found, job.text)


def _print_objects(found: Diagnosis, text: str) -> None:
    head = {"encoder": found.encoder, "text": text}
    for row in found.rows:
        for figure in row.figures:
            emit_json(
                {
                    "what": "figure",
                    **head,
                    "giver": row.system,
                    "length": row.length,
                    "n": row.n,
                    **vars(figure),
                }
            )
    for sample in found.samples:
        words = [{"text": word.text, "fate": word.fate} for word in sample.words]
        emit_json({"what": "sample", **head, **vars(sample), "words": words})
    for note in found.notes:
        emit_json({"what": "note", **head, "note": note})


def _print_tables(found: Diagnosis, text: str) -> None:
    from theodolite.app.pages.diagnose.figures import name_of
    from theodolite.engine.decoding.diagnosis import SYSTEMS

    systems = [system for system in SYSTEMS if found.figures(system)]
    rows: list[dict[str, Any]] = [
        {"figure": name_of(metric)}
        | {SYSTEMS[system]: _with_interval(found.figures(system)[metric]) for system in systems}
        for metric in found.figures()
    ]
    number = next(row.n for row in found.rows)
    say(f"{found.encoder} on {number:,} sentences of {text}; 95 % intervals in brackets.")
    emit(rows, ("figure", *(SYSTEMS[system] for system in systems)), False)
    shown = ("bleu", "token_f1", "round_trip")
    by_length = [
        {"length": length} | {name_of(metric): _with_interval(figures[metric]) for metric in shown}
        for length in found.lengths
        if (figures := found.figures("decoder", length))
    ]
    emit(by_length, ("length", *map(name_of, shown)), False)
    for sample in found.samples[:SHOWN]:
        line(f"{sample.sentence}\n    -> {sample.decoded}  ({sample.cosine:.3f})")
    for note in found.notes:
        say(note)


def _across(workspace: Workspace, as_json: bool) -> None:
    """Rank correlations over encoders."""
    from theodolite.app.pages.diagnose.figures import name_of
    from theodolite.app.pages.diagnose.relations import across

    found = across(workspace)
    if found.relations is None and found.problem is not None:
        raise found.problem
    if found.relations is None:
        return
    cells = [{"what": "correlation", **vars(cell)} for cell in found.relations.cells]
    summaries = [vars(one) for one in found.relations.summaries]
    summaries.append(vars(found.relations.overall) | {"score": "all"})
    left = [
        {"without": name, "lowest": one.overall.lowest, "mean": one.overall.mean}
        for name, one in found.without.items()
    ]
    agreements = [vars(one) for one in found.agreements]
    if as_json:
        for what, rows in (
            ("correlation", cells),
            ("summary", summaries),
            ("without", left),
            ("stability", agreements),
        ):
            for row in rows:
                emit_json({"what": what} | row)
        return
    names = ", ".join(found.relations.encoders)
    say(f"Spearman over {len(found.relations.encoders)} encoders: {names}.")
    emit([_named(row, name_of) for row in cells], ("diagnostic", "score", "rho", "encoders"), False)
    emit(summaries, ("score", "lowest", "mean", "diagnostics"), False)
    emit(left, ("without", "lowest", "mean"), False)
    if agreements:
        shown = ("diagnostic", "first", "second", "rho", "encoders")
        emit([_named(row, name_of) for row in agreements], shown, False)
    elif found.unstable is not None:
        say(f"{found.unstable.message} {found.unstable.hint}")


def _named(row: dict[str, Any], name_of: Callable[[str], str]) -> dict[str, Any]:
    return row | {"diagnostic": name_of(row["diagnostic"])}


def _with_interval(figure: Figure) -> str:
    if figure.value != figure.value:
        return "–"
    places = 3 if figure.metric == "round_trip" else 1
    low, high = f"{figure.low:.{places}f}", f"{figure.high:.{places}f}"
    return f"{figure.value:.{places}f} [{low}, {high}]"
