"""From vectors to pieces: greedy, beams, sampling, and the beam of the reference code.

A decoder here is anything with `begin(vectors)`, `step(state, last)` and `chosen(state, rows)`, as
`PrefixTransformer` and `ConditionedLSTM` have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from engine.decoding.vocabulary import BEGIN, END, PAD

REFERENCE_FINISHED = 5
"""The reference's search stops when so many hypotheses have ended."""


class Steps(Protocol):
    """What generation needs of a model."""

    def begin(self, vectors: Tensor) -> Any:
        """The state before any piece."""

    def step(self, state: Any, last: Tensor) -> tuple[Tensor, Any]:
        """Logits of the next piece, and the state that follows; that given stays as it was."""

    def chosen(self, state: Any, rows: Tensor) -> Any:
        """The state of other rows."""


@dataclass(frozen=True)
class Candidate:
    """One sentence for one vector.

    Attributes:
        ids: pieces, without BEGIN and END.
        score: what ranked it: the sum of log-probabilities when greedy or sampled, the same over
            a length penalty for beams, the mean probability for the reference's search.
        ended: False when it was cut at the longest length.
    """

    ids: tuple[int, ...]
    score: float
    ended: bool


def greedy(model: Steps, vectors: Tensor, longest: int) -> list[Candidate]:
    """The likeliest piece at every step.

    Args:
        model: in evaluation mode.
        vectors: float (n, dim).
        longest: most pieces, END not counted.
    """
    return _walk(model, vectors, longest, lambda logits: logits.argmax(-1))


def sample(
    model: Steps, vectors: Tensor, longest: int, *, temperature: float = 1.0, top_p: float = 1.0,
    generator: torch.Generator | None = None,
) -> list[Candidate]:  # fmt: skip
    """A piece drawn at every step from the smallest set that holds `top_p` of the probability.

    Args:
        model: as of `greedy`.
        vectors: as of `greedy`.
        longest: as of `greedy`.
        temperature: the logits are divided by it; above 0.
        top_p: nucleus (Holtzman et al. 2020), above 0, at most 1.
        generator: of the draws.
    """

    def draw(logits: Tensor) -> Tensor:
        chances, order = (logits / temperature).softmax(-1).sort(-1, descending=True)
        # The first piece past the share is kept: a nucleus is never empty.
        outside = chances.cumsum(-1) - chances >= top_p
        place = torch.multinomial(chances.masked_fill(outside, 0.0), 1, generator=generator)
        return order.gather(-1, place)[:, 0]

    return _walk(model, vectors, longest, draw)


def _walk(
    model: Steps, vectors: Tensor, longest: int, choose: Callable[[Tensor], Tensor]
) -> list[Candidate]:
    """Write piece after piece, for all vectors at once."""
    n = len(vectors)
    state, last = model.begin(vectors), torch.full((n,), BEGIN, device=vectors.device)
    written = torch.full((n, longest), PAD, device=vectors.device)
    score, ended = vectors.new_zeros(n), torch.zeros(n, dtype=torch.bool, device=vectors.device)
    for place in range(longest + 1):
        logits, state = model.step(state, last)
        logits = _writable(logits)
        last = choose(logits)
        chance = F.log_softmax(logits, -1).gather(-1, last[:, None])[:, 0]
        written_now = ~ended & ((last == END) | (place < longest))
        score = score + chance.where(written_now, 0.0)
        ended = ended | (last == END)
        if place == longest or bool(ended.all()):
            break
        written[:, place] = last.masked_fill(ended, PAD)
    return [
        Candidate(tuple(i for i in row if i != PAD), float(s), bool(e))
        for row, s, e in zip(written.tolist(), score.tolist(), ended.tolist(), strict=True)
    ]


def _writable(logits: Tensor) -> Tensor:
    """Neither PAD nor BEGIN is ever written; the logits of a step belong to who asked for them."""
    logits[..., PAD] = logits[..., BEGIN] = -torch.inf
    return logits


