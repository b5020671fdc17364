"""Regular expressions: what `re` finds, and never for long."""

from __future__ import annotations

import re
import time

import pytest

from theodolite.engine.errors import UserError
from theodolite.engine.search.regex import matching

SENTENCES = ["A boat.", "Two BOATS at sea", "no ship", "", "\ud800 boat", "é 4 %s {x}"]


@pytest.mark.parametrize("pattern", [r"boats?\b", r"^\w+ \d", r"$", r"[^a-z. ]{2}", r"\{x\}"])
@pytest.mark.parametrize("case", [True, False])
def test_it_finds_what_re_finds(pattern: str, case: bool) -> None:
    """Positions and the place of the first match."""
    compiled = re.compile(pattern, 0 if case else re.IGNORECASE)
    expected = [(i, *m.span()) for i, s in enumerate(SENTENCES) if (m := compiled.search(s))]
    assert matching(pattern, SENTENCES, case=case) == expected


def test_a_pattern_that_would_take_years_is_stopped() -> None:
    """(a+)+$ on fifty a and a b."""
    began = time.monotonic()
    with pytest.raises(UserError, match="stopped") as error:
        matching(r"(a+)+$", ["a" * 50 + "b"], seconds=1.0)
    assert time.monotonic() - began < 5
    assert "simpler" in error.value.hint


@pytest.mark.parametrize("pattern", ["(a", "[", "*", "(?P<x", "a{2,1}"])
def test_what_is_no_pattern_is_said(pattern: str) -> None:
    """With what is wrong with it."""
    with pytest.raises(UserError, match="no regular expression"):
        matching(pattern, SENTENCES)


@pytest.mark.parametrize("pattern", ["", "a" * 1001])
def test_length_is_bounded(pattern: str) -> None:
    """Nothing, or more than anyone writes."""
    with pytest.raises(UserError, match="characters"):
        matching(pattern, SENTENCES)
