"""The one place through which every request passes, before Gradio and after it.

Before: another site's page gets nothing but to link to our pages, a stranger nothing but the form
for the login, and a link that would load what is not listed is asked about first. After: no header
lets another site read an answer, frame a page or send our cookie.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection
from functools import partial

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.web.guard import bodies, policy, requests
from app.web.guard.limits import Limits, Refused, Visitors
from app.web.guard.login import visitor

Question = Callable[[Request, bool], Response | None]
"""Asks, in a page of its own, about a visit by somebody signed in or not; None to let it pass."""

_SAME_SITE = re.compile(r";\s*samesite=\w+", re.IGNORECASE)
_SECURE = re.compile(r";\s*secure\b", re.IGNORECASE)


class Guard:
    """The middleware.

    Args:
        app: what is guarded.
        pages: paths of the pages, `/` among them.
        question: see `Question`.
        frame_ancestors: who may show our pages in a frame, as in a Content-Security-Policy.
        limits: of each visitor; None where they are no strangers.
        root_path: below which a proxy serves us; it may pass that on or not.
    """

    def __init__(
        self,
        app: ASGIApp,
        pages: Collection[str],
        question: Question,
        frame_ancestors: str = "'self'",
        limits: Limits | None = None,
        root_path: str = "",
    ) -> None:
        self._app = app
        self._pages = frozenset(pages) | {f"{path}/" for path in pages if path != "/"}
        self._question = question
        self._root_path = root_path
        self._visitors = Visitors(limits) if limits else None
        self._frame_ancestors = policy.ancestors(frame_ancestors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if self._root_path and f"{path}/".startswith(f"{self._root_path}/"):
            scope = {**scope, "path": path.removeprefix(self._root_path) or "/"}
        request = Request(scope)

        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = self._sealed(message.get("headers", ()), scope["scheme"])
            await send(message)

        visitor.set(requests.address_of(request))
        policy.begin()
        end = None
        try:
            answer = await self._refusal(request) or self._app
            if answer is self._app:
                receive = await self._read(request, receive)
                end = self._visitors and self._visitors.stream(request)
        except Refused as refused:
            answer = refused.answer
        except bodies.TooLarge:
            answer = PlainTextResponse("Too many at once", status_code=413)
        try:
            await answer(scope, receive, sealed)
        finally:
            if end:
                end()

    async def _read(self, request: Request, receive: Receive) -> Receive:
        """The body of a call, mended; a stranger's is bounded whatever it is.

        Raises:
            TooLarge: it has too many bytes.
            Refused: a stranger asks too much.
        """
        if self._visitors and request.method not in ("GET", "HEAD"):
            look = partial(self._visitors.look_at, request)
            return await bodies.read(receive, self._visitors.limits.body, look)
        return await bodies.read(receive) if bodies.is_call(request) else receive

    async def _refusal(self, request: Request) -> Response | None:
        """What is said instead of an answer; None for what may be answered.

        Raises:
            Refused: a stranger asks too often.
        """
        path = requests.path_of(request)
        if not requests.has_file_name(path) or not requests.is_used(path):
            return PlainTextResponse("Not found", status_code=404)
        if not requests.has_query(request):
            return PlainTextResponse("This address cannot be read", status_code=400)
        if self._visitors:
            self._visitors.admit(request)
        a_page = path in self._pages
        if not requests.is_ours(request) and not (a_page and requests.is_visit(request)):
            return PlainTextResponse("Other sites cannot do this", status_code=403)
        known = await requests.is_signed_in(request)
        if a_page and request.method == "GET" and not requests.is_from_our_page(request):
            return await asyncio.to_thread(self._question, request, known)
        if not known and not a_page and not requests.is_open(path):
            return JSONResponse({"detail": {"error": "Not authenticated"}}, status_code=401)
        return None

    def _sealed(
        self, headers: Collection[tuple[bytes, bytes]], scheme: str
    ) -> list[tuple[bytes, bytes]]:
        """The headers of an answer, without what invites others and with what keeps them out."""
        kept = [
            (name, self._header(name.lower(), value, scheme))
            for name, value in headers
            if not name.lower().startswith(b"access-control-")
        ]
        return [*kept, *policy.headers(self._frame_ancestors)]

    def _header(self, name: bytes, value: bytes, scheme: str) -> bytes:
        if name == b"set-cookie":
            return _cookie(value, scheme)
        if name == b"location" and value.startswith(b"/"):  # as Gradio has it, without the proxy's
            return self._root_path.encode() + value
        return value


def _cookie(value: bytes, scheme: str) -> bytes:
    """A cookie that no other site's page can have sent along, but a link to us can."""
    text = _SAME_SITE.sub("", value.decode("latin-1"))
    secure = "; Secure" if scheme == "https" and not _SECURE.search(text) else ""
    return f"{text}; SameSite=Lax{secure}".encode("latin-1")
