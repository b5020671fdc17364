r"""How much may be sent: bodies by anybody, and texts, lists and rates of requests by visitors.

A body is bounded before anything parses it, and has no lone surrogates: JSON can hold half of a
surrogate pair (`\ud800`), and browsers send one where text is cut inside an emoji. An answer that
repeats it cannot be encoded: the stream to the page would break off.

A visitor is an address, and a tab of it. Requests are limited by token buckets: each refills at a
constant rate; a request takes a token, or is refused with the time to wait. Requests that cost next
to nothing, static files and the health check, are not counted. (Libraries for rate limiting count
by time windows, which let twice the number through at their border.)
"""

import math
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from gradio.utils import LRUCache
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive

from theodolite.app.web.guard.requests import API, OPEN, OPEN_BELOW, UPLOAD, address_of, path_of

OPEN_BYTES = 2**16
"""Of a request that needs no login: a form with a name and a password."""
CALL_BYTES = 16 * 2**20
_CALLS = (API, "/theodolite/")
UPLOAD_BYTES = 2 * 2**30
"""Of all files of one upload, which are written to the disk as they come; each has a bound too."""
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F]"
    rb"[0-9a-fA-F]{2}"
)
"""An escaped backslash, a surrogate pair or a lone surrogate, whichever comes first."""
_HALF = len(rb"\ud800")
STREAMS = (f"{API}queue/data", f"{API}heartbeat/")
OURS_STATIC = ("/theodolite/js-", "/theodolite/plotly-", "/theodolite/mark.svg")
MAX_KEPT = 10_000
"""Visitors that are remembered; the least recent is forgotten first."""


@dataclass(frozen=True)
class Rate:
    """The size of a token bucket and its refill rate."""

    burst: float
    per_second: float


@dataclass(frozen=True)
class Limits:
    """Limits of a visitor's requests.

    Attributes:
        address: requests of an address; many people may share one.
        tab: events of a tab.
        streams: connections that an address holds open; a tab has two.
        all_streams: open connections of all visitors.
        body: bytes of a request.
        query: characters of a query string.
        text: characters of each text in a request.
        items: values in a request in all.
    """

    address: Rate = Rate(300, 15)
    tab: Rate = Rate(60, 4)
    streams: int = 100
    all_streams: int = 600
    body: int = 2**18
    query: int = 8000
    text: int = 4000
    items: int = 1000


class Refused(HTTPException):
    """A request exceeds a limit, which the message names; `wait` are the seconds to come again."""

    def __init__(self, status: int, message: str, wait: float = 0.0) -> None:
        again = {"Retry-After": str(math.ceil(wait))} if wait else None
        super().__init__(status, message, again)

    @property
    def answer(self) -> Response:
        """The response."""
        return JSONResponse({"detail": self.detail}, self.status_code, self.headers)


class Buckets:
    """A token bucket for each key."""

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(MAX_KEPT)

    def take(self, key: str) -> float:
        """Take a token; return 0, or the seconds until the next token."""
        now = self._clock()
        tokens, then = self._buckets.get(key, (self._rate.burst, now))
        tokens = min(self._rate.burst, tokens + (now - then) * self._rate.per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate.per_second
        self._buckets[key] = (tokens if wait else tokens - 1, now)
        return wait


class Visitors:
    """The visitors of a demonstration, with their use of its limits."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._addresses = Buckets(limits.address, clock)
        self._tabs = Buckets(limits.tab, clock)
        self._streams: Counter[str] = Counter()

    def admit(self, request: Request) -> None:
        """Count a request before its body is read.

        Raises:
            Refused: the address sends too many requests, or the query is too long.
        """
        if is_free(path_of(request)):
            return
        if len(request.url.query) > self.limits.query:
            raise Refused(414, f"Addresses here have at most {self.limits.query:,} characters.")
        _raise_if_limited(self._addresses.take(address_of(request)))

    def check_body(self, request: Request, body: bytes) -> None:
        """Check the body of an event.

        Raises:
            Refused: the tab sends too many events, or the body has too long a text or too many
                values.
        """
        if not path_of(request).startswith(API):
            return
        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError:
            return  # Gradio answers with the error
        self._measure(payload)
        tab = payload.get("session_hash") if isinstance(payload, dict) else None
        _raise_if_limited(self._tabs.take(f"{address_of(request)} {tab}"))

    def stream(self, request: Request) -> Callable[[], None] | None:
        """Count a connection that stays open; return the function to call at its end, else None.

        Raises:
            Refused: too many connections are open.
        """
        if not path_of(request).startswith(STREAMS):
            return None
        address = address_of(request)
        if self._streams[address] >= self.limits.streams:
            raise Refused(429, "Too many pages are open from your address: close some.", 10)
        if self._streams.total() >= self.limits.all_streams:
            raise Refused(503, "This demonstration is full: try again in a minute.", 60)
        self._streams[address] += 1

        def end() -> None:
            self._streams[address] -= 1
            if not self._streams[address]:
                del self._streams[address]

        return end

    def _measure(self, payload: Any) -> None:
        waiting, nodes = [payload], 0
        while waiting:
            value = waiting.pop()
            if isinstance(value, str) and len(value) > self.limits.text:
                raise Refused(
                    413, f"Texts here have at most {self.limits.text:,} characters: write less."
                )
            parts = (
                [*value, *value.values()]
                if isinstance(value, dict)
                else value
                if isinstance(value, list)
                else []
            )
            nodes += len(parts)
            if nodes > self.limits.items:
                raise Refused(413, f"At most {self.limits.items:,} values are allowed here.")
            waiting += parts


def is_free(path: str) -> bool:
    """Whether requests of a path are not counted."""
    return path in OPEN - {"/login", "/login/"} or path.startswith((*OPEN_BELOW, *OURS_STATIC))


def _raise_if_limited(wait: float) -> None:
    if wait:
        raise Refused(429, f"Too many requests: try again in {math.ceil(wait)} s.", wait)


async def bound_body(
    request: Request, receive: Receive, visitors: Visitors | None = None
) -> Receive:
    """Read a body and replay it; that of an upload is handed on as it comes.

    Lone surrogates in a call of the API are replaced.

    Args:
        request: whose body it is.
        receive: the ASGI callable to read from.
        visitors: the limits of visitors, if it is one's.

    Raises:
        Refused: the body is too large; from what is returned, for an upload without its length.
    """
    if request.method in ("GET", "HEAD"):
        return receive
    path = path_of(request)
    most = visitors.limits.body if visitors else _most(path)
    length, received = request.headers.get("content-length", ""), 0
    large = Refused(413, f"A request has at most {most:,} bytes here: send less.")
    if length.isdecimal() and int(length) > most:
        raise large

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > most:
            raise large
        return message

    if path == UPLOAD and not visitors:
        return counted
    try:
        whole = await Request(request.scope, counted).body()
    except ClientDisconnect:
        return receive
    if visitors:
        visitors.check_body(request, whole)
    if path.startswith(API):
        whole = whole_characters(whole)
    waiting: list[Message] = [{"type": "http.request", "body": whole, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _most(path: str) -> int:
    """Most bytes of a body, by the path of its request."""
    if path == UPLOAD:
        return UPLOAD_BYTES
    return CALL_BYTES if path.startswith(_CALLS) and path not in OPEN else OPEN_BYTES


def whole_characters(body: bytes) -> bytes:
    """Replace lone surrogates in JSON by U+FFFD."""
    return _ESCAPES.sub(lambda match: rb"\ufffd" if len(match[0]) == _HALF else match[0], body)
