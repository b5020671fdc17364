"""Transformers: every pooling against transformers' own hidden states; the hub, and 8 bits."""

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock
from weakref import WeakValueDictionary

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import cosine_similarity
from torch import nn
from transformers import AutoTokenizer, BertConfig, BertModel, GPT2Config, GPT2Model

from tests.engine.encoders.models import (
    SENTENCES,
    close,
    edit_config,
    plainly,
    save,
    save_sentence_transformer,
)
from tests.errors import refused
from tests.fakes.allocation import Allocation
from tests.fakes.folder import Calls, files
from tests.fakes.hub import FakeHub
from theodolite.engine.decoding.facts import shipped_decoders
from theodolite.engine.encoders import describe, int8, load, loading, onednn, zerogpu
from theodolite.engine.encoders.batching import TokenBudget, batches
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.hub import needed_files
from theodolite.engine.encoders.pooling import States, pool
from theodolite.engine.encoders.spec import POOLINGS
from theodolite.engine.encoders.transformer import make
from theodolite.engine.errors import UserError
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.model import open_model


@pytest.mark.parametrize(
    ("family", "pooling", "layer"),
    [
        *(
            (f, p, -1)
            for f in ("bert", "roberta", "gpt2")
            for p in POOLINGS
            if (f, p) != ("gpt2", "pooler_output")
        ),
        *(("bert", "avg", layer) for layer in (0, 1, 3, -2)),  # 0 is the embedding output
    ],
)
def test_every_pooling_is_what_it_says(folders, family, pooling, layer):
    """Of any layer; batches of several lengths give what each sentence gives alone."""
    spec = f"dir:{folders[family]}?pooling={pooling}" + (f"&layer={layer}" if layer != -1 else "")
    rows = load(spec, device="cpu").encode(SENTENCES)
    close(rows, [plainly(folders[family], pooling, s, layer) for s in SENTENCES])
    if family == "bert":  # cut earlier, special tokens counted
        (cut,) = load(f"{spec}&max_length=5", device="cpu").encode(["the cat ran on a"])
        close(cut, plainly(folders[family], pooling, "the cat ran", layer))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("tokenizer_config.json", {"truncation_side": "left"}),
        (
            "tokenizer.json",
            {
                "truncation": {
                    "direction": "Left",
                    "max_length": 9,
                    "strategy": "LongestFirst",
                    "stride": 0,
                }
            },
        ),
    ],
)
def test_a_text_is_cut_on_the_side_that_the_tokenizer_says(tmp_path, monkeypatch, file, said):
    """To the maximum that it states, which may be no whole number; vectors tell the side."""
    folder = edit_config(save(tmp_path), "tokenizer_config.json", model_max_length=5.0)
    edit_config(folder, file, **said)
    for pooling in ("max", "avg"):  # each counts its own, also where they share the weights
        encoder = load(f"dir:{folder}?pooling={pooling}", device="cpu")
        (cut,) = encoder.encode(["on a mat the cat ran"])
        assert any("1 text was cut to 5 tokens" in text for text in encoder.warnings)
    close(cut, plainly(folder, "avg", "the cat ran"))
    monkeypatch.setattr(Checkpoint, "truncation_side", "right")
    assert load(encoder.name, device="cpu").fingerprint != encoder.fingerprint


def test_pooling_does_not_mind_the_side_of_the_padding():
    """The last token is the last one of the text, on either side."""
    x = torch.arange(12.0).reshape(1, 6, 2)
    right, left = torch.tensor([[1, 1, 1, 1, 0, 0]]), torch.tensor([[0, 0, 1, 1, 1, 1]])
    for states, mask, pooling, expected in (
        (x, right, "last", [6, 7]),
        (x, left, "last", [10, 11]),
        (-x, left, "max", [-4, -5]),
        (x, right, "avg", [3, 4]),
    ):
        assert pool(States([states], None, mask), pooling).tolist() == [expected]


