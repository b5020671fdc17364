"""Plans of trainings in words, made before they start and without reading data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.engine.decoding.spec import DecoderSpec
    from theodolite.engine.training.spec import TrainSpec


def encoder(spec: TrainSpec) -> dict[str, str]:
    """The data, the duration, the selection of the best weights, and the output."""
    length = formats.plural(spec.steps, "step") if spec.steps else _epochs(spec.epochs)
    keeps = "The last weights."
    if spec.dev:
        keeps = f"The best weights on {spec.dev}, evaluated every {spec.dev_every} steps."
    together = f", in {spec.processes} processes" if spec.processes > 1 else ""
    return {
        "Reads": f"{_text(spec.train)}{_most(spec.limit, 'example')}.",
        "Learns for": f"{length}, {spec.batch_size} examples per batch{together}.",
        "Keeps": keeps,
        "Leaves": f"{spec.out}, among the encoders; its curves are on Trainings.",
    }


def decoder(spec: DecoderSpec) -> dict[str, str]:
    """The data, the duration, the selection of the best weights, and the output."""
    texts = formats.listed(_text(name) for name in spec.train)
    return {
        "Reads": f"{texts}{_most(spec.limit, 'sentence')}, encoded by {spec.encoder}.",
        "Learns for": f"{_epochs(spec.epochs)}, from sentences of at most {spec.words} words.",
        "Keeps": "The best weights on held-out sentences.",
        "Leaves": f"A decoder for {spec.encoder}, which the Decode pages use immediately.",
    }


def _text(name: str) -> str:
    return "The starter set" if name == STARTER else name


def _most(limit: int | None, what: str) -> str:
    return f", at most {formats.plural(limit, what)}" if limit else ""


def _epochs(number: float) -> str:
    return f"{number:g} {'epoch' if number == 1 else 'epochs'}"
