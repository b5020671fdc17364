"""Tiny random checkpoints, written as the real libraries write them."""

import json
from functools import cache, partial
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers

WORDS = "a cat dog sat ran on the mat quickly and then slept , .".split()
SENTENCES = [
    "a cat sat on the mat .",
    "the dog ran",
    "a dog and a cat slept on the mat , then ran quickly .",
    "the",
    "a dog sat on the mat .",
    "unknownword cat",
    "the cat",
]


close = partial(np.testing.assert_allclose, atol=1e-5)
"""Asserts that vectors are equal but for the noise of two orders of adding."""
SPECIAL = {
    "bert": {
        "pad_token": "[PAD]",
        "unk_token": "[UNK]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    },
    "roberta": {
        "cls_token": "<s>",
        "pad_token": "<pad>",
        "sep_token": "</s>",
        "unk_token": "<unk>",
    },
    "gpt2": {"pad_token": "<|end|>", "unk_token": "<unk>"},
}
"""In the order of their ids."""


def tokenizer(kind: str):
    """Word-level tokenizer with the special tokens of BERT or RoBERTa, or with none (gpt2)."""
    special = SPECIAL[kind]
    vocabulary = {word: i for i, word in enumerate([*special.values(), *WORDS])}
    core = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(vocabulary, unk_token=special["unk_token"])
    )
    core.normalizer = tokenizers.normalizers.Lowercase()
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if kind != "gpt2":
        ends = [special["cls_token"], special["sep_token"]]
        core.post_processor = tokenizers.processors.TemplateProcessing(
            single=" $A ".join(ends), special_tokens=[(end, vocabulary[end]) for end in ends]
        )
    return transformers.PreTrainedTokenizerFast(tokenizer_object=core, **special)


def save(folder: Path, kind: str = "bert", head: str = "Model", **changes) -> Path:
    """Write a random model of three layers and 32 dimensions with its tokenizer."""
    torch.manual_seed(0)
    small = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
    wide = {"intermediate_size": 48}
    name, own = {
        "bert": ("Bert", wide | {"max_position_embeddings": 24}),
        "roberta": ("Roberta", wide | {"max_position_embeddings": 26, "pad_token_id": 1}),
        "t5": ("T5", {"d_ff": 48, "d_kv": 8}),
        "gpt2": ("GPT2", {"n_positions": 24, "bos_token_id": 0, "eos_token_id": 0}),
        "gte": ("Gte", wide | {"max_position_embeddings": 24}),
        "gemma": (
            "EmbeddingGemma2Text",
            wide | {"num_key_value_heads": 2, "head_dim": 8, "embedding_dim": 40},
        ),
        "clip": ("CLIP", {"text_config": small | {"vocab_size": 99}, "vision_config": small}),
        "opt": ("OPT", {"ffn_dim": 48, "word_embed_proj_dim": 16, "max_position_embeddings": 24}),
    }[kind]
    words = tokenizer(
        {"t5": "roberta", "opt": "gpt2", "clip": "bert", "gte": "bert", "gemma": "bert"}.get(
            kind, kind
        )
    )
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(words), **{**small, **own, **changes}
    )
    getattr(transformers, f"{name}{head}")(config).eval().save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def save_sentence_transformer(folder: Path, pooling: str = "cls", **options) -> Path:
    """A sentence-transformers folder: transformer, pooling, a dense layer to 8 dimensions."""
    # Half of all that import this module need no more than transformers.
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules

    torch.manual_seed(1)
    inner = modules.Transformer(str(save(folder.parent / f"{folder.name}-inner")))
    parts = [inner, modules.Pooling(32, pooling_mode=pooling), modules.Dense(32, 8)]
    SentenceTransformer(modules=parts, device="cpu", **options).save(str(folder))
    return folder


def edit_config(folder: Path, name: str = "config.json", **changes) -> Path:
    """Change entries of a JSON file in place."""
    file = folder / name
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))
    return folder


@cache
def peers(folder: Path) -> tuple:
    """Model and tokenizer of a folder that does not change, by transformers alone."""
    return (
        transformers.AutoModel.from_pretrained(folder).eval(),
        transformers.AutoTokenizer.from_pretrained(folder),
    )


def plainly(folder: Path, pooling: str, sentence: str, layer: int = -1):
    """One sentence at a time, without padding, from transformers' own outputs."""
    model, words = peers(folder)
    with torch.inference_mode():
        out = model(words(sentence, return_tensors="pt").input_ids, output_hidden_states=True)
    states = [s[0].numpy() for s in out.hidden_states]
    return {
        "pooler_output": lambda: out.pooler_output[0].numpy(),
        "cls_token": lambda: states[layer][0],
        "avg": lambda: states[layer].mean(0),
        "avg_top2": lambda: ((states[-1] + states[-2]) / 2).mean(0),
        "avg_first_last": lambda: ((states[1] + states[-1]) / 2).mean(0),
        "avg_first_last_2021": lambda: ((states[0] + states[-1]) / 2).mean(0),
        "max": lambda: states[layer].max(0),
        "last": lambda: states[layer][-1],
    }[pooling]()
