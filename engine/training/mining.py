"""Hard negatives: texts that an encoder takes for near ones of an anchor, and that are no partner.

As `mine_hard_negatives` of sentence-transformers finds them, over vectors of any encoder. A text
too close to be wrong is probably an unmarked partner, so a margin to the anchor's own partners, or
a highest score, leaves it out (NV-Retriever, Moreira et al. 2024).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from theodolite.engine.encoders import Encoder
from theodolite.engine.encoders.sides import query_side
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.search.index import Index, unit_rows

CANDIDATES = 10
"""Nearest texts from which each negative that is wanted is taken, unless a range is given."""


@dataclass(frozen=True)
class Mined:
    """An anchor with its partner and a hard negative, and the cosines of the two to the anchor."""

    anchor: str
    positive: str
    negative: str
    positive_score: float
    negative_score: float


@dataclass(frozen=True)
class Mining:
    """Which of the nearest texts become negatives; ranks count texts that are no partner.

    Attributes:
        negatives: at most so many for each pair.
        range_min, range_max: ranks between which they are taken, the second left out; None for ten
            times as many as are wanted.
        margin: their cosine is at least this much below that of the anchor's farthest partner.
        relative_margin: the same, as a share of that partner's cosine.
        max_score: their highest cosine.
    """

    negatives: int = 3
    range_min: int = 0
    range_max: int | None = None
    margin: float | None = None
    relative_margin: float | None = None
    max_score: float | None = None

    def __post_init__(self) -> None:
        """Check the ranks."""
        if self.negatives < 1 or self.range_min < 0 or self.last - self.range_min < self.negatives:
            raise UserError(
                f"{self.negatives} negatives do not fit between the ranks {self.range_min} and "
                f"{self.last}.",
                "Give one negative at least, and a range that is as wide.",
                code="invalid",
            )

    @property
    def last(self) -> int:
        """The rank at which it ends."""
        if self.range_max is not None:
            return self.range_max
        return self.range_min + CANDIDATES * self.negatives

    def bound(self, partner: float) -> float:
        """The highest cosine of a negative, given the lowest of a partner."""
        bounds = [1.0 if self.max_score is None else self.max_score]
        if self.margin is not None:
            bounds.append(partner - self.margin)
        if self.relative_margin is not None:
            bounds.append(partner - abs(partner) * self.relative_margin)
        return min(bounds)


def mine(
    pairs: Iterable[tuple[str, ...]],
    documents: Sequence[str],
    encoder: Encoder,
    how: Mining,
    progress: Progress | None = None,
) -> Iterator[Mined]:
    """Find hard negatives of pairs, pair by pair, hardest first.

    Args:
        pairs: an anchor and its partner each; an anchor may come several times.
        documents: further texts that may be negatives, beside all partners.
        encoder: of the vectors; the anchors are queries to it, if it has those.
        how: which texts are taken.
        progress: told how many texts are encoded.
    """
    partners: dict[str, list[str]] = {}
    for anchor, positive, *_ in pairs:
        if positive not in partners.setdefault(anchor, []):
            partners[anchor].append(positive)
    texts = list(dict.fromkeys([*documents, *(p for own in partners.values() for p in own)]))
    place = {text: row for row, text in enumerate(texts)}
    anchors = list(partners)
    vectors = unit_rows(encoder.encode(texts, progress))
    queries = unit_rows(query_side(encoder).encode(anchors))
    most = max(map(len, partners.values()), default=0)
    scores, ids = Index(vectors).search(queries, how.last + most + 1)
    for anchor, query, near, rows in zip(anchors, queries, scores, ids, strict=True):
        own = [place[text] for text in partners[anchor]]
        cosines = (vectors[own] @ query).tolist()
        bound, left_out = how.bound(min(cosines)), {*own, place.get(anchor)}
        negatives = [
            (texts[row], float(score))
            for score, row in zip(near, rows.tolist(), strict=True)
            if row not in left_out and score <= bound
        ][how.range_min : how.last][: how.negatives]
        for positive, cosine in zip(partners[anchor], cosines, strict=True):
            for negative, score in negatives:
                yield Mined(anchor, positive, negative, cosine, score)
