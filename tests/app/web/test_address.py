"""What a link says of a page, and what old links meant."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from starlette.datastructures import QueryParams

from theodolite.app.web import address


def asked(query: str) -> Any:
    """A request for a page with this query."""
    return SimpleNamespace(request=SimpleNamespace(query_params=QueryParams(query)))


def test_values_are_read_in_order_and_as_they_are() -> None:
    request = asked("encoder=hf:a/b?pooling=avg%26layer=1&encoder=d&k=nan")
    assert address.every(request, "encoder") == ["hf:a/b?pooling=avg&layer=1", "d"]
    assert address.first(request, "q", "none") == "none"
    assert address.choice(request, "k", ["1", "2"], "1") == "1"
    assert [address.number(text) for text in ("nan", "x", "-1e3")] == [None, None, -1000]
    assert address.link("p", a=["1", "2"], b=None, c="&") == "./p?a=1&a=2&c=%26"
