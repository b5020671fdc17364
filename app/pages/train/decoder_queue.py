"""Work on decoders as people deal with it: trainings asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.jobs.submit import queue
from app.pages.train.decoder_making import TrainDecoderJob
from app.pages.trainings.service import absolute, slug
from engine.decoding import card
from engine.decoding.spec import DecoderSpec
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

__all__ = ["command_of", "queue_training", "whole"]


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
    return queue(workspace, TrainDecoderJob(spec), title=title, priority=priority)


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


def command_of(spec: DecoderSpec) -> str:
    """The command that trains the same, numbers as people write them."""
    return card.command_of(replace(spec, out=spec.out or "decoder"), "g")


def _home(workspace: Workspace, spec: DecoderSpec) -> Path:
    """A folder of the store; the same question has the same one."""
    name = slug(spec.encoder.rsplit("/", 1)[-1], "decoder")
    return workspace.store.decoders.folder / f"{name}-{spec.hash[:10]}"
