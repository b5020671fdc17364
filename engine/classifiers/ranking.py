"""Captions and images projected into one space, trained by a pairwise ranking loss.

Random draws are in the reference's order. The loss is over the same pairs; the caption and the
image of a pair are projected once, where the reference projects them again for each contrast.

Source: facebookresearch/SentEval, `senteval/tools/ranking.py` and `senteval/rank.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch

from theodolite.engine.classifiers.features import accelerator
from theodolite.engine.classifiers.models import linear_start
from theodolite.engine.datasets.types import CAPTIONS
from theodolite.engine.progress import ProgressCallback

DIM = 1000
"""Dimension of the space that captions and images share."""
MARGIN = 0.2
CONTRASTS = 30
"""Negative captions, and negative images, of each pair."""
BATCH = 128
PASSES = 21
TENACITY = 3
"""Passes without a better dev score that are tolerated, consecutive or not."""
FOLD, FOLDS = 1000, 5
"""Images ranked together, and the number of such folds scored."""
AT = (1, 5, 10)
"""The cutoffs of recall."""


@dataclass(frozen=True, eq=False)
class Matched:
    """One split.

    Attributes:
        captions: float32 (5 n, d), vectors of the captions, those of one image adjacent.
        images: float32 (n, D), image features; may be mapped from a file.
    """

    captions: np.ndarray
    images: np.ndarray


@dataclass(frozen=True, eq=False)
class CaptionRanks:
    """Ranks of the right answers, 0 being first.

    Attributes:
        of_captions: int64 (n,), the best rank among an image's own captions.
        of_images: int64 (5 n,), the rank of a caption's own image.
        sizes: images of each fold; n is their sum.
    """

    of_captions: np.ndarray
    of_images: np.ndarray
    sizes: tuple[int, ...]

    def recalls(self) -> tuple[list[float], list[float]]:
        """Points of 100 at `AT`, image to text and text to image.

        Folds of one size weigh the same, as in the reference; a last, smaller one weighs less.
        """
        both = (self.of_captions, self.of_images)
        to_text, to_image = ([100 * float((r < k).mean()) for k in AT] for r in both)
        return to_text, to_image

    def medians(self) -> tuple[float, float]:
        """Median rank from 1, image to text and text to image: the mean over folds."""
        ends = np.cumsum(self.sizes)[:-1]
        folds = (np.split(self.of_captions, ends), np.split(self.of_images, CAPTIONS * ends))
        to_text, to_image = (float(np.mean([np.floor(np.median(r)) + 1 for r in f])) for f in folds)
        return to_text, to_image

    def by_image(self) -> np.ndarray:
        """Float64 (n,): of each image, the mean over `AT` and both directions; 0 to 1."""
        own = np.mean([self.of_captions < k for k in AT], axis=0)
        captions = np.mean([self.of_images < k for k in AT], axis=0)
        return np.asarray((own + captions.reshape(-1, CAPTIONS).mean(axis=1)) / 2)


def least_images() -> int:
    """Return the least number of training images: contrasts are drawn from outside of a batch."""
    return BATCH // CAPTIONS + 1


def fit(
    splits: Mapping[str, Matched], seed: int, tick: ProgressCallback
) -> tuple[float, CaptionRanks, int]:
    """Train on `train`, keep the pass with the best dev recalls, rank `test`.

    Args:
        splits: `train`, at least `least_images()` images; `dev` and `test`, at least one each,
            of which five folds of 1,000 are used at most.
        seed: of weights, shuffles and contrasts.
        tick: called after each batch, with the share done if training is not stopped early.

    Returns:
        The best sum of the six dev recalls (0 to 600), ranks on test, and the number of passes.
    """
    train, dev = splits["train"], splits["dev"]
    model = ProjectionHeads(train.images.shape[1], train.captions.shape[1], seed)
    best, best_weights, misses, passes = -1.0, model.copied(), 0, 0
    while misses <= TENACITY and passes < PASSES:
        for share in model.train(train):
            tick((passes + share) / PASSES)
        passes += 1
        score = sum(map(sum, model.ranks(dev).recalls()))
        if score > best:
            best, best_weights = score, model.copied()
        else:
            misses += 1
    model.weights = best_weights
    return best, model.ranks(splits["test"]), passes


class ProjectionHeads:
    """A linear layer for images and one for captions, with their training.

    Args:
        image_dim, caption_dim: of the inputs.
        seed: of weights, shuffles and contrasts.

    Attributes:
        weights: (image_dim + 1, 1000) and (caption_dim + 1, 1000), biases last.
    """

    def __init__(self, image_dim: int, caption_dim: int, seed: int) -> None:
        self.device = accelerator()
        self._random = np.random.RandomState(seed)
        generator = torch.Generator().manual_seed(seed)
        self.weights = [
            linear_start(width, DIM, generator).to(self.device).requires_grad_()
            for width in (image_dim, caption_dim)
        ]
        self._optimiser = torch.optim.Adam(self.weights)
        self._rows: dict[int, torch.Tensor] = {}

    def copied(self) -> list[torch.Tensor]:
        """Return a copy of the weights."""
        return [w.detach().clone() for w in self.weights]

    def train(self, data: Matched) -> Iterator[float]:
        """Make one pass over the captions; yield the share done after each batch."""
        done = 0
        for batch, images, captions in _draws(len(data.captions), self._random):
            u = self._images(data, batch // CAPTIONS)[:, None]
            v = self._captions(data, batch)[:, None]
            others_u = self._images(data, images // CAPTIONS).view(len(batch), CONTRASTS, DIM)
            others_v = self._captions(data, captions).view(len(batch), CONTRASTS, DIM)
            right = (u * v).sum(2)
            loss = (MARGIN - right + (u * others_v).sum(2)).clamp(min=0).sum()
            loss = loss + (MARGIN - right + (v * others_u).sum(2)).clamp(min=0).sum()
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
            done += len(batch)
            yield done / len(data.captions)

    def ranks(self, data: Matched) -> CaptionRanks:
        """Rank captions for images and images for captions, fold by fold."""
        n = min(len(data.images), FOLD * FOLDS)
        of_captions, of_images, sizes = [], [], []
        with torch.no_grad():
            for start in range(0, n, FOLD):
                images = np.arange(start, min(start + FOLD, n))
                captions = np.arange(CAPTIONS * images[0], CAPTIONS * (images[-1] + 1))
                scores = self._images(data, images) @ self._captions(data, captions).T
                rows = rank(scores.cpu().numpy())
                of_captions.append(rows[0])
                of_images.append(rows[1])
                sizes.append(len(images))
        return CaptionRanks(np.concatenate(of_captions), np.concatenate(of_images), tuple(sizes))

    def _images(self, data: Matched, rows: np.ndarray) -> torch.Tensor:
        return self._project(data.images, rows, self.weights[0])

    def _captions(self, data: Matched, rows: np.ndarray) -> torch.Tensor:
        return self._project(data.captions, rows, self.weights[1])

    def _project(self, vectors: np.ndarray, rows: np.ndarray, w: torch.Tensor) -> torch.Tensor:
        """Return unit vectors, float32 (len(rows), 1000)."""
        x = self._gather(vectors, rows)
        projected = torch.addmm(w[-1], x, w[:-1])
        return projected / projected.square().sum(1, keepdim=True).sqrt()

    def _gather(self, vectors: np.ndarray, rows: np.ndarray) -> torch.Tensor:
        """Take rows of a matrix: on a GPU from a copy there, if half of its memory holds it."""
        if self.device == "cpu":
            return torch.from_numpy(np.asarray(vectors[rows]))
        if id(vectors) not in self._rows and vectors.nbytes < torch.cuda.mem_get_info()[0] // 2:
            self._rows[id(vectors)] = torch.from_numpy(np.array(vectors)).to(self.device)
        if id(vectors) in self._rows:
            return self._rows[id(vectors)][torch.from_numpy(rows).to(self.device)]
        return torch.from_numpy(np.asarray(vectors[rows])).to(self.device)


def rank(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank the right answers.

    Ties are in the order of a stable sort, reversed: an encoder that gives every caption the same
    vector has the recall of chance.

    Args:
        scores: (n, 5 n) similarity of images and captions.

    Returns:
        int64 (n,), the best rank of an image's captions; int64 (5 n,), the rank of a caption's
        image. From 0.
    """
    n = len(scores)
    own = np.arange(CAPTIONS * n).reshape(n, CAPTIONS)
    to_text = np.empty(n, np.int64)
    place = np.arange(CAPTIONS * n)
    for image, row in enumerate(scores):
        right = row[own[image]][:, None]
        before = (row > right) | ((row == right) & (place > own[image][:, None]))
        to_text[image] = before.sum(1).min()
    right = scores[place // CAPTIONS, place]
    later = np.arange(n)[:, None] > place // CAPTIONS
    to_image = ((scores > right) | ((scores == right) & later)).sum(0)
    return to_text, to_image


def _draws(
    n: int, random: np.random.RandomState
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield batches of one pass: pairs, and the pairs whose images and captions are contrasts.

    A pair is identified by its caption. Contrasts come from all pairs outside of the batch, also
    those of the same image; the reference's `random.choice` draws positions as `randint` does.
    """
    order = random.permutation(n)
    for start in range(0, n, BATCH):
        batch = order[start : start + BATCH]
        outside, number = n - len(batch), CONTRASTS * len(batch)
        offsets = [random.randint(0, outside, size=number) for _ in range(2)]
        images, captions = (order[d + len(batch) * (d >= start)] for d in offsets)
        yield batch, images, captions
