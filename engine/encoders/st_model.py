"""A sentence-transformers model in memory: what it cuts, pads and gives is asked of it itself."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.probe import Probe, positions, probe
from theodolite.engine.encoders.prompts import Side
from theodolite.engine.encoders.transformer import (
    check_vocabulary,
    cut_to,
    quiet,
    read_as,
    refuse_longer,
)
from theodolite.engine.errors import UserError, first_line

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Transformer

NO_LIMIT = 10**9
THEIR_BATCH = 32
"""Texts in a batch of the library, which counts where a vector depends on its neighbours."""


class Loaded:
    """A model that has been read, with its bounds set.

    Attributes:
        model: the library's.
        cut: maximum tokens of a text -> number of texts cut there so far.
    """

    def __init__(self, model: SentenceTransformer, label: str, dtype: str) -> None:
        self.model = model
        self.cut: dict[int, int] = {}
        self._label = label
        self._dtype = dtype
        self._probes: dict[Side | None, Probe] = {}

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.model.device

    def encode(
        self, texts: Sequence[str], side: Side | None, prompt: str | None, batch: int
    ) -> np.ndarray:
        """Return the library's vectors, float32 (n, dim)."""
        named = "prompt_name" if prompt in self.model.prompts else "prompt"
        known = self._probes.get(side)
        encode: Callable[..., np.ndarray] = {
            None: self.model.encode,
            "query": self.model.encode_query,
            "document": self.model.encode_document,
        }[side]
        return encode(
            list(texts),
            batch_size=min(batch, THEIR_BATCH) if known and not known.agrees else batch,
            show_progress_bar=False,
            convert_to_numpy=True,
            **({} if prompt is None else {named: prompt}),
        )

    def probe(self, side: Side | None) -> Probe:
        """What two texts show of a side; tried once."""
        if side not in self._probes:
            before = dict(self.cut)
            with exact_float32():
                self._probes[side] = probe(
                    lambda texts: self.encode(texts, side, None, len(texts)),
                    self._label,
                    self._dtype,
                )
            self.cut.clear()
            self.cut.update(before)
        return self._probes[side]

    def warnings(self, side: Side | None) -> tuple[str, ...]:
        """What to know of vectors of a side, as sentences."""
        known = self._probes.get(side)
        cuts = (cut_to(n, limit) for limit, n in self.cut.items() if n)
        return (*(known.warnings(self._label) if known else ()), *cuts)


def read(
    checkpoint: Checkpoint,
    max_length: int | None,
    dtype: str,
    device: str,
    kind: str = "SentenceTransformer",
) -> Loaded:
    """Read a model by sentence-transformers and set its bounds.

    Args:
        checkpoint: the folder.
        max_length: maximum tokens of a text; None for the model's own.
        dtype: float32, float16, bfloat16 or int8.
        device: where it computes.
        kind: the library's class of models.
    """
    import sentence_transformers
    from sentence_transformers.sentence_transformer.modules import Transformer

    try:
        with quiet():
            model = getattr(sentence_transformers, kind)(
                str(checkpoint.folder),
                device=device,
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"dtype": read_as(dtype)},
            )
    except Exception as error:  # the library raises every kind for a damaged folder
        raise _not_loaded(checkpoint, error) from error
    loaded = Loaded(model, checkpoint.label, dtype)
    for part in model.modules():
        if isinstance(part, Transformer) and part.tokenizer is not None:
            check_vocabulary(part.tokenizer, checkpoint)
            _pad(part.tokenizer)
            _bound(part, max_length, checkpoint.label)
            if kind != "CrossEncoder":  # its texts are pairs
                _watch(part, loaded.cut)
    if dtype == "int8":
        from theodolite.engine.encoders.int8 import use_int8

        use_int8(model, checkpoint.label)
    return loaded


def _pad(tokenizer: Any) -> None:
    """Give a tokenizer without a padding token one, on the right, where the mask leaves it out."""
    if tokenizer.pad_token_id is None:
        token = tokenizer.eos_token or tokenizer.unk_token or tokenizer.convert_ids_to_tokens(0)
        tokenizer.pad_token, tokenizer.padding_side = token, "right"


def _bound(part: Transformer, wanted: int | None, label: str) -> None:
    """Cut texts where the model's positions end: the library does so for some models only."""
    most = positions(part.model)
    stated = part.max_seq_length
    refuse_longer(wanted, most, label)
    limits = [n for n in (wanted or stated, most) if n is not None]
    if limits and min(limits) != stated:
        part.max_seq_length = min(limits)
    for name in ("query_length", "document_length"):
        own = getattr(part, name, None)
        if own is not None and limits:
            setattr(part, name, min(own, *limits))


def _watch(part: Transformer, cut: dict[int, int]) -> None:
    """Have a transformer count the texts that it cuts, and take a batch without any token.

    Only a text that fills the maximum can have been cut, and only those are tokenized again. Texts
    without a token, such as "" without special tokens, get the vector that they have among others.

    Args:
        part: the transformer.
        cut: maximum tokens -> number of texts cut there, added to.
    """
    plain, seen = type(part).preprocess, weakref.ref(part)  # no cycle: memory is freed at once

    def preprocess(inputs: Any, prompt: str | None = None, **options: Any) -> Any:
        part = seen()
        assert part is not None  # noqa: S101 - it is being called
        features = plain(part, inputs, prompt=prompt, **options)
        mask = features.get("attention_mask")
        if mask is not None and not mask.shape[1]:
            mask = features["attention_mask"] = mask.new_zeros((len(mask), 1))
            features["input_ids"] = mask + part.tokenizer.pad_token_id
        own = getattr(part, f"{options.get('task')}_length", None)
        limit = min(n for n in (own, part.max_seq_length, NO_LIMIT) if n is not None)
        if mask is not None and mask.shape[1] >= limit:
            full = (mask.sum(1) >= limit).tolist()
            texts = [(prompt or "") + text for text, at in zip(inputs, full, strict=True) if at]
            ids = part.tokenizer(texts, verbose=False)["input_ids"] if texts else []
            cut[limit] = cut.get(limit, 0) + sum(len(row) > limit for row in ids)
        return features

    part.preprocess = preprocess


def _not_loaded(checkpoint: Checkpoint, error: Exception) -> UserError:
    """Put what the library raised for a folder into a sentence."""
    text = first_line(error)
    quantised = checkpoint.config.get("quantization_config")
    if isinstance(quantised, dict):
        method = quantised.get("quant_method") or "a method of its own"
        return UserError(
            f"The weights of {checkpoint.label} are quantised ({method}), and cannot be read "
            f"here: {text}",
            "Use the model that it was made from.",
            code="unsupported",
        )
    if isinstance(error, KeyError):
        text = f"an entry of its files lacks {text}."
    if "ignore_mismatched_sizes" in text:
        text = "its weights have other shapes than config.json says."
    return UserError(
        f"{checkpoint.label} cannot be loaded by sentence-transformers: {text}",
        "Check that the folder is complete, or give a pooling to use the transformer.",
        code="failed",
    )
