r"""The body of a call that a page makes: bounded, and without half characters.

JSON can name half of a character (`\ud800`), and browsers do where text is cut inside an emoji. No
answer that repeats one can be sent: the stream to the page would break off.
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
"""An escaped backslash, the two halves of a character, a half alone: whichever comes first."""
_HALF = len(rb"\ud800")


class TooLarge(Exception):
    """A body of more bytes than any page sends."""


def is_call(request: Request) -> bool:
    """Whether a request calls a function of the app with values, and sends no file."""
    kind = request.headers.get("content-type", "")
    return (
        request.method == "POST"
        and path_of(request).startswith(API)
        and not kind.startswith("multipart/")
    )


async def read(
    receive: Receive, most: int = MOST_BYTES, look: Callable[[bytes], None] | None = None
) -> Receive:
    """Read a body and hand it on with each half character replaced.

    Args:
        receive: gives it.
        most: bytes.
        look: given the body; what it raises, this raises.

    Raises:
        TooLarge: it does not end in time.
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
    """JSON in which a half character is the sign for an unknown one."""
    return _ESCAPES.sub(lambda found: rb"\ufffd" if len(found[0]) == _HALF else found[0], body)
