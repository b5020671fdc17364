"""The fields of the page *Train*: which there are, when each applies, and the spec they make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from app.pages.train.form_parts import Field, Values, read, shown
from engine.errors import UserError

if TYPE_CHECKING:
    from engine.training.spec import TrainSpec

OBJECTIVES = (
    ("Unsupervised SimCSE: a sentence and itself under another dropout", "unsup"),
    ("Supervised SimCSE: pairs that mean the same, with hard negatives", "sup"),
    ("Next sentence: a sentence and what follows it", "next-sentence"),
    ("Masked language modelling: pretrain a model of your own", "mlm"),
)
CONTRASTIVE = ("unsup", "sup", "next-sentence")
NEW = (("layers", "Layers", 4), ("hidden", "Hidden size", 256), ("heads", "Attention heads", 4),
       ("vocab", "Vocabulary", 8000))  # fmt: skip
GROUPS = {
    "how": "",
    "dev": "",
    "vectors": "Loss and vectors",
    "noise": "Dropout and augmentation",
    "optimiser": "Optimiser and batches",
    "machine": "Machine",
}
"""Group -> title of the fold it stands in; none for what is always in sight."""


def _for(*objectives: str) -> Callable[[Values], bool]:
    return lambda values: values["objective"] in objectives


def _looked(values: Values) -> bool:
    return values.get("dev", "none") != "none"


def _positive(text: Any) -> bool:
    try:
        return float(text or 0) > 0
    except ValueError:
        return False


FIELDS = (
    Field("batch_size", "Batch size", "whole", "how", "Each other's negatives."),
    Field("learning_rate", "Learning rate", "number", "how", "The highest of it."),
    Field("epochs", "Epochs", "number", "how", "Passes over the data.",
          lambda v: not str(v.get("steps") or "").strip()),
    Field("steps", "Steps", "whole", "how", "Empty: by the epochs.", optional=True),
    Field("max_length", "Longest sentence", "whole", "how", "Tokens; longer ones are cut."),
    Field("temperature", "Temperature", "number", "how", "Divides similarities.",
          _for(*CONTRASTIVE)),
    Field("hard_negatives", "Use the hard negatives of the third column", "flag", "how", "",
          _for("sup")),
    Field("next_sentences", "Sentences that follow", "choice", "how", "Which count as positives.",
          _for("next-sentence"), (("the next one", "1"), ("the next three", "3"))),
    Field("seed", "Seed", "whole", "how", "Of all that is drawn."),
    Field("dev_every", "Steps between looks", "whole", "dev", "How often it is scored.",
          _looked),
    Field("patience", "Patience", "whole", "dev", "Looks; empty: never.",
          _looked, optional=True),
    Field("pooling", "Pooling", "choice", "vectors", "How token vectors become one.",
          choices=(("[CLS]", "cls_token"), ("mean", "avg"),
                   ("first and last layer", "avg_first_last"), ("last two layers", "avg_top2"),
                   ("max", "max"))),
    Field("head", "MLP head on it", "choice", "vectors", "Table 6: in training only is best.",
          _for(*CONTRASTIVE), (("in training only", "mlp-train-only"), ("kept", "mlp"),
                               ("none", "none"))),
    Field("similarity", "Similarity", "choice", "vectors", "", _for(*CONTRASTIVE),
          (("cosine", "cosine"), ("dot product", "dot"))),
    Field("hard_negative_weight", "Weight of hard negatives", "number", "vectors",
          "Added to their logit; 0 is a weight of one.",
          lambda v: v["objective"] == "sup" and bool(v.get("hard_negatives"))),
    Field("mlm_weight", "Weight of an MLM loss beside it", "number", "vectors",
          "Lambda of table D.2; 0 for none.", _for(*CONTRASTIVE)),
    Field("mlm_probability", "Share of masked tokens", "number", "vectors", "",
          lambda v: v["objective"] == "mlm" or _positive(v.get("mlm_weight"))),
    Field("dual", "Train a second encoder for the second column", "flag", "vectors", "",
          _for(*CONTRASTIVE)),
    Field("dropout", "Dropout", "number", "noise", "Empty: the model's own, usually 0.1.",
          optional=True),
    Field("augmentation", "Augmentation of the second copy", "choice", "noise", "",
          _for("unsup"), (("none", "none"), ("crop", "crop"), ("delete words", "delete"),
                          ("delete one word", "delete-one"), ("replace by MLM", "mlm"))),
    Field("augmentation_rate", "Share that it changes", "number", "noise", "",
          lambda v: v["objective"] == "unsup" and v.get("augmentation") in ("crop", "delete",
                                                                           "mlm")),
    Field("fixed_mask", "The same dropout mask in both passes", "flag", "noise", "",
          _for("unsup")),
    Field("warmup", "Warm-up", "number", "optimiser", "Share of the steps, 0 to 1."),
    Field("weight_decay", "Weight decay", "number", "optimiser", "Of AdamW."),
    Field("max_grad_norm", "Largest gradient norm", "number", "optimiser", "0: never clipped."),
    Field("micro_batch", "Micro-batch", "whole", "optimiser",
          "Examples in memory at once, same gradients. Empty: the whole batch.", optional=True),
    Field("limit", "First examples only", "whole", "optimiser", "Empty: all of them.",
          optional=True),
    Field("precision", "Precision", "choice", "machine", "",
          choices=(("by device", "auto"), ("fp32", "fp32"), ("bf16", "bf16"), ("fp16", "fp16"))),
    Field("device", "Device", "choice", "machine", "",
          choices=(("the first GPU, if any", ""), ("CPU", "cpu"), ("CUDA", "cuda"),
                   ("Apple MPS", "mps")), optional=True),
    Field("compile", "torch.compile", "flag", "machine",
          "For a GPU: on a CPU updates take a tenth longer, and the first half a minute."),
    Field("gradient_checkpointing", "Compute activations again, to save memory", "flag",
          "machine"),
)  # fmt: skip
BY_NAME = {field.name: field for field in FIELDS}


def usual() -> dict[str, Any]:
    """Every field as TrainSpec has it, as the controls show it."""
    from engine.training.spec import TrainSpec

    known = {f.name: f.default for f in fields(TrainSpec) if f.default is not MISSING}
    return {name: shown(field, known[name]) for name, field in BY_NAME.items()}


def applying(values: Values) -> dict[str, bool]:
    """Field -> whether it is asked, given what the others say."""
    return {field.name: field.applies(values) for field in FIELDS}


def new_base(sizes: Sequence[Any]) -> str:
    """`new:layers=4,hidden=256,heads=4,vocab=8000` from what was typed.

    Raises:
        UserError: a size is no whole number of at least 1, or the heads do not divide the width.
    """
    numbers = {}
    for (name, label, example), typed in zip(NEW, sizes, strict=True):
        text = str(typed or "").strip()
        if not text.isdecimal() or int(text) < 1:
            raise UserError(f"{label}: {text[:40]!r} is no size.", f"Write one such as {example}.")
        numbers[name] = int(text)
    if numbers["hidden"] % numbers["heads"]:
        raise UserError(
            f"{numbers['heads']} heads do not divide a hidden size of {numbers['hidden']}.",
            "Take a hidden size that is a multiple of the heads, such as 256 and 4.",
        )
    return "new:" + ",".join(f"{name}={number}" for name, number in numbers.items())


def sizes(base: str) -> list[str]:
    """What `new_base` was given; the usual sizes for another base."""
    given = dict(pair.partition("=")[::2] for pair in base.removeprefix("new:").split(","))
    if not base.startswith("new:"):
        given = {}
    return [given.get(name, str(usual_size)) for name, _, usual_size in NEW]


def spec(objective: str, base: str, train: str, values: Values) -> TrainSpec:
    """The spec that the form describes; fields that do not apply keep their default.

    Raises:
        UserError: something is missing, cannot be read, or cannot be trained.
    """
    from engine.training.spec import TrainSpec

    if not base:
        raise UserError("There is no model to train.", "Choose one under What is trained.")
    if not train:
        raise UserError("There is nothing to train on.", "Choose data, or upload a file.")
    known = usual()
    given = {
        field.name: read(field, values[field.name], known[field.name], example=8)
        for field in FIELDS
        if field.applies(values)
    }
    if "next_sentences" in given:
        given["next_sentences"] = int(given["next_sentences"])
    dev = values["dev"] if _looked(values) else None
    named = {"objective": objective, "base": base, "train": train, "out": "", "dev": dev}
    return TrainSpec.from_dict(named | given)
