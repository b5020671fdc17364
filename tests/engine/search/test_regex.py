"""Regular expressions: what `re` finds, and never for long."""

import re

import pytest

from tests.errors import refused
from theodolite.engine.search.regex import matching

SENTENCES = ["A boat.", "Two BOATS at sea", "no ship", "", "\ud800 boat", "é 4 %s {x}"]


@pytest.mark.parametrize("pattern", [r"boats?\b", r"^\w+ \d", r"$", r"[^a-z. ]{2}", r"\{x\}"])
@pytest.mark.parametrize("case", [True, False])
def test_it_finds_what_re_finds(pattern: str, case: bool) -> None:
    compiled = re.compile(pattern, 0 if case else re.IGNORECASE)
    expected = [(i, *m.span()) for i, s in enumerate(SENTENCES) if (m := compiled.search(s))]
    assert matching(pattern, SENTENCES, case=case) == expected


@pytest.mark.parametrize(
    ("pattern", "code", "named"),
    [
        *((p, "damaged", repr(p)) for p in ("(a", "[", "*", "(?P<x", "a{2,1}")),
        ("", "missing", 1000),
        ("a" * 1001, "too-large", 1001),
        (r"(a+)+$", "too-large", 1),  # would take years
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(pattern: str, code, named: object) -> None:
    with refused(code, named):
        matching(pattern, ["a" * 50 + "b"], seconds=1.0)
