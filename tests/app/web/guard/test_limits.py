"""What a stranger may ask of a demonstration, and what is said beyond that."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.requests import Request

from tests.app.web.guard.conftest import Clock
from theodolite.app.web.guard.limits import Buckets, Limits, Rate, Refused, Visitors, is_free

LIMITS = Limits(address=Rate(3, 0.5), tab=Rate(2, 1), streams=2, all_streams=3)


def request(path: str, address: str = "10.0.0.1", query: str = "") -> Request:
    """What somebody asks."""
    scope = {"type": "http", "method": "GET", "path": path, "headers": [], "scheme": "http"}
    scope |= {"query_string": query.encode(), "client": (address, 1), "server": ("x", 80)}
    return Request(scope)


def refused(do: Any, *given: Any) -> tuple[int, str, str | None]:
    """How something is refused: status, what is said, when to come again."""
    with pytest.raises(Refused) as error:
        do(*given)
    answer = error.value.answer
    reply = json.loads(bytes(answer.body))["detail"]
    return answer.status_code, reply, answer.headers.get("retry-after")


def test_tokens_come_back_one_after_another() -> None:
    """Never more of them than fit."""
    clock = Clock()
    buckets = Buckets(Rate(2, 0.5), clock)
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 2]
    assert buckets.take("b") == 0
    clock.now += 2
    assert [buckets.take("a"), buckets.take("a")] == [0, 2]
    clock.now += 1000
    assert [buckets.take("a") for _ in range(3)] == [0, 0, 2]


def test_an_address_that_asks_too_much_is_told_when_to_come_again() -> None:
    """The others go on; static files and whether we are well are never counted."""
    visitors = Visitors(LIMITS, Clock())
    for _ in range(3):
        visitors.admit(request("/search"))
    assert refused(visitors.admit, request("/search")) == (
        429,
        "Too many requests: try again in 2 s.",
        "2",
    )
    visitors.admit(request("/search", "10.0.0.2"))
    for path in ("/healthz", "/static/x.js", "/theodolite/js-1/map.js", "/theme.css"):
        assert is_free(path)
        visitors.admit(request(path))


def test_a_tab_that_asks_too_much_leaves_its_neighbour_alone() -> None:
    """A script of one page gone wild is not the classroom's fault."""
    visitors = Visitors(LIMITS, Clock())
    join, one, other = request("/gradio_api/queue/join"), b'{"session_hash":"a"}', b'{"data":[]}'
    visitors.check_body(join, one)
    visitors.check_body(join, one)
    assert refused(visitors.check_body, join, one)[0] == 429
    visitors.check_body(join, other)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"data": ["a" * 4001]}, "at most 4,000 characters"),
        ({"a" * 4001: 1}, "at most 4,000 characters"),
        ({"data": [["x"] * 1001]}, "At most 1,000 values"),
        ({"data": [["x"] * 20] * 60}, "At most 1,000 values"),
    ],
    ids=["text", "name", "list", "lists"],
)
def test_texts_and_lists_are_bounded_wherever_they_stand(asked: Any, said: str) -> None:
    """In any value of any event."""
    visitors = Visitors(Limits())
    join = request("/gradio_api/queue/join")
    status, why, _ = refused(visitors.check_body, join, json.dumps(asked).encode())
    assert status == 413
    assert said in why
    visitors.check_body(join, b"[" * 1000)  # no JSON: Gradio's to refuse


def test_an_address_is_bounded() -> None:
    """What it asks, not its path."""
    visitors = Visitors(Limits())
    visitors.admit(request("/search", query="q=" + "a" * 7000))
    assert refused(visitors.admit, request("/search", query="q=" + "a" * 8000))[0] == 414


def test_open_connections_are_counted_until_they_end() -> None:
    """Of an address and of all; others are not held open."""
    visitors = Visitors(LIMITS)
    assert visitors.stream(request("/search")) is None
    ends = [visitors.stream(request("/gradio_api/heartbeat/x")) for _ in range(2)]
    assert refused(visitors.stream, request("/gradio_api/queue/data"))[0] == 429
    assert visitors.stream(request("/gradio_api/queue/data", "10.0.0.2"))
    assert refused(visitors.stream, request("/gradio_api/queue/data", "10.0.0.3"))[0] == 503
    ends[0]()  # type: ignore[misc]
    assert visitors.stream(request("/gradio_api/queue/data"))
