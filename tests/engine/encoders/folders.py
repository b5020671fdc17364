"""Small folders of sentence-transformers, of every kind that the library can write."""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import (
    CrossEncoder,
    MultiVectorEncoder,
    SentenceTransformer,
    SparseEncoder,
    sparse_encoder,
)
from sentence_transformers.sentence_transformer import modules
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

from tests.engine.encoders.models import WORDS, edit_config, save, tokenizer
from tests.fakes.folder import files as write_files

WIDTH = 32
LFS_POINTER = f"""version https://git-lfs.github.com/spec/v1
oid sha256:{"4d7a2146" * 8}
size 90868376
"""


class Folders:
    """Writes folders below one, each with a transformer of its own.

    Args:
        root: where they are written.
    """

    m = modules

    def __init__(self, root: Path) -> None:
        torch.manual_seed(2)
        self.root = root

    def plain(self, name: str, kind: str = "bert", **changes) -> Path:
        """A transformer alone."""
        return save(self.root / f"{name}-plain", kind, **changes)

    def inner(self, name: str, kind: str = "bert", **changes):
        """A transformer as a module."""
        return self.m.Transformer(str(self.plain(name, kind, **changes)))

    def save(self, name: str, *parts, **options) -> Path:
        """A folder of these modules."""
        folder = self.root / name
        SentenceTransformer(modules=list(parts), device="cpu", **options).save(str(folder))
        return folder

    def mean(self, name: str, kind: str = "bert", **options) -> Path:
        """A transformer with the mean of its tokens."""
        return self.save(name, self.inner(name, kind), self.m.Pooling(WIDTH, "mean"), **options)

    def static(self, dim: int = WIDTH):
        """A module of static vectors."""
        return self.m.StaticEmbedding(tokenizer("bert"), embedding_dim=dim)

    def words(self):
        """A module of word vectors."""
        table = np.random.default_rng(0).normal(size=(len(WORDS), 16)).astype(np.float32)
        return self.m.WordEmbeddings(WhitespaceTokenizer(WORDS, stop_words=set()), table)

    def routes(self, name: str, dim: int = WIDTH):
        """Queries by static vectors, documents by a transformer."""
        documents = [self.inner(name), self.m.Pooling(WIDTH, "mean")]
        return self.m.Router.for_query_document([self.static(dim)], documents)

    def router(self, name: str, *, dim: int = WIDTH, **options) -> Path:
        """A folder of such routes alone."""
        return self.save(name, self.routes(name, dim), **options)


def _in_half(f: Folders, name: str) -> Path:
    inner = f.inner(name)
    inner.model.to(torch.float16)
    return f.save(name, inner, f.m.Pooling(WIDTH, "mean"), f.m.Dense(WIDTH, 8))


def _in_shards(f: Folders, name: str) -> Path:
    folder = _put(f.mean(name), {}, "model.safetensors")
    model = transformers.BertModel.from_pretrained(f.root / f"{name}-plain")
    model.save_pretrained(folder, max_shard_size="20KB")
    return folder


def _as_bin(f: Folders, name: str) -> Path:
    folder = _with_dense(f, name)
    for part in (folder, folder / "2_Dense"):
        torch.save(load_file(part / "model.safetensors"), part / "pytorch_model.bin")
        (part / "model.safetensors").unlink()
    return folder


