r"""The body of a request: bounded before anything parses it, and without lone surrogates.

JSON can hold half of a surrogate pair (`\ud800`), and browsers send one where text is cut inside an
emoji. An answer that repeats it cannot be encoded: the stream to the page would break off.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive

from theodolite.app.web.guard.requests import API, OPEN, UPLOAD, path_of

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


class TooLarge(HTTPException):
    """A body has more bytes than it may: 413."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"A request has at most {most:,} bytes here: send less.")


async def bounded(
    request: Request,
    receive: Receive,
    most: int | None = None,
    look: Callable[[bytes], None] | None = None,
) -> Receive:
    """Read a body and replay it; that of an upload is handed on as it comes.

    Lone surrogates in a call of the API are replaced.

    Args:
        request: whose body it is.
        receive: the ASGI callable to read from.
        most: maximum size in bytes; None for that of its path.
        look: called with the body; its exceptions propagate.

    Raises:
        TooLarge: the body is larger; from what is returned, for an upload without its length.
    """
    path = path_of(request)
    upload = path == UPLOAD and most is None
    if most is None:
        call = path.startswith(_CALLS) and path not in OPEN
        most = UPLOAD_BYTES if upload else CALL_BYTES if call else OPEN_BYTES
    given = request.headers.get("content-length", "")
    if given.isdecimal() and int(given) > most:
        raise TooLarge(most)
    counted = _counted(receive, most)
    if upload:
        return counted
    body, more = bytearray(), True
    while more:
        message = await counted()
        if message["type"] != "http.request":
            return receive
        body += message.get("body", b"")
        more = message.get("more_body", False)
    whole = bytes(body)
    if look:
        look(whole)
    if path.startswith(API):
        whole = whole_characters(whole)
    waiting: list[Message] = [{"type": "http.request", "body": whole, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


def _counted(receive: Receive, most: int) -> Receive:
    """Receive the same, until it is too much."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > most:
            raise TooLarge(most)
        return message

    return counting


def whole_characters(body: bytes) -> bytes:
    """Replace lone surrogates in JSON by U+FFFD."""
    return _ESCAPES.sub(lambda found: rb"\ufffd" if len(found[0]) == _HALF else found[0], body)
