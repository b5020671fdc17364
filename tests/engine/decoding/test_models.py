"""What the models compute, beside plain PyTorch and arithmetic by hand."""

import shutil
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from torch import nn
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from tests.engine.encoders.models import edit_config, save
from tests.errors import refused
from tests.fakes.decoders import known_sentences
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.causal import CausalDecoder, base_vocabulary
from theodolite.engine.decoding.generate import beam
from theodolite.engine.decoding.models import (
    ROOM,
    ConditionedLSTM,
    Incremental,
    PrefixTransformer,
    cross_entropy,
)
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.decoding.vocabulary import BEGIN, END, PAD, SHIFT, Vocabulary
from theodolite.engine.encoders import load, onednn

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
        x = x + block.narrow(nn.functional.gelu(block.widen(block.between(x))))
    expected = nn.functional.layer_norm(x, (12,), model.norm.weight, model.norm.bias)
    assert torch.allclose(model.states(VECTORS, IDS), expected, atol=1e-5)


@pytest.mark.parametrize("architecture", ["prefix", "lstm", "lstm-mos"])
@torch.no_grad()
def test_a_loss_is_of_the_pieces_behind_begin_and_of_no_padding(architecture: str) -> None:
    """By hand from the logits: 3 pieces of the first sentence, 4 of the second."""
    model = folders.build(
        architecture, DIM, PIECES, {"width": 8, "layers": 2, "positions": 8}
    ).eval()
    chances = model.logits(model.states(VECTORS, IDS)).log_softmax(-1)
    pieces = [(0, j) for j in range(3)] + [(1, j) for j in range(4)]
    expected = torch.stack([-chances[i, j, IDS[i, j + 1]] for i, j in pieces]).mean()
    assert torch.allclose(model.loss(VECTORS, IDS), expected, atol=1e-5)
    # A short sentence beside a long one has the losses that it has alone.
    alone = 3 * model.loss(VECTORS[:1], IDS[:1, :4]) + 4 * model.loss(VECTORS[1:], IDS[1:])
    assert torch.allclose(7 * model.loss(VECTORS, IDS), alone, atol=1e-4)


def test_the_papers_architecture_is_of_the_papers_size() -> None:
    """Three layers of 1024 and five softmaxes over embeddings of 300: counted by hand."""
    model = folders.build("lstm-mos", 384, 1000, {"positions": 20})
    lstm_weights = sum(4 * 1024 * (i + 1024) + 8 * 1024 for i in (300 + 384, 1024, 1024))
    softmaxes = 1024 * 5 * 300 + 5 * 300 + 5 * 1024 + 1000
    assert sum(p.numel() for p in model.parameters()) == 1000 * 300 + lstm_weights + softmaxes


