"""Arithmetic over named vectors: `a - b + c`, `(a + b) / 2`. Parsed by `ast`, without `eval`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from theodolite.engine.errors import PlacedError, UserError

MAX_LENGTH = 5000
MAX_NAMES = 200
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
        value = _Evaluation(expression, tokens, vectors).value()
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


_BEGIN = "_="
"""Before the source of a tree, which may begin with white space."""
_UNEXPECTED, _LIKE = "{} is not expected here.", "Write it like (a + b) / 2 - c."


class _Evaluation:
    """The value of an expression, of the nodes of `ast` that have a meaning in a space.

    For `ast` names are written in the letter a, numbers as fractions of the digit 1: no name is a
    keyword then, no number too long, and everything stays at its place.
    """

    def __init__(
        self, expression: str, tokens: list[Token], vectors: Mapping[str, np.ndarray]
    ) -> None:
        self._expression, self._vectors = expression, vectors
        self._tokens = {token.place: token for token in tokens}

    def value(self) -> Value:
        """The value of the whole."""
        source = [" "] * len(self._expression)
        for place, token in self._tokens.items():
            size = len(token.text)
            written = {"name": "a" * size, "number": "." + "1" * (size - 1) if size > 1 else "1"}
            source[place - 1 : place - 1 + size] = written.get(token.kind, token.text)
        try:
            tree = ast.parse(_BEGIN + "".join(source))
            return self._of(cast("Any", tree.body[0]).value)
        except SyntaxError as error:
            said = "{} is never closed." if "never closed" in error.msg else _UNEXPECTED
            raise self._refused(error.offset or 0, said) from None
        except (RecursionError, MemoryError):
            raise UserError(
                f"{_short(self._expression)} is nested too deeply.",
                "Use fewer signs and brackets.",
                code="too-large",
            ) from None

    def _of(self, node: ast.expr) -> Value:
        chain = []
        while isinstance(node, ast.BinOp):  # sums of thousands are deep on their left side
            chain.append(node)
            node = node.left
        value = self._operand(node)
        for joint in reversed(chain):
            value = self._joined(joint, value, self._of(joint.right))
        return value

    def _operand(self, node: ast.expr) -> Value:
        if isinstance(node, ast.UnaryOp):  # + or -: no other sign gets here
            value = self._of(node.operand)
            return -value if isinstance(node.op, ast.USub) else value
        if not isinstance(node, ast.Name | ast.Constant):
            raise self._refused(node.end_col_offset or 0, _UNEXPECTED)
        token = self._tokens[node.col_offset + 1 - len(_BEGIN)]
        if token.kind == "number":
            return float(token.text)
        return np.asarray(self._vectors[token.text], np.float64)

    def _joined(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        numbers = [isinstance(each, float) for each in (left, right)]
        message, hint = "{} is not allowed.", "Use + - * / ( ), numbers and names."
        match node.op:
            case ast.Add() | ast.Sub() if numbers[0] == numbers[1]:
                return left + right if isinstance(node.op, ast.Add) else left - right
            case ast.Add() | ast.Sub():
                message = "A number and a vector cannot be joined by {}."
                hint = "Add vectors to vectors; numbers only multiply or divide them."
            case ast.Mult() if any(numbers):
                return left * right
            case ast.Mult():
                message, hint = (
                    "Two vectors are multiplied by {}.",
                    "Multiply a vector by a number.",
                )
            case ast.Div() if isinstance(right, float) and right:
                return left / right
            case ast.Div() if isinstance(right, float):
                message, hint = "The division by {} is by zero.", "Divide by another number."
            case ast.Div():
                message, hint = "{} divides by a vector.", "Divide by a number."
        behind = (node.left.end_col_offset or 0) - len(_BEGIN)
        sign = next(
            place
            for place, token in self._tokens.items()
            if place > behind and token.text in "+-*/"
        )
        raise self._refused(sign + len(_BEGIN), message, hint)

    def _refused(self, column: int, message: str, hint: str = _LIKE) -> PlacedError:
        """The error of what is at a column of the source, counted from 1."""
        place = column - len(_BEGIN)
        end = len(self._expression.rstrip()) + 1
        token = self._tokens.get(place, Token("end", "", place if 0 < place < end else end))
        found = f"{token.text!r} at place {token.place}" if token.text else "The end"
        text = message.format(found)
        return PlacedError(text, hint, self._expression, token.place, max(1, len(token.text)))
