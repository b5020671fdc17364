"""Any causal language model as a decoder: the vector is a soft prefix (Li and Liang 2021).

Its tokens are numbered as in `Vocabulary`; BEGIN and END stand for the model's own at the ends of a
text.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as F

from theodolite.engine.decoding.models import targets
from theodolite.engine.decoding.vocabulary import BEGIN, END, PAD, SHIFT, Vocabulary
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.transformer import from_files, quiet, read_tokenizer
from theodolite.engine.errors import UserError

PREFIX = 4
"""Positions of the soft prefix."""


class CausalDecoder(nn.Module):
    """p(sentence | vector) of a language model after a soft prefix, a projection of the vector.

    Args:
        dim: of the vectors.
        config: of the language model, as transformers writes it.
        begin: its token before a text.
        end: its token after a text.
        positions: most tokens of a sentence, BEGIN included.
        prefix: positions of the soft prefix.
        base: the language model itself; None makes one with newly initialised weights.
    """

    def __init__(
        self,
        dim: int,
        *,
        config: dict[str, Any],
        begin: int,
        end: int,
        positions: int,
        prefix: int = PREFIX,
        base: Any = None,
    ) -> None:
        super().__init__()
        self.positions, self.prefix, self.ends = positions, prefix, (begin, end)
        self.base: Any = base or _new_model(config)
        width = self.base.get_input_embeddings().weight.shape[1]
        self.read = nn.Linear(dim, prefix * width)

    @classmethod
    def of(cls, source: str, dim: int, positions: int) -> CausalDecoder:
        """Build a decoder on an existing language model.

        Args:
            source: `hf:ID` or `dir:FOLDER`.
            dim: of the vectors.
            positions: most tokens of a sentence, BEGIN included.
        """
        checkpoint, tokenizer = _checkpoint(source)
        base, most = _load(checkpoint), checkpoint.positions
        if most is not None and most < PREFIX + positions:
            raise UserError(
                f"{checkpoint.label} takes {most} positions, and {PREFIX + positions} are needed.",
                "Train on sentences of fewer words.",
                code="unsupported",
            )
        end = tokenizer.eos_token_id
        if end is None:
            raise UserError(
                f"{checkpoint.label} has no token for the end of a text.",
                "Its tokenizer_config.json should name an eos_token.",
                code="unsupported",
            )
        begin = end if tokenizer.bos_token_id is None else tokenizer.bos_token_id
        decoder = cls(dim, config={}, begin=begin, end=end, positions=positions, base=base)
        # Initialise the prefix at the scale of the model's token embeddings.
        deviation = float(base.get_input_embeddings().weight.detach().std())
        nn.init.normal_(decoder.read.weight, std=deviation / dim**0.5)
        nn.init.zeros_(decoder.read.bias)
        return decoder

    @property
    def sizes(self) -> dict[str, Any]:
        """Arguments of the constructor besides `dim`."""
        config = json.loads(self.base.config.to_json_string(use_diff=False))
        config.pop("_name_or_path", None)  # the path of the base is private
        return {
            "config": config,
            "begin": self.ends[0],
            "end": self.ends[1],
            "positions": self.positions,
            "prefix": self.prefix,
        }

    def loss(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Mean cross entropy of the tokens after BEGIN; see `PrefixTransformer.loss`."""
        tokens, at, labels = targets(ids, vectors.device)
        embedded = self.base.get_input_embeddings()(self._own(tokens))
        states = torch.cat([self._read(vectors), embedded], 1)
        # The attention is causal and the padding is on the right: no real position sees it.
        logits = self.base(inputs_embeds=states, use_cache=False).logits[:, self.prefix :]
        logits = logits.flatten(0, 1).index_select(0, at)
        return F.cross_entropy(logits.float(), self._own(labels))

    def begin(self, vectors: Tensor) -> Any:
        """The model's cache of the prefix, before any token."""
        from transformers import DynamicCache

        cache = self.base(inputs_embeds=self._read(vectors), use_cache=True).past_key_values
        if not isinstance(cache, DynamicCache):
            raise UserError(
                f"A language model of the kind {self.base.config.model_type} keeps no "
                "cache of keys and values that a decoder can use.",
                "Give one that is a Transformer.",
                code="unsupported",
            )
        return cache

    def step(self, cache: Any, last: Tensor) -> tuple[Tensor, Any]:
        """Advance by one token; see `Incremental.step`."""
        embedded = self.base.get_input_embeddings()(self._own(last))[:, None]
        out = self.base(inputs_embeds=embedded, past_key_values=_copy(cache), use_cache=True)
        logits = out.logits[:, -1].float()
        end = self.ends[1]
        ends = logits[:, end : end + 1]
        never = torch.full_like(ends, -torch.inf)
        rest = torch.cat([logits[:, :end], never, logits[:, end + 1 :]], 1)
        return torch.cat([never, never, ends, rest], 1), out.past_key_values

    @staticmethod
    def select(cache: Any, rows: Tensor) -> Any:
        """Select rows of a cache, as when a beam continues some of its hypotheses."""
        copied = _copy(cache)
        copied.batch_select_indices(rows)
        return copied

    def _read(self, vectors: Tensor) -> Tensor:
        return self.read(vectors).view(len(vectors), self.prefix, -1)

    def _own(self, ids: Tensor) -> Tensor:
        """Map token ids to the model's own."""
        begin, end = self.ends
        own = ids - SHIFT
        return own.masked_fill(ids == BEGIN, begin).masked_fill((ids == END) | (ids == PAD), end)


def base_vocabulary(source: str) -> Vocabulary:
    """The tokens of a language model, `hf:ID` or `dir:FOLDER`."""
    checkpoint, tokenizer = _checkpoint(source)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise UserError(
            f"The tokenizer of {checkpoint.label} cannot be kept with a decoder.",
            "Give a model with tokenizer.json.",
            code="unsupported",
        )
    return Vocabulary(Tokenizer.from_str(backend.to_str()), shift=SHIFT)


def _checkpoint(source: str) -> tuple[Checkpoint, Any]:
    """The files of a language model, and its tokenizer."""
    _, checkpoint = checkpoint_of(source)
    checkpoint.check()
    checkpoint.check_weights()
    if not checkpoint.is_decoder or checkpoint.weights[0].suffix != ".safetensors":
        raise UserError(
            f"{checkpoint.label} is not a causal language model with weights in safetensors.",
            "Give one like hf:gpt2.",
            code="wrong-kind",
        )
    with quiet():
        return checkpoint, read_tokenizer(checkpoint)


def _load(checkpoint: Checkpoint) -> Any:
    from transformers import AutoModelForCausalLM

    with quiet():
        return from_files(
            AutoModelForCausalLM,
            checkpoint,
            f"{checkpoint.label} cannot be opened as a language model",
            "Check that the folder is complete.",
            (),
            "damaged",
            dtype=torch.float32,
        )


def _new_model(config: dict[str, Any]) -> Any:
    """A language model with newly initialised weights."""
    from transformers import AutoConfig, AutoModelForCausalLM

    settings = AutoConfig.for_model(**config)
    return AutoModelForCausalLM.from_config(settings, trust_remote_code=False).float()


def _copy(cache: Any) -> Any:
    """Copy a cache, sharing its tensors: transformers extends the one it is given."""
    copied = copy.copy(cache)
    copied.layers = [copy.copy(layer) for layer in cache.layers]
    return copied
