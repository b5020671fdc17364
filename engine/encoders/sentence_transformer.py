"""A sentence-transformers model, run by that library with its own modules and prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.encoders.checkpoint import Checkpoint
from engine.encoders.fingerprint import file_sha256, fingerprint
from engine.encoders.float32 import exact_float32
from engine.encoders.pooling_choice import st_pooling
from engine.encoders.prompts import Prompts
from engine.encoders.source import Source, clean, in_chunks
from engine.encoders.transformer import check_vocabulary, default_device, quiet, read_as
from engine.encoders.weights import Weights, weights
from engine.errors import UserError, first_line
from engine.stamps import check_unchanged

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer as Model

BATCH = 64


class SentenceTransformerSource(Source):
    """A model folder with `modules.json`.

    Args:
        name: canonical spec of the source.
        checkpoint: the folder.
        prompt: text put before every sentence, or the name of one of the model's own prompts; by
            default the model's default prompt, if it has one.
        max_length: maximum tokens of a text; by default the model's own.
        dtype: by default float32; int8 is for the CPU.
        device: see `load`.
    """

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        *,
        prompt: str | None = None,
        max_length: int | None = None,
        dtype: str | None = None,
        device: str | None = None,
    ) -> None:
        checkpoint.check()
        self.name = name
        self.checkpoint = checkpoint
        self._prompt = prompt
        self._max_length = max_length
        self._dtype = dtype or "float32"
        self._device = device
        self.uses_gpu = device != "cpu"
        self._batch = BATCH
        self._hashes = _hashes(checkpoint.folder)
        self._weights: Weights[Model] = weights(
            "sentence-transformers", *self._hashes, max_length, self._dtype, device
        )
        self.prompt = Prompts.of(checkpoint).text(prompt)
        self.fingerprint = fingerprint(
            "sentence-transformers", *self._hashes, prompt, max_length, self._dtype
        )
        self.dim = _dim(checkpoint) or len(self._encode([""])[0])

    def read(self) -> None:
        """See `Source.read`."""
        self._weights.get(self._load)

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._encode)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        prompt: dict[str, Any] = {}
        if self._prompt is not None:
            key = "prompt_name" if self._prompt in self._model.prompts else "prompt"
            prompt[key] = self._prompt
        model, vectors = self._model, None
        with self._weights.lock, exact_float32():
            while vectors is None:
                vectors = self._tried(model, [clean(s) for s in sentences], prompt)
        return np.asarray(vectors, np.float32)

    def _tried(self, model: Model, texts: list[str], prompt: dict[str, Any]) -> np.ndarray | None:
        """The library's vectors; None, and smaller batches, if one does not fit the memory."""
        from engine.memory import empty_cache, ran_out

        try:
            return model.encode(
                texts,
                batch_size=self._batch,
                show_progress_bar=False,
                convert_to_numpy=True,
                **prompt,
            )
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            if self._batch == 1:
                raise UserError(
                    f"A text does not fit the memory of {model.device}.",
                    "Cut texts earlier with max_length, or close what else uses that memory.",
                ) from error
        empty_cache(model.device)  # the error, which kept alive what did not fit, is gone here
        self._batch //= 2
        return None

    @property
    def _model(self) -> Model:
        return self._weights.get(self._load)

    def _load(self) -> Model:
        from sentence_transformers import SentenceTransformer

        try:
            with quiet():
                model = SentenceTransformer(
                    str(self.checkpoint.folder),
                    device=self._device or default_device(),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"dtype": read_as(self._dtype)},
                )
        except Exception as error:  # the library raises every kind for a damaged folder
            text = first_line(error)
            raise UserError(
                f"{self.checkpoint.label} cannot be loaded by sentence-transformers: {text}",
                "Check that the folder is complete, or give a pooling to use the transformer.",
            ) from error
        check_unchanged(self._hashes, _hashes(self.checkpoint.folder), self.name)
        check_vocabulary(getattr(model, "tokenizer", None), self.checkpoint)
        if self._max_length:
            model.max_seq_length = self._max_length
        if self._dtype == "int8":
            from engine.encoders.int8 import use_int8

            use_int8(model, self.checkpoint.label)
        return model


def _hashes(folder: Path) -> list[str]:
    """Name and SHA-256 of every file that the library may read."""
    kept = (".json", ".txt", ".model", ".safetensors", ".bin")
    files = sorted(f for f in folder.rglob("*") if f.is_file() and f.suffix in kept)
    return [f"{f.relative_to(folder).as_posix()}:{file_sha256(f)}" for f in files]


def _dim(checkpoint: Checkpoint) -> int | None:
    """Length of a vector, from the last module that states one; None when none does."""
    dim = None
    for module in checkpoint.modules:
        file = checkpoint.folder / str(module.get("path", "")) / "config.json"
        try:
            config = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            continue
        # The keys of a Dense, and of a Pooling in its older and its newer form. Several poolings at
        # once give longer vectors, whose length only the model itself gives.
        if "out_features" in config:
            dim = config["out_features"]
        elif str(module["type"]).endswith(".Pooling"):
            width = config.get("word_embedding_dimension") or config.get("embedding_dimension")
            dim = width if st_pooling(file.parent) else None
    return dim
