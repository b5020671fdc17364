"""The spec of a training run: frozen, versioned and hashed.

Defaults are those of unsupervised SimCSE on BERT-base (Gao et al. 2021, section 5 and appendix A).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from theodolite.engine.encoders.spec import TWO_MEANINGS
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import BaseSpec, PrecisionName, Ranges

VERSION = 1

ObjectiveName = Literal["unsup", "sup", "mlm", "next-sentence"]
Similarity = Literal["cosine", "dot"]
Augmentation = Literal["none", "crop", "delete", "delete-one", "mlm"]
Pooling = Literal["base", "cls_token", "avg", "avg_first_last", "avg_top2", "max"]
Head = Literal["none", "mlp", "mlp-train-only"]


@dataclass(frozen=True)
class TrainSpec(BaseSpec):
    """A training run.

    Attributes:
        objective: `unsup` (eq. 4), `sup` (eq. 5, eq. 8 with a weight), `mlm` (masked language
            modelling alone), `next-sentence` (a sentence and one that follows it; table 2).
        base: what is trained: `dir:FOLDER`, `hf:NAME`, a packaged encoder such as `minilm`, or
            `new:layers=4,hidden=256,heads=4,vocab=8000`, a BERT with random weights and its own
            vocabulary, learned from the training sentences.
        train: a file (one sentence a line, or columns as csv, tsv, JSON lines or Parquet), or the
            name of a data set of the catalog.
        out: the folder of the trained encoder.
        seed: decides order, dropout, augmentation and fresh weights.
        batch_size: examples that are each other's negatives.
        micro_batch: examples that pass through the model at once; None for the whole batch. The
            gradients are those of the whole batch (GradCache, Gao et al. 2021).
        limit: train on this many examples from the start; None for all.
        epochs: over the data; fractions allowed.
        steps: stop after this many updates instead; None to go by `epochs`.
        learning_rate: the peak of the linear schedule.
        warmup: share of the steps (0 to 1) until the peak.
        weight_decay: of AdamW, not on biases and layer norms.
        max_grad_norm: gradients are scaled down to this norm; 0 for never.
        max_length: tokens kept of a sentence, special ones included.
        temperature: the similarities are divided by it.
        similarity: of two vectors.
        hard_negatives: use the third column, if there is one.
        hard_negative_weight: alpha of eq. 8 as the reference code reads it: added, as a logit, to
            the similarity of a sentence to its own hard negative. 0 is a weight of one.
        next_sentences: how many following sentences count as positives of `next-sentence`, 1 or 3.
        mlm_weight: lambda of the auxiliary MLM loss (table D.2); 0 for none.
        mlm_probability: share of the tokens that MLM predicts.
        dropout: of the whole model; None leaves the base's own (0.1 in BERT).
        fixed_mask: the same dropout mask in both passes (table 3's "Fixed 0.1").
        augmentation: of the second copy of an unsupervised sentence.
        augmentation_rate: share of the words or tokens that it changes.
        dual: train a second encoder for the second column (table 2's f_theta1, f_theta2).
        pooling: of the vectors in the loss; `base` keeps the one that the base's files name, and is
            `cls_token` where they name none.
        head: a dense layer with tanh after the pooling: none, kept, or in training only (table 6).
        dev: a scored task that chooses the best checkpoint; None keeps the last.
        dev_every: steps between two evaluations on it.
        patience: evaluations without a better score until training stops; None for never.
        precision: `auto` takes bf16 on a GPU that has it, fp16 on others, and fp32 on a CPU.
        compile: pass the model through `torch.compile`; on a CPU this is no faster
            (`benchmarks.training --compiled`).
        gradient_checkpointing: compute activations again instead of keeping them.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; None for the first GPU if there is one.
        processes: of this machine that share each batch, a GPU each where there are any. The
            gradients are those of the whole batch; what is drawn at random differs.
    """

    version = VERSION
    name = "training spec"
    verb = "train"
    arguments = ("objective", "base")
    sources = ("base", "train")

    objective: ObjectiveName
    base: str
    train: str
    out: str
    seed: int = 42
    batch_size: int = 64
    micro_batch: int | None = None
    limit: int | None = None
    epochs: float = 1.0
    steps: int | None = None
    learning_rate: float = 3e-5
    warmup: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    max_length: int = 32
    temperature: float = 0.05
    similarity: Similarity = "cosine"
    hard_negatives: bool = True
    hard_negative_weight: float = 0.0
    next_sentences: int = 1
    mlm_weight: float = 0.0
    mlm_probability: float = 0.15
    dropout: float | None = None
    fixed_mask: bool = False
    augmentation: Augmentation = "none"
    augmentation_rate: float = 0.1
    dual: bool = False
    pooling: Pooling = "base"
    head: Head = "mlp-train-only"
    dev: str | None = "STSBenchmark"
    dev_every: int = 125
    patience: int | None = None
    precision: PrecisionName = "auto"
    compile: bool = False
    gradient_checkpointing: bool = False
    device: str | None = None
    processes: int = 1

    def __post_init__(self) -> None:
        """Check the fields."""
        if self.pooling in _OF_ENCODERS:
            raise UserError(*_OF_ENCODERS[self.pooling])
        self.check(_RANGES)


_OF_ENCODERS = {
    "cls": TWO_MEANINGS,
    "pooler_output": (
        "A training pools with cls_token and puts its head on that.",
        "Write pooling=cls_token with head=mlp: the encoder that comes of it has pooler_output.",
    ),
}


def _whole(least: int) -> tuple[Any, str]:
    return (
        lambda n: isinstance(n, int) and not isinstance(n, bool) and n >= least,
        f"a whole number of at least {least}",
    )


_RANGES: Ranges = {
    "batch_size": _whole(1),
    "micro_batch": _whole(1),
    "limit": _whole(1),
    "steps": _whole(1),
    "max_length": _whole(3),
    "dev_every": _whole(1),
    "patience": _whole(1),
    "processes": (lambda n: isinstance(n, int) and 1 <= n <= 64, "a whole number from 1 to 64"),
    "warmup": (lambda n: 0 <= n <= 1, "a share from 0 to 1"),
    "weight_decay": (lambda n: 0 <= n < 1, "from 0 to 1"),
    "max_grad_norm": (lambda n: 0 <= n < math.inf, "0 or more"),
    "temperature": (lambda n: 0 < n < math.inf, "more than 0; the paper takes 0.05"),
    "hard_negative_weight": (lambda n: math.isfinite(n), "a number"),
    "next_sentences": (lambda n: n in (1, 3), "1 or 3"),
    "mlm_weight": (lambda n: 0 <= n < math.inf, "0 or more"),
    "mlm_probability": (lambda n: 0 < n < 1, "more than 0 and below 1"),
    "augmentation_rate": (lambda n: 0 <= n < 1, "from 0 to below 1"),
}