def test_a_device_that_is_not_here_is_said(folders):
    for spec in (f"dir:{folders['bert']}?pooling=avg", "minilm"):
        with refused("unsupported", "no device 'quux'"):
            load(spec, device="quux").encode(["a"])


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps"])
def test_the_fingerprint_follows_the_files_whatever_the_device(folders, tmp_path, device):
    """Weights are read at the first `encode`, so this needs no such device."""
    same, changed = save(tmp_path / "same"), save(tmp_path / "changed", initializer_range=0.5)
    first = load(f"dir:{folders['bert']}?pooling=avg", device="cpu").fingerprint
    for spec, equal in (
        (f"dir:{same}?pooling=avg", True),
        (f"dir:{changed}?pooling=avg", False),
        (f"dir:{folders['bert']}?pooling=max", False),
    ):
        assert (load(spec, device=device).fingerprint == first) == equal
    for spec, folder in shipped_decoders().items():  # the decoders know those of their encoders
        facts = json.loads((folder / "decoder.json").read_text("utf-8"))
        assert load(spec, device=device).fingerprint == facts["fingerprint"]
    minilm = load("minilm", device="cpu").fingerprint
    assert load("minilm?dtype=float32", device=device).fingerprint == minilm
    assert load("minilm?dtype=float16", device=device).fingerprint != minilm


def test_batches_cover_every_text_once_within_the_budget():
    """Longest first; a text longer than the budget goes alone; no batch over budget."""
    lengths = [*np.random.default_rng(0).integers(1, 60, 500).tolist(), 5000]
    made = list(batches(lengths, lambda: 512))
    assert sorted(np.concatenate(made).tolist()) == list(range(501))
    sizes = [len(b) * max(lengths[i] for i in b) for b in made]
    assert made[0].tolist() == [500] and max(sizes[1:]) <= 512
    assert list(batches([], lambda: 512)) == []


@pytest.mark.parametrize(("waiting", "chosen"), [(0.0, 1024), (5.0, 4096)])
def test_busy_cores_get_larger_batches(monkeypatch, waiting, chosen):
    """Where every batch costs waiting; elsewhere small ones, which stay in the cache."""
    clock = [0.0]
    monkeypatch.setattr("time.process_time", lambda: clock[0])

    def forward(ids):
        tokens = len(ids) * len(ids[0])
        clock[0] += tokens / 1000 * (1.2 if tokens > 2048 else 1.0) + waiting
        return ids

    budget = TokenBudget(torch.device("cpu"))
    sizes = [
        len(part) * 16
        for batch in budget.batches([16] * 1600)
        for part in budget.parts(forward, [[1] * 16] * len(batch))
    ]
    assert set(sizes[:10]) == {1024, 4096}
    assert budget.tokens() == chosen and set(sizes[10:-1]) == {chosen}
    fixed = TokenBudget(torch.device("cpu"), adapt=False)
    assert {len(b) * 16 for b in fixed.batches([16] * 1600)} == {1024}


LINES = [" ".join(["the cat sees a dog"] * (1 + i % 4)) for i in range(200)]


def new_source(folder):
    """A source that shares neither its model nor its vectors with others, and its vectors."""
    source = make("tiny", loading.checkpoint_of(f"dir:{folder}")[1], pooling="avg", device="cpu")
    return source, lambda lines: np.concatenate(list(source.chunks(lines)))


def precisions() -> set[str]:
    """How exact torch's products of float32 are at present."""
    backends = torch.backends
    parts = (backends.cuda.matmul, backends.cudnn.conv, backends.mkldnn.matmul)
    return {part.fp32_precision for part in parts}


