"""The middleware that every request passes, before Gradio and after it.

Before: another site may only link to our pages, a person not signed in gets only the login form,
and a link that would load something not listed asks for confirmation. After: no header lets another
site read an answer, frame a page or send our cookie; pages are compressed, and a browser keeps the
files of Gradio's pages, whose names change with their content, without asking for them again.
"""

import asyncio
import re
from collections.abc import Callable, Collection

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from theodolite.app.web.guard import policy, requests
from theodolite.app.web.guard.limits import Limits, Refused, Visitors, bound_body
from theodolite.app.web.guard.login import login_page, visitor
from theodolite.app.web.routes import FOREVER

Question = Callable[[Request, bool], Response | None]
"""Makes a page which asks for confirmation of a visit, signed in or not; None to let it pass."""

_SAME_SITE = re.compile(r";\s*samesite=\w+", re.IGNORECASE)
_SECURE = re.compile(r";\s*secure\b", re.IGNORECASE)
_NAMED_BY_CONTENT = re.compile(r"/assets/.+-[\w-]{8,}\.\w+")


class Guard:
    """The middleware.

    Args:
        app: the ASGI app to guard.
        pages: paths of the pages, `/` among them.
        question: see `Question`.
        opened: called when a page is opened.
        frame_ancestors: who may show our pages in a frame, as in a Content-Security-Policy.
        limits: limits of each visitor of a demonstration; None for no limits.
        root_path: prefix under which a proxy serves us, whether or not the proxy strips it.
    """

    def __init__(
        self,
        app: ASGIApp,
        pages: Collection[str],
        question: Question,
        opened: Callable[[], None],
        frame_ancestors: str = "'self'",
        limits: Limits | None = None,
        root_path: str = "",
    ) -> None:
        self._app = app
        self._pages_app = GZipMiddleware(app, compresslevel=5)
        self._pages = frozenset(pages) | {f"{path}/" for path in pages if path != "/"}
        self._question = question
        self._opened = opened
        self._root_path = root_path
        self._visitors = Visitors(limits) if limits else None
        self._frame_ancestors = policy.ancestors(frame_ancestors)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on to the app."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        if self._root_path and f"{path}/".startswith(f"{self._root_path}/"):
            scope = {**scope, "path": path.removeprefix(self._root_path) or "/"}
        request = Request(scope)

        visitor.set(requests.address_of(request))
        policy.begin()
        end = None
        try:
            answer = await self._refusal(request) or self._app
            if answer is self._app:
                if request.method == "GET" and requests.path_of(request) in self._pages:
                    self._opened()
                    answer = self._pages_app
                receive = await bound_body(request, receive, self._visitors)
                end = self._visitors and self._visitors.stream(request)
        except Refused as refused:
            answer = refused.answer
        try:
            await self._send(answer, scope, receive, send)
        finally:
            if end:
                end()

    async def _send(self, answer: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Send a response with our headers; that to a tab which has left ends without an error."""
        begun = False

        async def sealed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = self._secure_headers(
                    message.get("headers", ()), scope["scheme"]
                )
                if message["status"] in (200, 304) and _NAMED_BY_CONTENT.fullmatch(scope["path"]):
                    MutableHeaders(raw=message["headers"]).update(FOREVER)
            await send(message)

        try:
            await answer(scope, receive, sealed)
        except RuntimeError as error:
            # Gradio ends the events of a tab that it does not know with an HTTP error, which comes
            # too late to be sent.
            if not begun or not isinstance(error.__cause__, HTTPException):
                raise
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _refusal(self, request: Request) -> Response | None:
        """The response that refuses a request; None if the app may answer it.

        Raises:
            Refused: a visitor exceeds a limit.
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
        if a_page and request.method == "GET":
            if not requests.is_from_our_page(request):
                question = await asyncio.to_thread(self._question, request, known)
                if question is not None:
                    return question
            redirected = path != "/" and path.endswith("/")  # by Gradio
            return None if known or redirected else login_page()
        if not known and not a_page and not requests.is_open(path):
            return JSONResponse({"detail": {"error": "Not authenticated"}}, status_code=401)
        return None

    def _secure_headers(
        self, headers: Collection[tuple[bytes, bytes]], scheme: str
    ) -> list[tuple[bytes, bytes]]:
        """The headers of a response, without CORS and with the security policy."""
        others = []
        for name, value in headers:
            if name.lower() == b"set-cookie":
                value = _cookie(value, scheme)
            elif name.lower() == b"location" and value.startswith(b"/"):
                value = self._root_path.encode() + value  # Gradio's lacks the proxy's prefix
            if not name.lower().startswith(b"access-control-"):
                others.append((name, value))
        return [*others, *policy.headers(self._frame_ancestors)]


def _cookie(value: bytes, scheme: str) -> bytes:
    """Set `SameSite=Lax`: no other site's request sends the cookie, except a link to us."""
    text = _SAME_SITE.sub("", value.decode("latin-1"))
    secure = "; Secure" if scheme == "https" and not _SECURE.search(text) else ""
    return f"{text}; SameSite=Lax{secure}".encode("latin-1")
