"""The model that is trained: a transformer, its pooling, and its head."""

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast, get_args

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from theodolite.engine.encoders.adapter import add
from theodolite.engine.encoders.batching import TokenBudget
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.doctor import chooses_nothing, own_pooling
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.pooling import ALL_LAYERS
from theodolite.engine.encoders.prompts import NO_PROMPTS, Prompts
from theodolite.engine.encoders.source import clean
from theodolite.engine.encoders.transformer import (
    class_of,
    from_files,
    quiet,
    read_tokenizer,
    token_limit,
)
from theodolite.engine.errors import UserError
from theodolite.engine.training.devices import exact
from theodolite.engine.training.packed import Layout, can_pack, packed_states, padded_states, pool
from theodolite.engine.training.spec import BASE, Pooling, TrainSpec

Ids = Sequence[Sequence[int]]

_DROPOUTS = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "dropout",
    "attention_dropout",
    "hidden_dropout",
    "embedding_dropout",
    "mlp_dropout",
    "attn_pdrop",
    "embd_pdrop",
    "resid_pdrop",
)
"""Names of dropout in the `config.json` of the families of transformers."""
_TRAINED = ("Transformer", "Pooling", "WeightedLayerPooling", "Normalize")
"""Modules of sentence-transformers that a training knows."""
_LM_HEADS = ("cls", "lm_head", "predictions")
"""Their names for the head that predicts masked tokens."""


