"""Search over pieces, held against every sentence there is, for a decoder small enough."""

import math
from collections import Counter

import pytest
import torch
from scipy.stats import chisquare

from theodolite.engine.decoding.folder import DecoderModel, build, steps_of
from theodolite.engine.decoding.generate import beam, greedy, reference_beam, sample
from theodolite.engine.decoding.vocabulary import BEGIN, END

DIM, PIECES, LONGEST = 4, 7, 3


@pytest.fixture(params=["prefix", "lstm", "lstm-mos"])
def model(request: pytest.FixtureRequest) -> DecoderModel:
    """A tiny decoder with weights large enough that its choices differ."""
    torch.manual_seed(3)
    small = build(request.param, DIM, PIECES, {"width": 8, "layers": 2, "positions": 24})
    for parameter in small.parameters():
        parameter.data.mul_(4.0 if parameter.ndim > 1 else 1.0)
    return small.eval()


@pytest.fixture
def vectors() -> torch.Tensor:
    """Three points."""
    return torch.randn(3, DIM, generator=torch.Generator().manual_seed(1))


def following(model: DecoderModel, vector: torch.Tensor, ids: tuple[int, ...]) -> torch.Tensor:
    """Logits of what may follow each beginning, by teacher forcing, which generation does not use.

    (pieces + 1, PIECES).
    """
    logits = model.logits(model.states(vector[None], torch.tensor([[BEGIN, *ids]])))[0].clone()
    logits[:, :END] = -torch.inf
    return logits


def chance(model: DecoderModel, vector: torch.Tensor, ids: tuple[int, ...]) -> float:
    """Give log p(ids, END | vector)."""
    chances = following(model, vector, ids).log_softmax(-1)
    return float(chances.gather(1, torch.tensor([*ids, END])[:, None]).sum())


@torch.no_grad()
def test_greedy_takes_the_likeliest_piece(model: DecoderModel, vectors: torch.Tensor) -> None:
    """Followed by hand, with teacher forcing; and the score is its log-probability."""
    for vector, found in zip(vectors, greedy(steps_of(model), vectors, LONGEST), strict=True):
        likeliest = following(model, vector, found.ids).argmax(-1).tolist()
        count = len(found.ids) + found.ended
        assert found.ended or count == LONGEST
        assert likeliest[:count] == [*found.ids, END][:count]
        if found.ended:
            assert found.score == pytest.approx(chance(model, vector, found.ids), abs=1e-4)


A, B, C = END + 1, END + 2, END + 3


class Table:
    """Says what comes next by a table of what stands there; the state is what stands there."""

    def __init__(self, following: dict[tuple[int, ...], dict[int, float]]) -> None:
        self.following = following
        self.rows: list[int] = []
        """Hypotheses that it was asked about, step by step."""

    def begin(self, vectors: torch.Tensor) -> list[tuple[int, ...]]:
        """Nothing, not even BEGIN."""
        return [()] * len(vectors)

    def step(
        self, state: list[tuple[int, ...]], last: torch.Tensor
    ) -> tuple[torch.Tensor, list[tuple[int, ...]]]:
        """The row of the table, or that of any other text."""
        self.rows.append(len(last))
        state = [(*ids, piece) for ids, piece in zip(state, last.tolist(), strict=True)]
        chances = torch.zeros(len(state), PIECES)
        for row, ids in enumerate(state):
            for piece, chance in self.following.get(ids[1:], self.following[C,]).items():
                chances[row, piece] = chance
        return chances.log(), state

    def select(self, state: list[tuple[int, ...]], rows: torch.Tensor) -> list[tuple[int, ...]]:
        """Some of them."""
        return [state[row] for row in rows.tolist()]


def test_the_references_beam_by_hand() -> None:
    """Two hypotheses wide, five to end; sums over 1 + pieces + 1 + 5/6, worked on paper.

    Round 1 opens a (.6) and b (.3); round 2 opens a END, a b, b END and b a; round 3 keeps a and b
    and opens a b END, a b a, b a END, b a a; round 4 keeps a b and b a; round 5 keeps a b a and
    b a a, which makes six. The likeliest sentence is a, at .42; that of the highest mean is a b.
    """
    table = Table(
        {
            (): {A: 0.6, B: 0.3, END: 0.1},
            (A,): {END: 0.7, B: 0.2, A: 0.1},
            (B,): {END: 0.9, A: 0.05, B: 0.03, C: 0.02},
            (C,): {END: 0.9, A: 0.06, B: 0.04},
        }
    )
    found = reference_beam(table, torch.zeros(1), width=2)
    assert [(c.ids, pytest.approx(c.score, abs=1e-6)) for c in found] == [
        ((A, B), 1.7 / (4 + 5 / 6)),
        ((A,), 1.3 / (3 + 5 / 6)),
        ((B,), 1.2 / (3 + 5 / 6)),
        ((A, B, A), 1.76 / (5 + 5 / 6)),
        ((B, A), 1.25 / (4 + 5 / 6)),
        ((B, A, A), 1.31 / (5 + 5 / 6)),
    ]
    assert beam(table, torch.zeros(1, 1), 5, width=2)[0][0].ids == (A,)