@pytest.fixture
def medium():
    """A process that allows less than float32."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)


def test_a_process_that_allows_tf32_gets_float32_all_the_same(folders, medium) -> None:
    """While the model runs; what the process had chosen comes back."""
    (source, encode), seen = new_source(folders["bert"]), []
    with exact_float32():
        expected = encode(SENTENCES)
    source.transformer.model.register_forward_hook(lambda *_: seen.append(precisions()))
    np.testing.assert_array_equal(encode(SENTENCES), expected)
    assert seen and all(one == {"ieee"} for one in seen)
    assert torch.get_float32_matmul_precision() == "medium"


def test_the_last_one_out_restores_what_was_allowed(medium) -> None:
    """Of two threads, the first one to leave would otherwise take exactness from the other."""
    first, last = exact_float32(), exact_float32()
    first.__enter__()
    last.__enter__()
    first.__exit__(None, None, None)
    assert precisions() == {"ieee"}
    last.__exit__(None, None, None)
    assert torch.get_float32_matmul_precision() == "medium"


def test_progress_is_told_after_each_batch(folders):
    """A chunk of a large model takes minutes; its vectors are the same, whoever listens."""
    source, encode = new_source(folders["bert"])
    expected, told = encode(LINES), []
    np.testing.assert_array_equal(np.vstack([*source.watched(LINES, told.append)]), expected)
    assert told == sorted(told) and told[0] < told[-1] == len(LINES)

    with pytest.raises(InterruptedError):
        list(source.watched(LINES, Mock(side_effect=InterruptedError)))
    np.testing.assert_array_equal(encode(LINES), expected)


def test_a_batch_that_does_not_fit_the_memory_is_halved(tmp_path):
    """And so are those that follow, before they are tried; the vectors stay the same."""
    folder = save(tmp_path, initializer_range=0.03)  # other weights than those of other tests
    expected, (source, encode) = new_source(folder)[1](LINES), new_source(folder)
    memory = Allocation(source.transformer.model, most=150)
    for count in (len(LINES), 100):
        close(encode(LINES[:count]), expected[:count])
        assert memory.failures == 3  # about 1,000 tokens, then 500 and 250
    memory.most = 10  # there is nothing left to halve
    with refused("too-large", "A text of 22 tokens", "cpu"):
        encode(LINES)


def test_threads_share_a_model(folders):
    """Eight at once get what one alone gets, and the weights are there once."""
    encoders = [load(f"dir:{folders['bert']}?pooling=avg", device="cpu") for _ in range(8)]
    assert len({id(e.source) for e in encoders}) == 1
    with ThreadPoolExecutor(8) as threads:
        rows = np.array(list(threads.map(lambda encoder: encoder.encode(SENTENCES), encoders)))
    np.testing.assert_allclose(rows, rows[:1].repeat(8, axis=0), atol=1e-6)


@pytest.mark.parametrize(
    ("file", "content", "code"),
    [
        ("config.json", b"[1, 2]", "damaged"),
        ("config.json", b"{", "damaged"),
        ("config.json", None, "wrong-kind"),
        ("modules.json", b'{"0": "Transformer"}', "damaged"),
        ("modules.json", b'["Transformer"]', "damaged"),
        (
            "modules.json",
            b'[{"path": "../elsewhere", "type": "sentence_transformers.models.X"}]',
            "denied",
        ),
        ("tokenizer_config.json", b"7", "damaged"),
        ("model.safetensors", b"\2\0\0\0\0\0\0\0[]", "damaged"),
        ("model.safetensors", b'\x07\0\0\0\0\0\0\0{"a":1}', "damaged"),
        ("model.safetensors", b"\x08", "damaged"),
        ("model.safetensors", None, "wrong-kind"),
    ],
)
def test_files_that_are_no_models_get_a_sentence(tmp_path, file, content, code):
    """JSON of another shape, wherever it is looked for, paths that lead out of the folder."""
    folder = save(tmp_path / "m")
    (folder / file).unlink(missing_ok=True)
    files(folder, {} if content is None else {file: content})
    with refused(code, file):
        load(f"dir:{folder}")
    assert not describe(f"dir:{folder}")["available"]


def without_vocabulary(folder: Path) -> Path:
    """A folder whose tokenizer would be made up, with every word the unknown one."""
    for file in folder.rglob("token*"):
        file.unlink()
    return folder


def with_a_token(folder: Path) -> Path:
    """A folder whose tokenizer has a token more than the weights."""
    words = AutoTokenizer.from_pretrained(folder)
    words.add_tokens(["a dog"])
    words.save_pretrained(folder)
    return folder


@pytest.mark.parametrize(
    ("make", "options", "code", "named"),
    [
        (lambda f: f / "none", "", "no-file", ()),
        (lambda f: f / "model.safetensors", "", "wrong-kind", ("is a file", "config.json")),
        (lambda f: files(f, {"a.gguf": b"GGUF"}) / "a.gguf", "", "wrong-kind", ("api:",)),
        (lambda f: save(f / "opt", "opt"), "?layer=1", "unsupported", ("16", "32")),
        (
            lambda f: save(f / "opt", "opt"),
            "?pooling=avg_first_last",
            "unsupported",
            ("pooling avg",),
        ),
        (lambda f: edit_config(f, auto_map={"AutoModel": "m.M"}), "", "denied", ("auto_map",)),
        (without_vocabulary, "?pooling=avg", "missing", ()),
        (
            lambda f: without_vocabulary(save_sentence_transformer(f / "st")),
            "",
            "missing",
            (),
        ),
        (
            lambda f: files(
                without_vocabulary(f),
                {
                    "tokenizer_config.json": '{"tokenizer_class": "T5Tokenizer"}',
                    "spiece.model": "x",
                },
            ),
            "?pooling=avg",
            "failed",
            ("pip install sentencepiece protobuf",),
        ),
        (with_a_token, "", "mismatch", ("tokenizer", "weights")),
        (
            lambda f: edit_config(f, hidden_size=None),
            "",
            "missing",
            ("hidden size", "modules.json"),
        ),
        # A layer more than the weights have would be random.
        (lambda f: edit_config(f, num_hidden_layers=4), "?pooling=avg", "damaged", ("random",)),
        (lambda f: f, "?pooling=avg&layer=4", "unknown", ("layer 4",)),
        (lambda f: f, "?pooling=pooler_output&layer=1", "conflict", ("layer=1",)),
        (lambda f: f, "?pooling=avg&max_length=25", "too-large", (25, 24)),
    ],
)
def test_what_a_folder_cannot_do_is_refused(tmp_path, make, options, code, named):
    spec = f"dir:{make(save(tmp_path))}{options}"
    with refused(code, *named):
        load(spec, device="cpu").encode(["a cat", "a dog"])


def test_a_pickle_with_code_is_refused_and_not_run(tmp_path):
    """Neither to encode with nor to train on; only tensors are taken from a pickle."""
    folder = save(tmp_path / "sup-simcse-evil")
    (folder / "model.safetensors").unlink()
    torch.save({"mlp": Calls(open, str(tmp_path / "made"), "w")}, folder / "pytorch_model.bin")
    spec = TrainSpec("unsup", f"dir:{folder}", "x", "y", max_length=20)
    for attempt in (lambda: load(spec.base, device="cpu"), lambda: open_model(spec, [])):
        with refused("denied", "pickle", "tensors"):
            attempt()
    assert not (tmp_path / "made").exists()


# --- a GPU that is allocated for a call ---


def test_a_model_runs_in_the_decorated_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the same vectors; its weights are read before it is asked, once for all of its names.

    The package `spaces` lets only what is plain go to the function and back.
    """
    monkeypatch.setattr(loading, "_live", WeakValueDictionary())
    monkeypatch.setattr(zerogpu, "_decorated", [])
    monkeypatch.setattr(zerogpu, "_sources", [])
    asked: list[tuple[int, list[str]]] = []

    def elsewhere(number: int, sentences: list[str]) -> list[np.ndarray]:
        asked.append(pickle.loads(pickle.dumps((number, sentences))))  # noqa: S301
        return pickle.loads(pickle.dumps(zerogpu.encode(*asked[-1])))  # noqa: S301

    spec = f"dir:{save(tmp_path / 'model')}?pooling=avg"
    here = load(spec).encode(SENTENCES)
    zerogpu.use(elsewhere)
    load("random:16").encode(["rain"])  # tables of word vectors are quicker looked up than sent
    assert asked == zerogpu._sources == []
    first, second = map(load, (spec, f"{spec} | normalise"))
    (held,) = zerogpu._sources
    assert held.source._weights.model is not None and asked == []
    assert second.fingerprint != first.fingerprint
    for _ in range(2):  # the second time they are known
        assert np.array_equal(first.encode(SENTENCES), here)
        assert asked == [(0, SENTENCES)]


