"""From vectors to tokens: greedy, beams, sampling, and the beam of the reference code.

A decoder here is anything with `begin(vectors)`, `step(state, last)` and `chosen(state, rows)`, as
`Incremental` and `ConditionedLSTM` have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, nlargest
from itertools import count
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from engine.decoding.known_words import KnownWords
from engine.decoding.scripted import scripted
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
        ids: tokens, without BEGIN and END.
        score: what ranked it: the sum of log-probabilities when greedy or sampled, the same over
            a length penalty for beams, the mean probability for the reference's search.
        ended: False when it was cut at the longest length.
    """

    ids: tuple[int, ...]
    score: float
    ended: bool


def greedy(
    model: Steps, vectors: Tensor, longest: int, *, words: KnownWords | None = None
) -> list[Candidate]:
    """The likeliest token at every step.

    Args:
        model: in evaluation mode.
        vectors: float (n, dim).
        longest: most tokens, END not counted.
        words: what is written is held to; None for anything.
    """
    return _walk(model, vectors, longest, words, lambda scores: scores.argmax(-1))


def sample(
    model: Steps, vectors: Tensor, longest: int, *, temperature: float = 1.0, top_p: float = 1.0,
    generator: torch.Generator | None = None, words: KnownWords | None = None,
) -> list[Candidate]:  # fmt: skip
    """A piece drawn at every step from the smallest set that holds `top_p` of the probability.

    Args:
        model: as of `greedy`.
        vectors: as of `greedy`.
        longest: as of `greedy`.
        temperature: the logits are divided by it; above 0.
        top_p: nucleus (Holtzman et al. 2020), above 0, at most 1.
        generator: of the draws.
        words: as of `greedy`.
    """

    def draw(scores: Tensor) -> Tensor:
        chances, order = (scores / temperature).softmax(-1).sort(-1, descending=True)
        # The first token past the share is kept: a nucleus is never empty.
        outside = chances.cumsum(-1) - chances >= top_p
        place = torch.multinomial(chances.masked_fill(outside, 0.0), 1, generator=generator)
        return order.gather(-1, place)[:, 0]

    return _walk(model, vectors, longest, words, draw)


def _walk(
    model: Steps, vectors: Tensor, longest: int, words: KnownWords | None,
    choose: Callable[[Tensor], Tensor],
) -> list[Candidate]:  # fmt: skip
    """Write token after token, for all vectors at once."""
    n = len(vectors)
    state, last = model.begin(vectors), torch.full((n,), BEGIN, device=vectors.device)
    written = torch.full((n, longest), PAD, device=vectors.device)
    score, ended = vectors.new_zeros(n), torch.zeros(n, dtype=torch.bool, device=vectors.device)
    beginnings = [""] * n
    for place in range(longest + 1):
        logits, state = model.step(state, last)
        scores = F.log_softmax(_writable(logits), -1)
        last = choose(words.hold(scores, beginnings) if words else scores)
        if words:
            beginnings = [*map(words.after, beginnings, last.tolist())]
        chance = scores.gather(-1, last[:, None])[:, 0]
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


@dataclass(frozen=True)
class _Hypothesis:
    """What a beam has written so far.

    Attributes:
        owner: the place of its vector.
        ids: tokens.
        score: the sum of their log-probabilities.
        beginning: of the word it is in, see `KnownWords`.
    """

    owner: int
    ids: tuple[int, ...] = ()
    score: float = 0.0
    beginning: str = ""


def beam(
    model: Steps, vectors: Tensor, longest: int, *, width: int = 5, penalty: float = 1.0,
    words: KnownWords | None = None,
) -> list[list[Candidate]]:  # fmt: skip
    """The best sentences by log-probability, the best first, for each vector.

    A finished hypothesis of m tokens, END among them, has the score log p / ((5 + m) / 6)^penalty
    (Wu et al. 2016, eq. 14); a vector is done when no open hypothesis can beat its worst kept one.

    Args:
        model: as of `greedy`.
        vectors: as of `greedy`.
        longest: as of `greedy`.
        width: hypotheses kept for a vector.
        penalty: 0 ranks by the plain sum.
        words: as of `greedy`; log-probabilities stay those of all tokens.
    """
    n, device = len(vectors), vectors.device
    state, last = model.begin(vectors), torch.full((n,), BEGIN, device=device)
    done: list[list[Candidate]] = [[] for _ in range(n)]
    rows = [_Hypothesis(owner) for owner in range(n)]
    most = ((5 + longest + 1) / 6) ** penalty
    for place in range(longest + 1):
        logits, state = model.step(state, last)
        total = _totals(logits, _tensor([row.score for row in rows], np.float32, device))
        if words:
            total = words.hold(total, [row.beginning for row in rows])
        found = _best(total, min(width, total.shape[1])).tolist()
        size = ((5 + place + 1) / 6) ** penalty
        for row, (end, *_) in zip(rows, found, strict=True):
            _finish(done[row.owner], row, end / size, width)
        if place == longest:
            break
        chosen = _continued(rows, found, width)
        # Log-probabilities only fall, and the longest sentence is divided by the most: what cannot
        # enter any more leaves. What it would have kept out of the beam is worse than itself.
        chosen = [one for one in chosen if one[0] / most > _bar(done[rows[one[1]].owner], width)]
        if not chosen:
            break
        last = _tensor([token for _, _, token in chosen], np.int64, device)
        origin = _tensor([row for _, row, _ in chosen], np.int64, device)
        rows = [_longer(rows[row], token, score, words) for score, row, token in chosen]
        state = model.chosen(state, origin)
    if place == longest:  # the best of what had no time to end may still be better, and says so
        for owner in dict.fromkeys(row.owner for row in rows):
            row = next(row for row in rows if row.owner == owner)
            done[owner].append(Candidate(row.ids, row.score / size, False))
    return [sorted(ended, key=lambda c: -c.score)[:width] for ended in done]


