"""Checks of the texts that a program hands over, whose types nothing has checked before."""

import re
from collections.abc import Iterable, Mapping

from theodolite.engine.errors import UserError

_BETWEEN = re.compile(r",(?![^(]*\))(?!\s*(?:\d+|late)\s*(?:,|$))")
"""Commas but those within names: of MTEB's suites, MTEB(eng, v2), and of chunks."""


def text(value: object, name: str, hint: str = "") -> str:
    """Return a text as it is.

    Args:
        value: what the caller gave.
        name: of the argument, for the message.
        hint: what to do where it is no text; of bytes the message says to decode them.
    """
    if isinstance(value, str):
        return value
    hint = "Decode it: value.decode()." if isinstance(value, bytes) else hint
    raise UserError(f"{name} is {_quoted(value)}, where a text is expected.", hint)


def texts(value: object, name: str = "sentences") -> list[str]:
    """Return texts as a list: from a list, a NumPy array, a column of pandas, a generator."""
    if isinstance(value, str):
        raise UserError(f"{name} is one text; expected a list of texts.", "Write ['…'].")
    several = isinstance(value, Iterable) and not isinstance(
        value, bytes | Mapping | set | frozenset
    )
    if not several or getattr(value, "ndim", 1) != 1:
        raise UserError(
            f"{name} is of type {type(value).__name__}; expected a list of texts.",
            "Give a list of texts, or one column of a table.",
        )
    values = value.tolist() if hasattr(value, "tolist") else list(value)  # type: ignore[call-overload]
    if not set(map(type, values)) <= {str}:
        for place, one in enumerate(values):
            text(one, f"{name}[{place}]", "Leave it out, or give '' for an empty text.")
    return values


def names_in(*texts: str) -> tuple[str, ...]:
    """Return the distinct names in texts, each of which has some with commas between them."""
    names = (name.strip() for text in texts for name in _BETWEEN.split(text))
    return tuple(dict.fromkeys(filter(None, names)))


def _quoted(value: object) -> str:
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 40 else f'{text[:39]}…'} ({type(value).__name__})"
