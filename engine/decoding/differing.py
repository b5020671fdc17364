"""The difference between two sentences as data: words kept, moved, lost or new."""

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Fate = Literal["kept", "moved", "lost", "new"]

_PIECE = re.compile(r"(\s*)(\w+(?:['’\-]\w+)*|[^\w\s])")
_MAX_WORDS = 400
"""Most words compared: more than any decoder writes; the comparison takes quadratic time."""


@dataclass(frozen=True)
class Word:
    """A word or mark of the decoded sentence, or a lost one at its original position.

    Attributes:
        text: the word.
        fate: `moved` is a word of the sentence at another position.
        apart: whether a space precedes it.
    """

    text: str
    fate: Fate
    apart: bool


def differing(sentence: str, decoded: str) -> tuple[Word, ...]:
    """Return the words of both, in the order of `decoded`, lost ones at their original position.

    Case counts: a decoder that writes `paris` did not keep `Paris`.

    >>> [(word.text, word.fate) for word in differing("the old dog slept", "the dog slept well")]
    [('the', 'kept'), ('old', 'lost'), ('dog', 'kept'), ('slept', 'kept'), ('well', 'new')]
    """
    before, after = _pieces(sentence), _pieces(decoded)
    texts = [text for text, _ in before], [text for text, _ in after]
    spans = SequenceMatcher(None, *texts, autojunk=False).get_opcodes()
    gone = Counter(t for kind, a, b, _, _ in spans if kind != "equal" for t in texts[0][a:b])
    come = Counter(t for kind, _, _, a, b in spans if kind != "equal" for t in texts[1][a:b])
    moved_out, moved_in = gone & come, gone & come
    words: list[Word] = []
    for kind, a, b, c, d in spans:
        if kind == "equal":
            words += [Word(text, "kept", apart) for text, apart in after[c:d]]
            continue
        for text, apart in before[a:b]:
            if moved_out[text]:  # at another position: not lost
                moved_out[text] -= 1
            else:
                words.append(Word(text, "lost", apart))
        for text, apart in after[c:d]:
            fate: Fate = "moved" if moved_in[text] else "new"
            moved_in[text] -= fate == "moved"
            words.append(Word(text, fate, apart))
    return tuple(words)


def _pieces(sentence: str) -> list[tuple[str, bool]]:
    """Words and marks, each with whether a space precedes it."""
    return [(text, bool(space)) for space, text in _PIECE.findall(sentence)][:_MAX_WORDS]