@scripted
def _totals(logits: Tensor, scores: Tensor) -> Tensor:
    """The score of each continuation (rows, tokens); neither PAD nor BEGIN is ever written."""
    logits[:, :2] = -torch.inf
    return torch.log_softmax(logits, -1).add_(scores[:, None])


@scripted
def _best(total: Tensor, width: int) -> Tensor:
    """Of each row the score of its end, then its best continuations' scores, then their tokens."""
    end = total[:, 2:3].clone()
    total[:, 2] = -torch.inf
    scores, tokens = total.topk(width, -1)
    return torch.cat([end, scores, tokens], 1).double()


def _tensor(values: Sequence[float], kind: type[np.generic], device: torch.device) -> Tensor:
    """A tensor on a device; on the CPU made without a call that gives Python's lock back."""
    made = torch.from_numpy(np.array(values, kind))
    return made if device.type == "cpu" else made.to(device)


def _continued(
    rows: list[_Hypothesis], found: list[list[float]], width: int
) -> list[tuple[float, int, int]]:
    """The best continuations of each vector, as many as `width`: score, row and token."""
    each: dict[int, list[tuple[float, int, int]]] = {}
    for place, (row, (_, *best)) in enumerate(zip(rows, found, strict=True)):
        half = len(best) // 2
        each.setdefault(row.owner, []).extend(
            (score, place, int(token))
            for score, token in zip(best[:half], best[half:], strict=True)
        )
    chosen = (nlargest(width, several, key=lambda one: one[0]) for several in each.values())
    return [one for several in chosen for one in several]


def _longer(row: _Hypothesis, token: int, score: float, words: KnownWords | None) -> _Hypothesis:
    beginning = words.after(row.beginning, token) if words else ""
    return _Hypothesis(row.owner, (*row.ids, token), score, beginning)


def _finish(kept: list[Candidate], row: _Hypothesis, score: float, width: int) -> None:
    """Keep what ends here, if it is among the best of its vector that ended."""
    if score > _bar(kept, width):
        kept.append(Candidate(row.ids, score, True))
        kept.sort(key=lambda c: -c.score)
        del kept[width:]


def _bar(kept: list[Candidate], width: int) -> float:
    """What has to be passed to be among the best that ended."""
    return kept[-1].score if len(kept) == width else -torch.inf


@dataclass(frozen=True)
class _Open:
    """A hypothesis of the reference's search.

    Attributes:
        ids: BEGIN and the tokens so far, perhaps END.
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
    counts BEGIN and END: it seeks the highest mean probability of a token. Hypotheses of all
    lengths wait in one queue; in each round the best `width` that have not ended are continued by
    their likeliest `width` tokens, and those that come before them and have ended are kept. It
    stops after the round in which there are five.

    Args:
        model: in evaluation mode.
        vector: float (dim,).
        width: as in the code.
        longest: tokens of a hypothesis, END not counted.
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
            for found in _followed(model, one, width, longest):
                heappush(queue, (-found.score, next(order), found))
        if len(finished) >= REFERENCE_FINISHED or not queue:
            break
    if not finished:
        left = [one for *_, one in sorted(queue)[:width]]
        finished = [Candidate(one.ids[1:], one.score, False) for one in left]
    return sorted(finished, key=lambda c: -c.score)


def _followed(model: Steps, one: _Open, width: int, longest: int) -> list[_Open]:
    """By its likeliest tokens; at the longest length by END alone."""
    last = torch.tensor([one.ids[-1]])
    logits, state = model.step(one.state, last)
    chance = _writable(logits)[0].softmax(-1)
    if len(one.ids) > longest:
        pieces = [END]
    else:
        pieces = [i for i in chance.topk(min(width, len(chance))).indices.tolist() if i > BEGIN]
    return [_Open((*one.ids, i), one.total + float(chance[i]), state) for i in pieces]
