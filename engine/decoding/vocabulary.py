"""The tokens of a decoder, and those that lead to words of its training text.

They are learned from its training text, cased, digits kept; or those of a base. PAD, BEGIN and END
come first. Those of a base follow, each three higher than the base numbers it, so that generation
treats all decoders alike.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from theodolite.engine.decoding.scripted import scripted
from theodolite.engine.encoders.packaged import untrimmed

# A mark that is not ASCII may take several tokens: it counts as a word.
_WORD = re.compile(r"\d*[^\W\d_]+(?:['’][^\W\d_]+)*|[^\x00-\x7f\w\s]")
_DIGITS = re.compile(r"\d+")
_CAPITALS = str.maketrans({chr(i): chr(i + 32) for i in range(ord("A"), ord("Z") + 1)})
_BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
_POSSESSIVE = "'s"
_AFTER_ALL = "\U0010ffff"
_REMEMBERED = 1 << 14
"""Beginnings of words whose next tokens are cached: some megabytes."""


def words_of(sentences: Iterable[str]) -> list[str]:
    """The distinct words of some text, sorted.

    A word is a run of letters, with apostrophes between them; a possessive 's is no part of it,
    digits before letters count as one ("19th" is known where "20th" is), and the case of ASCII
    letters does not matter. Numbers and marks are unrestricted.
    """
    words: set[str] = set()
    for sentence in sentences:
        words.update(_WORD.findall(sentence.translate(_CAPITALS)))
    return sorted({_DIGITS.sub("0", word).removesuffix(_POSSESSIVE) for word in words})


def coverage(words: Iterable[str], sentences: Iterable[str]) -> float:
    """The share of known words among the distinct words of some text; 1 where it has none."""
    given = words_of(sentences)
    known = set(words)
    return sum(word in known for word in given) / len(given) if given else 1.0


class KnownWords:
    """The tokens that may follow, given the beginning of the word that is being written.

    A beginning is text in the alphabet of byte-level tokens; it is empty between words. The sorted
    list of words serves as the trie: words with a common beginning are adjacent.

    Args:
        tokenizer: of a byte-level vocabulary.
        words: from `words_of`.
        end: the token that ends a sentence, the last of the special ones.
    """

    def __init__(self, tokenizer: Tokenizer, words: Sequence[str], end: int) -> None:
        self.words = list(words)
        self._words = sorted(map(_as_stored, words))
        self._set = frozenset(self._words) | {"", "0"}
        self._marks = {_as_stored(word) for word in words if not word[:1].isalnum()}
        size = tokenizer.get_vocab_size()
        self._parts = [""] * size  # the text that each token adds to a word or begins one with
        self._inner: dict[str, list[int]] = {}  # tokens that continue a word, by the text they add
        self._goes_on = np.zeros(size, bool)
        # Scores of tokens that end a word: of an incomplete one, and of a complete one.
        self._ending = torch.full((2, size), -torch.inf)
        self._ending[1, end] = 0.0
        for token in range(end + 1, size):
            part, goes_on = _part(tokenizer, token)
            self._parts[token], self._goes_on[token] = part, goes_on
            if goes_on:
                self._inner.setdefault(part, []).append(token)
            elif self._leads_on(part):
                self._ending[1, token] = 0.0
        self._longest = max(map(len, self._inner), default=0)
        self._following = lru_cache(_REMEMBERED)(self._follow)

    def missing(self, sentence: str) -> list[str]:
        """The words of a sentence that are not known, sorted."""
        return [word for word in words_of([sentence]) if _as_stored(word) not in self._set]

    def after(self, beginning: str, token: int) -> str:
        """Return the beginning after one more token."""
        part = self._parts[token]
        whole = (beginning + part).lstrip("'") if self._goes_on[token] else part
        return "" if whole in self._marks else whole

    def hold(self, scores: Tensor, beginnings: Sequence[str]) -> Tensor:
        """Return scores (n, tokens) with -inf for tokens that lead to no known word."""
        complete = np.array([self._complete(one) for one in beginnings], np.int64)
        following = [self._following(one) for one in beginnings]
        rows = np.repeat(np.arange(len(beginnings)), [len(one) for one in following])
        tokens = np.concatenate(following)
        arguments = [self._ending, *map(torch.from_numpy, (complete, rows, tokens))]
        if scores.device.type != "cpu":  # on the CPU no call that releases the GIL
            arguments = [tensor.to(scores.device) for tensor in arguments]
        return _mask_unknown(scores, *arguments)

    def _complete(self, beginning: str) -> bool:
        """Whether the word may end after this beginning."""
        shorter = beginning[:-1] if beginning.endswith("'") else beginning.removesuffix(_POSSESSIVE)
        return beginning in self._set or shorter in self._set

    def _leads_on(self, beginning: str) -> bool:
        """Whether some known word starts with this beginning."""
        beginning = beginning.lstrip("'")
        at = bisect_left(self._words, beginning)
        is_prefix = at < len(self._words) and self._words[at].startswith(beginning)
        return is_prefix or self._complete(beginning)

    def _follow(self, beginning: str) -> np.ndarray:
        """Tokens that may continue the word, int64."""
        first = bisect_left(self._words, beginning)
        last = bisect_left(self._words, beginning + _AFTER_ALL)
        if last - first > len(self._inner):
            parts = {part for part in self._inner if self._leads_on(beginning + part)}
        else:
            at = len(beginning)
            ends = range(at + 1, at + self._longest + 1)
            parts = {word[at:end] for word in self._words[first:last] for end in ends}
        parts |= {part for part in ("'", _POSSESSIVE) if self._leads_on(beginning + part)}
        tokens = [token for part in parts for token in self._inner.get(part, ())]
        return np.array(sorted(tokens), np.int64)


def _as_stored(word: str) -> str:
    """Convert a word to the alphabet of byte-level tokens."""
    return word if word.isascii() else _BYTES.pre_tokenize_str(word)[0][0]


def _part(tokenizer: Tokenizer, token: int) -> tuple[str, bool]:
    """The text that a token adds to a word or begins one with, and whether it continues a word.

    Byte-level pre-tokenizers keep letters, digits and marks apart: a token is of one kind.
    """
    stored, text = str(tokenizer.id_to_token(token)), tokenizer.decode([token]).strip()
    if text.isdigit():
        return "0", False
    part_of_a_letter = "\ufffd" in text
    if not part_of_a_letter and text != "'" and not text.replace("'", "").isalpha():
        return "", False
    part = stored.removeprefix("Ġ").translate(_CAPITALS)
    return (part.lstrip("'"), False) if part != stored.translate(_CAPITALS) else (part, True)


@scripted
def _mask_unknown(
    scores: Tensor, ending: Tensor, complete: Tensor, rows: Tensor, tokens: Tensor
) -> Tensor:
    mask = ending.index_select(0, complete)
    mask.index_put_((rows, tokens), torch.zeros(1, device=mask.device))
    return mask.add_(scores)


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
        self.tokenizer, self.shift = untrimmed(tokenizer), shift
        # A literal "</s>" in a sentence is text, and does not end it.
        tokenizer.encode_special_tokens = True

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

    def knowing(self, training: Sequence[str], held_out: Sequence[str]) -> Vocabulary:
        """With the words of the training text, if they cover the held-out text.

        That of a base is unchanged: a base may write words beyond this text. A decoder that
        continues another's training keeps the words known before.
        """
        if self.shift:
            return self
        known = self.known_words.words if self.known_words else ()
        words = words_of([*known, *training])
        covered = coverage(words, held_out) >= COVERAGE
        return Vocabulary(self.tokenizer, words if covered else None)

    def to_json(self) -> str:
        """The tokenizer as the `tokenizers` library writes it."""
        return str(self.tokenizer.to_str())

    def __len__(self) -> int:
        """Number of tokens."""
        return int(self.tokenizer.get_vocab_size()) + self.shift

    def ids(self, sentences: Sequence[str]) -> list[np.ndarray]:
        """Tokens of each sentence, int32, with BEGIN and END around them."""
        encodings = self.tokenizer.encode_batch(list(sentences), add_special_tokens=False)
        begin, end, shift = BEGIN - self.shift, END - self.shift, np.int32(self.shift)
        return [np.array([begin, *e.ids, end], np.int32) + shift for e in encodings]

    def text(self, ids: Sequence[int]) -> str:
        """Decode tokens into a sentence, without special tokens."""
        return str(self.tokenizer.decode([i - self.shift for i in ids if i > END])).strip()
