"""The losses of sentence-transformers that a training can take, and what each needs.

    theodolite train st minilm --loss MultipleNegativesRankingLoss --train pairs.csv --out mine

They are sentence-transformers' own classes, over the vectors of our model: each is given a model
that hands out vectors that were computed before. So batches of any size in micro-batches,
checkpoints from which a run goes on with equal weights, evaluations and several processes are those
of every training, and the `Cached` losses are the plain ones with a micro-batch. Left out is what
needs more than vectors: layers (`AdaptiveLayerLoss`, `Matryoshka2dLoss`), a decoder
(`DenoisingAutoEncoderLoss`), or a classifier that is thrown away (`SoftmaxLoss`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import torch

Data = Literal["pairs", "triplets", "sentences", "scored", "labelled-pairs", "labelled"]
NEEDS: dict[Data, str] = {
    "pairs": "pairs that mean the same",
    "triplets": "triplets: a sentence, one that means the same, one that does not",
    "sentences": "sentences",
    "scored": "pairs with a score, or sentences with a label",
    "labelled-pairs": "pairs with the label 1 (alike) or 0, or yes or no; sentences with a label",
    "labelled": "sentences with a label",
}
"""What the training data hold, in words."""


@dataclass(frozen=True)
class Loss:
    """What a loss needs, and what it is for.

    Attributes:
        data: what the training data hold.
        about: a line for people.
        negatives: of pairs: whether a third column is used as hard negatives.
        guide: what the setting `guide` is to it: an encoder that tells which negatives are false
            ones (`guide`), or a teacher, whose `vectors`, difference of two similarities
            (`margin`) or similarities (`scores`) are learned; empty where it has none.
        plain: the loss of equal value, of one that is computed in micro-batches.
        twins: whether two copies of the model are trained, one for each column; the one of the
            second column is kept.
    """

    data: Data
    about: str
    negatives: bool = False
    guide: Literal["", "guide", "vectors", "margin", "scores"] = ""
    plain: str = ""
    twins: bool = False

    @property
    def has_labels(self) -> bool:
        """Whether the data have a score or a label."""
        return self.data in ("scored", "labelled-pairs", "labelled")

    @property
    def is_whole(self) -> bool:
        """Whether it is of whole batches, which processes cannot share."""
        return self.has_labels or bool(self.guide) or self.twins

    @property
    def needs(self) -> str:
        """What it learns from, in words."""
        more = ", and hard negatives if there are any" if self.negatives else ""
        who = "guide" if self.guide == "guide" else "teacher"
        return f"{NEEDS[self.data]}{more}" + (f"; with a {who}" if self.guide else "")


_RANKING, _GIST = "MultipleNegativesRankingLoss", "GISTEmbedLoss"
_IN_BATCH = "InBatchNegatives"
_SYMMETRIC = "MultipleNegativesSymmetricRankingLoss"
_BY_LABEL = "Sentences of a label move together; a batch should hold several of each label"
LOSSES = {
    _RANKING: Loss("pairs", "Finds the partner among those of the batch: the usual start", True),
    _SYMMETRIC: Loss(
        "pairs", "Each finds its partner, in both directions: no side is a query", True
    ),
    f"Cached{_RANKING}": Loss("pairs", f"{_RANKING} in micro-batches", True, plain=_RANKING),
    f"Cached{_SYMMETRIC}": Loss("pairs", f"{_SYMMETRIC} in micro-batches", True, plain=_SYMMETRIC),
    _GIST: Loss("pairs", "A guide leaves out negatives that are partners", True, "guide"),
    f"Cached{_GIST}": Loss("pairs", f"{_GIST} in micro-batches", True, "guide", _GIST),
    "MegaBatchMarginLoss": Loss("pairs", "The hardest negative of a large batch, by a margin"),
    "GlobalOrthogonalRegularizationLoss": Loss("pairs", "Spreads vectors; a part of other losses"),
    "TripletLoss": Loss("triplets", "The partner is nearer than the negative by a margin"),
    "CosineSimilarityLoss": Loss("scored", "The cosine is the score"),
    "CoSENTLoss": Loss("scored", "Cosines are in the order of the scores: the usual start"),
    "AnglELoss": Loss("scored", "Angles in the complex plane are in the order of the scores"),
    "ContrastiveLoss": Loss("labelled-pairs", "Pairs alike move together, others apart"),
    "OnlineContrastiveLoss": Loss("labelled-pairs", "ContrastiveLoss of the hard pairs alone"),
    "BatchAllTripletLoss": Loss("labelled", f"{_BY_LABEL}. All triplets"),
    "BatchHardTripletLoss": Loss("labelled", f"{_BY_LABEL}. The hardest triplets"),
    "BatchHardSoftMarginTripletLoss": Loss("labelled", f"{_BY_LABEL}. The hardest, no margin"),
    "BatchSemiHardTripletLoss": Loss("labelled", f"{_BY_LABEL}. Neither easy nor hardest"),
    "ContrastiveTensionLoss": Loss(
        "sentences", "Two copies agree on a sentence, and not on pairs at random", twins=True
    ),
    f"ContrastiveTensionLoss{_IN_BATCH}": Loss(
        "sentences", "Two copies agree on a sentence, and on no other of the batch", twins=True
    ),
    "MSELoss": Loss("sentences", "Its vectors become the teacher's", guide="vectors"),
    "EmbedDistillLoss": Loss("sentences", "Its directions become the teacher's", guide="vectors"),
    "MarginMSELoss": Loss("triplets", "Margins become the teacher's", guide="margin"),
    "DistillKLDivLoss": Loss("triplets", "Rankings become the teacher's", guide="scores"),
}


def dims_of(text: str | None) -> tuple[int, ...]:
    """The Matryoshka dimensions that a setting names.

    >>> dims_of("256, 64")
    (256, 64)
    """
    parts = [part.strip() for part in (text or "").split(",") if part.strip()]
    if not all(part.isdecimal() and int(part) for part in parts):
        raise UserError(
            f"The Matryoshka dimensions {text!r} are not whole numbers.",
            "Write them with commas between: 256,128,64.",
            code="invalid",
        )
    return tuple(map(int, parts))


def check(loss: str, guide: str | None, matryoshka: str | None, processes: int) -> None:
    """Refuse what does not go together before anything is read."""
    description, dims = LOSSES[loss], dims_of(matryoshka)
    who = "guide" if description.guide == "guide" else "teacher"
    if description.guide and not guide:
        raise UserError(
            f"{loss} needs a {who}.",
            "Set guide to an encoder, such as minilm.",
            code="missing",
        )
    if guide and not description.guide:
        raise UserError(f"{loss} has no guide or teacher.", "Leave it out.", code="conflict")
    if dims and description.guide in ("vectors", "margin", "scores"):
        raise UserError(
            f"{loss} learns from a teacher of one length, not from Matryoshka dimensions.",
            "Leave out one of the two.",
            code="conflict",
        )
    if processes > 1 and description.is_whole:
        raise UserError(
            f"{loss} trains in one process: its labels and guides belong to whole batches.",
            "Use one process, or a loss of pairs without a guide.",
            code="unsupported",
        )


def criterion(loss: str, tokenizer: Any, dim: int, dims: Sequence[int] = ()) -> Any:
    """The loss as a module over vectors that are given.

    Args:
        loss: one of `LOSSES`.
        tokenizer: of the model: a guide's vectors are given too, so its tokenizer is no matter.
        dim: length of a vector.
        dims: Matryoshka dimensions, around the loss; none for the whole vector alone.
    """
    from sentence_transformers.sentence_transformer import losses
    from torch import nn

    class Given(nn.Module):
        """A model whose vectors come with its input."""

        max_seq_length, device = 0, None

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key, self.tokenizer = key, tokenizer

        def get_embedding_dimension(self) -> int:
            return dim

        def forward(self, features: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return features | {"sentence_embedding": features[self.key]}

    model, options = Given("vectors"), dict[str, Any]()
    if LOSSES[loss].guide == "guide":
        options["guide"] = Given("guide")
    if loss == "MegaBatchMarginLoss":
        options["use_mini_batched_version"] = False
    function = getattr(losses, LOSSES[loss].plain or loss)(model, **options)
    if loss.endswith(_IN_BATCH):
        function.model2 = Given("second")  # both copies get one column there
    if not dims:
        return function
    if max(dims) > dim:
        raise UserError(
            f"A Matryoshka dimension of {max(dims)} is more than the {dim} of the model.",
            f"Give at most {dim}.",
            code="too-large",
        )
    return losses.MatryoshkaLoss(model, function, list(dims))
