"""The training objectives, one small module each."""

from __future__ import annotations

from theodolite.engine.training.objectives.mlm import MaskedLanguageModelling
from theodolite.engine.training.objectives.objective import Column, Objective
from theodolite.engine.training.objectives.sup import NextSentence, Supervised
from theodolite.engine.training.objectives.unsup import Unsupervised
from theodolite.engine.training.spec import ObjectiveName, TrainSpec

__all__ = ["Column", "Objective", "objective_of"]

_OBJECTIVES: dict[ObjectiveName, type[Objective]] = {
    "unsup": Unsupervised,
    "sup": Supervised,
    "mlm": MaskedLanguageModelling,
    "next-sentence": NextSentence,
}


def objective_of(spec: TrainSpec) -> Objective:
    """The objective of a training run.

    Examples:
        >>> objective_of(TrainSpec("mlm", "minilm", "text.txt", "out")).contrasts
        False
    """
    return _OBJECTIVES[spec.objective](spec)
