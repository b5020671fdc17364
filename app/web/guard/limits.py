"""The limits of visitors of a demonstration: bounded texts and lists, bounded request rates.

A visitor is an address, and a tab of it. Requests are counted by token buckets: each has so many
tokens, which come back one after another; a request takes one, or is told when to come again. What
costs next to nothing, static files and whether we are well, is not counted. (Libraries that count
requests do so by windows of time, which let twice the number through at their border.)
"""

from __future__ import annotations

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.web.guard.requests import API, OPEN, OPEN_BELOW, address_of, path_of

STREAMS = (f"{API}queue/data", f"{API}heartbeat/")
OURS_STATIC = ("/theodolite/js-", "/theodolite/plotly-", "/theodolite/mark.svg")
MOST_KEPT = 10_000
"""Visitors that are remembered; whoever came longest ago begins anew."""


@dataclass(frozen=True)
class Rate:
    """So many at once, and so many a second from then on."""

    burst: float
    per_second: float


@dataclass(frozen=True)
class Limits:
    """What a visitor may ask.

    Attributes:
        address: requests of an address; many people may share one.
        tab: events of a tab.
        streams: connections that an address holds open; a tab has two.
        all_streams: of everybody.
        body: bytes of a request.
        query: characters of what an address asks.
        text: characters of each text in a request.
        items: of each list in it, and values in all.
    """

    address: Rate = Rate(300, 15)
    tab: Rate = Rate(60, 4)
    streams: int = 100
    all_streams: int = 600
    body: int = 2**18
    query: int = 8000
    text: int = 4000
    items: int = 1000


class Refused(Exception):
    """A request goes too far.

    Attributes:
        answer: says how far it may go.
    """

    def __init__(self, status: int, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        headers = {"Retry-After": str(math.ceil(wait))} if wait else None
        self.answer: Response = JSONResponse({"detail": message}, status, headers)


class Buckets:
    """A token bucket for each key.

    Args:
        rate: of each.
        clock: seconds that only grow.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._clock = clock
        self._kept: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take a token; 0, or the seconds until there is one again."""
        now = self._clock()
        tokens, then = self._kept.pop(key, (self._rate.burst, now))
        tokens = min(self._rate.burst, tokens + (now - then) * self._rate.per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate.per_second
        self._kept[key] = (tokens if wait else tokens - 1, now)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return wait


class Visitors:
    """Everybody's share of a demonstration.

    Args:
        limits: of each.
        clock: seconds that only grow.
    """

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self._addresses = Buckets(limits.address, clock)
        self._tabs = Buckets(limits.tab, clock)
        self._streams: Counter[str] = Counter()

    def admit(self, request: Request) -> None:
        """Count a request before its body is read.

        Raises:
            Refused: it is one too many, or asks too much in its address.
        """
        if is_free(path_of(request)):
            return
        if len(request.url.query) > self.limits.query:
            raise Refused(414, f"Addresses here have at most {self.limits.query:,} characters.")
        _come_again(self._addresses.take(address_of(request)))

    def look_at(self, request: Request, body: bytes) -> None:
        """Look at what an event asks.

        Raises:
            Refused: it is one too many of its tab, or too long somewhere.
        """
        if not path_of(request).startswith(API):
            return
        try:
            payload = orjson.loads(body)
        except orjson.JSONDecodeError:
            return  # Gradio says what is wrong with it
        self._measure(payload)
        tab = payload.get("session_hash") if isinstance(payload, dict) else None
        _come_again(self._tabs.take(f"{address_of(request)} {tab}"))

    def stream(self, request: Request) -> Callable[[], None] | None:
        """Count a connection that stays open; what is to be called at its end. None for others.

        Raises:
            Refused: it is one too many.
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
        waiting, seen = [payload], 0
        while waiting:
            value = waiting.pop()
            if isinstance(value, str) and len(value) > self.limits.text:
                raise Refused(
                    413, f"Texts here have at most {self.limits.text:,} characters: write less."
                )
            parts = (
                [*value, *value.values()] if isinstance(value, dict)
                else value if isinstance(value, list) else []
            )  # fmt: skip
            seen += len(parts)
            if seen > self.limits.items:
                raise Refused(413, f"At most {self.limits.items:,} values are allowed here.")
            waiting += parts


def is_free(path: str) -> bool:
    """Whether a path is answered however often."""
    return path in OPEN - {"/login", "/login/"} or path.startswith((*OPEN_BELOW, *OURS_STATIC))


def _come_again(wait: float) -> None:
    if wait:
        raise Refused(
            429, f"Too many requests: try again in {math.ceil(wait)} s.",
            wait,
        )  # fmt: skip