def beam(
    model: Steps, vectors: Tensor, longest: int, *, width: int = 5, penalty: float = 1.0
) -> list[list[Candidate]]:
    """The best sentences by log-probability, the best first, for each vector.

    A finished hypothesis of m pieces, END among them, has the score log p / ((5 + m) / 6)^penalty
    (Wu et al. 2016, eq. 14); a vector is done when no open hypothesis can beat its worst kept one.

    Args:
        model: as of `greedy`.
        vectors: as of `greedy`.
        longest: as of `greedy`.
        width: hypotheses kept for a vector.
        penalty: 0 ranks by the plain sum.
    """
    n, device = len(vectors), vectors.device
    state, last = model.begin(vectors), torch.full((n,), BEGIN, device=device)
    done: list[list[Candidate]] = [[] for _ in range(n)]
    going = done  # those of the vectors that are not done yet
    # Of each open hypothesis: its score, what it wrote, and its place, `width` of them a vector.
    score, written = vectors.new_zeros(n), torch.zeros((n, 0), dtype=torch.long, device=device)
    places = torch.arange(n, device=device) * width
    most = ((5 + longest + 1) / 6) ** penalty
    for place in range(longest + 1):
        logits, state = model.step(state, last)
        total = F.log_softmax(_writable(logits), -1).add_(score[:, None])
        size = ((5 + place + 1) / 6) ** penalty
        owners = [going[i] for i in (places // width).tolist()]
        _finish(owners, written, total[:, END], size, width)
        if place == longest:
            break
        total[:, END] = -torch.inf
        following, origin, piece = _best(total, places, len(going), width)
        lasting = [
            _lasting(*one, most, width) for one in zip(going, following.tolist(), strict=True)
        ]
        rest = [i for i, one in enumerate(lasting) if any(one)]
        if not rest:
            break
        going = [going[i] for i in rest]
        kept = torch.tensor(lasting, device=device)
        places = kept[rest].view(-1).nonzero()[:, 0]
        score, origin, last = following[kept], origin[kept], piece[kept]
        written = torch.cat([written[origin], last[:, None]], -1)
        state = model.chosen(state, origin)
    if place == longest:  # the best of what had no time to end may still be better, and says so
        firsts = (places % width == 0).nonzero()[:, 0]
        rows = zip(going, written[firsts].tolist(), score[firsts].tolist(), strict=True)
        for ended, row, open_score in rows:
            ended.append(Candidate(tuple(row), open_score / size, False))
    return [sorted(ended, key=lambda c: -c.score)[:width] for ended in done]


def _best(total: Tensor, places: Tensor, n: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """The best continuations of each vector: their scores, rows that they continue, and pieces.

    Args:
        total: (open hypotheses, pieces), the score of each continuation.
        places: (open hypotheses,), see `beam`.
        n: vectors.
        width: continuations of a vector, -inf where there are not as many; as returned, (n, width).
    """
    # The best of a vector are among the best of each of its rows.
    found, pieces = total.topk(min(width, total.shape[1]), -1)
    each = found.shape[1]
    grid = total.new_full((n * width, each), -torch.inf).index_copy(0, places, found)
    score, flat = grid.view(n, -1).topk(width, -1)
    rows = torch.zeros(n * width, dtype=torch.long, device=total.device)
    rows[places] = torch.arange(len(places), device=total.device)
    origin = rows.view(n, width).gather(1, flat // each)
    return score, origin, pieces[origin, flat % each]


def _finish(
    owners: list[list[Candidate]], written: Tensor, ends: Tensor, size: float, width: int
) -> None:
    """Keep what ends here and is among the best of its vector that ended."""
    for row, (kept, total) in enumerate(zip(owners, ends.tolist(), strict=True)):
        if total / size > _bar(kept, width):
            kept.append(Candidate(tuple(written[row].tolist()), total / size, True))
            kept.sort(key=lambda c: -c.score)
            del kept[width:]


def _lasting(kept: list[Candidate], scores: list[float], most: float, width: int) -> list[bool]:
    """Which open hypotheses of a vector can still enter, they or what they become.

    Log-probabilities only fall, and the longest sentence is divided by the most. What a hopeless
    one would have kept out of the beam is worse than itself, and as hopeless.
    """
    bar = _bar(kept, width)
    return [score / most > bar for score in scores]


def _bar(kept: list[Candidate], width: int) -> float:
    """What has to be passed to be among the best that ended."""
    return kept[-1].score if len(kept) == width else -torch.inf


@dataclass(frozen=True)
class _Open:
    """A hypothesis of the reference's search.

    Attributes:
        ids: BEGIN and the pieces so far, perhaps END.
        total: the sum of their probabilities.
        state: before the last of them is given to the model.
    """

    ids: tuple[int, ...]
    total: float
    state: Any

    @property
    def score(self) -> float:
        """The sum over `length + 5 / 6`."""
        return self.total / (len(self.ids) + 5 / 6)


def reference_beam(
    model: Steps, vector: Tensor, *, width: int = 10, longest: int = 99, rounds: int = 300
) -> list[Candidate]:
    """The search of the paper's code, as it is: `vec2sent-ref`.

    It adds probabilities, not their logarithms, and divides by `length + 5 / 6` where the length
    counts BEGIN and END: it seeks the highest mean probability of a piece. Hypotheses of all
    lengths wait in one queue; in each round the best `width` that have not ended are continued by
    their likeliest `width` pieces, and those that come before them and have ended are kept. It
    stops after the round in which there are five.

    Args:
        model: in evaluation mode.
        vector: float (dim,).
        width: as in the code.
        longest: pieces of a hypothesis, END not counted.
        rounds: the code has no limit, and can go on for ever.
    """
    order = count()  # of two equal scores, the one found first
    start = _Open((BEGIN,), 0.0, model.begin(vector[None]))
    queue = [(-start.score, next(order), start)]
    finished: list[Candidate] = []
    for _ in range(rounds):
        batch: list[_Open] = []
        while queue and len(batch) < width:
            best = heappop(queue)[-1]
            if best.ids[-1] == END:
                finished.append(Candidate(best.ids[1:-1], best.score, True))
            else:
                batch.append(best)
        for one in batch:
            for found in _continued(model, one, width, longest):
                heappush(queue, (-found.score, next(order), found))
        if len(finished) >= REFERENCE_FINISHED or not queue:
            break
    if not finished:
        left = [one for *_, one in sorted(queue)[:width]]
        finished = [Candidate(one.ids[1:], one.score, False) for one in left]
    return sorted(finished, key=lambda c: -c.score)


def _continued(model: Steps, one: _Open, width: int, longest: int) -> list[_Open]:
    """By its likeliest pieces; at the longest length by END alone."""
    last = torch.tensor([one.ids[-1]])
    logits, state = model.step(one.state, last)
    chance = _writable(logits)[0].softmax(-1)
    if len(one.ids) > longest:
        pieces = [END]
    else:
        pieces = [i for i in chance.topk(min(width, len(chance))).indices.tolist() if i > BEGIN]
    return [_Open((*one.ids, i), one.total + float(chance[i]), state) for i in pieces]
