"""What a link says of a page, and what old links meant."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from starlette.datastructures import QueryParams

from theodolite.app.web import address


def asked(query: str) -> Any:
    """A request for a page with this query."""
    return SimpleNamespace(request=SimpleNamespace(query_params=QueryParams(query)))


def test_an_old_link_is_read_as_what_it_meant() -> None:
    """The pooler's output in an encoder, the raw first token in the form of a training."""
    link = "encoder=hf:a/b?pooling=cls%26layer=1&encoder=dir:/c?pooling=cls_before_pooler&encoder=d"
    assert address.every(asked(link), "encoder") == [
        "hf:a/b?pooling=pooler_output&layer=1",
        "dir:/c?pooling=cls_token",
        "d",
    ]
    assert address.first(asked("pooling=cls"), "pooling") == "cls_token"
    assert address.first(asked("pooling=avg"), "pooling") == "avg"
    assert address.first(asked("query=what+is+pooling=cls"), "query") == "what is pooling=cls"
