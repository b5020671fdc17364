"""Arithmetic over named vectors: `a - b + c`, `(a + b) / 2`. Has its own parser, no `eval`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from theodolite.engine.errors import PlacedError, UserError

MAX_LENGTH = 5000
MAX_NAMES = 200
MAX_DEPTH = 100
_TOKEN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<name>[^\W\d]\w*)|(?P<sign>.))")
_PASTED = {"−": "-", "–": "-", "×": "*", "·": "*", "÷": "/"}
"""Typographic signs, as in text pasted from other programs."""

Value = float | np.ndarray


@dataclass(frozen=True)
class Token:
    """A number, a name or a sign, and its position (counted from 1)."""

    kind: str
    text: str
    place: int


def names(expression: str) -> list[str]:
    """Return the names in an expression, each once, in order."""
    return list(_named(_tokens(expression)))


def evaluate(expression: str, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the vector of an expression.

    `+` and `-` join two vectors (or two numbers), `*` takes a vector and a number in either order,
    `/` divides by a number. Anything else has no meaning in a space and is refused.

    Args:
        expression: at most 5,000 characters and 200 names.
        vectors: float (d,) for each name.

    Returns:
        float64 (d,).

    Raises:
        PlacedError: a wrong name, sign or operand at a known position.
    """
    tokens = _tokens(expression)
    used = _named(tokens)
    if len(used) > MAX_NAMES:
        raise UserError(
            f"The expression has {len(used)} names.", f"Use at most {MAX_NAMES}.", code="too-large"
        )
    for name, place in used.items():
        if name not in vectors:
            raise PlacedError(
                f"No sentence is named {name!r}, at place {place}.",
                f"Named are: {', '.join(sorted(vectors)) or 'none'}.",
                expression,
                place,
                len(name),
            )
    _check_alike({name: vectors[name] for name in used})
    with np.errstate(all="ignore"):  # values that are not finite are reported below
        value = _Parser(expression, tokens, vectors).parse()
    if isinstance(value, float):
        raise UserError(
            f"{_short(expression)} is a number, not a vector.", "Name a sentence in it."
        )
    if not np.isfinite(value).all():
        raise UserError(
            f"{_short(expression)} has no finite value.", "Use smaller factors.", code="not-finite"
        )
    return value


def _named(tokens: list[Token]) -> dict[str, int]:
    """Each name and the position of its first use, in order."""
    found: dict[str, int] = {}
    for token in tokens:
        if token.kind == "name":
            found.setdefault(token.text, token.place)
    return found


def _short(expression: str) -> str:
    text = expression.strip()
    return text if len(text) <= 60 else f"{text[:59]}…"


def _check_alike(vectors: Mapping[str, np.ndarray]) -> None:
    sizes = {name: np.shape(vector) for name, vector in vectors.items()}
    first = next(iter(sizes), "")
    for name, size in sizes.items():
        if len(size) != 1 or size != sizes[first]:
            raise UserError(
                f"{first} has a vector of shape {sizes[first]}, {name} one of {size}.",
                "All must be vectors of one encoder.",
                code="mismatch",
            )


def _tokens(expression: str) -> list[Token]:
    if len(expression) > MAX_LENGTH:
        raise UserError(
            f"The expression has {len(expression)} characters.",
            f"Use at most {MAX_LENGTH}.",
            code="too-large",
        )
    found = []
    for match in _TOKEN.finditer(expression.rstrip()):
        kind = str(match.lastgroup)
        text, place = match[kind], match.start(kind) + 1
        if kind == "sign":
            text = _PASTED.get(text, text)
            if text not in "+-*/()":
                raise PlacedError(
                    f"{text!r} at place {place} is not allowed in an expression.",
                    "Use + - * / ( ), numbers and names.",
                    expression,
                    place,
                )
        found.append(Token(kind, text, place))
    return found


class _Parser:
    """Sums of products of signed factors, left to right."""

    def __init__(
        self, expression: str, tokens: list[Token], vectors: Mapping[str, np.ndarray]
    ) -> None:
        self._expression, self._tokens, self._vectors = expression, tokens, vectors
        self._at, self._depth = 0, 0

    def parse(self) -> Value:
        value = self._sum()
        if self._at < len(self._tokens):
            raise self._expected("a sign between two parts")
        return value

    def _sum(self) -> Value:
        value = self._product()
        while sign := self._sign("+-"):
            other = self._product()
            if isinstance(value, float) != isinstance(other, float):
                raise self._refused(
                    f"A number and a vector cannot be joined by {sign.text!r} at place "
                    f"{sign.place}.",
                    "Add vectors to vectors; numbers only multiply or divide them.",
                    sign,
                )
            value = value + other if sign.text == "+" else value - other
        return value

    def _product(self) -> Value:
        value = self._factor()
        while sign := self._sign("*/"):
            other = self._factor()
            if sign.text == "*":
                if not isinstance(value, float) and not isinstance(other, float):
                    raise self._refused(
                        f"Two vectors are multiplied at place {sign.place}.",
                        "Multiply a vector by a number.",
                        sign,
                    )
                value = value * other
                continue
            if not isinstance(other, float):
                raise self._refused(
                    f"A vector is divided by at place {sign.place}.", "Divide by a number.", sign
                )
            if other == 0:
                raise self._refused(
                    f"The division at place {sign.place} is by zero.",
                    "Divide by another number.",
                    sign,
                )
            value = value / other
        return value

    def _factor(self) -> Value:
        if sign := self._sign("+-"):
            self._deeper()
            value = self._factor()
            self._depth -= 1
            return -value if sign.text == "-" else value
        if self._sign("("):
            self._deeper()
            value = self._sum()
            self._depth -= 1
            if not self._sign(")"):
                raise self._expected("a closing )")
            return value
        if self._at < len(self._tokens) and self._tokens[self._at].kind != "sign":
            token = self._tokens[self._at]
            self._at += 1
            if token.kind == "number":
                return float(token.text)
            return np.asarray(self._vectors[token.text], np.float64)
        raise self._expected("a name, a number or (")

    def _sign(self, signs: str) -> Token | None:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.kind == "sign" and token.text in signs:
                self._at += 1
                return token
        return None

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            sign = self._tokens[self._at - 1]  # read last
            raise self._refused(
                f"The expression is nested more than {MAX_DEPTH} deep at place {sign.place}.",
                "Use fewer parentheses.",
                sign,
            )

    def _expected(self, what: str) -> UserError:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            found = f"{token.text!r} at place {token.place}"
        else:
            token = Token("end", "", len(self._expression.rstrip()) + 1)
            found = "its end"
        text = f"The expression has {found} where {what} was expected."
        return self._refused(text, "Correct it.", token)

    def _refused(self, message: str, hint: str, token: Token) -> PlacedError:
        return PlacedError(message, hint, self._expression, token.place, max(1, len(token.text)))
