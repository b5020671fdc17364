"""Search over pieces, held against every sentence there is, for a decoder small enough."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch.nn import functional as F  # noqa: N812

from engine.decoding.folder import DecoderModel, build
from engine.decoding.generate import beam, greedy, reference_beam, sample
from engine.decoding.vocabulary import BEGIN, END

DIM, PIECES, LONGEST = 4, 7, 3


@pytest.fixture(params=["prefix", "lstm", "lstm-mos"])
def model(request: pytest.FixtureRequest) -> DecoderModel:
    """A tiny decoder with weights large enough that its choices differ."""
    torch.manual_seed(3)
    made = build(request.param, DIM, PIECES, {"width": 8, "layers": 2, "positions": 8})
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(4.0) if parameter.ndim > 1 else None
    return made.eval()


@pytest.fixture
def vectors() -> torch.Tensor:
    """Three points."""
    return torch.randn(3, DIM, generator=torch.Generator().manual_seed(1))


def chance(model: DecoderModel, vector: torch.Tensor, ids: tuple[int, ...]) -> float:
    """log p(ids, END | vector) by teacher forcing, which generation does not use."""
    told = torch.tensor([[BEGIN, *ids]])
    logits = model.logits(model.states(vector[None], told))[0].clone()
    logits[:, :END] = -torch.inf
    following = torch.tensor([*ids, END])
    return float(F.log_softmax(logits, -1).gather(1, following[:, None]).sum())


def everything() -> list[tuple[int, ...]]:
    """All sentences of at most LONGEST pieces."""
    pieces = range(END + 1, PIECES)
    return [ids for n in range(LONGEST + 1) for ids in itertools.product(pieces, repeat=n)]


@torch.no_grad()
def test_a_step_at_a_time_is_the_whole_at_once(model: DecoderModel, vectors: torch.Tensor) -> None:
    """The state that is carried along loses nothing against teacher forcing."""
    ids = torch.tensor([[BEGIN, 3, 5, 4]] * 3)
    whole = model.logits(model.states(vectors, ids))
    state = model.begin(vectors)
    for place in range(ids.shape[1]):
        logits, state = model.step(state, ids[:, place])
        assert torch.allclose(logits.log_softmax(-1), whole[:, place].log_softmax(-1), atol=1e-5)


@torch.no_grad()
def test_a_wide_beam_finds_the_best_of_all(model: DecoderModel, vectors: torch.Tensor) -> None:
    """Score and order of the first five, for each vector, by full enumeration."""
    for penalty in (0.0, 1.0):
        found = beam(model, vectors, LONGEST, width=64, penalty=penalty)
        for vector, candidates in zip(vectors, found, strict=True):
            scored = sorted(
                ((chance(model, vector, ids) / ((6 + len(ids)) / 6) ** penalty, ids)
                 for ids in everything()), reverse=True,
            )  # fmt: skip
            for candidate, (score, ids) in zip(candidates[:5], scored, strict=False):
                assert candidate.ids == ids
                assert candidate.score == pytest.approx(score, abs=1e-4)
                assert candidate.ended


@torch.no_grad()
def test_greedy_takes_the_likeliest_piece(model: DecoderModel, vectors: torch.Tensor) -> None:
    """Followed by hand, with teacher forcing; and the score is its log-probability."""
    for vector, found in zip(vectors, greedy(model, vectors, LONGEST), strict=True):
        ids: list[int] = []
        while len(ids) < LONGEST:
            logits = model.logits(model.states(vector[None], torch.tensor([[BEGIN, *ids]])))[0, -1]
            logits[:END] = -torch.inf
            if int(logits.argmax()) == END:
                break
            ids.append(int(logits.argmax()))
        assert found.ids == tuple(ids)
        if found.ended:
            assert found.score == pytest.approx(chance(model, vector, found.ids), abs=1e-4)


@torch.no_grad()
def test_samples_come_as_often_as_they_are_likely(model: DecoderModel) -> None:
    """Of 4,000 draws for one vector, against the exact probability of the commonest sentence."""
    vector = torch.full((DIM,), 0.3)
    drawn = sample(model, vector.repeat(4000, 1), LONGEST,
                   generator=torch.Generator().manual_seed(5))  # fmt: skip
    ended = [c.ids for c in drawn if c.ended]
    commonest = max(set(ended), key=ended.count)
    exact = math.exp(chance(model, vector, commonest))
    assert ended.count(commonest) / 4000 == pytest.approx(
        exact, abs=4 * math.sqrt(exact * (1 - exact) / 4000)
    )


@torch.no_grad()
def test_a_nucleus_of_nothing_is_greedy(model: DecoderModel, vectors: torch.Tensor) -> None:
    """The smallest set that holds any share is the likeliest piece."""
    sampled = sample(model, vectors, LONGEST, top_p=1e-6)
    assert [c.ids for c in sampled] == [c.ids for c in greedy(model, vectors, LONGEST)]


@torch.no_grad()
def test_the_references_beam_maximises_the_mean_probability(
    model: DecoderModel, vectors: torch.Tensor
) -> None:
    """Each score is the sum of the probabilities of its pieces over length + 5/6."""
    for vector in vectors:
        for candidate in reference_beam(model, vector, longest=20):
            if not candidate.ended:
                continue
            told = torch.tensor([[BEGIN, *candidate.ids]])
            logits = model.logits(model.states(vector[None], told))[0].clone()
            logits[:, :END] = -torch.inf
            following = torch.tensor([*candidate.ids, END])
            total = float(logits.softmax(-1).gather(1, following[:, None]).sum())
            assert candidate.score == pytest.approx(total / (len(following) + 5 / 6), abs=1e-4)
