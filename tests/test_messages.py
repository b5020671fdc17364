"""The form of every message that a person sees, whoever wrote it."""

import ast
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from theodolite.engine.errors import Code

ROOT = Path(__file__).parent.parent
OURS = ("app", "engine", "store")


@cache
def errors() -> list[tuple[str, ast.Call]]:
    """Every `UserError` and `StoreError` that is made somewhere, with its place."""
    return [
        (f"{path.relative_to(ROOT)}:{node.lineno}", node)
        for package in OURS
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in ("UserError", "StoreError")
    ]


def literal(node: ast.expr) -> str:
    """A message as far as it is written out; what is filled in is a bar."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    return "|"


def messages() -> list[tuple[str, str]]:
    """What they say, with its place."""
    every = ((place, literal(part)) for place, call in errors() for part in call.args[:2])
    return [(place, text) for place, text in every if text.strip("| ")]


@pytest.mark.parametrize("wrong", ["! ", "  ", "oops", "Oops", "Sorry", "please", "Please"])
def test_no_message_has(wrong: str) -> None:
    assert len(messages()) > 500
    assert not [place for place, text in messages() if wrong in f"{text} "]


def test_messages_end_as_sentences_do() -> None:
    """A hint may end with a command to type."""
    wrong = {p: t for p, t in messages() if not t.rstrip(")'`\"").endswith((".", "?", ":", "|"))}
    assert not {p for p, t in wrong.items() if ": " not in t and " -" not in t}


def test_every_code_is_used_and_known() -> None:
    codes = {
        keyword.value.value
        for _, call in errors()
        for keyword in call.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.Constant)
    }
    assert codes <= set(get_args(Code))
