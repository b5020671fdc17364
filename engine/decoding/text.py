"""Sentences for a decoder: cleaned, split into clauses if they are long, counted in words."""

import re
from collections.abc import Iterable, Iterator

_CONTRACTED = re.compile(r" (n't|'(?:s|m|d|ll|re|ve|em))\b", re.IGNORECASE)
_BEFORE = re.compile(r" ([.,;:!?%)\]}]|\.\.\.)")
_AFTER = re.compile(r"([(\[{$#]) ")
_QUOTED = re.compile(r'(^|\s)" ([^"]*?) "(?=\s|[.,;:!?)]|$)')
_CLAUSE = re.compile(r"(?:,|;|:|--| - )\s+")


def words(sentence: str) -> int:
    """Count words as both presets of the paper do: split at whitespace."""
    return len(sentence.split())


def tidy(line: str) -> str:
    r"""Undo the spaces that a tokenizer put around marks and before contractions.

    >>> tidy("he did n't say ` ` it 's over ' ' , she said .")
    'he didn\'t say "it\'s over", she said.'
    """
    text = " ".join(line.split())
    text = text.replace("` `", '"').replace("``", '"').replace("' '", '"').replace("''", '"')
    text = _CONTRACTED.sub(r"\1", text)
    text = _QUOTED.sub(r'\1"\2"', text)
    return _AFTER.sub(r"\1", _BEFORE.sub(r"\1", text)).strip()


def clauses(sentence: str, least: int, most: int) -> Iterator[str]:
    """Parts of a sentence between marks, of `least` to `most` words.

    >>> list(clauses("When it rained, the old dog came in, and slept.", 3, 6))
    ['When it rained', 'the old dog came in']
    """
    for part in _CLAUSE.split(sentence):
        cut = part.strip(" \"'()").rstrip(".")
        if least <= words(cut) <= most:
            yield cut


def corpus(lines: Iterable[str], *, most: int = 14, cut: bool = True) -> list[str]:
    """Distinct sentences of at most `most` words, in order of appearance.

    Args:
        lines: raw lines, tokenized or not.
        most: 14 is what the reference code keeps, 15 what the paper says.
        cut: take the clauses of longer sentences instead of leaving them out.
    """
    distinct: dict[str, None] = {}
    for line in lines:
        sentence = tidy(line)
        if not any(mark.isalpha() for mark in sentence):
            continue
        if words(sentence) <= most:
            distinct.setdefault(sentence)
        elif cut:
            distinct.update(dict.fromkeys(clauses(sentence, 4, most)))
    return list(distinct)
