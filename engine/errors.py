"""The exception whose message is shown to users, and how other exceptions are described."""

import difflib
import re
from collections.abc import Iterable
from typing import Any, Literal

Code = Literal[
    "invalid",  # not among the values that are possible here
    "unknown",  # no encoder, task, data set, column, run … of that name
    "missing",  # something required was not given, or is empty
    "no-file",  # a file or folder does not exist, or cannot be read or written
    "wrong-kind",  # a file, folder or model of a kind that is not taken here
    "damaged",  # a file or text cannot be parsed, or is not complete
    "not-finite",  # NaN or infinity
    "too-large",
    "too-few",
    "mismatch",  # things that do not belong together: their lengths, dimensions, languages
    "ambiguous",  # there is more than one candidate
    "conflict",  # options that exclude each other, or a name that is taken
    "unsupported",  # this model, device or installation cannot do it
    "denied",  # no permission for it
    "unreachable",  # a server does not answer, or refuses
    "stale",  # what was meant has changed, ended or gone in the meantime
    "no-result",  # what is asked about has not been computed yet
    "failed",
]
"""The kind of an error, for programs: messages may be rephrased, codes stay."""


class UserError(ValueError):
    """Something the person gave cannot be used.

    The message says what was given and what was expected, the hint what to do about it: a sentence
    each, the hint empty if there is nothing to do. Of what is very long both ends are quoted.
    """

    def __init__(self, message: str, hint: str = "", *, code: Code = "invalid") -> None:
        message, hint = (  # a quotation or a word that no sentence can hold whole
            re.sub(r"(?<!\w)'[^']{200,}'|\S{200,}", lambda m: f"{m[0][:90]}…{m[0][-90:]}", text)
            for text in (message, hint)
        )
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.hint), {"code": self.code}


class PlacedError(UserError):
    """An input text cannot be parsed, because of the characters at a known position.

    Args:
        message: as for `UserError`; it names the position.
        hint: as for `UserError`.
        text: the whole input, one line.
        place: position of the error, counted from 1; one past the last character is the end.
        length: number of characters at fault.
    """

    AROUND = 40
    """Most characters shown of each part; an ellipsis marks a cut."""

    def __init__(self, message: str, hint: str, text: str, place: int, length: int = 1) -> None:
        super().__init__(message, hint, code="damaged")
        self.text = text
        self.place = place
        self.length = length

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.message, self.hint, self.text, self.place, self.length)
        return type(self), arguments, {"code": self.code}

    def marked(self) -> tuple[str, str, str]:
        """Return the text before, at and after the error, unprintable characters replaced."""
        text = "".join(
            c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in self.text
        )
        start, end = self.place - 1, self.place - 1 + self.length
        before, at, behind = text[:start], text[start:end], text[end:]
        if len(before) > self.AROUND:
            before = f"…{before[1 - self.AROUND :]}"
        at, behind = (
            part if len(part) <= self.AROUND else f"{part[: self.AROUND - 1]}…"
            for part in (at, behind)
        )
        return before, at or " ", behind


def did_you_mean(name: str, known: Iterable[str], otherwise: str, prefix: str = "") -> str:
    """Return the hint for an unknown name: the closest known ones, or what to do without any.

    A kind before a colon, as in `upload:mine`, makes no two names alike.
    """
    kind, colon, rest = name.casefold().rpartition(":")
    own_last = sorted(known, key=lambda one: one.casefold().startswith(kind + colon))
    folded = {one.casefold().removeprefix(kind + colon): one for one in own_last}
    close = [prefix + folded[one] for one in difflib.get_close_matches(rest, folded)]
    return f"Did you mean {' or '.join(close)}?" if close else otherwise


def first_line(error: BaseException, limit: int = 300) -> str:
    """Return the first line of an exception's message, cut; its class name if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:limit]
