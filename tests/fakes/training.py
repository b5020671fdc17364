"""A tiny BERT with the interface of `engine.training.model.TrainingModel`, padded throughout."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing
from torch import nn
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "a the man woman cat dog sits runs sleeps eats on under near mat table street red old "
    "small happy nobody sings while rain falls and then they leave quietly"
).split()


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """One token a word."""
    tokens = {token: place for place, token in enumerate(SPECIAL + WORDS)}
    tokenizer = Tokenizer(WordLevel(tokens, unk_token=SPECIAL[1]))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    special = {f"{name}_token": token for name, token in zip(names, SPECIAL, strict=True)}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


class TinyModel(nn.Module):
    """Two layers, 32 wide; the vector is that of [CLS].

    Args:
        dropout: of the whole model.
        dual: a second encoder for side 1.
        dtype: of the weights.
    """

    def __init__(
        self, dropout: float = 0.0, dual: bool = False, dtype: torch.dtype = torch.float64
    ) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.tokenizer = tiny_tokenizer()
        self.bert = BertForMaskedLM(
            BertConfig(
                vocab_size=len(self.tokenizer),
                hidden_size=32,
                num_hidden_layers=2,
                num_attention_heads=2,
                intermediate_size=64,
                max_position_embeddings=40,
                hidden_dropout_prob=dropout,
                attention_probs_dropout_prob=dropout,
                # Weights of the usual 0.02 leave all sentences alike in so small a model.
                initializer_range=0.2,
            )
        )
        self.second = copy.deepcopy(self.bert.bert) if dual else None
        if self.second is not None:
            with torch.no_grad():
                for parameter in self.second.parameters():
                    parameter.add_(0.05 * torch.randn_like(parameter))
        self.forwards: list[int] = []
        """Sentences of each forward."""
        self.to(dtype).train()

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids with the special ones."""
        return self.tokenizer(list(sentences))["input_ids"]

    def vectors(
        self, ids: Sequence[Sequence[int]], *, side: int = 0, head: bool = True
    ) -> torch.Tensor:
        """(n, 32)."""
        states, _ = self._states(ids, self.bert.bert if side == 0 else self.second)
        return states[:, 0]

    def token_states(self, ids: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """(tokens, 32) and their ids."""
        states, mask = self._states(ids, self.bert.bert)
        return states[mask], torch.tensor([token for row in ids for token in row])

    def mlm_logits(self, states: torch.Tensor) -> torch.Tensor:
        """(m, vocabulary)."""
        return self.bert.cls(states)

    def _states(
        self, ids: Sequence[Sequence[int]], encoder: nn.Module
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.forwards.append(len(ids))
        padded = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in ids], batch_first=True)
        mask = torch.arange(padded.shape[1]) < torch.tensor([len(row) for row in ids])[:, None]
        return encoder(padded, attention_mask=mask.long()).last_hidden_state, mask


def tiny_folder(folder: Path) -> Path:
    """The weights and the tokenizer of a `TinyModel` as a folder that transformers loads."""
    model = TinyModel(dtype=torch.float32)
    model.bert.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return folder