LIKE_THEIRS = {
    "dense": lambda f, n: f.save(
        n, f.inner(n), f.m.Pooling(WIDTH, "cls"), f.m.Dense(WIDTH, 8), f.m.Normalize()
    ),
    "dense on tokens": lambda f, n: f.save(
        n,
        f.inner(n),
        f.m.Dense(WIDTH, 12, module_input_name="token_embeddings"),
        f.m.Pooling(12, "mean"),
    ),
    "three poolings": lambda f, n: f.save(
        n, f.inner(n), f.m.Pooling(WIDTH, ("mean", "max", "weightedmean"))
    ),
    "layer norm": lambda f, n: f.save(
        n, f.inner(n), f.m.Pooling(WIDTH, "lasttoken"), f.m.LayerNorm(WIDTH), f.m.Dropout(0.3)
    ),
    "cnn": lambda f, n: f.save(
        n, f.inner(n), f.m.CNN(WIDTH, out_channels=8), f.m.Pooling(24, "mean")
    ),
    "lstm": lambda f, n: f.save(n, f.words(), f.m.LSTM(16, 8), f.m.Pooling(16, "mean")),
    "bag of words": lambda f, n: f.save(n, f.m.BoW(WORDS, {"cat": 2.0}), f.m.Dense(len(WORDS), 10)),
    "weighted words": lambda f, n: f.save(
        n, f.words(), f.m.WordWeights(WORDS, {"cat": 3.0}), f.m.Pooling(16, "mean")
    ),
    "static": lambda f, n: f.save(n, f.static(), f.m.Normalize()),
    "weighted layers": lambda f, n: f.save(
        n,
        f.m.Transformer(str(f.plain(n)), config_kwargs={"output_hidden_states": True}),
        f.m.WeightedLayerPooling(WIDTH, num_hidden_layers=3, layer_start=1),
        f.m.Pooling(WIDTH, "mean"),
    ),
    "half precision": _in_half,
    "shards": _in_shards,
    "bin": _as_bin,
    "prompt left out": lambda f, n: f.save(
        n,
        f.inner(n),
        f.m.Pooling(WIDTH, "mean", include_prompt=False),
        prompts={"query": "the cat "},
        default_prompt_name="query",
    ),
    "lower case": lambda f, n: edit_config(
        f.mean(n), "sentence_bert_config.json", do_lower_case=True
    ),
    "no maximum": lambda f, n: edit_config(
        f.mean(n), "sentence_bert_config.json", max_seq_length=None
    ),
    "short": lambda f, n: edit_config(f.mean(n), "sentence_bert_config.json", max_seq_length=6),
    "truncated": lambda f, n: f.mean(n, truncate_dim=8),
    "truncated to more": lambda f, n: f.mean(n, truncate_dim=64),
    "wrong width": lambda f, n: edit_config(
        f.mean(n), "1_Pooling/config.json", embedding_dimension=768
    ),
    "dot product": lambda f, n: f.mean(n, similarity_fn_name="dot"),
    "decoder": lambda f, n: f.save(n, f.inner(n, "gpt2"), f.m.Pooling(WIDTH, "lasttoken")),
    "decoder with a narrow last layer": lambda f, n: f.save(
        n, f.inner(n, "opt"), f.m.Pooling(16, "lasttoken")
    ),
    "wide last layer": lambda f, n: f.save(n, f.inner(n, "gemma"), f.m.Pooling(40, "mean")),
    "code that transformers has by now": lambda f, n: edit_config(
        f.mean(n, "gte"),
        auto_map={"AutoConfig": "a/b--c.GteConfig", "AutoModel": "a/b--c.GteModel"},
    ),
    "an adapter beside it": lambda f, n: _put(f.mean(n), {"lora/adapter_config.json": ADAPTER}),
    "T5's encoder alone": lambda f, n: f.plain(n, "t5", head="EncoderModel"),
}
"""Kind -> what writes a folder whose vectors are the library's."""


def _sparse(f: Folders, name: str) -> Path:
    own, inner = sparse_encoder.modules, f.plain(name, head="ForMaskedLM")
    parts = [own.MLMTransformer(str(inner)), own.SpladePooling()]
    SparseEncoder(modules=parts, device="cpu").save_pretrained(str(f.root / name))
    return f.root / name


def _cross(f: Folders, name: str, labels: int = 1) -> Path:
    inner = f.plain(name, head="ForSequenceClassification", num_labels=labels)
    CrossEncoder(str(inner), device="cpu").save_pretrained(str(f.root / name))
    return f.root / name


def _late(f: Folders, name: str) -> Path:
    MultiVectorEncoder(str(f.plain(name)), device="cpu").save_pretrained(str(f.root / name))
    return f.root / name


def _put(folder: Path, files: dict[str, str | bytes], *removed: str) -> Path:
    """A folder with other files."""
    for name in removed:
        (folder / name).unlink()
    return write_files(folder, files)