# --- models of the hub ---


def test_models_revisions_and_no_network(served: FakeHub) -> None:
    """Downloaded once, pinned by revision, used offline; nothing but what is needed is fetched."""
    folder = save(served.root / "models/princeton/unsup-simcse-tiny")
    save(folder.with_name(f"{folder.name}@v2"), initializer_range=0.5)
    (folder / "flax_model.msgpack").write_bytes(b"x")
    name = "hf:princeton/unsup-simcse-tiny"
    assert not describe(name)["available"]
    first, second = (load(spec, device="cpu") for spec in (name, f"{name}?revision=v2"))
    rows = first.encode(SENTENCES)
    for spec, words in (
        ("hf:princeton/nothing", "no model 'princeton/nothing'"),
        (f"{name}?revision=v9", "no revision 'v9'"),
        ("hf:a/b/c", "not an id"),
    ):
        with pytest.raises(UserError, match=words):
            load(spec)
    requests = [r for r in served.requests if r.startswith("GET") and "resolve" in r]
    assert not any("msgpack" in r for r in requests)
    assert sum(r.endswith("model.safetensors") for r in requests) == 2
    local = load(f"dir:{folder}", device="cpu")
    np.testing.assert_allclose(rows, local.encode(SENTENCES), atol=1e-6)
    assert first.fingerprint == local.fingerprint != second.fingerprint
    served.close()
    # What was downloaded works, what was not gets a sentence.
    facts = describe(name)
    assert facts["available"] and facts["pooling"] == "cls_token"
    assert load(name, device="cpu").fingerprint == first.fingerprint
    with refused("unreachable", "cannot be reached", "dir:FOLDER"):
        load("hf:princeton/other")


