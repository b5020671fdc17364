"""Work on decoders as people deal with it: trainings and diagnoses asked for, trainings listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.jobs.kinds import spec_of
from app.pages.diagnose import service as diagnosing
from app.pages.train import decoder_making
from app.pages.train.making import STOP
from app.pages.trainings.service import absolute, slug
from engine.decoding import card
from engine.decoding.spec import DecoderSpec
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from store.runs import RunRow

__all__ = ["DecoderRun", "command_of", "queue_diagnosis", "queue_training", "table", "whole"]


def queue_training(
    workspace: Workspace, spec: DecoderSpec, *, title: str | None = None, priority: int = 0
) -> str:
    """Queue the training of a decoder for the worker and return the run's id.

    Args:
        workspace: which is to list the decoder.
        spec: what to train; with an empty `out`, into a folder of the store.
        title: for people; None for one made of the spec.
        priority: lower runs earlier; 0 is usual.

    Raises:
        UserError: for visitors, or where a decoder of this very spec is there already.
    """
    workspace.refuse_visitors()
    spec = whole(workspace, spec)
    if Path(spec.out).exists():
        raise UserError(
            f"{Path(spec.out).name} is there already.",
            "It is listed; to train another, change a setting such as the seed.",
        )
    return workspace.jobs.enqueue(
        decoder_making.KIND, spec.to_dict(), title or decoder_making.label(spec), priority
    )


def queue_diagnosis(
    workspace: Workspace,
    encoder: str,
    text: str | None = None,
    *,
    sentences: int | None = None,
    priority: int = 0,
) -> str:
    """Queue the diagnosis of an encoder's decoder and return the run's id.

    Args:
        workspace: which keeps the results.
        encoder: a spec; it needs a decoder.
        text: data set or file whose sentences are decoded; None for the usual one.
        sentences: how many; None for the usual number.
        priority: lower runs earlier; 0 is usual.

    Raises:
        UserError: for visitors, and for an encoder without a decoder.
    """
    workspace.refuse_visitors()
    spec = diagnosing.asked(workspace, encoder, text, sentences)
    return workspace.jobs.enqueue(diagnosing.KIND, spec, diagnosing.label(spec), priority)


def whole(workspace: Workspace, spec: DecoderSpec) -> DecoderSpec:
    """A spec that means the same in another process: its canonical encoder, whole paths.

    Raises:
        UserError: the encoder cannot be read.
    """
    from engine import encoders

    spec = replace(
        spec,
        encoder=str(encoders.parse(spec.encoder)),
        train=tuple(absolute(name) for name in spec.train),
    )
    out = Path(spec.out).expanduser().absolute() if spec.out else _home(workspace, spec)
    return replace(spec, out=str(out))


@dataclass(frozen=True)
class DecoderRun:
    """One training of a decoder.

    Attributes:
        run: its id.
        title: for people.
        state: queued, running, done, failed or cancelled.
        stopping: whether it was asked to stop and keep the best, and is still at it.
        encoder: whose vectors are decoded.
        settings: every field of its DecoderSpec.
        step, steps: updates made, and in all; None before it started.
        loss: the lowest on the sentences kept apart so far, nats a piece; None without a look.
        seconds: of training; None before it started.
        out: its folder.
        finished: whether the decoder is there.
        error, hint: what went wrong, and what to do.
        created: seconds since 1970.
    """

    run: str
    title: str
    state: str
    stopping: bool
    encoder: str
    settings: Mapping[str, Any]
    step: int | None
    steps: int | None
    loss: float | None
    seconds: float | None
    out: str
    finished: bool
    error: str | None
    hint: str
    created: float


def table(workspace: Workspace, limit: int = 50) -> list[DecoderRun]:
    """The trainings of decoders, the newest first."""
    runs = workspace.store.runs.list(limit=limit, kinds=[decoder_making.KIND])
    return [_row(workspace, run) for run in runs]


def _row(workspace: Workspace, run: RunRow) -> DecoderRun:
    last, asked = workspace.store.events.last, spec_of(run)
    begun = last(run["id"], "started") or {}
    over = last(run["id"], "finished")
    latest = over or last(run["id"], "stepped") or begun
    loss = (over or {}).get("best_loss")
    if loss is None:
        from app.pages.trainings.decoder_course import course

        looks = course(workspace, run["id"]).looks
        loss = min((look["loss"] for look in looks), default=None)
    return DecoderRun(
        run=run["id"], title=run["title"], state=run["state"],
        stopping=run["state"] == "running" and run["asked"] == STOP,
        encoder=asked["encoder"], settings=asked,
        step=latest.get("step"), steps=begun.get("steps"), loss=loss,
        seconds=latest.get("seconds"), out=asked["out"], finished=over is not None,
        error=run["error"], hint=run["hint"], created=run["created"],
    )  # fmt: skip


def command_of(spec: DecoderSpec) -> str:
    """The command that trains the same, numbers as people write them."""
    return card.command_of(replace(spec, out=spec.out or "decoder"), "g")


def _home(workspace: Workspace, spec: DecoderSpec) -> Path:
    """A folder of the store; the same question has the same one."""
    name = slug(spec.encoder.rsplit("/", 1)[-1], "decoder")
    return workspace.store.decoders.folder / f"{name}-{spec.hash[:10]}"