def _renamed(folder: Path) -> Path:
    """A folder whose tensors have a prefix that transformers does not know."""
    file = folder / "model.safetensors"
    save_file({f"wrapped.{name}": tensor for name, tensor in load_file(file).items()}, file)
    return folder


ADAPTER = json.dumps({"peft_type": "LORA", "base_model_name_or_path": "/gone/base"})


def _modules(f: Folders, folder_name: str, /, **changes: str | None) -> Path:
    """A folder whose `modules.json` says something else of its pooling."""
    folder = f.mean(folder_name)
    first, pooling = json.loads((folder / "modules.json").read_text())
    changed = {k: v for k, v in (pooling | changes).items() if v is not None}
    return _put(folder, {"modules.json": json.dumps([first, changed])})


def _foreign_route(f: Folders, name: str) -> Path:
    folder = f.router(name)
    own = "sentence_transformers.sentence_transformer.modules.pooling.Pooling"
    text = (folder / "router_config.json").read_text()
    return _put(folder, {"router_config.json": text.replace(own, "their_code.Pooling")})


def _copied(f: Folders, name: str, **changes) -> Path:
    """A plain folder with other entries in its configuration."""
    return edit_config(Path(shutil.copytree(f.plain(name), f.root / name)), **changes)


def _with_dense(f: Folders, name: str) -> Path:
    return f.save(name, f.inner(name), f.m.Pooling(WIDTH, "mean"), f.m.Dense(WIDTH, 8))


def _in_bytes(f: Folders, name: str) -> Path:
    """Static vectors of eight bits, as Model2Vec quantises them."""
    folder = f.save(name, f.static())
    file = next(folder.rglob("model.safetensors"))
    save_file({"embeddings": load_file(file)["embedding.weight"].to(torch.int8)}, file)
    return folder


