"""A sentence-transformers model, run by that library with its own modules, routes and prompts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.encoders.checkpoint import Checkpoint, files_read
from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.probe import Probe, refusal
from theodolite.engine.encoders.prompts import Prompts, Side
from theodolite.engine.encoders.source import Source, clean, in_chunks
from theodolite.engine.encoders.transformer import default_device
from theodolite.engine.encoders.weights import Weights, weights
from theodolite.engine.errors import UserError
from theodolite.engine.stamps import check_unchanged

if TYPE_CHECKING:
    from theodolite.engine.encoders.st_model import Loaded

BATCH = 64


class SentenceTransformerSource(Source):
    """A model folder with `modules.json`.

    Args:
        name: canonical spec of the source.
        checkpoint: the folder.
        side: encode as `encode_query` or `encode_document` does, by the route and the prompt that
            a model has for that; None as `encode`.
        prompt: text put before every sentence, or the name of one of the model's own prompts; by
            default the model's own for the side, or its default prompt, if it has one.
        max_length: maximum tokens of a text; by default the model's own.
        dtype: by default float32; int8 is for the CPU.
        device: see `load`.

    Attributes:
        similarity: how the model compares its vectors.
    """

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        *,
        side: Side | None = None,
        prompt: str | None = None,
        max_length: int | None = None,
        dtype: str | None = None,
        device: str | None = None,
    ) -> None:
        self.name = name
        self.checkpoint = checkpoint
        self.similarity = checkpoint.similarity
        self._side = side
        self._prompt = prompt
        self._max_length = max_length
        self._dtype = dtype or "float32"
        self._device = device
        self.uses_gpu = device != "cpu"
        self._batch = BATCH
        self._hashes = hashes(checkpoint.folder)
        self._weights: Weights[Loaded] = weights(
            "sentence-transformers", *self._hashes, max_length, self._dtype, device
        )
        self.prompt = Prompts.of(checkpoint).text(side if side and prompt is None else prompt)
        settings = [prompt, max_length, self._dtype]
        settings += [side] if side else []
        # A score was a cosine whatever the model says, until its own similarity was used.
        settings += [self.similarity] if self.similarity != "cosine" else []
        self.fingerprint = fingerprint("sentence-transformers", *self._hashes, *settings)
        self.dim = checkpoint.vector_dim or self._probed().dim

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the loaded model showed, and the number of texts cut so far."""
        model = self._weights.model
        return () if model is None else model.warnings(self._side)

    def read(self) -> None:
        """See `Source.read`."""
        self._weights.get(self._load)

    def _probed(self) -> Probe:
        with self._weights.lock:
            return self._loaded.probe(self._side)

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._encode)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        model, vectors = self._loaded, None
        probed = self._probed()
        if probed.dim != self.dim:
            raise UserError(
                f"{self.checkpoint.label} gives vectors of {probed.dim} dimensions; its files say "
                f"{self.dim}.",
                "Get the folder again, as one.",
                code="mismatch",
            )
        texts = [clean(s) for s in sentences]
        with self._weights.lock, exact_float32():
            while vectors is None:
                vectors = self._tried(model, texts)
        rows = np.asarray(vectors, np.float32)
        finite = np.isfinite(rows).all(axis=1)
        if not finite.all() and self._dtype == "float32":
            raise UserError(
                f"{self.checkpoint.label} has no vector for {texts[int(finite.argmin())][:80]!r}: "
                "it gives NaN or infinity, in sentence-transformers too.",
                "Leave out texts without a word that it knows, such as empty ones. If it is so for "
                "every text, its weights are damaged.",
                code="not-finite",
            )
        return rows

    def _tried(self, model: Loaded, texts: list[str]) -> np.ndarray | None:
        """The library's vectors; None, and smaller batches, if one does not fit the memory."""
        from theodolite.engine.memory import empty_cache, ran_out

        try:
            return model.encode(texts, self._side, self._prompt, self._batch)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise refusal(error, self.checkpoint.label) from error
            if self._batch == 1:
                raise UserError(
                    f"A text does not fit the memory of {model.device}.",
                    "Cut texts earlier with max_length, or close what else uses that memory.",
                    code="too-large",
                ) from error
        except Exception as error:  # its modules raise every kind
            raise refusal(error, self.checkpoint.label) from error
        empty_cache(model.device)  # the error, which kept alive what did not fit, is gone here
        self._batch //= 2
        return None

    @property
    def _loaded(self) -> Loaded:
        return self._weights.get(self._load)

    def _load(self) -> Loaded:
        from theodolite.engine.encoders.st_model import read

        device = self._device or default_device()
        model = read(self.checkpoint, self._max_length, self._dtype, device)
        check_unchanged(self._hashes, hashes(self.checkpoint.folder), self.name)
        return model


def hashes(folder: Path) -> list[str]:
    """Name and SHA-256 of every file that the library may read."""
    return [f"{f.relative_to(folder).as_posix()}:{file_sha256(f)}" for f in files_read(folder)]
