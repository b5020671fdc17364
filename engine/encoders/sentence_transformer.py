"""A sentence-transformers model, run by that library with its own modules and prompts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.encoders.checkpoint import Checkpoint
from engine.encoders.fingerprint import file_sha256, fingerprint
from engine.encoders.source import Source, clean, in_chunks
from engine.encoders.transformer import default_device, quiet
from engine.errors import UserError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer as Model

BATCH = 64


class SentenceTransformerSource(Source):
    """A folder with `modules.json`.

    Args:
        name: canonical spec of the source.
        checkpoint: the folder.
        prompt: text put before every sentence, or the name of one of the model's own prompts; by
            default the model's default prompt, if it has one.
        max_length: most tokens of a text; by default the model's own.
        dtype: by default the one that the weights are stored in, float32 on CPUs.
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
        self._dtype = dtype
        self._device = device
        self._lock = threading.Lock()

    @cached_property
    def fingerprint(self) -> str:
        """See `Encoder`: every file of the folder except what only describes it."""
        folder = self.checkpoint.folder
        kept = (".json", ".txt", ".model", ".safetensors", ".bin")
        files = sorted(f for f in folder.rglob("*") if f.is_file() and f.suffix in kept)
        hashes = [f"{f.relative_to(folder).as_posix()}:{file_sha256(f)}" for f in files]
        return fingerprint(
            "sentence-transformers", *hashes, self._prompt, self._max_length, self._precision()
        )

    @cached_property
    def dim(self) -> int:
        """Dimension of the last module; loads the model."""
        dim = self._model.get_embedding_dimension()
        return int(dim) if dim else int(self._encode([""]).shape[1])

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._encode)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        prompt: dict[str, Any] = {}
        if self._prompt is not None:
            key = "prompt_name" if self._prompt in self._model.prompts else "prompt"
            prompt[key] = self._prompt
        model = self._model
        with self._lock:
            vectors = model.encode(
                [clean(s) for s in sentences],
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                **prompt,
            )
        return np.asarray(vectors, np.float32)

    @cached_property
    def _model(self) -> Model:
        with self._lock:
            if "_model" in self.__dict__:  # another thread was first
                return self.__dict__["_model"]
            return self._load()

    def _load(self) -> Model:
        import torch
        from sentence_transformers import SentenceTransformer

        try:
            with quiet():
                model = SentenceTransformer(
                    str(self.checkpoint.folder),
                    device=self._device or default_device(),
                    trust_remote_code=False,
                    local_files_only=True,
                    model_kwargs={"dtype": getattr(torch, self._precision())},
                )
        except Exception as error:  # the library raises every kind for a damaged folder
            line = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
            raise UserError(
                f"{self.checkpoint.label} cannot be loaded by sentence-transformers: {line}",
                "Check that the folder is complete, or give a pooling to use the transformer.",
            ) from error
        if self._max_length:
            model.max_seq_length = self._max_length
        return model

    def _precision(self) -> str:
        return self._dtype or "float32"
