"""Decoding restricted to known words: no token leads to a word outside the training text.

A word is a run of letters, with apostrophes between them; a possessive 's is no part of it, digits
before letters count as one ("19th" is known where "20th" is), and the case of ASCII letters does
not matter. Numbers and marks are unrestricted. The sorted list of words serves as the trie: words
with a common beginning are adjacent.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import torch
from tokenizers import Tokenizer, pre_tokenizers
from torch import Tensor

from theodolite.engine.decoding.scripted import scripted

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
    """The distinct words of some text, sorted."""
    found: set[str] = set()
    for sentence in sentences:
        found.update(_WORD.findall(sentence.translate(_CAPITALS)))
    return sorted({_DIGITS.sub("0", word).removesuffix(_POSSESSIVE) for word in found})


def coverage(words: Iterable[str], sentences: Iterable[str]) -> float:
    """The share of known words among the distinct words of some text; 1 where it has none."""
    given = words_of(sentences)
    known = set(words)
    return sum(word in known for word in given) / len(given) if given else 1.0


class KnownWords:
    """The tokens that may follow, given the beginning of the word that is being written.

    A beginning is text in the alphabet of byte-level tokens; it is empty between words.

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

    def lacking(self, sentence: str) -> list[str]:
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
        given = [self._ending, *map(torch.from_numpy, (complete, rows, tokens))]
        if scores.device.type != "cpu":  # on the CPU no call that releases the GIL
            given = [tensor.to(scores.device) for tensor in given]
        return _held(scores, *given)

    def _complete(self, beginning: str) -> bool:
        """Whether the word may end after this beginning."""
        shorter = beginning[:-1] if beginning.endswith("'") else beginning.removesuffix(_POSSESSIVE)
        return beginning in self._set or shorter in self._set

    def _leads_on(self, beginning: str) -> bool:
        """Whether some known word starts with this beginning."""
        beginning = beginning.lstrip("'")
        at = bisect_left(self._words, beginning)
        begun = at < len(self._words) and self._words[at].startswith(beginning)
        return begun or self._complete(beginning)

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
        found = [token for part in parts for token in self._inner.get(part, ())]
        return np.array(sorted(found), np.int64)


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
def _held(scores: Tensor, ending: Tensor, complete: Tensor, rows: Tensor, tokens: Tensor) -> Tensor:
    mask = ending.index_select(0, complete)
    mask.index_put_((rows, tokens), torch.zeros(1, device=mask.device))
    return mask.add_(scores)
