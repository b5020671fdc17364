"""Generate tokens from vectors: greedy, beam search, sampling, and the reference code's search.

A decoder here is anything with `begin(vectors)`, `step(state, last)` and `select(state, rows)`, as
`Incremental` and `ConditionedLSTM` have.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, nlargest
from itertools import count
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from theodolite.engine.decoding.scripted import scripted
from theodolite.engine.decoding.vocabulary import BEGIN, END, PAD, KnownWords

REFERENCE_FINISHED = 5
"""The reference's search stops when this many hypotheses have ended."""


class Steps(Protocol):
    """The interface of a model for generation."""

    def begin(self, vectors: Tensor) -> Any:
        """The state before any token."""

    def step(self, state: Any, last: Tensor) -> tuple[Tensor, Any]:
        """Logits of the next token, and the next state; the given state is not modified."""

    def select(self, state: Any, rows: Tensor) -> Any:
        """Select rows of a state."""


@dataclass(frozen=True)
class Candidate:
    """One sentence for one vector.

    Attributes:
        ids: tokens, without BEGIN and END.
        score: by which it was ranked: the sum of log-probabilities when greedy or sampled, the same
            over a length penalty for beams, the mean probability for the reference's search.
        ended: False when it was cut at the maximum length.
    """

    ids: tuple[int, ...]
    score: float
    ended: bool


def greedy(
    model: Steps, vectors: Tensor, longest: int, *, words: KnownWords | None = None
) -> list[Candidate]:
    """Decode to the most probable token at every step.

    Args:
        model: in evaluation mode.
        vectors: float (n, dim).
        longest: most tokens, END not counted.
        words: the words that the output is restricted to; None for any.
    """
    return _walk(model, vectors, longest, words, lambda scores: scores.argmax(-1))


def sample(
    model: Steps,
    vectors: Tensor,
    longest: int,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    generator: torch.Generator | None = None,
    words: KnownWords | None = None,
) -> list[Candidate]:
    """Draw a token at every step from the smallest set that holds `top_p` of the probability.

    Args:
        model: as for `greedy`.
        vectors: as for `greedy`.
        longest: as for `greedy`.
        temperature: the logits are divided by it; above 0.
        top_p: nucleus (Holtzman et al. 2020), above 0, at most 1.
        generator: of the draws.
        words: as for `greedy`.
    """

    def draw(scores: Tensor) -> Tensor:
        chances, order = (scores / temperature).softmax(-1).sort(-1, descending=True)
        # The first token past the share is kept: a nucleus is never empty.
        outside = chances.cumsum(-1) - chances >= top_p
        place = torch.multinomial(chances.masked_fill(outside, 0.0), 1, generator=generator)
        return order.gather(-1, place)[:, 0]

    return _walk(model, vectors, longest, words, draw)


def _walk(
    model: Steps,
    vectors: Tensor,
    longest: int,
    words: KnownWords | None,
    choose: Callable[[Tensor], Tensor],
) -> list[Candidate]:
    """Generate token by token, for all vectors at once."""
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
    """Mask PAD and BEGIN, which are never written; the logits are changed in place."""
    logits[..., PAD] = logits[..., BEGIN] = -torch.inf
    return logits


@dataclass(frozen=True)
class _Hypothesis:
    """An open hypothesis of a beam.

    Attributes:
        owner: the position of its vector.
        ids: tokens.
        score: the sum of their log-probabilities.
        beginning: of its unfinished word, see `KnownWords`.
    """

    owner: int
    ids: tuple[int, ...] = ()
    score: float = 0.0
    beginning: str = ""


