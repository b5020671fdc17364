"""`theodolite train-decoder`: a decoder for an encoder, trained from a terminal."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.pages.train import service
from app.pages.train.options import takes_settings
from app.terminal import (
    DataOption,
    JsonOption,
    QueueOption,
    StoreOption,
    emit_json,
    line,
    open_workspace,
    plain_errors,
    progress_bar,
    queued,
    say,
)
from engine.decoding import presets
from engine.decoding.events import (
    DecoderEvaluated,
    DecoderFinished,
    DecoderStarted,
    DecoderStepped,
    Encoded,
)
from engine.decoding.spec import DecoderSpec
from engine.training.events import Event, Noted

if TYPE_CHECKING:
    from app.workspace import Workspace


@plain_errors
@takes_settings(DecoderSpec)
def train_decoder(
    encoder: Annotated[
        str, typer.Argument(metavar="ENCODER", help="Whose vectors are decoded: a spec string.")
    ],
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="One sentence a line, or the name of a data set; once "
            "for each of several. Default: the texts of the data folder, or the starter set.",
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="The folder that becomes the decoder. Default: one in the store.",
        ),
    ] = "",
    settings: dict[str, Any] = {},  # noqa: B006 - given by `takes_settings`
    preset: Annotated[
        str, typer.Option(help="Settings to begin with: ours, paper or code.")
    ] = "ours",
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Say what it would take, and train nothing.")
    ] = False,
    queue: QueueOption = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a decoder: from the vectors of an encoder back to sentences.

    theodolite train-decoder minilm --train sentences.txt --out my-decoder

    theodolite train-decoder wordllama --limit 20000 --estimate

    theodolite train-decoder minilm --preset paper --train news.txt --out paper --queue

    Ctrl-C keeps the checkpoint; the same command goes on from it, also after a crash. What is
    trained is used at once wherever its encoder is decoded. With --json every event is one object,
    and the last is the outcome.
    """
    from app.pages.train import decoder_queue as training
    from app.pages.train.decoder_texts import to_learn

    workspace = open_workspace(store, data)
    texts = tuple(train) if train else to_learn(workspace.catalog)
    given = presets.preset(preset).changes | settings
    spec = training.whole(workspace, DecoderSpec(encoder, texts, out, **given))
    if estimate:
        _estimated(workspace, spec, as_json)
    elif queue:
        queued(service.DecoderTraining(workspace).start(spec), as_json, trains=True)
    else:
        _perform(workspace, spec, as_json)


def _estimated(workspace: Workspace, spec: DecoderSpec, as_json: bool) -> None:
    from app import formats
    from app.pages.train import decoder_estimates

    with progress_bar("probing"):
        found = decoder_estimates.probed(workspace, spec)
    if as_json:
        emit_json(vars(found))
        return
    encoding, sentences = formats.duration(found.encoding), formats.count(found.sentences)
    line(f"About {formats.duration(found.seconds)} on {found.device}.")
    say(f"{encoding} of it go into encoding, {sentences} sentences to learn from.")
    say(f"{found.steps:,} updates of {found.parameters:,} weights, "
        f"{found.pieces_per_second:,.0f} tokens a second.")  # fmt: skip


def _perform(workspace: Workspace, spec: DecoderSpec, as_json: bool) -> None:
    """Train here, and tell how it goes."""
    from app.jobs.submit import perform
    from app.pages.train.decoder_making import TrainDecoderJob

    job, run_id, step = TrainDecoderJob(spec), "", 0
    try:
        with progress_bar(job.title) as move:
            for run, _, event in perform(workspace, job):
                run_id = run["id"]
                if isinstance(event, Event):
                    step = getattr(event, "step", step)
                    _tell(event, as_json, move)
    except KeyboardInterrupt:
        _interrupted(run_id, step, spec, as_json)
        raise typer.Exit(130) from None
    if not as_json:
        say(f"Try it: theodolite decode 'A sentence.' --encoder {shlex.quote(spec.encoder)}")


def _tell(event: Event, as_json: bool, move: Callable[[float, float, str], None]) -> None:
    """One event: to a program all of it, to a person what matters."""
    if as_json:
        emit_json(event.to_dict())
    if isinstance(event, Encoded):
        move(event.done, event.sentences, "encoding")
    elif isinstance(event, DecoderStepped):
        move(event.step, event.steps, f"loss {event.loss:.3f}")
    if as_json:
        return
    if isinstance(event, DecoderStarted):
        at = f"goes on at update {event.step:,} of" if event.step else "begins:"
        say(f"{at} {event.steps:,} updates, {event.sentences:,} sentences, "
            f"{event.parameters:,} weights, on {event.device}.")  # fmt: skip
    elif isinstance(event, DecoderEvaluated):
        say(f"update {event.step:,}: loss {event.loss:.3f} on held-out sentences")
        for sentence, decoded in event.samples[:2]:
            say(f"    {sentence}\n    -> {decoded}")
    elif isinstance(event, Noted):
        say(event.message)
    elif isinstance(event, DecoderFinished):
        line(f"{event.out}: update {event.best_step:,} of {event.step:,} was kept, loss "
             f"{event.best_loss:.3f}; {event.seconds:,.1f} s.")  # fmt: skip


def _interrupted(run_id: str, step: int, spec: DecoderSpec, as_json: bool) -> None:
    from app.pages.train.making import newest_checkpoint

    kept = newest_checkpoint([spec.out])
    if as_json:
        emit_json({"kind": "interrupted", "step": step, "checkpoint": kept, "run": run_id})
    said = "before there was a checkpoint" if kept is None else f"that of update {kept:,} is kept"
    say(f"Interrupted after update {step:,}: {said}; the vectors are kept in any case.")
    say(f"Go on here: {shlex.join(['theodolite', *sys.argv[1:]])}")
    if run_id:
        say(f"Go on in the background: theodolite jobs retry {run_id}")
