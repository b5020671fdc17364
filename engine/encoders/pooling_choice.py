"""The pooling that fits a checkpoint, according to its files. Loads no model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.modules import every
from theodolite.engine.encoders.pooling import MEANING
from theodolite.engine.errors import UserError

OURS = {"cls": "cls_token", "mean": "avg", "max": "max", "lasttoken": "last"}
"""Poolings of sentence-transformers that have a name here."""


@dataclass(frozen=True)
class PoolingDiagnosis:
    """The pooling of a checkpoint, by its files.

    Attributes:
        pooling: the one that fits best, used when the spec gives none.
        reasons: for that pooling, as sentences.
        warnings: problems with the pooling that the spec gives, as sentences.
    """

    pooling: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def examine(checkpoint: Checkpoint, chosen: str | None = None) -> PoolingDiagnosis:
    """Diagnose a checkpoint; `chosen` is the pooling that the spec gives."""
    pooling, reason = _recommend(checkpoint)
    _refuse_random_pooler(checkpoint, chosen or pooling)
    if chosen is None:
        return PoolingDiagnosis(pooling, (reason,))
    warnings = []
    if chosen != pooling:
        warnings.append(f"pooling={chosen}, but {checkpoint.label} expects {pooling}: {reason}")
    if chosen != pooling and chosen in ("cls_token", "pooler_output") and checkpoint.is_decoder:
        warnings.append("The first token of a decoder sees nothing of the text behind it.")
    # In a folder that we trained, the modules after the transformer are that pooling and its head.
    if checkpoint.modules and not (checkpoint.trained and chosen == pooling):
        left_out = [str(m["type"]).rsplit(".", 1)[-1] for m in checkpoint.modules[2:]]
        if left_out:
            warnings.append(f"With a pooling given, the model's {', '.join(left_out)} is left out.")
    return PoolingDiagnosis(pooling, (reason,), tuple(warnings))


def _recommend(checkpoint: Checkpoint) -> tuple[str, str]:
    """Pooling and reason, the strongest evidence first."""
    own = own_pooling(checkpoint)
    if own:
        return own, f"its sentence-transformers files name it ({own})."
    name = f"{checkpoint.label} {checkpoint.config.get('_name_or_path', '')}".lower()
    if checkpoint.is_decoder:
        return "last", "it is a decoder, and only the last token has seen the whole text."
    if any(tensor.startswith("mlp.dense") for tensor in checkpoint.shapes):
        return _of_training_code(checkpoint, name)
    if "simcse" in name and "unsup" in name:
        return "cls_token", (
            "it is an unsupervised SimCSE model, whose head was used in training only."
        )
    if "simcse" in name:
        if checkpoint.has_pooler:
            return "pooler_output", "it is a SimCSE model, whose trained head is its pooler."
        return "cls_token", "it is a SimCSE model without a head."
    if _is_raw(checkpoint):
        return "avg_first_last", (
            "it is a language model not tuned for sentences, where the mean of the first and last "
            "layer does best of the plain poolings (SimCSE, table 6)."
        )
    return "avg", "nothing in its files names a pooling, and the mean is the common choice."


def _of_training_code(checkpoint: Checkpoint, name: str) -> tuple[str, str]:
    what = "it is a SimCSE training checkpoint that was not converted, with a head called mlp"
    if checkpoint.has_simcse_head and re.search(r"(^|[^a-z])sup[-_]", name):
        return "pooler_output", f"{what}, which a supervised one keeps."
    return (
        "cls_token",
        f"{what}; only a supervised one, which its name would say, keeps it.",
    )


def _refuse_random_pooler(checkpoint: Checkpoint, pooling: str) -> None:
    if pooling == "pooler_output" and not checkpoint.has_pooler:
        raise UserError(
            f"{checkpoint.label} has no pooler weights: {pooling} would use random ones.",
            "Use pooling=cls_token for the first token without the pooler.",
        )


def own_pooling(checkpoint: Checkpoint) -> str | None:
    """Our name for the pooling of a sentence-transformers folder; None when we have no such one.

    A folder that we trained names it itself, since a mean over two layers takes several modules.
    """
    own = str(checkpoint.trained.get("pooling"))
    if checkpoint.modules and own in MEANING:
        return own
    modes = [mode for part in checkpoint.parts for mode in part.poolings]
    return OURS.get(modes[0]) if len(modes) == 1 else None


def own_poolings(checkpoint: Checkpoint) -> str | None:
    """The poolings that a sentence-transformers folder concatenates; None where it has none."""
    modes = [mode for part in every(checkpoint.parts) for mode in part.poolings]
    return " + ".join(OURS.get(mode, mode) for mode in dict.fromkeys(modes)) or None


def _is_raw(checkpoint: Checkpoint) -> bool:
    architectures = checkpoint.config.get("architectures") or []
    return any(a.endswith(("ForMaskedLM", "ForPreTraining")) for a in architectures)
