r"""The body of a call that a page makes: bounded, and without lone surrogates.

JSON can hold half of a surrogate pair (`\ud800`), and browsers send one where text is cut inside an
emoji. An answer that repeats it cannot be encoded: the stream to the page would break off.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.requests import Request
from starlette.types import Message, Receive

from app.web.guard.requests import API, path_of

MOST_BYTES = 16 * 2**20
_ESCAPES = re.compile(
    rb"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F]"
    rb"[0-9a-fA-F]{2}"
)
"""An escaped backslash, a surrogate pair or a lone surrogate, whichever comes first."""
_HALF = len(rb"\ud800")


class TooLarge(Exception):
    """A body has more bytes than any page sends."""


def is_call(request: Request) -> bool:
    """Whether a request calls a function of the app, and uploads no file."""
    kind = request.headers.get("content-type", "")
    return (
        request.method == "POST"
        and path_of(request).startswith(API)
        and not kind.startswith("multipart/")
    )


async def read(
    receive: Receive, most: int = MOST_BYTES, look: Callable[[bytes], None] | None = None
) -> Receive:
    """Read a body and replay it with each lone surrogate replaced.

    Args:
        receive: the ASGI callable to read from.
        most: maximum size in bytes.
        look: called with the body; its exceptions propagate.

    Raises:
        TooLarge: the body is larger.
    """
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return receive
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise TooLarge
    if look:
        look(body)
    waiting: list[Message] = [
        {"type": "http.request", "body": whole_characters(body), "more_body": False}
    ]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def whole_characters(body: bytes) -> bytes:
    """Replace lone surrogates in JSON by U+FFFD."""
    return _ESCAPES.sub(lambda found: rb"\ufffd" if len(found[0]) == _HALF else found[0], body)
