"""The training objectives: views of the examples, and a loss over their vectors.

For a batch of N pairs with vectors h_i (first), h_i+ (second) and, if there are any, h_i- (hard):

    loss = - 1/N sum_i log( exp(s(h_i, h_i+)/t) /
                            sum_j ( exp(s(h_i, h_j+)/t) + [j = i] exp(w) exp(s(h_i, h_j-)/t)
                                                        + [j != i]       exp(s(h_i, h_j-)/t) ) )

Gao, Yao and Chen, SimCSE, EMNLP 2021: equation 1 (pairs), 4 (the pair is one sentence under two
dropout masks), 5 (hard negatives), 8 (their weight). In the paper alpha of equation 8 multiplies
the term of the own negative. The reference code adds its parameter to that term's logit before
the softmax, and so does this: `hard_negative_weight` w is log alpha, and 0 leaves equation 5.

A dual encoder (table 2, f_theta1 and f_theta2) makes all vectors but the first with its second
encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch
from torch.nn import functional

from theodolite.engine.errors import UserError
from theodolite.engine.training.augment import augment_of
from theodolite.engine.training.devices import exact
from theodolite.engine.training.losses import LOSSES, criterion, dims_of
from theodolite.engine.training.spec import ObjectiveName, Similarity, TrainSpec

if TYPE_CHECKING:
    from theodolite.engine.training.model import TrainingModel


def in_batch_loss(
    first: torch.Tensor,
    second: torch.Tensor,
    hard: torch.Tensor | None = None,
    *,
    temperature: float,
    similarity: Similarity = "cosine",
    hard_negative_weight: float = 0.0,
) -> torch.Tensor:
    """Cross entropy of finding each row's partner among all partners and hard negatives.

    Half-precision vectors are compared in float32: divided by a temperature of 0.05, similarities
    differ by less than the resolution of bfloat16.

    Args:
        first: vectors (n, d).
        second: their partners (n, d), row by row.
        hard: a hard negative of each, (n, d).
        temperature: similarities are divided by it, above 0.
        similarity: `cosine`, or `dot` for the plain product.
        hard_negative_weight: added to the logit of a row's own hard negative.

    Returns:
        The mean over the rows, a scalar.

    Examples:
        Two pairs whose vectors agree, and nothing else does: log(1 + exp(-1 / 0.5)).

        >>> ones = torch.eye(2)
        >>> round(float(in_batch_loss(ones, ones, temperature=0.5)), 6)
        0.126928
    """
    with torch.autocast(first.device.type, enabled=False):
        first, others = exact(first), exact(second)
        if hard is not None:
            others = torch.cat([others, exact(hard)])
        if similarity == "cosine":
            first, others = functional.normalize(first), functional.normalize(others)
        logits = first @ others.T / temperature
        if hard is not None and hard_negative_weight:
            # The own negative of row i is in column n + i.
            logits = logits + hard_negative_weight * torch.eye(
                len(first), len(others), device=logits.device, dtype=logits.dtype
            ).roll(len(second), dims=1)
        own = torch.arange(len(first), device=logits.device)
        return functional.cross_entropy(logits, own)


@dataclass(frozen=True)
class Column:
    """One view of every example of a batch.

    Attributes:
        ids: token ids of each example's sentence.
        side: which encoder makes the vectors: 0, or 1 for the second one of a dual encoder.
    """

    ids: list[list[int]]
    side: int = 0


class Objective:
    """A training objective: a contrastive loss, a masked-language-modelling loss, or their sum.

    Args:
        spec: of the run.

    Attributes:
        contrasts: whether there is a contrastive loss.
        mlm_weight: lambda of the MLM loss; 0 for none.
        mlm_probability: share of the tokens it predicts.
    """

    contrasts: ClassVar[bool] = True

    def __init__(self, spec: TrainSpec) -> None:
        self.spec = spec
        self.mlm_weight = spec.mlm_weight
        self.mlm_probability = spec.mlm_probability

    def begin(self, model: TrainingModel) -> None:
        """Keep what is needed of the untrained base; called once, before any weight changes."""

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The views of a batch; `rng` is the source of all randomness in them."""
        raise NotImplementedError

    def loss(self, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        """The contrastive loss of the columns' vectors, each (n, d).

        With a single column every vector is its own partner; a third column holds hard negatives.
        """
        spec = self.spec
        return in_batch_loss(
            vectors[0],
            vectors[min(1, len(vectors) - 1)],
            vectors[2] if len(vectors) > 2 else None,
            temperature=spec.temperature,
            similarity=spec.similarity,
            hard_negative_weight=spec.hard_negative_weight,
        )


class Unsupervised(Objective):
    """Finds a sentence's second copy among those of the batch, with dropout as the only difference.

    The two dropout masks (equation 4) are those of two rows of one forward. Instead the second copy
    may be augmented (table 1, see `augment`), or have the same mask (table 3, "Fixed 0.1"): the two
    vectors are then the same numbers and their gradients add up, so one pass serves as both, as the
    authors did it too (their repository, issue 36).

    Examples:
        Without dropout every sentence finds itself at cosine 1; two sentences at right angles:

        >>> import torch
        >>> objective = Unsupervised(TrainSpec("unsup", "minilm", "text.txt", "out"))
        >>> float(objective.loss([torch.eye(2), torch.eye(2)])) < 1e-6
        True
    """

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__(spec)
        self.augment = None if spec.augmentation == "none" else augment_of(spec)
        if spec.fixed_mask and (spec.dual or self.augment is not None):
            raise UserError(
                "The same dropout mask twice needs the same sentence in the same encoder twice.",
                "Leave the augmentation and the second encoder out, or the fixed mask.",
                code="conflict",
            )

    def begin(self, model: TrainingModel) -> None:
        """Let the augmentation keep what it needs of the base."""
        if self.augment is not None:
            self.augment.begin(model)

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The first sentence of every example twice; once with a fixed mask."""
        sentences = [example[0] for example in examples]
        ids = model.ids(sentences)
        if self.spec.fixed_mask:
            return [Column(ids)]
        second = ids if self.augment is None else self.augment(sentences, ids, model, rng)
        return [Column(ids), Column(second, side=int(self.spec.dual))]


class Supervised(Objective):
    """Finds a sentence's partner among those of the batch and its hard negatives (equation 5).

    Without a third column, or with `hard_negatives` off, there are no hard negatives.

    Examples:
        A hard negative that equals the partner leaves a coin toss, log 2:

        >>> import torch
        >>> from theodolite.engine.training.spec import TrainSpec
        >>> one = torch.ones(1, 4)
        >>> objective = Supervised(TrainSpec("sup", "minilm", "pairs.csv", "out"))
        >>> round(float(objective.loss([one, one, one])), 4)
        0.6931
    """

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """Two columns, or three with hard negatives."""
        number = min(len(examples[0]), 3 if self.spec.hard_negatives else 2)
        texts = [[example[column] for example in examples] for column in range(number)]
        return [
            Column(model.ids(column), side=int(self.spec.dual and place > 0))
            for place, column in enumerate(texts)
        ]


class NextSentence(Supervised):
    """Finds a sentence that follows among those of the batch.

    The loss of equation 1 (Gao, Yao and Chen 2021) on the pairs of Logeswaran and Lee (2018, quick
    thoughts), as compared in table 2: "next sentence" takes the one that follows, "next 3
    sentences" one of the next three, drawn anew whenever the sentence comes up.

    Examples:
        >>> from theodolite.engine.training.spec import TrainSpec
        >>> objective = NextSentence(TrainSpec("next-sentence", "minilm", "text.txt", "out"))
        >>> class Letters:
        ...     def ids(self, sentences):
        ...         return [[ord(letter) for letter in sentence] for sentence in sentences]
        >>> draws = np.random.default_rng(0)
        >>> first, following = objective.columns([("a", "b", "c", "d")], Letters(), draws)
        >>> chr(first.ids[0][0]), chr(following.ids[0][0]) in "bcd"
        ('a', True)
    """

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The first sentence of every example, and one of the others."""
        pairs = [(example[0], example[rng.integers(1, len(example))]) for example in examples]
        return super().columns(pairs, model, rng)


class MaskedLanguageModelling(Objective):
    """MLM alone: pretrains a base from scratch, or continues pretraining one."""

    contrasts = False

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__(spec)
        self.mlm_weight = 1.0

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """All sentences of an example, a column each."""
        return [Column(model.ids(list(sentences))) for sentences in zip(*examples, strict=True)]


_ALIKE = 8
"""Pairs of contrastive tension of which one has the same sentence twice."""


class OfSentenceTransformers(Objective):
    """A loss of sentence-transformers (`engine.training.losses`).

    Guides and teachers are any encoders: their vectors are computed for each batch, without a
    graph, from the whole sentences.
    """

    def begin(self, model: TrainingModel) -> None:
        """Open the guide or teacher, and refuse one whose vectors cannot be learned."""
        from theodolite.engine.encoders.loading import load

        spec = self.spec
        self.need = LOSSES[spec.loss]
        self.module = criterion(spec.loss, model.tokenizer, model.dim, dims_of(spec.matryoshka))
        self.guide = load(spec.guide) if spec.guide else None
        self._labels: torch.Tensor | None = None
        self._guides: list[torch.Tensor] = []
        if self.guide and self.need.guide == "vectors" and self.guide.dim != model.dim:
            raise UserError(
                f"The vectors of {spec.guide} have {self.guide.dim} dimensions, those that are "
                f"trained {model.dim}: {spec.loss} makes them the same.",
                "Take another teacher, or cut it: '| dims:' with the length of the model.",
                code="mismatch",
            )

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The columns of sentences; labels and what a guide says of the batch are kept aside."""
        *texts, last = map(list, zip(*examples, strict=True))
        if not self.need.has_labels:
            texts.append(last)
        elif self.need.data == "scored":
            self._labels = torch.tensor([float(cell) for cell in last], device=model.device)
        else:
            self._labels = torch.tensor([int(cell) for cell in last], device=model.device)
        if self.guide:
            guides = [torch.from_numpy(self.guide.encode(side)).to(model.device) for side in texts]
            if self.need.guide == "guide":
                self._guides = guides
            elif self.need.guide == "vectors":
                self._labels = guides[0]
            else:
                of_partner, of_negative = ((guides[0] * side).sum(1) for side in guides[1:])
                both = torch.stack([of_partner, of_negative], 1)
                is_margin = self.need.guide == "margin"
                self._labels = of_partner - of_negative if is_margin else both
        if self.need.twins:
            return self._twins(texts[0], model)
        return [Column(model.ids(side)) for side in texts]

    def _twins(self, texts: list[str], model: TrainingModel) -> list[Column]:
        """Each sentence for the other copy; for the one that is kept itself, or another one.

        As in sentence-transformers' data loader, of eight pairs one is of a sentence with itself.
        """
        others = texts
        if self.spec.loss == "ContrastiveTensionLoss":
            alike = [place % _ALIKE == 0 for place in range(len(texts))]
            shifted = [*texts[1:], texts[0]]
            others = [a if same else b for same, a, b in zip(alike, texts, shifted, strict=True)]
            self._labels = torch.tensor(alike, dtype=torch.float32, device=model.device)
        return [Column(model.ids(texts), side=1), Column(model.ids(others))]

    def loss(self, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Its value for the columns' vectors, each (n, d), in float32."""
        features = [{"vectors": column.float()} for column in vectors]
        for column, guide in zip(features, self._guides, strict=False):
            column["guide"] = guide
        features[0]["second"] = features[-1]["vectors"]
        with torch.autocast(vectors[0].device.type, enabled=False):
            value = self.module(features, self._labels)
        # Some name the parts of their sum.
        return sum(value.values()) if isinstance(value, dict) else value  # type: ignore[return-value]


_OBJECTIVES: dict[ObjectiveName, type[Objective]] = {
    "unsup": Unsupervised,
    "sup": Supervised,
    "mlm": MaskedLanguageModelling,
    "next-sentence": NextSentence,
    "st": OfSentenceTransformers,
}


def objective_of(spec: TrainSpec) -> Objective:
    """The objective of a training run.

    Examples:
        >>> objective_of(TrainSpec("mlm", "minilm", "text.txt", "out")).contrasts
        False
    """
    return _OBJECTIVES[spec.objective](spec)
