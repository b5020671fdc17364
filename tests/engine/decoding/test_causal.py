"""A language model as the decoder: a tiny GPT-2, made here, that has read nothing."""

import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch.nn import functional as F
from transformers import (
    BertConfig,
    BertLMHeadModel,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
)

from tests.engine.encoders.models import edit_config
from tests.errors import refused
from tests.fakes.decoders import known_sentences
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.causal import CausalDecoder, base_vocabulary
from theodolite.engine.decoding.generate import beam, greedy
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.decoding.vocabulary import BEGIN, END, PAD, SHIFT, Vocabulary
from theodolite.engine.encoders import load

DIM = 6


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the hub has it: two layers of 32, byte-level pieces, one special piece."""
    folder = tmp_path_factory.mktemp("gpt2")
    tokenizer, end = Tokenizer(models.BPE()), "<|endoftext|>"
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=[end],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train_from_iterator(known_sentences(), trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token=end, bos_token=end
    ).save_pretrained(folder)
    torch.manual_seed(1)
    config = GPT2Config(
        vocab_size=len(tokenizer.get_vocab()),
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
    return CausalDecoder.of(f"dir:{gpt2}", DIM, positions=30).eval()


@pytest.fixture
def vectors() -> torch.Tensor:
    """Two points."""
    return torch.randn(2, DIM, generator=torch.Generator().manual_seed(1))


IDS = torch.tensor([[BEGIN, 9, 40, END, PAD], [BEGIN, 20, 300, 35, END]])


@torch.no_grad()
def test_its_loss_is_transformers_own(model: CausalDecoder, vectors: torch.Tensor) -> None:
    """The model called by hand: prefix, <|endoftext|>, and its own numbers of the pieces.

    Beside a longer one a sentence loses what it does alone.
    """
    losses, end = [], torch.tensor([0])
    for vector, pieces in zip(vectors, (IDS[0, 1:3], IDS[1, 1:4]), strict=True):
        own, prefix = pieces - SHIFT, model.read(vector).view(model.prefix, -1)
        given = model.base.get_input_embeddings().weight[torch.cat([end, own])]
        logits = model.base(inputs_embeds=torch.cat([prefix, given])[None]).logits[0]
        wanted = torch.cat([own, end])
        losses.append(F.cross_entropy(logits[model.prefix :], wanted, reduction="none"))
    assert torch.allclose(model.loss(vectors, IDS), torch.cat(losses).mean(), atol=1e-5)


@torch.no_grad()
def test_a_state_can_be_gone_on_from_twice(model: CausalDecoder, vectors: torch.Tensor) -> None:
    """As those of other decoders; transformers' own memory changes under one's hands."""
    state = model.begin(vectors)
    first, _ = model.step(state, IDS[:, 0])
    again, _ = model.step(state, IDS[:, 0])
    turned, _ = model.step(model.chosen(state, torch.tensor([1, 0])), IDS[:, 0])
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
    assert all(SHIFT not in c.ids for c in greedy(model, vectors, 6))


def test_its_vocabulary_gives_text_back(gpt2: Path) -> None:
    """Also of text that it has not read, and from what is kept of it."""
    json = base_vocabulary(f"dir:{gpt2}").to_json()
    kept = Vocabulary(Tokenizer.from_str(json), shift=SHIFT)
    for text in [*known_sentences()[:5], "Zwölf 漢字, 1984 <|endoftext|>"]:
        ids = kept.ids([text])[0].tolist()
        assert (ids[0], ids[-1]) == (BEGIN, END)
        assert kept.text(ids) == text


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
    for file in spec.out_folder.iterdir():
        for folder in (gpt2.parent, tmp_path):
            assert str(folder).encode() not in file.read_bytes(), file.name
    folders.write(tmp_path / "small", model, vocabulary, facts, small=True)
    again, _, _ = folders.read(tmp_path / "small")
    point = torch.ones(1, 32)
    loss, other = (float(each.loss(point, IDS[1:]).detach()) for each in (model, again))
    assert loss == pytest.approx(other, abs=0.02)


def test_what_is_no_causal_model_is_refused(gpt2: Path, tmp_path: Path) -> None:
    """A BERT sees what is to come; pickles are not opened; code is not run."""
    BertLMHeadModel(
        BertConfig(
            vocab_size=50,
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            intermediate_size=8,
            architectures=["BertForMaskedLM"],
        )
    ).bert.save_pretrained(tmp_path / "bert")
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
        with refused(code, named):  # type: ignore[arg-type]
            CausalDecoder.of(source, DIM, positions)