def test_only_one_form_of_the_weights_is_needed():
    """Safetensors where there are any, and all texts; never code or leftovers of a training."""
    files = [
        "README.md",
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "pytorch_model.bin",
        "tf_model.h5",
        "onnx/model.onnx",
        "onnx/config.json",
        "1_Pooling/config.json",
        "2_Dense/pytorch_model.bin",
        "2_Dense/config.json",
        "optimizer.pt",
        "vocab.txt",
        "bpe.codes",
        "chat_template.jinja",
        "artifact.metadata",
        "modeling_own.py",
        "checkpoint-5/model.safetensors",
        "openvino/openvino_model.bin",
    ]
    assert set(needed_files(files)) == {
        "README.md",
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
        "2_Dense/pytorch_model.bin",
        "2_Dense/config.json",
        "vocab.txt",
        "bpe.codes",
        "chat_template.jinja",
        "artifact.metadata",
    }
    assert "pytorch_model.bin" in needed_files(["config.json", "pytorch_model.bin"])


# --- linear layers in 8 bits, each token by itself ---


@pytest.mark.usefixtures("int8_products")
@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_against_float64(bias: bool) -> None:
    """The product of the very same steps is exact, and no weight or token is off by half a step.

    Tokens are small and large, some far from zero and one constant: none changes another.
    """
    torch.manual_seed(0)
    layer = nn.Linear(64, 48, bias=bias)
    scale = torch.logspace(-3, 3, 40)[:, None]
    tokens = torch.randn(40, 64) * scale + torch.linspace(0, 5, 40)[:, None]
    tokens[7] = 3.0
    made = int8.Int8Linear(layer)
    with torch.inference_mode():
        found = made(tokens).double().numpy()
    scales = made.scales.numpy()[:, None].astype(np.float64)
    weight = made.weight.numpy() * scales
    assert np.abs(weight - layer.weight.detach().numpy()).max() <= scales.max() * 0.5001
    # Each token in steps, in float32 as the layer does it.
    x = tokens.numpy()
    middle = (x.max(1, keepdims=True) + x.min(1, keepdims=True)) / np.float32(2)
    step = np.maximum(x.max(1, keepdims=True) - middle, np.float32(1e-12)) / np.float32(127)
    steps = np.round((x - middle) * (np.float32(1) / step)).astype(np.float64)
    assert np.abs(steps).max() == 127
    added = made.bias.double().numpy()
    expected = (steps * step.astype(np.float64) + middle) @ weight.T + added
    size = np.abs(x).astype(np.float64) @ np.abs(weight).T + np.abs(added)
    assert (np.abs(found - expected) / size).max() < 1e-6
    # However the steps were found: the true product is nearer than half a step of every number.
    true = x.astype(np.float64) @ weight.T + added
    assert (np.abs(found - true) <= 0.5001 * step * np.abs(weight).sum(1) + 1e-6 * size).all()