class Mlp(nn.Module):
    """A dense layer with tanh (SimCSE's `MLPLayer`), initialised as in BERT."""

    def __init__(self, dim: int, deviation: float = 0.02) -> None:
        super().__init__()
        self.dense = nn.Linear(dim, dim)
        nn.init.normal_(self.dense.weight, std=deviation)
        nn.init.zeros_(self.dense.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(n, d) -> (n, d)."""
        return torch.tanh(self.dense(x))


@dataclass(frozen=True)
class Base:
    """A base model, from which training starts.

    Attributes:
        whole: the transformer, with its MLM head when one is needed.
        tokenizer: a tokenizer of transformers.
        most: maximum sequence length of the transformer, in tokens.
        limit: of the base as it encodes, which may be less.
        dropouts: the base's own settings, restored on export.
        pooling: the one that its files name, if a training has it; else None.
        name: for messages.
        normalises: whether its modules scale vectors to unit length.
        prompts: its own, or those that its spec asks for.
        notes: what of it is not trained.
    """

    whole: Any
    tokenizer: Any
    most: int
    limit: int
    dropouts: dict[str, Any]
    pooling: str | None
    name: str
    normalises: bool = False
    prompts: Prompts = NO_PROMPTS
    notes: tuple[str, ...] = ()


class TrainingModel(nn.Module):
    """Sentences in, vectors with gradients out.

    Attributes:
        spec: of the run.
        pooling: its own, or that of the base.
        column_prompts: the text before the sentences of each column, its own or of the base; the
            last is also that of further ones.
        prompts: of the trained encoder.
        encoders: the transformer, and the second one of `dual`.
        heads: a new head for each encoder; empty when the spec has none, or none is trained.
        tokenizer: a tokenizer of transformers.
        packed: whether sentences go through the layers without padding.
        limit: maximum sequence length of the trained encoder: the base's, unless training reads
            more.
        dim: length of a vector.
        normalises: whether vectors are scaled to unit length, as the base does before a loss of
            sentence-transformers sees them.
    """

    def __init__(self, base: Base, spec: TrainSpec) -> None:
        super().__init__()
        self.spec, self.base = spec, base
        own = cast("Pooling", base.pooling or "cls_token")
        self.pooling = own if spec.pooling == BASE else spec.pooling
        prompts, of_base = spec.column_prompts, spec.prompts == BASE
        self.column_prompts = prompts or base.prompts.columns(sided=spec.has_sides)
        self.prompts = base.prompts if of_base else Prompts.of_columns(prompts)
        self.tokenizer = base.tokenizer
        self.pad = int(getattr(base.tokenizer, "pad_token_id", None) or 0)
        encoder = base.whole.base_model
        if getattr(encoder, "pooler", None) is not None:
            encoder.pooler = None  # it is not in the loss: SimCSE adds its own head
        self.packed = can_pack(encoder)
        self.limit = max(base.limit, spec.max_length)
        self.dim = int(encoder.config.hidden_size)
        self.normalises = base.normalises and spec.objective == "st"
        second = [copy.deepcopy(encoder)] if spec.is_dual else []
        self.encoders = nn.ModuleList([base.whole, *second])
        rank, alpha = spec.lora, spec.lora_alpha
        # In a list that torch does not look into: its weights are those of the encoders.
        self._lora = [add(e.base_model, rank, alpha) for e in self.encoders] if rank else []
        deviation = float(getattr(encoder.config, "initializer_range", 0.02))
        # MLM alone gives a head no gradient: it would stay random.
        headless = spec.head == "none" or spec.objective in ("mlm", "st")
        count = 0 if headless else len(self.encoders)
        self.heads = nn.ModuleList(Mlp(self.dim, deviation) for _ in range(count))
        if not self.packed and spec.gradient_checkpointing:
            for whole in self.encoders:  # by its name in this version of transformers
                usual: Any = whole.gradient_checkpointing_enable
                getattr(whole, "activation_checkpointing_enable", usual)({"use_reentrant": False})
        self._backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if self._backend is not None:
            self._backend.no_padding()
        self._packed_states = packed_states
        if spec.compile and self.packed:
            self._packed_states = torch.compile(packed_states, dynamic=True)

    def encoder(self, side: int = 0) -> Any:
        """The transformer without the heads on top of it."""
        return self.encoders[side].base_model

    def merge(self) -> None:
        """Add the matrices of LoRA, if it has any, to the weights: there is no more training."""
        for lora in self._lora:
            lora.merge_and_unload()
        self._lora = []

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.encoders.parameters()).device

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids with special tokens, cut to `spec.max_length`; at least one a sentence."""
        return self._cut(sentences, self.spec.max_length)

    def vectors(
        self, ids: Ids, *, side: int = 0, head: bool = True, as_base: bool = False
    ) -> torch.Tensor:
        """Pooled vectors, with gradients where torch has them enabled.

        Args:
            ids: token lists of n sentences, as `ids` makes them.
            side: 1 for the second encoder of a dual one; ignored where there is only one.
            head: apply a training-only head; one that is kept is always applied.
            as_base: pool as the base does, and apply no head.

        Returns:
            (n, d), in the dtype of the weights or, under autocast, of autocast.
        """
        side = side if self.spec.is_dual else 0
        layout = Layout.of(ids, self.device)
        pooling = (self.base.pooling if as_base else None) or self.pooling
        vectors = self._pool(layout, side, pooling)
        if len(self.heads) and not as_base and (head or self.spec.head == "mlp"):
            vectors = self.heads[side](vectors)
        return functional.normalize(vectors) if self.normalises else vectors

    def token_states(self, ids: Ids) -> tuple[torch.Tensor, torch.Tensor]:
        """Last hidden states of all tokens, sentences one after another, and the tokens' ids.

        Returns:
            (t, d) and int64 (t,).
        """
        layout = Layout.of(ids, self.device)
        return self._states(layout, 0)[-1], layout.ids

    def mlm_logits(self, states: torch.Tensor) -> torch.Tensor:
        """Logits of the vocabulary (m, v) for hidden states (m, d)."""
        whole = self.encoders[0]
        head = next((getattr(whole, n) for n in _LM_HEADS if hasattr(whole, n)), None)
        if head is None:
            raise UserError(
                f"{self.base.name} has no head that predicts masked tokens.",
                "Train a BERT or RoBERTa, or leave MLM out.",
                code="unsupported",
            )
        return head(states)

    @torch.no_grad()
    def encode(self, sentences: Sequence[str], *, as_base: bool = False) -> np.ndarray:
        """Vectors as the exported encoder will give them: float32 (n, d).

        Without a training-only head, and cut to `limit` rather than the spec's `max_length`.
        With `as_base`, pooled as the base does and without any head.
        """
        was, lists = self.training, self._cut(sentences, self.limit)
        out = np.zeros((len(lists), self.dim), np.float32)
        budget = TokenBudget(self.device, adapt=False)
        self.eval()
        try:
            for batch in budget.batches([len(row) for row in lists]):
                parts = budget.parts(
                    partial(self.vectors, head=False, as_base=as_base), [lists[i] for i in batch]
                )
                out[batch] = np.concatenate([rows.float().cpu().numpy() for rows in parts])
        finally:
            self.train(was)
        return out

    def _cut(self, sentences: Sequence[str], limit: int) -> list[list[int]]:
        texts = [clean(s) for s in sentences]
        if self._backend is not None:  # several times faster than the tokenizer's own call
            self._backend.enable_truncation(limit, direction=self.tokenizer.truncation_side)
            lists = [e.ids for e in self._backend.encode_batch_fast(texts)]
        else:
            lists = self.tokenizer(texts, truncation=True, max_length=limit)["input_ids"]
        return [list(row) or [self.pad] for row in lists]

    def _pool(self, layout: Layout, side: int, pooling: str) -> torch.Tensor:
        if self.packed and pooling == "cls_token":
            return exact(self._states(layout, side, first_only=True)[-1])
        return pool(self._states(layout, side, every=pooling in ALL_LAYERS), layout, pooling)

    def _states(
        self, layout: Layout, side: int, *, every: bool = False, first_only: bool = False
    ) -> list[torch.Tensor]:
        encoder = self.encoder(side)
        if not self.packed:
            return padded_states(encoder, layout, self.pad, every)
        recompute = self.spec.gradient_checkpointing
        return self._packed_states(encoder, layout, every, recompute, first_only)


def open_model(spec: TrainSpec, examples: Iterable[tuple[str, ...]]) -> TrainingModel:
    """Open the model of a spec: float32, on the CPU, in training mode.

    Args:
        spec: of the run; its seed determines new weights.
        examples: the training data, from which `new:` learns its vocabulary.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        base = _fresh(spec, examples) if spec.base.startswith("new:") else _open(spec)
        if spec.max_length > base.most:
            raise UserError(
                f"The max length {spec.max_length} is more than the {base.most} tokens that "
                f"{base.name} takes.",
                f"Give at most {base.most}.",
                code="too-large",
            )
        return TrainingModel(base, spec).train()


def trains_mlm(spec: TrainSpec) -> bool:
    """Whether a run learns to predict masked tokens."""
    return spec.objective == "mlm" or spec.mlm_weight > 0


def needs_mlm(spec: TrainSpec) -> bool:
    """Whether a run predicts masked tokens, to learn it or to augment sentences."""
    return trains_mlm(spec) or spec.augmentation == "mlm"


def _fresh(spec: TrainSpec, examples: Iterable[tuple[str, ...]]) -> Base:
    from transformers import BertForMaskedLM

    from theodolite.engine.training.from_scratch import (
        SentenceIterator,
        bert_config,
        learn_tokenizer,
        shape_of,
    )

    shape = shape_of(spec.base)
    tokenizer = learn_tokenizer(SentenceIterator(examples), shape["vocab"], shape["positions"])
    config = bert_config(shape, len(tokenizer))
    dropouts = _set_dropout(config, spec.dropout)
    whole = BertForMaskedLM(config)
    if not needs_mlm(spec):
        whole = whole.base_model
    most = shape["positions"]
    return Base(whole, tokenizer, most, most, dropouts, None, spec.base)


def _open(spec: TrainSpec) -> Base:
    from transformers import AutoConfig

    source, checkpoint = checkpoint_of(spec.base)
    checkpoint.check()
    checkpoint.check_weights()
    _ = checkpoint.shapes  # refuses a pickle that holds more than tensors
    with quiet():
        tokenizer = read_tokenizer(checkpoint)
        config = AutoConfig.from_pretrained(str(checkpoint.root), trust_remote_code=False)
        dropouts = _set_dropout(config, spec.dropout)
        whole = _read(checkpoint, config, needs_mlm(spec))
    if spec.layers:
        _keep_layers(whole.base_model, spec.layers, checkpoint.label)
    most = token_limit(checkpoint, tokenizer)
    stated = checkpoint.max_length if chooses_nothing(source) else None
    limit = min(most, int(source.option("max_length") or stated or most))
    pooling = source.option("pooling") or own_pooling(checkpoint)
    trained = pooling if pooling in get_args(Pooling) else None
    normalises = any(part.kind == "Normalize" for part in checkpoint.parts)
    normalises = normalises and not source.option("pooling")
    prompts = Prompts.of(checkpoint).with_options(source)
    left_out = (part.kind for part in checkpoint.parts if part.kind not in _TRAINED)
    notes = tuple(
        f"The module {kind} of {checkpoint.label} is left out: what is trained ends with the "
        "pooling."
        for kind in left_out
    )
    label = checkpoint.label
    return Base(whole, tokenizer, most, limit, dropouts, trained, label, normalises, prompts, notes)


def _read(checkpoint: Checkpoint, config: Any, mlm: bool) -> Any:
    """Read the stored weights; only heads may be missing, and are initialised at random."""
    from transformers import AutoModelForMaskedLM

    whole = from_files(
        AutoModelForMaskedLM if mlm else class_of(checkpoint),
        checkpoint,
        f"{checkpoint.label} cannot be trained",
        "Check that the folder is complete; MLM needs an architecture with such a head.",
        ("pooler.", *_LM_HEADS),
        "damaged",
        config=config,
        dtype=torch.float32,
    )
    if whole.config.is_encoder_decoder:
        raise UserError(
            f"{checkpoint.label} has a decoder, and transformers reads its encoder with it only.",
            "Train a model that is an encoder alone, or T5.",
            code="unsupported",
        )
    return whole


def _keep_layers(encoder: Any, count: int, label: str) -> None:
    """Drop layers of a transformer; evenly spaced ones stay, the first and the last among them."""
    total = int(encoder.config.num_hidden_layers)
    lists = ((n, m) for n, m in encoder.named_modules() if isinstance(m, nn.ModuleList))
    name, layers = next(((n, m) for n, m in lists if len(m) == total), ("", None))
    if layers is None or count > total:
        raise UserError(
            f"{label} has {total} layers, of which {count} cannot be kept.",
            f"Give at most {total}, and a model whose layers are a list.",
            code="too-large",
        )
    positions = np.linspace(0, total - 1, count).round().astype(int)
    parent, _, own = name.rpartition(".")
    setattr(encoder.get_submodule(parent), own, nn.ModuleList(layers[i] for i in positions))
    encoder.config.num_hidden_layers = count


def _set_dropout(config: Any, p: float | None) -> dict[str, Any]:
    """Set every dropout of a config; return the previous values."""
    own = {
        name: getattr(config, name)
        for name in _DROPOUTS
        if isinstance(getattr(config, name, None), int | float)
    }
    if p is not None:
        for name in own:
            setattr(config, name, p)
    return own