REFUSED = {
    "cross-encoder": (_cross, "wrong-kind", ("cross-encoder",)),
    "plain cross-encoder": (
        lambda f, n: f.plain(n, head="ForSequenceClassification", num_labels=1),
        "wrong-kind",
        ("cross-encoder",),
    ),
    "sparse": (_sparse, "wrong-kind", ("sparse encoder",)),
    "late interaction": (_late, "wrong-kind", ("late-interaction",)),
    "no pooling": (
        lambda f, n: f.save(n, f.inner(n)),
        "wrong-kind",
        ("a vector for each token", "?pooling=avg"),
    ),
    "adapter": (
        lambda f, n: _put(
            f.mean(n), {"adapter_config.json": ADAPTER}, "model.safetensors", "config.json"
        ),
        "missing",
        ("PEFT", "/gone/base"),
    ),
    "onnx": (
        lambda f, n: _put(f.mean(n), {"onnx/model.onnx": b"\x08\x07"}, "model.safetensors"),
        "wrong-kind",
        ("ONNX (onnx/model.onnx)",),
    ),
    "gguf": (
        lambda f, n: _put(f.mean(n), {"model-q4.gguf": b"\x08\x07"}, "model.safetensors"),
        "wrong-kind",
        ("GGUF (model-q4.gguf)",),
    ),
    "images that need a package": (
        lambda f, n: _put(
            f.mean(n),
            {
                "processor_config.json": json.dumps(
                    {
                        "processor_class": "Qwen2VLProcessor",
                        "video_processor": {"video_processor_type": "Qwen2VLVideoProcessor"},
                        "image_processor": {"image_processor_type": "Qwen2VLImageProcessor"},
                    }
                )
            },
        ),
        "missing",
        ("requires the Torchvision library", "?pooling=avg"),
    ),
    "tokenizer that needs a package": (
        lambda f, n: _put(
            f.mean(n),
            {
                "tokenizer_config.json": json.dumps(
                    {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": "mecab"}
                ),
                "vocab.txt": "\n".join(WORDS),
            },
            "tokenizer.json",
        ),
        "failed",
        ("tokenizer of", "fugashi"),
    ),
    "whole numbers": (_in_bytes, "unsupported", ("whole numbers", "float32")),
    "quantised": (
        lambda f, n: edit_config(f.mean(n), quantization_config={"quant_method": "gptq"}),
        "unsupported",
        ("(gptq)",),
    ),
    "module without a file": (
        lambda f, n: _put(f.mean(n), {}, "1_Pooling/config.json"),
        "missing",
        ("1_Pooling/config.json",),
    ),
    "checkpoints": (
        lambda f, n: f.mean(f"{n}/checkpoint-10").parent,
        "wrong-kind",
        ("checkpoint-10",),
    ),
    "pointer": (
        lambda f, n: _put(f.mean(n), {"model.safetensors": LFS_POINTER}),
        "wrong-kind",
        ("Git LFS", "git lfs pull"),
    ),
    "pointer of a module": (
        lambda f, n: _put(_with_dense(f, n), {"2_Dense/model.safetensors": LFS_POINTER}),
        "wrong-kind",
        ("2_Dense", "Git LFS"),
    ),
    "no type": (lambda f, n: _modules(f, n, type=None), "damaged", ("without a type",)),
    "no name": (lambda f, n: _modules(f, n, name=None), "failed", ("lacks 'name'",)),
    "prompts in a list": (
        lambda f, n: edit_config(
            f.mean(n), "config_sentence_transformers.json", prompts=["query: "]
        ),
        "failed",
        ("config_sentence_transformers.json", '["query: "]'),
    ),
    "images and texts": (lambda f, n: f.plain(n, "clip"), "wrong-kind", ("images",)),
    "foreign module": (
        lambda f, n: _modules(f, n, type="evil.Pooling"),
        "denied",
        ("evil.Pooling", "never run"),
    ),
    "foreign route": (_foreign_route, "denied", ("their_code.Pooling", "never run")),
    "foreign activation": (
        lambda f, n: edit_config(
            _with_dense(f, n), "2_Dense/config.json", activation_function="their_code.Mish"
        ),
        "denied",
        ("their_code.Mish", "never run"),
    ),
    "code": (
        lambda f, n: edit_config(f.mean(n), auto_map={"AutoModel": "m"}),
        "denied",
        ("auto_map", "never run"),
    ),
    "code of a variant": (
        lambda f, n: edit_config(f.mean(n), auto_map={"AutoConfig": "m.TheirBertConfig"}),
        "denied",
        ("auto_map", "never run"),
    ),
    "cut": (
        lambda f, n: _put(f.mean(n), {"model.safetensors": b"\x08"}),
        "damaged",
        ("model.safetensors",),
    ),
    "tensors of another name": (
        lambda f, n: _renamed(f.mean(n)),
        "damaged",
        ("embeddings.LayerNorm.bias", "random"),
    ),
    "other sizes": (
        lambda f, n: edit_config(f.mean(n), vocab_size=10**11),
        "failed",
        ("sentence-transformers: its weights",),
    ),
    "many layers": (
        lambda f, n: edit_config(f.mean(n), num_hidden_layers=10**7),
        "mismatch",
        ("num_hidden_layers is 10,000,000", "55 tensors"),
    ),
    "many layers, plain": (
        lambda f, n: _copied(f, n, num_hidden_layers=10**7),
        "mismatch",
        ("num_hidden_layers is 10,000,000",),
    ),
    "negative size": (lambda f, n: _copied(f, n, hidden_size=-32), "mismatch", ("size is -32",)),
    "huge size": (
        lambda f, n: _copied(f, n, hidden_size=10**12),
        "mismatch",
        ("size is 1,000,000,000,000",),
    ),
    "huge dense": (
        lambda f, n: edit_config(_with_dense(f, n), "2_Dense/config.json", out_features=10**11),
        "mismatch",
        ("out_features is 100,000,000,000",),
    ),
    "many layers of an LSTM": (
        lambda f, n: edit_config(
            f.save(n, f.words(), f.m.LSTM(16, 8), f.m.Pooling(16, "max")),
            "1_LSTM/lstm_config.json",
            num_layers=10**7,
        ),
        "mismatch",
        ("num_layers is 10,000,000",),
    ),
}
"""Kind -> what writes a folder that cannot encode, the code and what is named."""