@pytest.mark.usefixtures("int8_products")
@pytest.mark.parametrize("kind", ["transformer", "sentence-transformers"])
def test_an_encoder_is_another_with_vectors_close_by(kind: str, tmp_path: Path) -> None:
    """By both ways in which a folder is run."""
    made = save(tmp_path) if kind == "transformer" else save_sentence_transformer(tmp_path)
    spec = f"dir:{made}" + ("?pooling=avg&" if kind == "transformer" else "?") + "dtype=int8"
    quick, plain = load(spec), load(spec.replace("int8", "float32"))
    assert quick.name == spec and quick.fingerprint != plain.fingerprint
    found, exact = quick.encode(SENTENCES), plain.encode(SENTENCES)
    assert found.dtype == np.float32 and not np.array_equal(found, exact)
    assert cosine_similarity(found, exact).diagonal().min() > 0.99


@pytest.mark.usefixtures("int8_products")
def test_where_it_cannot_be_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, on another processor, and of a model without such layers."""
    with refused("conflict", "cuda"):
        load("minilm?dtype=int8", device="cuda")
    gpt = GPT2Model(GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=9, n_positions=9))
    with refused("unsupported", "GPT"):
        int8.use_int8(gpt, "GPT")
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    with refused("unsupported", "AVX-512 VNNI"):
        load("minilm?dtype=int8").encode(["a dog"])


@pytest.mark.usefixtures("int8_products")
@pytest.mark.parametrize(("activation", "taken"), [("gelu", 2), ("relu", 0), ("gelu_new", 0)])
def test_the_vectors_stay_and_an_exact_gelu_goes_along(activation: str, taken: int) -> None:
    """To 1e-5, as the order of sums is another; any other activation is left alone."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_act=activation,
    )
    plain = BertModel(config).eval()
    quick = copy.deepcopy(plain)
    onednn.use_onednn(quick)
    linear = [part for part in quick.modules() if isinstance(part, onednn.OneDnnLinear)]
    assert len(linear) == 13 and not any(type(part) is nn.Linear for part in quick.modules())
    assert sum(part.then == "gelu" for part in linear) == taken
    ids = torch.arange(40).reshape(4, 10)
    with torch.inference_mode():
        expected, found = (model(input_ids=ids).last_hidden_state for model in (plain, quick))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
