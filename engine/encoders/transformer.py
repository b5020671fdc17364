"""A Hugging Face transformer as a source of vectors: tokenize, run, pool.

The fast path: texts of a chunk sorted by token length, batched by tokens, no mask where none is
needed, while a thread tokenizes the next chunk. Weights are read at the first `encode`; a lock per
model lets several threads share it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.engine.encoders.batching import TokenBudget, pad_batch
from theodolite.engine.encoders.checkpoint import NO_LIMIT, Checkpoint
from theodolite.engine.encoders.doctor import examine
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.pooling import ALL_LAYERS, States, averaged, pool
from theodolite.engine.encoders.probe import Probe, positions, probe, refusal
from theodolite.engine.encoders.source import CHUNK, Source, clean, slices
from theodolite.engine.encoders.weights import Weights, weights
from theodolite.engine.errors import Code, UserError, first_line
from theodolite.engine.progress import nobody
from theodolite.engine.search.index import unit_rows
from theodolite.engine.stamps import check_unchanged

if TYPE_CHECKING:
    import torch

GPU_CHUNK = 16_384
_SPARED = ("pooler.",)
"""In names of tensors that may be missing: an unused pooler does no harm."""


@dataclass(frozen=True)
class TransformerSettings:
    """Settings that determine a transformer's vectors beside its files; None is its own choice."""

    pooling: str
    layer: int = -1
    max_length: int | None = None
    prompt: str = ""
    normalise: bool = False


