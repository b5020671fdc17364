"""Expressions over named vectors: what they mean, and what is refused in plain words."""

import copy
import re

import numpy as np
import pytest

from tests.errors import refused
from theodolite.engine.decoding.arithmetic import MAX_NAMES, evaluate, names
from theodolite.engine.errors import PlacedError, UserError

A, B, C = np.random.default_rng(0).normal(size=(3, 4))
V = {"a": A, "b": B, "c": C, "été": A, "b_1": B}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a", A),
        ("a - b + c", A - B + C),
        ("a - (b + c)", A - (B + C)),
        ("(a + b) / 2", (A + B) / 2),
        ("0.5*a + .25 * b", 0.5 * A + 0.25 * B),
        ("-a", -A),
        ("--a", A),
        ("2 * 3 * a / 4", 1.5 * A),
        ("a * (1 - 0.3) + b * 0.3", 0.7 * A + 0.3 * B),
        ("a − b × 2 ÷ 4", A - 2 * B / 4),
        ("a - b - c", A - B - C),
        ("a / 2 / 4 * 2", A / 4),
        ("a + b * 2", A + 2 * B),
        ("2 * -a", -2 * A),
        ("- - - a", -A),
        ("a" + " + a" * 1000, 1001 * A),
        ("+a - +b", A - B),
        ("-(a - -b) * -2", 2 * (A + B)),
        ("a * (2 / (1 + 3)) - ((b))", A / 2 - B),
        ("1. * a + 00.5 * b", A + B / 2),
        (" \t a\n+ b ", A + B),
        ("(" * 100 + "a" + ")" * 100, A),  # as deep as is allowed
        ("-" * 100 + "a", A),
        ("été - b_1", A - B),
    ],
)
def test_the_value_is_that_of_ordinary_arithmetic(expression: str, expected: np.ndarray) -> None:
    """NumPy's own operators are the oracle; signs as people type and paste them."""
    assert np.allclose(evaluate(expression, V), expected)


def test_names_come_once_and_in_order() -> None:
    """As the page asks for a sentence for each."""
    assert names("b - a + b * c1") == ["b", "a", "c1"]


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("a -", "The end"),
        ("a b", "'b' at place 3"),
        ("(a", "'(' at place 1 is never closed"),
        ("a)", "')' at place 2"),
        ("a / 0", "'/' at place 3 is by zero"),
        ("a / (1 - 1)", "is by zero"),
        ("a * b", "multiplied by '*' at place 3"),
        ("1 / a", "'/' at place 3 divides by a vector"),
        ("a + 1", "'+' at place 3"),
        ("1 + 2", "1 + 2"),
        ("a ** b", "'*' at place 3"),
        ("a ^ 2", "'^' at place 3"),
        ("__import__('os')", "at place 12"),
        ("z", "'z', at place 1"),
        ("a.b", "'.' at place 2"),
        ("(" * 500 + "a" + ")" * 500, "at place 201"),
        ("-" * 4990 + "a", "nested too deeply"),
        ("2(a)", "')' at place 4"),
        ("a) + (b", "')' at place 2"),
        ("a+" * 2600, "5200 characters"),
        ("()", "')' at place 2"),
        ("a * + / b", "'/' at place 7"),
        ("2a", "'2' at place 1"),
        ("a - 2", "'-' at place 3"),
        ("a / -0.0", "at place 3 is by zero"),
        ("a - -z", "'z', at place 6"),
        ("1.5.5 * a", "'.5' at place 4"),
        ("a; b", "';' at place 2"),
        ("lambda: a", "':' at place 7"),
        ("1e3*a", "'e3', at place 2"),
    ],
)
def test_what_has_no_meaning_is_refused(expression: str, said: str) -> None:
    """With the place, counted from 1, and never a traceback."""
    with pytest.raises(UserError, match=re.escape(said)):
        evaluate(expression, V)


@pytest.mark.parametrize(
    ("expression", "marked"),
    [
        ("a - queen + b", ("a - ", "queen", " + b")),
        ("a / 0 + b", ("a ", "/", " 0 + b")),
        ("a ^ 2", ("a ", "^", " 2")),
        ("a ÷ 0", ("a ", "÷", " 0")),
        ("(a + b", ("", "(", "a + b")),
        ("a + b c", ("a + b ", "c", "")),
        ("a 2.50", ("a ", "2.50", "")),
        (" a -  ", (" a -", " ", " ")),
        ("a\n+ \x1b", ("a + ", "\ufffd", "")),
        ("a+" * 30 + "z" + "+a" * 30, ("…" + ("a+" * 30)[-39:], "z", ("+a" * 30)[:39] + "…")),
        ("z" * 50, ("", "z" * 39 + "…", "")),
    ],
)
def test_the_place_is_known(expression: str, marked: tuple[str, str, str]) -> None:
    """What stands before, at and behind it; far text is cut, and no sign gives orders."""
    with pytest.raises(PlacedError) as caught:
        evaluate(expression, V)
    assert caught.value.marked() == marked
    again = copy.copy(caught.value)  # as it goes from one process to another
    assert (str(again), again.marked()) == (str(caught.value), marked)


def test_many_names() -> None:
    """As many as are allowed, and one more."""
    many = {f"v{i}": np.full(2, float(i)) for i in range(MAX_NAMES + 1)}
    assert evaluate("+".join(list(many)[:MAX_NAMES]), many)[0] == sum(range(MAX_NAMES))
    with refused("too-large", 201):
        evaluate("+".join(many), many)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("factor", ["1000000000", "9" * 400, "0 * " + "9" * 400])
def test_a_value_that_is_no_number_is_refused(factor: str) -> None:
    """An overflow is told, not decoded, and warns nobody."""
    with refused("not-finite"):
        evaluate(f"a * {factor}", {"a": np.full(2, 1e300)})


def test_vectors_of_two_encoders_are_refused() -> None:
    """Named with their shapes; a name that is not used may be anything."""
    for other in (np.ones(3), np.ones((1, 4))):
        with refused("mismatch", "(4,)", "d", other.shape):
            evaluate("a + d", V | {"d": other})
    assert np.allclose(evaluate("a + b", V | {"d": np.ones(3)}), A + B)