def beam(
    model: Steps,
    vectors: Tensor,
    longest: int,
    *,
    width: int = 5,
    penalty: float = 1.0,
    words: KnownWords | None = None,
) -> list[list[Candidate]]:
    """Search for the best sentences of each vector by log-probability, the best first.

    A finished hypothesis of m tokens, END among them, has the score log p / ((5 + m) / 6)^penalty
    (Wu et al. 2016, eq. 14); a vector is done when no open hypothesis can beat its worst kept one.

    Args:
        model: as for `greedy`.
        vectors: as for `greedy`.
        longest: as for `greedy`.
        width: hypotheses kept for a vector.
        penalty: 0 ranks by the plain sum.
        words: as for `greedy`; log-probabilities are still normalised over all tokens.
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
        best = _best(total, min(width, total.shape[1])).tolist()
        size = ((5 + place + 1) / 6) ** penalty
        for row, (end, *_) in zip(rows, best, strict=True):
            _finish(done[row.owner], row, end / size, width)
        if place == longest:
            break
        candidates = _best_continuations(rows, best, width)
        # Log-probabilities only fall, and the longest sentence has the largest divisor: hypotheses
        # that cannot enter any more are dropped. Those they would have displaced are worse still.
        candidates = [
            candidate
            for candidate in candidates
            if candidate[0] / most > _bar(done[rows[candidate[1]].owner], width)
        ]
        if not candidates:
            break
        last = _tensor([token for _, _, token in candidates], np.int64, device)
        origin = _tensor([row for _, row, _ in candidates], np.int64, device)
        rows = [_longer(rows[row], token, score, words) for score, row, token in candidates]
        state = model.select(state, origin)
    if place == longest:  # the best unfinished one may still be better, and is marked as such
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
    """For each row the score of ending, the scores of the best continuations, then their tokens."""
    end = total[:, 2:3].clone()
    total[:, 2] = -torch.inf
    scores, tokens = total.topk(width, -1)
    return torch.cat([end, scores, tokens], 1).double()


def _tensor(values: Sequence[float], kind: type[np.generic], device: torch.device) -> Tensor:
    """A tensor on a device; on the CPU made without a call that releases the GIL."""
    tensor = torch.from_numpy(np.array(values, kind))
    return tensor if device.type == "cpu" else tensor.to(device)


def _best_continuations(
    rows: list[_Hypothesis], scores: list[list[float]], width: int
) -> list[tuple[float, int, int]]:
    """The best `width` continuations of each vector: score, row and token."""
    each: dict[int, list[tuple[float, int, int]]] = {}
    for place, (row, (_, *best)) in enumerate(zip(rows, scores, strict=True)):
        half = len(best) // 2
        each.setdefault(row.owner, []).extend(
            (score, place, int(token))
            for score, token in zip(best[:half], best[half:], strict=True)
        )
    groups = (nlargest(width, several, key=lambda one: one[0]) for several in each.values())
    return [one for several in groups for one in several]


def _longer(row: _Hypothesis, token: int, score: float, words: KnownWords | None) -> _Hypothesis:
    beginning = words.after(row.beginning, token) if words else ""
    return _Hypothesis(row.owner, (*row.ids, token), score, beginning)


def _finish(candidates: list[Candidate], row: _Hypothesis, score: float, width: int) -> None:
    """Keep a hypothesis that ends if it is among the best finished ones of its vector."""
    if score > _bar(candidates, width):
        candidates.append(Candidate(row.ids, score, True))
        candidates.sort(key=lambda c: -c.score)
        del candidates[width:]


def _bar(candidates: list[Candidate], width: int) -> float:
    """The score to exceed to be among the best finished ones."""
    return candidates[-1].score if len(candidates) == width else -torch.inf


@dataclass(frozen=True)
class _Open:
    """A hypothesis of the reference's search.

    Attributes:
        ids: BEGIN and the tokens so far, perhaps END.
        total: the sum of their probabilities.
        state: of the model before it is given the last token.
    """

    ids: tuple[int, ...]
    total: float
    state: Any

    @property
    def score(self) -> float:
        """The sum divided by `length + 5 / 6`."""
        return self.total / (len(self.ids) + 5 / 6)


def reference_beam(
    model: Steps, vector: Tensor, *, width: int = 10, longest: int = 99, rounds: int = 300
) -> list[Candidate]:
    """Search as the paper's code does: `vec2sent-ref`.

    It adds probabilities, not their logarithms, and divides by `length + 5 / 6` where the length
    counts BEGIN and END: it seeks the highest mean probability of a token. Hypotheses of all
    lengths wait in one queue; in each round the best `width` that have not ended are continued by
    their most probable `width` tokens, and ended ones ranked before them are kept. It stops after
    the round in which five are kept.

    Args:
        model: in evaluation mode.
        vector: float (dim,).
        width: as in the code.
        longest: most tokens of a hypothesis, END not counted.
        rounds: most rounds; the code has no limit, and may never stop.
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
            for hypotheses in _extend(model, one, width, longest):
                heappush(queue, (-hypotheses.score, next(order), hypotheses))
        if len(finished) >= REFERENCE_FINISHED or not queue:
            break
    if not finished:
        left = [one for *_, one in sorted(queue)[:width]]
        finished = [Candidate(one.ids[1:], one.score, False) for one in left]
    return sorted(finished, key=lambda c: -c.score)


def _extend(model: Steps, one: _Open, width: int, longest: int) -> list[_Open]:
    """Extend a hypothesis by its most probable tokens; at the maximum length by END alone."""
    last = torch.tensor([one.ids[-1]])
    logits, state = model.step(one.state, last)
    chance = _writable(logits)[0].softmax(-1)
    if len(one.ids) > longest:
        pieces = [END]
    else:
        pieces = [i for i in chance.topk(min(width, len(chance))).indices.tolist() if i > BEGIN]
    return [_Open((*one.ids, i), one.total + float(chance[i]), state) for i in pieces]