def test_the_loss_of_rows_is_pytorchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value and gradients in float64, over rows that do not come out even; nearly so in bf16."""
    monkeypatch.setattr("theodolite.engine.decoding.models.ROWS", 3)
    states, table = torch.randn(8, 5), torch.randn(PIECES, 5)
    wanted = torch.randint(0, PIECES, (8,))
    exact = [each.double().requires_grad_() for each in (states, table)]
    own, peer = (
        cross_entropy(*exact, wanted),
        nn.functional.cross_entropy(exact[0] @ exact[1].T, wanted),
    )
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
        swapped = steps.select(steps.select(before, torch.tensor([1, 0, 1])), torch.tensor([2, 1]))
        logits, _ = steps.step(swapped, ids[:, 0])
        other, _ = steps.step(steps.begin(VECTORS[[1, 0]]), ids[:, 0])
        torch.testing.assert_close(logits, other)


# --- a language model as the decoder: a tiny GPT-2, made here, that has read nothing ---


READ = 6


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the hub has it: two layers of 32, byte-level pieces, one special piece."""
    folder = tmp_path_factory.mktemp("gpt2")
    tokenizer, end = ByteLevelBPETokenizer(), "<|endoftext|>"
    tokenizer.train_from_iterator(
        known_sentences(), 400, min_frequency=0, special_tokens=[end], show_progress=False
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, eos_token=end, bos_token=end
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=tokenizer.get_vocab_size(),
        n_positions=64,
        n_embd=32,
        n_layer=2,
        n_head=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def model(gpt2: Path) -> CausalDecoder:
    """The decoder over it."""
    torch.manual_seed(2)
    return CausalDecoder.of(f"dir:{gpt2}", READ, positions=30).eval()


@pytest.fixture
def vectors() -> torch.Tensor:
    """Two points."""
    return torch.randn(2, READ, generator=torch.Generator().manual_seed(1))


SAID = torch.tensor([[BEGIN, 9, 40, END, PAD], [BEGIN, 20, 300, 35, END]])


@torch.no_grad()
def test_its_loss_is_transformers_own(model: CausalDecoder, vectors: torch.Tensor) -> None:
    """The model called by hand: prefix, <|endoftext|>, and its own numbers of the pieces.

    Beside a longer one a sentence loses what it does alone.
    """
    losses, end = [], torch.tensor([0])
    for vector, pieces in zip(vectors, (SAID[0, 1:3], SAID[1, 1:4]), strict=True):
        own, prefix = pieces - SHIFT, model.read(vector).view(model.prefix, -1)
        given = model.base.get_input_embeddings().weight[torch.cat([end, own])]
        logits = model.base(inputs_embeds=torch.cat([prefix, given])[None]).logits[0]
        wanted = torch.cat([own, end])
        losses.append(nn.functional.cross_entropy(logits[model.prefix :], wanted, reduction="none"))
    assert torch.allclose(model.loss(vectors, SAID), torch.cat(losses).mean(), atol=1e-5)


@torch.no_grad()
def test_a_state_can_be_gone_on_from_twice(model: CausalDecoder, vectors: torch.Tensor) -> None:
    """As those of other decoders; transformers' own memory changes under one's hands."""
    state = model.begin(vectors)
    first, _ = model.step(state, SAID[:, 0])
    again, _ = model.step(state, SAID[:, 0])
    turned, _ = model.step(model.select(state, torch.tensor([1, 0])), SAID[:, 0])
    assert torch.equal(first, again)
    assert torch.allclose(turned, first.flip(0), atol=1e-5)


@torch.no_grad()
def test_a_beam_ranks_by_its_probabilities(model: CausalDecoder, vectors: torch.Tensor) -> None:
    """Each score is the log-probability of the whole sentence, and no mark of an end is written."""
    found = beam(model, vectors, 6, width=4, penalty=0.0)
    for vector, candidates in zip(vectors, found, strict=True):
        assert len({c.ids for c in candidates}) == 4
        for candidate in candidates:
            ids = torch.tensor([[BEGIN, *candidate.ids, END]])
            score = -(len(candidate.ids) + 1) * float(model.loss(vector[None], ids))
            assert candidate.score == pytest.approx(score, abs=1e-3)
            assert SHIFT not in candidate.ids


def test_its_vocabulary_gives_text_back(gpt2: Path) -> None:
    """Also of text that it has not read, and from what is kept of it."""
    json = base_vocabulary(f"dir:{gpt2}").to_json()
    kept = Vocabulary(Tokenizer.from_str(json), shift=SHIFT)
    for text in [*known_sentences()[:5], "Zwölf 漢字, 1984 <|endoftext|>"]:
        ids = kept.ids([text])[0].tolist()
        assert (ids[0], kept.text(ids), ids[-1]) == (BEGIN, text, END)


def test_it_is_trained_written_and_read_like_any_other(gpt2: Path, tmp_path: Path) -> None:
    """The loss falls, and the folder needs the base no more."""
    file = tmp_path / "sentences.txt"
    file.write_text("\n".join(known_sentences()), "utf-8")
    spec = DecoderSpec(
        "random:32",
        (str(file),),
        str(tmp_path / "out"),
        architecture="causal",
        base=f"dir:{gpt2}",
        words=7,
        held_out=10,
        epochs=10,
        batch_tokens=300,
        learning_rate=2e-2,
        warmup=5,
        device="cpu",
    )
    losses = [e.loss for e in train_decoder(spec) if e.kind == "looked"]
    assert min(losses) < 0.95 * losses[0]
    vectors = load("random:32").encode(known_sentences()[:3])
    assert len(open_decoder(spec.out_folder).decode(vectors, method="beam", beams=2)) == 3
    model, vocabulary, facts = folders.read(spec.out_folder)
    assert (type(model), facts["sizes"]["config"]["n_layer"]) == (CausalDecoder, 2)
    written = b"".join(file.read_bytes() for file in spec.out_folder.iterdir())
    assert not [place for place in (gpt2.parent, tmp_path) if str(place).encode() in written]
    folders.write(tmp_path / "small", model, vocabulary, facts, small=True)
    again, _, _ = folders.read(tmp_path / "small")
    point = torch.ones(1, 32)
    loss, other = (float(each.loss(point, SAID[1:]).detach()) for each in (model, again))
    assert loss == pytest.approx(other, abs=0.02)


def test_what_is_no_causal_model_is_refused(gpt2: Path, tmp_path: Path) -> None:
    """A BERT sees what is to come; pickles are not opened; code is not run."""
    save(tmp_path / "bert", "bert", "ForMaskedLM")
    coded = Path(shutil.copytree(gpt2, tmp_path / "coded"))
    edit_config(coded, auto_map={"AutoModelForCausalLM": "evil.Model"})
    pickled = Path(shutil.copytree(gpt2, tmp_path / "pickled"))
    torch.save(load_file(pickled / "model.safetensors"), pickled / "pytorch_model.bin")
    (pickled / "model.safetensors").unlink()
    for source, positions, code, named in (
        (f"dir:{tmp_path / 'bert'}", 8, "wrong-kind", "bert"),
        (f"dir:{gpt2}", 100, "unsupported", "64 positions, and 104"),
        ("random:32", 8, "wrong-kind", "random:32"),
        (f"dir:{coded}", 8, "denied", "code"),
        (f"dir:{pickled}", 8, "wrong-kind", "safetensors"),
    ):
        with refused(code, named):
            CausalDecoder.of(source, READ, positions)