class Transformer:
    """A loaded model with its tokenizer.

    Attributes:
        limit: maximum tokens of a text, special tokens included; the rest is cut.
        probe: what two texts showed; None before it has encoded any.
    """

    def __init__(
        self, checkpoint: Checkpoint, max_length: int | None, dtype: str, device: str
    ) -> None:
        import torch

        self.device = torch.device(device)
        self.probe: Probe | None = None
        self._budget = TokenBudget(self.device)
        self._label = checkpoint.label
        self._lock = threading.Lock()
        with quiet():
            self.tokenizer = read_tokenizer(checkpoint)
            self.model = read_model(checkpoint, read_as(dtype)).to(self.device)
        if self.device.type == "cpu":
            from theodolite.engine.encoders.onednn import use_onednn

            use_onednn(self.model)
        if dtype == "int8":
            from theodolite.engine.encoders.int8 import use_int8

            use_int8(self.model, checkpoint.label)
        self.dim = checkpoint.dim
        self.limit = token_limit(checkpoint, self.tokenizer, max_length)
        self.limit = min(self.limit, positions(self.model) or self.limit)
        self.pad = getattr(self.tokenizer, "pad_token_id", None) or 0
        self._backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if self._backend is not None:
            self._backend.no_padding()
            self._backend.enable_truncation(self.limit, direction=self.tokenizer.truncation_side)

    def ids(self, sentences: Sequence[str]) -> tuple[list[list[int]], int]:
        """Token ids with special tokens, cut to `limit`, and the number of texts that were cut."""
        texts = [clean(s) for s in sentences]
        if self._backend is not None:  # several times faster than the tokenizer's own call
            encodings = self._backend.encode_batch_fast(texts)
            return [e.ids for e in encodings], sum(bool(e.overflowing) for e in encodings)
        lists = self.tokenizer(texts, truncation=True, max_length=self.limit)["input_ids"]
        return list(lists), sum(len(row) == self.limit for row in lists)

    def try_out(self, dtype: str) -> None:
        """Encode two texts; see `engine.encoders.probe`."""
        self.probe = probe(
            lambda texts: self.pooled(self.ids(texts)[0], ["max"])[0], self._label, dtype
        )

    def pooled(
        self,
        ids: Sequence[Sequence[int]],
        poolings: Sequence[str],
        layer: int = -1,
        tick: Callable[[int], None] = nobody,
    ) -> list[np.ndarray]:
        """Vectors of tokenized texts under several poolings from one pass.

        Args:
            ids: tokens of each text.
            poolings: names.
            layer: whose states are pooled.
            tick: called after each batch with the number of texts done; may raise.

        Returns:
            One float32 (n, d) per pooling, rows in the order of `ids`.
        """
        import torch

        places = np.array([i for i, row in enumerate(ids) if row], np.int64)
        every = layer != -1 or not ALL_LAYERS.isdisjoint(poolings)
        order: list[np.ndarray] = []
        rows: list[list[torch.Tensor]] = [[] for _ in poolings]

        def vectors_of(part: Sequence[Sequence[int]]) -> list[torch.Tensor]:
            states = self._run(part, every)
            return [pool(states, pooling, layer) for pooling in poolings]

        with self._lock, exact_float32(), torch.inference_mode():
            for batch in self._budget.batches([len(ids[i]) for i in places]):
                order.append(places[batch])
                for vectors in self._budget.parts(vectors_of, [ids[i] for i in places[batch]]):
                    for chunks, chunk in zip(rows, vectors, strict=True):
                        chunks.append(chunk)
                tick(sum(map(len, order)))
            results = [torch.cat(chunks).cpu().numpy() for chunks in rows if chunks]  # one transfer
        # A text without any token, such as "" without special tokens, is the zero vector.
        out = [np.zeros((len(ids), self.dim), np.float32) for _ in poolings]
        for whole, result in zip(out, results, strict=bool(order)):
            whole[np.concatenate(order)] = result
        return out

    def windows(self, texts: Sequence[str]) -> list[list[tuple[list[int], np.ndarray]]]:
        """For each text the windows of at most `limit` tokens that it fills, special ones included.

        Each with its token ids and where they stand in the text, int64 (t, 2), in characters; 0, 0
        for a special token.
        """
        if self._backend is None:
            raise UserError(
                "The tokenizer of this model does not say where tokens stand in a text.",
                "Take a model with tokenizer.json.",
                code="unsupported",
            )
        return [
            [
                (one.ids, np.array(one.offsets, np.int64))
                for one in (encoding, *encoding.overflowing)
                if one.ids
            ]
            for encoding in self._backend.encode_batch([clean(text) for text in texts])
        ]

    def states(
        self, ids: Sequence[Sequence[int]], pooling: str, layer: int = -1
    ) -> list[np.ndarray]:
        """For each tokenized text the states whose mean a pooling takes, float32 (t, d)."""
        import torch

        every, found = layer != -1 or pooling in ALL_LAYERS, dict[int, np.ndarray]()

        def states_of(part: Sequence[Sequence[int]]) -> torch.Tensor:
            return averaged(self._run(part, every), pooling, layer)

        with self._lock, exact_float32(), torch.inference_mode():
            for batch in self._budget.batches([len(row) for row in ids]):
                places = iter(batch.tolist())
                for some in self._budget.parts(states_of, [ids[i] for i in batch]):
                    for rows, at in zip(some, places, strict=False):
                        found[at] = rows[: len(ids[at])].cpu().numpy()
        return [found[i] for i in range(len(ids))]

    def _run(self, ids: Sequence[Sequence[int]], every_layer: bool) -> States:
        inputs, mask = pad_batch(ids, self.pad)
        inputs = inputs.to(self.device, non_blocking=True)
        mask = mask if mask is None else mask.to(self.device, non_blocking=True)
        options: dict[str, Any] = {"output_hidden_states": True} if every_layer else {}
        try:
            out = self.model(input_ids=inputs, attention_mask=mask, return_dict=True, **options)
        except (IndexError, RuntimeError) as error:
            from theodolite.engine.memory import ran_out

            if ran_out(error):
                raise
            raise refusal(error, self._label) from error
        hidden = out.hidden_states if every_layer else (out.last_hidden_state,)
        return States(hidden, getattr(out, "pooler_output", None), mask)


