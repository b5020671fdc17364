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
    """Neither PAD nor BEGIN is ever written."""
    logits = logits.clone()
    logits[..., [PAD, BEGIN]] = -torch.inf
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
    state = model.begin(vectors.repeat_interleave(width, 0))
    last = torch.full((n * width,), BEGIN, device=device)
    # All begin alike: only the first may be continued, or every beam would be the same.
    score = vectors.new_full((n, width), -torch.inf)
    score[:, 0] = 0.0
    written = torch.zeros((n, width, 0), dtype=torch.long, device=device)
    done: list[list[Candidate]] = [[] for _ in range(n)]
    going = done  # those of the vectors that are not done yet
    most = ((5 + longest + 1) / 6) ** penalty
    for place in range(longest + 1):
        logits, state = model.step(state, last)
        chance = F.log_softmax(_writable(logits), -1).view(len(going), width, -1)
        total = score[..., None] + chance
        size = ((5 + place + 1) / 6) ** penalty
        _finish(going, written, total[..., END], size, width)
        total[..., END] = -torch.inf
        best = total.amax((1, 2)).tolist()
        rest = [i for i, at in enumerate(best) if not _settled(going[i], at, most, width)]
        if place == longest or not rest:
            break
        going, left = [going[i] for i in rest], torch.tensor(rest, device=device)
        score, flat = total[left].view(len(rest), -1).topk(width, -1)
        origin, piece = flat // total.shape[-1], flat % total.shape[-1]
        before = written[left].gather(1, origin[..., None].expand(-1, -1, place))
        written = torch.cat([before, piece[..., None]], -1)
        state = model.chosen(state, (left[:, None] * width + origin).view(-1))
        last = piece.view(-1)
    if place == longest:  # the best of what had no time to end may still be better, and says so
        for kept, row, open_score in zip(going, written.tolist(), score.tolist(), strict=True):
            kept.append(Candidate(tuple(row[0]), open_score[0] / size, False))
    return [sorted(kept, key=lambda c: -c.score)[:width] for kept in done]


def _finish(
    going: list[list[Candidate]], written: Tensor, ends: Tensor, size: float, width: int
) -> None:
    """Keep what ends here and is among the best that ended."""
    for kept, rows, scores in zip(going, written, ends.tolist(), strict=True):
        for row, total in zip(rows, scores, strict=True):
            if total / size > (kept[-1].score if len(kept) == width else -torch.inf):
                kept.append(Candidate(tuple(row.tolist()), total / size, True))
                kept.sort(key=lambda c: -c.score)
                del kept[width:]


def _settled(kept: list[Candidate], best_open: float, most: float, width: int) -> bool:
    """Whether no open hypothesis can enter any more.

    Log-probabilities only fall, and the longest sentence is divided by the most.
    """
    return len(kept) == width and best_open / most <= kept[-1].score


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
