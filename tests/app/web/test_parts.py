"""What every handler of a page goes through: values as they are, troubles as a notice."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest

from theodolite.app.web import parts
from theodolite.app.web.controls import with_notice
from theodolite.engine.errors import PlacedError


def test_the_place_of_a_slip_is_marked() -> None:
    """What was written with a mark in it, all of it as text."""
    html = parts.problem(PlacedError("'<' at place 3.", "Write +.", "a <b>", 3))
    assert '<pre class="t-place" dir="ltr">a <mark>&lt;</mark>b&gt;</pre>' in html
    assert "&#x27;&lt;&#x27; at place 3." in html


def test_rows_for_a_file_are_json_within_an_attribute() -> None:
    """Quotes and markup stay text; what is not finite is empty."""
    html = parts.csv_button("Save", "a.csv", [["name", "score"], ['<"b">', float("nan")]])
    (data,) = re.findall(r'data-rows="([^"]*)"', html)
    assert json.loads(unescape(data)) == [["name", "score"], ['<"b">', None]]


@pytest.mark.parametrize("follow", [False, True], ids=["at once", "value by value"])
def test_half_a_character_does_not_end_the_stream(follow: bool) -> None:
    """A pasted lone surrogate is shown as a question mark: the server could not send it."""

    def echo(text: str) -> Any:
        return {"shown": text, "number": 7}

    def echoes(text: str) -> Any:
        yield {"shown": text, "number": 7}

    answer = with_notice(echoes if follow else echo, "notice")("an emoji cut: \ud83d")
    found = next(answer) if follow else answer
    assert found == {"shown": "an emoji cut: ?", "number": 7, "notice": ""}
