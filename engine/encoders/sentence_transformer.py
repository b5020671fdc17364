"""A sentence-transformers model, run by that library with its own modules, routes and prompts."""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from theodolite.engine.encoders.checkpoint import Checkpoint, files_read
from theodolite.engine.encoders.fingerprint import file_sha256, fingerprint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.probe import Probe, positions, probe, refusal
from theodolite.engine.encoders.prompts import Prompts, Side
from theodolite.engine.encoders.source import Source, clean
from theodolite.engine.encoders.transformer import (
    check_vocabulary,
    cut_to,
    device_of,
    quiet,
    read_as,
    read_tokenizer,
    refuse_longer,
    refuse_random,
)
from theodolite.engine.encoders.weights import Weights, weights
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.stamps import check_unchanged

if TYPE_CHECKING:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Transformer

T = TypeVar("T")
NO_LIMIT = 10**9
THEIR_BATCH = 32
"""Texts in a batch of the library, which counts where a vector depends on its neighbours."""


class Batches:
    """Batches of the library, halved when one does not fit the memory.

    Args:
        size: texts in a batch at first.
        label: of the model.
    """

    def __init__(self, size: int, label: str) -> None:
        self._size, self._label = size, label

    def run(self, device: torch.device, encode: Callable[[int], T]) -> T:
        """What `encode` makes in batches of a size, the largest that fits."""
        while True:
            if (vectors := self._try(device, encode)) is not None:
                return vectors

    def _try(self, device: torch.device, encode: Callable[[int], T]) -> T | None:
        """None, and smaller batches, if one does not fit the memory."""
        from theodolite.engine.memory import empty_cache, ran_out

        try:
            return encode(self._size)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise refusal(error, self._label) from error
            if self._size == 1:
                raise UserError(
                    f"A text does not fit the memory of {device}.",
                    "Cut texts earlier with max_length, or close what else uses that memory.",
                    code="too-large",
                ) from error
        except Exception as error:  # its modules raise every kind
            raise refusal(error, self._label) from error
        empty_cache(device)  # the error, which kept alive what did not fit, is gone here
        self._size //= 2
        return None


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
        option = "prompt_name" if prompt in self.model.prompts else "prompt"
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
            **({} if prompt is None else {option: prompt}),
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
    transformers = [part for part in model.modules() if isinstance(part, Transformer)]
    for part, its in zip(transformers, checkpoint.transformers, strict=False):
        _check_tensors(part.model, its)
    for part in transformers:
        if part.tokenizer is not None:
            check_vocabulary(part.tokenizer, checkpoint)
            if part.tokenizer.pad_token_id is None:  # on the right, where the mask leaves it out
                own = part.tokenizer
                token = own.eos_token or own.unk_token or own.convert_ids_to_tokens(0)
                own.pad_token, own.padding_side = token, "right"
            _bound(part, max_length, checkpoint.label)
            if kind != "CrossEncoder":  # its texts are pairs
                _watch(part, loaded.cut)
    if dtype == "int8":
        from theodolite.engine.encoders.int8 import use_int8

        use_int8(model, checkpoint.label)
    return loaded


def _check_tensors(model: Any, checkpoint: Checkpoint) -> None:
    """Refuse a transformer that lacks tensors: the library silently takes random ones."""
    stored, before = checkpoint.shapes.keys(), f"{model.base_model_prefix}."
    names = (name for name, _ in model.named_parameters())
    missing = [name for name in names if not {name, before + name} & stored]
    if any("pooler." not in name for name in missing):  # perhaps they have other names
        with quiet():
            folder = str(checkpoint.folder)
            _, info = type(model).from_pretrained(folder, output_loading_info=True)
        refuse_random(info["missing_keys"], checkpoint.label)


def _bound(part: Transformer, length: int | None, label: str) -> None:
    """Cut texts where the model's positions end: the library does so for some models only."""
    most = positions(part.model)
    stated = part.max_seq_length
    refuse_longer(length, most, label)
    limits = [n for n in (length or stated, most) if n is not None]
    if limits and min(limits) != stated:
        part.max_seq_length = min(limits)
    expansion = part.query_expansion
    if expansion and most is not None:
        part.query_expansion = {**expansion, "length": min(expansion["length"], most)}
    for name in ("query_length", "document_length"):
        own = getattr(part, name, None)
        if own is not None:  # it takes the place of the stated maximum, and may be more
            setattr(part, name, min(n for n in (own, length, most) if n is not None))


