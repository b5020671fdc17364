"""What training minimises: a small module each."""

from __future__ import annotations

from typing import Any

from engine.errors import UserError
from engine.training.objectives.augment import Augment, ChangedWords, ReplacedTokens
from engine.training.objectives.mlm import MaskedLanguageModelling
from engine.training.objectives.next_sentence import NextSentence
from engine.training.objectives.objective import Column, Model, Objective
from engine.training.objectives.sup import Supervised
from engine.training.objectives.unsup import Unsupervised
from engine.training.spec import TrainSpec

__all__ = ["Column", "Model", "Objective", "objective_of"]


def objective_of(spec: TrainSpec) -> Objective:
    """The objective of a training run.

    Raises:
        UserError: the same dropout mask is asked for where the two passes differ anyway.

    Examples:
        >>> spec = TrainSpec("sup", "minilm", "pairs.csv", "out", temperature=0.1)
        >>> objective_of(spec).temperature
        0.1
    """
    if spec.objective == "mlm":
        return MaskedLanguageModelling(spec.mlm_probability)
    shared: dict[str, Any] = {
        "temperature": spec.temperature,
        "similarity": spec.similarity,
        "dual": spec.dual,
        "mlm_weight": spec.mlm_weight,
        "mlm_probability": spec.mlm_probability,
    }
    if spec.objective == "next-sentence":
        return NextSentence(**shared)
    if spec.objective == "sup":
        return Supervised(
            **shared,
            hard_negatives=spec.hard_negatives,
            hard_negative_weight=spec.hard_negative_weight,
        )
    if spec.fixed_mask and (spec.dual or spec.augmentation != "none"):
        raise UserError(
            "The same dropout mask twice needs the same sentence in the same encoder twice.",
            "Leave the augmentation and the second encoder out, or the fixed mask.",
        )
    return Unsupervised(**shared, augment=_augment(spec), fixed_mask=spec.fixed_mask)


def _augment(spec: TrainSpec) -> Augment | None:
    if spec.augmentation == "none":
        return None
    if spec.augmentation == "mlm":
        return ReplacedTokens(spec.augmentation_rate)
    return ChangedWords(spec.augmentation, spec.augmentation_rate)
