"""The tokens of a decoder: learned from its training text, cased, digits kept; or those of a base.

PAD, BEGIN and END come first. Those of a base follow, each three higher than the base numbers it,
so that generation treats all decoders alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from theodolite.engine.decoding.known_words import KnownWords, coverage, words_of

PAD, BEGIN, END = 0, 1, 2
SHIFT = END + 1
_SPECIAL = ["<pad>", "<s>", "</s>"]
COVERAGE = 0.9
"""Least share of known words in held-out sentences for a list to be stored. Where fewer are known,
with a small training text or a language without spaces, the list would forbid correct words."""


class Vocabulary:
    """Byte-level BPE: every text can be encoded, and is decoded to itself.

    Args:
        tokenizer: of the library `tokenizers`.
        words: the words that decoding can be restricted to; None where not stored.
        shift: `SHIFT` for the tokens of a base, which has no special ones of ours.
    """

    def __init__(
        self, tokenizer: Tokenizer, words: Sequence[str] | None = None, shift: int = 0
    ) -> None:
        self.known_words = None if words is None else KnownWords(tokenizer, words, END)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # A literal "</s>" in a sentence is text, and does not end it.
        tokenizer.encode_special_tokens = True
        self.tokenizer, self.shift = tokenizer, shift

    @classmethod
    def learn(cls, sentences: Iterable[str], size: int) -> Vocabulary:
        """Learn a vocabulary from training text; equal text gives an equal vocabulary.

        Args:
            sentences: the training text.
            size: most tokens, the three special ones and 256 bytes included.
        """
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            # Digits one by one: a number not seen in training can then be written too.
            [
                pre_tokenizers.ByteLevel(add_prefix_space=True),
                pre_tokenizers.Digits(individual_digits=True),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=size,
            special_tokens=_SPECIAL,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )
        tokenizer.train_from_iterator(sentences, trainer)
        return cls(tokenizer)

    def knowing(self, learned: Sequence[str], held_out: Sequence[str]) -> Vocabulary:
        """With the words of the training text, if they cover the held-out text.

        That of a base is unchanged: a base may write words beyond this text. A decoder that
        continues another's training keeps the words known before.
        """
        if self.shift:
            return self
        known = self.known_words.words if self.known_words else ()
        words = words_of([*known, *learned])
        kept = coverage(words, held_out) >= COVERAGE
        return Vocabulary(self.tokenizer, words if kept else None)

    def to_json(self) -> str:
        """The tokenizer as the `tokenizers` library writes it."""
        return str(self.tokenizer.to_str())

    def __len__(self) -> int:
        """Number of tokens."""
        return int(self.tokenizer.get_vocab_size()) + self.shift

    def ids(self, sentences: Sequence[str]) -> list[np.ndarray]:
        """Tokens of each sentence, int32, with BEGIN and END around them."""
        found = self.tokenizer.encode_batch(list(sentences), add_special_tokens=False)
        begin, end, shift = BEGIN - self.shift, END - self.shift, np.int32(self.shift)
        return [np.array([begin, *e.ids, end], np.int32) + shift for e in found]

    def text(self, ids: Sequence[int]) -> str:
        """Decode tokens into a sentence, without special tokens."""
        return str(self.tokenizer.decode([i - self.shift for i in ids if i > END])).strip()
