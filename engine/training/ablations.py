"""The ablations of SimCSE's paper as changes to a run, at any scale.

    spec = TrainSpec("unsup", "minilm", "unlabelled/sentences_mix", "dropout", limit=20_000)
    for label, changes in children("dropout", spec):
        run(TrainSpec.from_dict(spec.to_dict() | changes))

Tables are numbered as in the last version of the paper (Gao, Yao and Chen 2021, EMNLP;
arXiv:2104.08821v4). The scores are the paper's: Spearman x 100 on the dev set of STS-B, BERT base,
a million sentences or 275,601 triplets. Rows whose data or method are not available here are named
in `left_out`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec


@dataclass(frozen=True)
class AblationRow:
    """A row of a table.

    Attributes:
        label: what is changed, as the paper says it.
        changes: fields of a TrainSpec; none for the paper's own choice.
        score: the paper's, on the dev set of STS-B.
    """

    label: str
    changes: dict[str, Any]
    score: float


@dataclass(frozen=True)
class Ablation:
    """A table, or the part of one that starts from the same kind of run.

    Attributes:
        name: for addresses and commands.
        table: of the paper's last version.
        title: what is varied.
        objective: of the run that the changes are made to.
        rows: of the table.
        left_out: rows that cannot be run here, and why.
    """

    name: str
    table: str
    title: str
    objective: Literal["unsup", "sup"]
    rows: tuple[AblationRow, ...]
    left_out: str = ""


def _augmented(label: str, kind: str, percent: int, score: float) -> AblationRow:
    return AblationRow(
        f"{label} {percent} %", {"augmentation": kind, "augmentation_rate": percent / 100}, score
    )


_DELETE_ONE = {"augmentation": "delete-one"}

_AUGMENTATION = Ablation(
    "augmentation",
    "1",
    "Data augmentation instead of dropout alone",
    "unsup",
    (
        AblationRow("none (unsupervised SimCSE)", {}, 82.5),
        _augmented("crop", "crop", 10, 77.8),
        _augmented("crop", "crop", 20, 71.4),
        _augmented("crop", "crop", 30, 63.6),
        _augmented("word deletion", "delete", 10, 75.9),
        _augmented("word deletion", "delete", 20, 72.2),
        _augmented("word deletion", "delete", 30, 68.2),
        AblationRow("delete one word", _DELETE_ONE, 75.9),
        AblationRow("delete one word, without dropout", _DELETE_ONE | {"dropout": 0.0}, 74.2),
        _augmented("MLM", "mlm", 15, 62.2),
    ),
    "Synonym replacement (77.4) needs a dictionary of synonyms.",
)

_NEXT = {"objective": "next-sentence"}
_NEXT_3 = _NEXT | {"next_sentences": 3}
_DUAL = {"dual": True}
_OBJECTIVES = Ablation(
    "objective",
    "2",
    "Training objectives, one encoder or two (on text in reading order)",
    "unsup",
    (
        AblationRow("next sentence, one encoder", _NEXT, 67.1),
        AblationRow("next sentence, two encoders", _NEXT | _DUAL, 68.9),
        AblationRow("next 3 sentences, one encoder", _NEXT_3, 67.4),
        AblationRow("next 3 sentences, two encoders", _NEXT_3 | _DUAL, 68.8),
        AblationRow("delete one word, one encoder", _DELETE_ONE, 75.9),
        AblationRow("delete one word, two encoders", _DELETE_ONE | _DUAL, 73.1),
        AblationRow("unsupervised SimCSE, one encoder", {}, 82.5),
        AblationRow("unsupervised SimCSE, two encoders", _DUAL, 80.7),
    ),
)

_DROPOUT = Ablation(
    "dropout",
    "3",
    "Dropout",
    "unsup",
    (
        *(
            AblationRow(f"p = {p:g}", {"dropout": p}, score)
            for p, score in (
                (0.0, 71.1),
                (0.01, 72.6),
                (0.05, 81.1),
                (0.1, 82.5),
                (0.15, 81.4),
                (0.2, 80.5),
                (0.5, 71.0),
            )
        ),
        AblationRow("fixed 0.1: the same mask twice", {"dropout": 0.1, "fixed_mask": True}, 43.6),
    ),
)

_PAIRS = Ablation(
    "pairs",
    "4",
    "Pairs to learn from",
    "sup",
    (
        AblationRow("entailment", {"hard_negatives": False}, 84.9),
        AblationRow("entailment and hard negatives", {}, 86.2),
        AblationRow("entailment and hard negatives, two encoders", _DUAL, 84.2),
    ),
    "QQP, Flickr30k and ParaNMT as pairs, ANLI, and neutral or contradicted hypotheses as "
    "positives: each needs its own file. Two encoders are from section 4.",
)

_POOLERS = (
    ("[CLS] with MLP", {"pooling": "cls_token", "head": "mlp"}, 81.7, 86.2),
    (
        "[CLS] with MLP in training only",
        {"pooling": "cls_token", "head": "mlp-train-only"},
        82.5,
        85.8,
    ),
    ("[CLS] without MLP", {"pooling": "cls_token", "head": "none"}, 80.9, 86.2),
    ("mean of first and last layer", {"pooling": "avg_first_last", "head": "none"}, 81.2, 86.1),
)
_POOLING = (
    Ablation(
        "pooling",
        "6",
        "Pooling",
        "unsup",
        tuple(AblationRow(label, changes, score) for label, changes, score, _ in _POOLERS),
    ),
    Ablation(
        "pooling-sup",
        "6",
        "Pooling, supervised",
        "sup",
        tuple(AblationRow(label, changes, score) for label, changes, _, score in _POOLERS),
    ),
)

_HARD = Ablation(
    "hard-negatives",
    "7",
    "Hard negatives and their weight",
    "sup",
    (
        AblationRow("none", {"hard_negatives": False}, 84.9),
        *(
            # The spec's weight is the logarithm of alpha: it is added as a logit.
            AblationRow(
                f"contradictions, α = {alpha:g}", {"hard_negative_weight": math.log(alpha)}, score
            )
            for alpha, score in ((0.5, 86.1), (1.0, 86.2), (2.0, 86.2))
        ),
    ),
    "Neutral hypotheses as further hard negatives (85.3) need a file with them.",
)

_TEMPERATURE = Ablation(
    "temperature",
    "D.1",
    "Similarity and temperature",
    "sup",
    (
        AblationRow("dot product", {"similarity": "dot", "temperature": 1.0}, 85.9),
        *(
            AblationRow(f"cosine, τ = {t:g}", {"similarity": "cosine", "temperature": t}, score)
            for t, score in ((0.001, 84.9), (0.01, 85.4), (0.05, 86.2), (0.1, 82.0), (1.0, 64.0))
        ),
    ),
)

_MLM = Ablation(
    "mlm",
    "D.2",
    "An auxiliary MLM loss",
    "sup",
    (
        AblationRow("without MLM", {}, 86.2),
        *(
            AblationRow(f"with MLM, λ = {weight:g}", {"mlm_weight": weight}, score)
            for weight, score in ((0.01, 85.7), (0.1, 85.7), (1.0, 85.1))
        ),
    ),
)

ABLATIONS = {
    ablation.name: ablation
    for ablation in (
        _AUGMENTATION,
        _OBJECTIVES,
        _DROPOUT,
        _PAIRS,
        *_POOLING,
        _HARD,
        _TEMPERATURE,
        _MLM,
    )
}
"""By name, in the order of the paper."""


@dataclass(frozen=True)
class Scale:
    """How large the runs of an ablation are.

    Attributes:
        label: for people.
        limit: number of training examples; None for all.
    """

    label: str
    limit: int | None


SCALES = {
    "try": Scale("a try: 2,000 examples", 2_000),
    "small": Scale("small: 20,000 examples", 20_000),
    "paper": Scale("as large as the data", None),
}
"""By name, from the smallest. Differences at one scale need not hold at another."""
_EVALS = 10
"""Dev evaluations in a run of known length: enough to find its best weights, and still cheap."""


def scaled(spec: TrainSpec, scale: str) -> TrainSpec:
    """Return the run at a scale; it is evaluated on the dev set ten times."""
    found = SCALES.get(scale)
    if found is None:
        raise UserError(
            f"There is no scale {scale!r}.", f"Choose one of {', '.join(SCALES)}.", code="unknown"
        )
    if found.limit is None:
        return replace(spec, limit=None)
    updates = math.ceil(spec.epochs * math.ceil(found.limit / spec.batch_size))
    return replace(spec, limit=found.limit, steps=None, dev_every=max(1, updates // _EVALS))


def children(name: str, spec: TrainSpec) -> list[tuple[str, dict[str, Any]]]:
    """Return label and changes of the rows of an ablation, each checked against a run.

    Args:
        name: of `ABLATIONS`.
        spec: the run that the changes are made to.
    """
    found = ABLATIONS.get(name)
    if found is None:
        raise UserError(
            f"There is no ablation {name!r}.",
            f"Choose one of {', '.join(ABLATIONS)}.",
            code="unknown",
        )
    if spec.objective != found.objective:
        raise UserError(
            f"Table {found.table} ({found.title.lower()}) starts from {found.objective}, "
            f"not from {spec.objective}.",
            f"Choose the objective {found.objective} and data for it.",
            code="mismatch",
        )
    for row in found.rows:
        TrainSpec.from_dict(spec.to_dict() | row.changes)
    return [(row.label, row.changes) for row in found.rows]
