"""Arithmetic over named vectors: `a - b + c`, `(a + b) / 2`. Parsed by `ast`, without `eval`."""

import ast
import re
from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from theodolite.engine.errors import PlacedError, UserError

MAX_LENGTH = 5000
MAX_NAMES = 200
_TOKEN = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)|(?P<name>[^\W\d]\w*)|(?P<sign>\S)")
_PASTED = str.maketrans("−–×·÷", "--**/")
"""Typographic signs, as in text pasted from other programs."""
_BEGIN = "_="
"""Before the source of a tree, which may begin with white space."""
_SIGNS, _UNEXPECTED = "Use + - * / ( ), numbers and names.", "{} is not expected here."
_EXAMPLE = "Write it like (a + b) / 2 - c."

Value = float | np.ndarray


def names(expression: str) -> list[str]:
    """Return the names in an expression, each once, in order."""
    return list(_Expression(expression).names)


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
    parsed, short = _Expression(expression), expression.strip()
    short = short if len(short) <= 60 else f"{short[:59]}…"
    _check_names(parsed, vectors)
    try:
        with np.errstate(all="ignore"):  # values that are not finite are reported below
            value = parsed.value(vectors)
    except (RecursionError, MemoryError):
        raise UserError(
            f"{short} is nested too deeply.", "Use fewer signs and brackets.", code="too-large"
        ) from None
    if isinstance(value, float):
        raise UserError(f"{short} is a number, not a vector.", "Name a sentence in it.")
    if not np.isfinite(value).all():
        raise UserError(f"{short} has no finite value.", "Use smaller factors.", code="not-finite")
    return value


class _Expression:
    """An expression, its numbers, names and signs, and its value.

    For `ast` names are written in the letter a, numbers as fractions of the digit 1: no name is a
    keyword then, no number too long, and everything stays at its place.

    Attributes:
        names: each name and the position of its first use, in order; counted from 1, as all are.
    """

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise UserError(
                f"The expression has {len(text)} characters.",
                f"Use at most {MAX_LENGTH}.",
                code="too-large",
            )
        if not text.strip():
            raise UserError("The expression is empty.", _EXAMPLE, code="missing")
        self.text, self.names = text, dict[str, int]()
        self._tokens: dict[int, str] = {}
        source = [" "] * len(text)
        for token in _TOKEN.finditer(text.translate(_PASTED)):
            part, place, size = token[0], token.start() + 1, len(token[0])
            self._tokens[place] = part
            written = part
            if token.lastgroup == "name":
                self.names.setdefault(part, place)
                written = "a" * size
            elif token.lastgroup == "number":
                written = f".{'1' * (size - 1)}" if size > 1 else "1"
            elif part not in "+-*/()":
                raise self.refused(place, "{} is not allowed in an expression.", _SIGNS)
            source[place - 1 : place - 1 + size] = written
        self._source = _BEGIN + "".join(source)

    def value(self, vectors: Mapping[str, np.ndarray]) -> Value:
        """The value of the whole: of the nodes of `ast` that have a meaning in a space."""
        try:
            tree = ast.parse(self._source)
        except SyntaxError as error:
            problem = "{} is never closed." if "never closed" in error.msg else _UNEXPECTED
            raise self.refused((error.offset or 0) - len(_BEGIN), problem) from None
        return self._of(cast("Any", tree.body[0]).value, vectors)

    def _of(self, node: ast.expr, vectors: Mapping[str, np.ndarray]) -> Value:
        chain = []
        while isinstance(node, ast.BinOp):  # sums of thousands are deep on their left side
            chain.append(node)
            node = node.left
        value = self._operand(node, vectors)
        for joint in reversed(chain):
            value = self._apply(joint, value, self._of(joint.right, vectors))
        return value

    def _operand(self, node: ast.expr, vectors: Mapping[str, np.ndarray]) -> Value:
        match node:
            case ast.UnaryOp(op=ast.USub()):
                return -self._of(node.operand, vectors)
            case ast.UnaryOp():  # +: no other sign gets here
                return self._of(node.operand, vectors)
            case ast.Constant():
                return float(self._tokens[node.col_offset + 1 - len(_BEGIN)])
            case ast.Name():
                name = self._tokens[node.col_offset + 1 - len(_BEGIN)]
                return np.asarray(vectors[name], np.float64)
        raise self.refused((node.end_col_offset or 0) - len(_BEGIN), _UNEXPECTED)

    def _apply(self, node: ast.BinOp, left: Value, right: Value) -> Value:
        numbers = [isinstance(each, float) for each in (left, right)]
        message, hint = "{} is not allowed.", _SIGNS
        match node.op:
            case ast.Add() if numbers[0] == numbers[1]:
                return left + right
            case ast.Sub() if numbers[0] == numbers[1]:
                return left - right
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
        signs = (place for place, part in self._tokens.items() if part in "+-*/")
        raise self.refused(next(place for place in signs if place > behind), message, hint)

    def refused(self, place: int, message: str, hint: str = _EXAMPLE) -> PlacedError:
        """The error of what is at a position; of the end, where there is nothing."""
        part, end = self._tokens.get(place, ""), len(self.text.rstrip()) + 1
        place = place if 0 < place < end else end
        problem = message.format(f"{part!r} at place {place}" if part else "The end")
        return PlacedError(problem, hint, self.text, place, max(1, len(part)))


def _check_names(parsed: _Expression, vectors: Mapping[str, np.ndarray]) -> None:
    """Check that there are not too many names, and that all are vectors of one encoder."""
    if len(parsed.names) > MAX_NAMES:
        raise UserError(
            f"The expression has {len(parsed.names)} names.",
            f"Use at most {MAX_NAMES}.",
            code="too-large",
        )
    for name, place in parsed.names.items():
        if name not in vectors:
            raise PlacedError(
                f"No sentence is named {name!r}, at place {place}.",
                f"Give it one, on the command line by --let {name}=SENTENCE. Named are: "
                f"{', '.join(sorted(vectors)) or 'none'}.",
                parsed.text,
                place,
                len(name),
            )
    sizes = {name: np.shape(vectors[name]) for name in parsed.names}
    first = next(iter(sizes), "")
    for name, size in sizes.items():
        if len(size) != 1 or size != sizes[first]:
            raise UserError(
                f"{first} has a vector of shape {sizes[first]}, {name} one of {size}.",
                "All must be vectors of one encoder.",
                code="mismatch",
            )
