"""What the models compute, beside plain PyTorch and arithmetic by hand."""

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from theodolite.engine.decoding.folder import build
from theodolite.engine.decoding.models import (
    ROOM,
    ConditionedLSTM,
    Incremental,
    PrefixTransformer,
    cross_entropy,
)
from theodolite.engine.decoding.vocabulary import BEGIN, END, PAD
from theodolite.engine.encoders import onednn

DIM, PIECES = 5, 11
IDS = torch.tensor([[BEGIN, 4, 7, END, PAD], [BEGIN, 3, 9, 10, END]])
VECTORS = torch.tensor([[0.5, -1.0, 0.2, 0.0, 2.0], [1.0, 1.0, -0.3, 0.7, -0.1]])


@pytest.fixture(autouse=True)
def seeded() -> None:
    """The same weights every time."""
    torch.manual_seed(11)


def lstm(experts: int) -> ConditionedLSTM:
    """Two layers with weights that matter."""
    model = ConditionedLSTM(
        DIM, PIECES, embedding=6, hidden=8, layers=2, experts=experts, positions=8
    )
    model.bias.data.normal_()
    model.pieces.weight.data.normal_()
    return model.eval()


@torch.no_grad()
def test_the_lstm_reads_the_vector_at_every_step() -> None:
    """Two layers of `nn.LSTMCell`, stepped by hand, with the vector joined to each piece."""
    model = lstm(1)
    cells = [nn.LSTMCell(6 + DIM, 8), nn.LSTMCell(8, 8)]
    for layer, cell in enumerate(cells):
        cell.load_state_dict({n: getattr(model.lstm, f"{n}_l{layer}") for n in cell.state_dict()})
    kept = [(torch.zeros(2, 8), torch.zeros(2, 8)) for _ in cells]
    for place in range(4):
        x = torch.cat([model.pieces.weight[IDS[:, place]], VECTORS], 1)
        for layer, cell in enumerate(cells):
            x, _ = kept[layer] = cell(x, kept[layer])
        assert torch.allclose(model.states(VECTORS, IDS)[:, place], x, atol=1e-6)


@torch.no_grad()
def test_a_mixture_of_softmaxes_mixes_probabilities() -> None:
    """Yang et al. 2018, equation 1: the sum over experts of prior times softmax."""
    model = lstm(3)
    state = torch.randn(8)
    prior = (model.prior.weight @ state).softmax(0)
    contexts = torch.tanh(model.latent.weight @ state + model.latent.bias).view(3, 6)
    each = (contexts @ model.pieces.weight.T + model.bias).softmax(1)
    assert torch.allclose(model.logits(state).exp(), prior @ each, atol=1e-6)


@torch.no_grad()
def test_the_transformer_is_pytorchs_own() -> None:
    """`nn.MultiheadAttention` over prefix and pieces under a mask, layer by layer, same weights."""
    model = PrefixTransformer(DIM, PIECES, width=12, layers=2, heads=3, prefix=2, positions=8)
    model.eval()
    prefix = model.read(VECTORS).view(2, 2, 12)
    x = (model.pieces.weight[IDS] + model.places.weight[:5]) * 12**0.5
    hidden = torch.ones(5, 7, dtype=torch.bool).triu(3)
    for block in model.blocks:
        peer = nn.MultiheadAttention(12, 3, batch_first=True)
        peer.in_proj_weight.copy_(torch.cat([block.query.weight, block.kept.weight]))
        peer.in_proj_bias.copy_(torch.cat([block.query.bias, block.kept.bias]))
        peer.out_proj.load_state_dict(block.mix.state_dict())
        given = block.before(torch.cat([prefix, x], 1))
        x = x + peer(given[:, 2:], given, given, attn_mask=hidden)[0]
        x = x + block.narrow(F.gelu(block.widen(block.between(x))))
    expected = F.layer_norm(x, (12,), model.norm.weight, model.norm.bias)
    assert torch.allclose(model.states(VECTORS, IDS), expected, atol=1e-5)