def _limit(part: Transformer, task: str | None) -> int:
    """Where a transformer cuts texts of a task: some models fill their queries up to a length."""
    own = getattr(part, f"{task}_length", None)
    limit = next(n for n in (own, part.max_seq_length, NO_LIMIT) if n is not None)
    expansion = part.query_expansion if task == "query" else None
    if not expansion:
        return limit
    if expansion["strategy"] == "fixed":
        return int(expansion["length"])
    return limit if own is None else max(own, expansion["length"])


def _watch(part: Transformer, cut: dict[int, int]) -> None:
    """Have a transformer count the texts that it cuts, and take a batch without any token.

    Only a text that fills the maximum can have been cut, and only those are tokenized again. Texts
    without a token, such as "" without special tokens, get the vector that they have among others.

    Args:
        part: the transformer.
        cut: maximum tokens -> number of texts cut there, added to.
    """
    plain, owner = type(part).preprocess, weakref.ref(part)  # no cycle: memory is freed at once

    def preprocess(inputs: Any, prompt: str | None = None, **options: Any) -> Any:
        part = owner()
        assert part is not None  # noqa: S101 - it is being called
        features = plain(part, inputs, prompt=prompt, **options)
        mask = features.get("attention_mask")
        if mask is not None and not mask.shape[1]:
            mask = features["attention_mask"] = mask.new_zeros((len(mask), 1))
            features["input_ids"] = mask + part.tokenizer.pad_token_id
        limit = _limit(part, options.get("task"))
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
    prompts = checkpoint.sentence_transformers.get("prompts", {})
    if not isinstance(prompts, dict):
        given = json.dumps(prompts)[:40]
        text = f"prompts in its config_sentence_transformers.json is {given}, and should be {{}}."
    if "processing class" in text:  # it hides what the tokenizer lacks, such as a package
        with quiet():
            for part in checkpoint.transformers:
                read_tokenizer(part)
    if "Only Tensors of floating point" in text:
        return UserError(
            f"The static vectors of {checkpoint.label} are whole numbers, which "
            "sentence-transformers does not read.",
            "Save it again with vectors of float16 or float32.",
            code="unsupported",
        )
    if isinstance(error, KeyError):
        text = f"an entry of its files lacks {text}."
    if isinstance(error, ImportError) and " requires " in text:  # such as one that reads images
        return UserError(
            f"{checkpoint.label} needs a package that is not installed: "
            f"{text.split(' but it was')[0]}.",
            "Install it with pip, or take the transformer alone: ?pooling=avg.",
            code="missing",
        )
    if "ignore_mismatched_sizes" in text:
        text = "its weights have other shapes than config.json says."
    return UserError(
        f"{checkpoint.label} cannot be loaded by sentence-transformers: {text}",
        "Check that the folder is complete, or give a pooling to use the transformer.",
        code="failed",
    )


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
        self._batches = Batches(BATCH, checkpoint.label)
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
        self.dim = checkpoint.vector_dim or self._probe().dim

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the loaded model showed, and the number of texts cut so far."""
        model = self._weights.model
        return () if model is None else model.warnings(self._side)

    def read(self) -> None:
        """See `Source.read`."""
        self._weights.get(self._load)

    def _probe(self) -> Probe:
        with self._weights.lock:
            return self._loaded.probe(self._side)

    def _encode(self, sentences: Sequence[str]) -> np.ndarray:
        model = self._loaded
        probed = self._probe()
        if probed.dim != self.dim:
            raise UserError(
                f"{self.checkpoint.label} gives vectors of {probed.dim} dimensions; its files say "
                f"{self.dim}.",
                "Get the folder again, as one.",
                code="mismatch",
            )
        texts = [clean(s) for s in sentences]
        with self._weights.lock, exact_float32():
            vectors = self._batches.run(
                model.device, lambda batch: model.encode(texts, self._side, self._prompt, batch)
            )
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

    @property
    def _loaded(self) -> Loaded:
        return self._weights.get(self._load)

    def _load(self) -> Loaded:
        device = device_of(self._device)
        model = read(self.checkpoint, self._max_length, self._dtype, device)
        check_unchanged(self._hashes, hashes(self.checkpoint.folder), self.name)
        return model


def hashes(folder: Path) -> list[str]:
    """Name and SHA-256 of every file that the library may read."""
    return [f"{f.relative_to(folder).as_posix()}:{file_sha256(f)}" for f in files_read(folder)]