class TransformerSource(Source):
    """A checkpoint with a pooling.

    Attributes:
        cut: number of texts cut so far.
    """

    cut = 0

    def __init__(
        self,
        name: str,
        checkpoint: Checkpoint,
        settings: TransformerSettings,
        *,
        dtype: str | None = None,
        device: str | None = None,
        warnings: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.checkpoint = checkpoint
        self.settings = settings
        self.dim = checkpoint.dim
        self._device = device
        self.uses_gpu = device != "cpu"
        self._dtype = dtype or "float32"  # on every device: one spec is one fingerprint
        self._static_warnings = tuple(warnings)
        self.prompt = settings.prompt
        _check_settings(checkpoint, settings)
        self._hashes = checkpoint.hashes
        self._weights: Weights[Transformer] = weights(
            Transformer, *self._hashes, settings.max_length, self._dtype, device
        )
        side = checkpoint.truncation_side
        # The default is left out: vectors were cut on the right, whatever the files say, before.
        sides = [side] * (side != "right")
        self.fingerprint = fingerprint(
            "transformer", *self._hashes, *astuple(settings), self._dtype, *sides
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """The doctor's warnings, and the number of texts cut so far."""
        model = self._weights.model
        if model is None or model.probe is None:
            return self._static_warnings
        cut = (cut_to(self.cut, model.limit),) if self.cut else ()
        return (*self._static_warnings, *model.probe.warnings(self.checkpoint.label), *cut)

    @property
    def transformer(self) -> Transformer:
        """The loaded model; reads the weights the first time."""
        return self._weights.get(self._read)

    def read(self) -> None:
        """See `Source.read`."""
        self._weights.get(self._read)

    def _read(self) -> Transformer:
        device = device_of(self._device)
        model = Transformer(self.checkpoint, self.settings.max_length, self._dtype, device)
        check_unchanged(self._hashes, self.checkpoint.hashes, self.name)
        return model

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return self.watched(sentences, nobody)

    def watched(
        self, sentences: Sequence[str], tick: Callable[[int], None]
    ) -> Iterator[np.ndarray]:
        """See `Source.watched`."""
        model, settings = self.transformer, self.settings
        if model.probe is None:
            model.try_out(self._dtype)
        size = CHUNK if model.device.type == "cpu" else GPU_CHUNK
        prompt = settings.prompt
        texts = [prompt + s for s in sentences] if prompt else sentences
        for ids, cut in ahead(model.ids, slices(texts, size)):
            self.cut += cut
            (rows,) = model.pooled(ids, [settings.pooling], settings.layer, tick)
            yield unit_rows(rows) if settings.normalise else rows


def make(
    name: str,
    checkpoint: Checkpoint,
    *,
    pooling: str | None = None,
    layer: int | None = None,
    max_length: int | None = None,
    prompt: str = "",
    dtype: str | None = None,
    device: str | None = None,
) -> TransformerSource:
    """Make a source of a checkpoint and its spec's options; the doctor fills in the pooling."""
    checkpoint.check_weights()
    diagnosis = examine(checkpoint, pooling)
    settings = TransformerSettings(
        pooling or diagnosis.pooling, -1 if layer is None else layer, max_length, prompt
    )
    return TransformerSource(
        name, checkpoint, settings, dtype=dtype, device=device, warnings=diagnosis.warnings
    )


def cut_to(texts: int, limit: int) -> str:
    """Say that texts were cut."""
    return f"{texts} {'text was' if texts == 1 else 'texts were'} cut to {limit} tokens."


def default_device() -> str:
    """The first GPU if there is one."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def device_of(requested: str | None) -> str:
    """The device that is asked for, if this machine has it; else the default one."""
    import torch

    name = requested or default_device()
    try:
        torch.empty(0, device=name)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(
            f"This machine has no device {name!r}.",
            "Leave the device out: the first GPU is taken if there is one, else the processor.",
            code="unsupported",
        ) from error
    return name


def read_as(dtype: str) -> torch.dtype:
    """The dtype in which weights are read: int8 is made from float32."""
    import torch

    kind: torch.dtype = getattr(torch, "float32" if dtype == "int8" else dtype)
    return kind


def ahead(work: Any, items: Iterator[Any]) -> Iterator[Any]:
    """`map(work, items)`, with the next result computed in a thread while one is being used."""
    with ThreadPoolExecutor(1) as pool_:
        pending = None
        for item in items:
            following = pool_.submit(work, item)
            if pending is not None:
                yield pending.result()
            pending = following
        if pending is not None:
            yield pending.result()


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress transformers' progress bars and reports while a model is read."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def read_tokenizer(checkpoint: Checkpoint) -> Any:
    """Read the tokenizer of a checkpoint."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(str(checkpoint.root), trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError, TypeError) as error:
        raise UserError(
            f"The tokenizer of {checkpoint.label} cannot be loaded: {first_line(error)}",
            "The folder needs tokenizer.json, or the vocabulary of its tokenizer. One of "
            "SentencePiece (*.model) takes: pip install sentencepiece protobuf.",
            code="failed",
        ) from error
    check_vocabulary(tokenizer, checkpoint)
    return tokenizer


def check_vocabulary(tokenizer: Any, checkpoint: Checkpoint) -> None:
    """Refuse a tokenizer without a vocabulary: every text would have the same vector.

    transformers silently makes up an empty vocabulary for a folder without one.
    """
    special = getattr(tokenizer, "all_special_ids", None)
    if special is not None and len(tokenizer) <= len(special):
        raise UserError(
            f"{checkpoint.label} holds no vocabulary for its tokenizer.",
            "The folder needs tokenizer.json, or the vocabulary of its tokenizer.",
            code="missing",
        )


def read_model(checkpoint: Checkpoint, dtype: torch.dtype) -> Any:
    """Read the transformer of a checkpoint, in evaluation mode on the CPU."""
    model = from_files(
        class_of(checkpoint),
        checkpoint,
        f"The model of {checkpoint.label} cannot be loaded",
        "Check that the folder is complete and its architecture known to transformers.",
        dtype=dtype,
    )
    if checkpoint.has_simcse_head and getattr(model, "pooler", None) is not None:
        head = checkpoint.tensors(("mlp.dense.weight", "mlp.dense.bias"))
        model.pooler.load_state_dict({n.removeprefix("mlp."): w for n, w in head.items()})
    if hasattr(model, "get_text_features"):
        raise UserError(
            f"{checkpoint.label} is a model of texts and other things, such as images, and gives "
            "no vector for a text alone.",
            "sentence-transformers reads its texts: add the folder that "
            "SentenceTransformer(FOLDER).save_pretrained(NEW) writes.",
            code="wrong-kind",
        )
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    return model.eval()


def from_files(
    kind: Any,
    checkpoint: Checkpoint,
    refusal: str,
    hint: str,
    spared: Collection[str] = _SPARED,
    code: Code = "failed",
    **options: Any,
) -> Any:
    """Read the weights of a checkpoint as a class of transformers.

    Args:
        kind: the class.
        checkpoint: the files.
        refusal: message for files that transformers cannot read, which its own reason follows.
        hint: of that message.
        spared: as for `refuse_random`.
        code: of that message.
        options: for `from_pretrained`.
    """
    try:
        model, info = kind.from_pretrained(
            str(checkpoint.root),
            trust_remote_code=False,
            use_safetensors=checkpoint.weights[0].suffix == ".safetensors",
            output_loading_info=True,
            **options,
        )
    except Exception as error:  # transformers raises every kind for a damaged file
        raise UserError(f"{refusal}: {first_line(error)}", hint, code=code) from error
    refuse_random(info["missing_keys"], checkpoint.label, spared)
    return model


def refuse_random(missing: Collection[str], label: str, spared: Collection[str] = _SPARED) -> None:
    """Refuse tensors that weights lack, which would be random, unless a spared word names them."""
    names = sorted(name for name in missing if not any(word in name for word in spared))
    if names:
        raise UserError(
            f"{label} lacks {len(names)} tensors, {names[0]} among them: they would be random.",
            "Give the complete checkpoint.",
            code="damaged",
        )


def class_of(checkpoint: Checkpoint) -> Any:
    """The class of transformers that reads a checkpoint, and of T5 writes its encoder alone."""
    from transformers import AutoModel, AutoModelForTextEncoding

    is_t5 = checkpoint.config.get("model_type") in ("t5", "mt5", "umt5")
    return AutoModelForTextEncoding if is_t5 else AutoModel


def token_limit(checkpoint: Checkpoint, tokenizer: Any, length: int | None = None) -> int:
    """Maximum tokens of a text: `wanted`, or as many as model and tokenizer take."""
    bounds = (checkpoint.positions, tokenizer.model_max_length)  # this one may be 512.0
    stated = [int(n) for n in bounds if n and n < 10**6]
    most = min(stated, default=None)
    refuse_longer(length, most, checkpoint.label)
    return length or most or NO_LIMIT


def refuse_longer(length: int | None, most: int | None, label: str) -> None:
    """Refuse to cut texts beyond what a model takes; None stands for no maximum."""
    if length is not None and most is not None and length > most:
        raise UserError(
            f"max_length={length} is more than the {most} tokens that {label} takes.",
            code="too-large",
        )


def _check_settings(checkpoint: Checkpoint, settings: TransformerSettings) -> None:
    layers = checkpoint.config.get("num_hidden_layers") or checkpoint.config.get("n_layer")
    if settings.layer != -1 and settings.pooling in ALL_LAYERS | {"pooler_output"}:
        raise UserError(
            f"pooling={settings.pooling} chooses its own layers; layer={settings.layer} cannot be "
            "given with it.",
            "Use layer with avg, max, last or cls_token.",
            code="conflict",
        )
    is_last = settings.layer in (-1, layers) and settings.pooling not in ALL_LAYERS
    if checkpoint.is_projected and not is_last:
        raise UserError(
            f"The last layer of {checkpoint.label} has {checkpoint.dim} dimensions, and the others "
            f"have {checkpoint.text_config['hidden_size']}: only the last can be taken.",
            "Leave out the layer, and take the pooling avg, max, last or cls_token.",
            code="unsupported",
        )
    if isinstance(layers, int) and not -layers - 1 <= settings.layer <= layers:
        raise UserError(
            f"{checkpoint.label} has no layer {settings.layer}.",
            f"Layers are 0 (embeddings) to {layers}, or -1 for the last.",
            code="unknown",
        )