@pytest.mark.parametrize("architecture", ["prefix", "lstm", "lstm-mos"])
@torch.no_grad()
def test_a_loss_is_of_the_pieces_behind_begin_and_of_no_padding(architecture: str) -> None:
    """By hand from the logits: 3 pieces of the first sentence, 4 of the second."""
    model = build(architecture, DIM, PIECES, {"width": 8, "layers": 2, "positions": 8}).eval()
    chances = model.logits(model.states(VECTORS, IDS)).log_softmax(-1)
    pieces = [(0, j) for j in range(3)] + [(1, j) for j in range(4)]
    expected = torch.stack([-chances[i, j, IDS[i, j + 1]] for i, j in pieces]).mean()
    assert torch.allclose(model.loss(VECTORS, IDS), expected, atol=1e-5)
    # A short sentence beside a long one has the losses that it has alone.
    alone = 3 * model.loss(VECTORS[:1], IDS[:1, :4]) + 4 * model.loss(VECTORS[1:], IDS[1:])
    assert torch.allclose(7 * model.loss(VECTORS, IDS), alone, atol=1e-4)


def test_the_papers_architecture_is_of_the_papers_size() -> None:
    """Three layers of 1024 and five softmaxes over embeddings of 300: counted by hand."""
    model = build("lstm-mos", 384, 1000, {"positions": 20})
    lstm_weights = sum(4 * 1024 * (i + 1024) + 8 * 1024 for i in (300 + 384, 1024, 1024))
    softmaxes = 1024 * 5 * 300 + 5 * 300 + 5 * 1024 + 1000
    assert sum(p.numel() for p in model.parameters()) == 1000 * 300 + lstm_weights + softmaxes


def test_the_loss_of_rows_is_pytorchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and gradients in float64, over rows that do not come out even; nearly so in bf16."""
    monkeypatch.setattr("theodolite.engine.decoding.models.ROWS", 3)
    states, table = torch.randn(8, 5), torch.randn(PIECES, 5)
    wanted = torch.randint(0, PIECES, (8,))
    exact = [each.double().requires_grad_() for each in (states, table)]
    own, peer = cross_entropy(*exact, wanted), F.cross_entropy(exact[0] @ exact[1].T, wanted)
    gradients, expected = (torch.autograd.grad(3 * loss, exact) for loss in (own, peer))
    torch.testing.assert_close(own, peer)
    torch.testing.assert_close(gradients, expected)
    with torch.no_grad():
        torch.testing.assert_close(cross_entropy(*exact, wanted), peer.detach())
    single = [each.requires_grad_() for each in (states, table)]
    with torch.autocast("cpu", torch.bfloat16):
        rounded = cross_entropy(*single, wanted)
    gradients = torch.autograd.grad(rounded, single)
    assert rounded.dtype == gradients[0].dtype == torch.float32
    assert float(rounded.detach()) != pytest.approx(float(peer.detach()), rel=1e-6)
    near = partial(torch.testing.assert_close, atol=0.02, rtol=0.02, check_dtype=False)
    near((rounded, *gradients), (peer, *(gradient / 3 for gradient in expected)))


@pytest.mark.parametrize("packed", [True, False])
def test_one_token_at_a_time_is_all_at_once(packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the order of sums, past the room that a cache begins with, whatever computes the layers.

    The state that was given stays: two ways go on from it. Rows can be chosen, twice as well.
    """
    if not packed:
        monkeypatch.setattr(onednn, "available", lambda: False)
    plain = PrefixTransformer(DIM, PIECES, width=16, layers=2, heads=2, positions=16).eval()
    ids = torch.randint(END + 1, PIECES, (2, 2 * ROOM))
    with torch.inference_mode():
        expected, steps = plain.logits(plain.states(VECTORS, ids)), Incremental(plain)
        state = steps.begin(VECTORS)
        for place, last in enumerate(ids.T):
            steps.step(state, torch.full((2,), END))
            logits, state = steps.step(state, last)
            torch.testing.assert_close(logits, expected[:, place], atol=1e-5, rtol=1e-5)
        before = steps.begin(VECTORS)
        swapped = steps.chosen(steps.chosen(before, torch.tensor([1, 0, 1])), torch.tensor([2, 1]))
        logits, _ = steps.step(swapped, ids[:, 0])
        other, _ = steps.step(steps.begin(VECTORS[[1, 0]]), ids[:, 0])
        torch.testing.assert_close(logits, other)