def test_what_hardly_ever_ends_is_cut() -> None:
    """At the longest length, or given up after the rounds, where the reference's code would not.

    It is not scored for what it did not write: two pieces of .9, and a third that found no place.
    """
    (found,) = greedy(Table({(C,): {A: 0.9, END: 0.1}}), torch.zeros(1, 1), 2)
    assert (found.ids, found.ended) == ((A, A), False)
    assert found.score == pytest.approx(2 * math.log(0.9), abs=1e-5)
    table = Table({(C,): {A: 0.9, B: 0.1 - 1e-7, END: 1e-7}, (): {A: 1.0}})
    ended = reference_beam(table, torch.zeros(1), width=2, longest=4)
    assert ended[0].ended and max(len(c.ids) for c in ended) == 4
    (first, *_) = reference_beam(table, torch.zeros(1), width=2, rounds=3)
    assert (first.ids, first.ended) == ((A, A, A), False)


def test_a_nucleus_is_drawn_from_as_its_pieces_are_likely() -> None:
    """Of .5, .3, .15 and .05 a share of .7 keeps two; a temperature of a half squares them all."""
    table = Table({(): {A: 0.5, B: 0.3, END: 0.15, C: 0.05}, (C,): {END: 1.0}})
    for options, expected in (
        ({"top_p": 0.7}, {A: 0.5 / 0.8, B: 0.3 / 0.8}),
        ({"top_p": 1e-6}, {A: 1.0}),  # the smallest set that holds any share is the likeliest piece
        ({"temperature": 0.5}, {A: 25 / 36.5, B: 9 / 36.5, END: 2.25 / 36.5, C: 0.25 / 36.5}),
    ):
        drawn = sample(
            table,
            torch.zeros(8000, 1),
            LONGEST,
            **options,
            generator=torch.Generator().manual_seed(7),
        )
        seen = Counter((*c.ids, END)[0] for c in drawn)
        counts = [[seen[piece], 8000 * share] for piece, share in expected.items()]
        assert seen.keys() == expected.keys()
        assert not chisquare(*zip(*counts, strict=True)).pvalue < 1e-3  # NaN for a single piece


@torch.no_grad()
@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_narrow_beam_stops_early_and_loses_nothing(
    model: DecoderModel, vectors: torch.Tensor, width: int
) -> None:
    """The same beam without any stopping, written plainly with teacher forcing.

    The best of what had no time to end is a candidate too.
    """
    longest = 6
    candidates = beam(steps_of(model), vectors, longest, width=width)
    for vector, found in zip(vectors, candidates, strict=True):
        rows, ended = [((), 0.0)], []
        for place in range(longest + 1):
            longer = []
            for ids, total in rows:
                chances = following(model, vector, ids)[-1].log_softmax(-1).tolist()
                ended.append(((total + chances[END]) / ((6 + len(ids)) / 6), ids))
                longer += [((*ids, i), total + chances[i]) for i in range(END + 1, PIECES)]
            if place == longest:
                ended.append((rows[0][1] / ((6 + longest) / 6), rows[0][0]))
            rows = sorted(longer, key=lambda row: -row[1])[:width]
        best = sorted(ended, reverse=True)[:width]
        assert [(pytest.approx(c.score, abs=1e-4), c.ids) for c in found] == best


def test_hopeless_hypotheses_leave_the_beam_before_their_vector_is_done() -> None:
    """Two have ended, at .54 and .09: of those still open, .36 may pass and .005 may not."""
    table = Table(
        {
            (): {A: 0.9, END: 0.09, B: 0.01},
            (A,): {END: 0.6, A: 0.4},
            (B,): {END: 0.5, B: 0.5},
            (A, A): {END: 1.0},
            (C,): {END: 1.0},
        }
    )
    (found,) = beam(table, torch.zeros(1, 1), 9, width=2, penalty=0.0)
    assert [(c.ids, c.ended) for c in found] == [((A,), True), ((A, A), True)]
    assert table.rows == [1, 2, 1]
