"""Arithmetic over named vectors: `a - b + c`, `(a + b) / 2`. A parser of its own, and no `eval`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from engine.errors import UserError

LONGEST = 1000
MOST_NAMES = 200
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|([A-Za-z_]\w*)|(.))")

Value = float | np.ndarray


@dataclass(frozen=True)
class Token:
    """A number, a name or a sign, and where it stands (counted from 1)."""

    kind: str
    text: str
    place: int


def names(expression: str) -> list[str]:
    """The names in an expression, each once, in order.

    Raises:
        UserError: the expression is too long, or holds a sign that is none of `+ - * / ( )`.
    """
    found = dict.fromkeys(t.text for t in _tokens(expression) if t.kind == "name")
    return list(found)


def evaluate(expression: str, vectors: Mapping[str, np.ndarray]) -> np.ndarray:
    """The vector of an expression.

    `+` and `-` join two vectors (or two numbers), `*` takes a vector and a number in either order,
    `/` divides by a number. Anything else has no meaning in a space and is refused.

    Args:
        expression: at most 1,000 characters and 200 names.
        vectors: float (d,) for each name.

    Returns:
        float64 (d,).

    Raises:
        UserError: says what stands where, and what was expected.
    """
    tokens = _tokens(expression)
    used = names(expression)
    if len(used) > MOST_NAMES:
        raise UserError(f"The expression has {len(used)} names.", f"Use at most {MOST_NAMES}.")
    if unknown := [name for name in used if name not in vectors]:
        raise UserError(
            f"No sentence is named {unknown[0]!r}.",
            f"Named are: {', '.join(sorted(vectors)) or 'none'}.",
        )
    value = _Parser(tokens, vectors).whole()
    if isinstance(value, float):
        raise UserError(f"{expression.strip()} is a number, not a point.", "Name a sentence in it.")
    if not np.isfinite(value).all():
        raise UserError(f"{expression.strip()} has no finite value.", "Use smaller factors.")
    return value


def _tokens(expression: str) -> list[Token]:
    if len(expression) > LONGEST:
        raise UserError(
            f"The expression has {len(expression)} characters.", f"Use at most {LONGEST}."
        )
    found = []
    for match in _TOKEN.finditer(expression.rstrip()):
        number, name, sign = match.groups()
        kind = "number" if number else "name" if name else "sign"
        place = match.start(match.lastindex or 0) + 1
        text = (
            "-"
            if sign in ("−", "–")
            else "*"
            if sign in ("×", "·")
            else match[match.lastindex or 0]
        )
        if kind == "sign" and text not in "+-*/()":
            raise UserError(
                f"{text!r} at place {place} is no sign that the expression can have.",
                "Use + - * / ( ), numbers and names.",
            )
        found.append(Token(kind, text, place))
    return found


class _Parser:
    """Sums of products of signed factors, left to right."""

    def __init__(self, tokens: list[Token], vectors: Mapping[str, np.ndarray]) -> None:
        self._tokens, self._vectors, self._at, self._depth = tokens, vectors, 0, 0

    def whole(self) -> Value:
        value = self._sum()
        if self._at < len(self._tokens):
            raise self._expected("a sign between two parts")
        return value

    def _sum(self) -> Value:
        value = self._product()
        while sign := self._sign("+-"):
            other = self._product()
            if isinstance(value, float) != isinstance(other, float):
                raise UserError(
                    f"A number and a vector cannot be joined by {sign.text!r} at place "
                    f"{sign.place}.",
                    "Add vectors to vectors; numbers only multiply or divide them.",
                )
            value = value + other if sign.text == "+" else value - other
        return value

    def _product(self) -> Value:
        value = self._factor()
        while sign := self._sign("*/"):
            other = self._factor()
            if sign.text == "*":
                if not isinstance(value, float) and not isinstance(other, float):
                    raise UserError(
                        f"Two vectors are multiplied at place {sign.place}.",
                        "Multiply a vector by a number.",
                    )
                value = value * other
                continue
            if not isinstance(other, float):
                raise UserError(
                    f"A vector is divided by at place {sign.place}.", "Divide by a number."
                )
            if other == 0:
                raise UserError(
                    f"The division at place {sign.place} is by zero.", "Divide by another number."
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
        if self._depth > 100:
            raise UserError("The expression is nested too deeply.", "Write it with fewer brackets.")

    def _expected(self, what: str) -> UserError:
        if self._at < len(self._tokens):
            token = self._tokens[self._at]
            found = f"{token.text!r} at place {token.place}"
        else:
            found = "its end"
        return UserError(f"The expression has {found} where {what} was expected.", "Correct it.")
