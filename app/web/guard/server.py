"""Gradio's server with the guard in front of it.

Gradio wraps its own middleware, with the CORS headers, around whatever middleware it is given; the
guard, which has the last word, has to be outside of that.
"""

import difflib
from collections.abc import Mapping, Sequence
from copy import copy
from html import escape
from typing import Any

from fastapi.exception_handlers import http_exception_handler
from gradio.blocks import Blocks
from gradio.route_utils import FnIndexInferError
from gradio.routes import App, ORJSONResponse
from gradio.state_holder import SessionState, StateHolder
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp

from theodolite.app.web.guard.plain_page import plain_page
from theodolite.app.web.guard.requests import API, is_visit, log, path_of


class Session(SessionState):
    """The state of a tab that Python needs: values of `gr.State`, changed choices."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = 3600

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        self.config_values.clear()

    def _update_config(self, key: int) -> None:
        """Do nothing: pages are not restored from it."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Do nothing: answers are not kept."""


class Sessions(StateHolder):
    """Sessions by id; beyond Gradio's `state_session_capacity` the oldest is dropped."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)


NONSENSE = (FnIndexInferError, LookupError, ValueError, TypeError, AttributeError, AssertionError)
"""What Gradio raises on a request that names a function or component that it does not have."""


class GuardedApp(App):
    """Gradio's app behind middleware that also sees the responses of Gradio's own middleware.

    Args:
        outer: the middleware, outermost first.
        titles: of the pages, by path.
        **kwargs: arguments of FastAPI.
    """

    def __init__(
        self, outer: Sequence[Middleware], titles: Mapping[str, str], **kwargs: Any
    ) -> None:
        self._outer = tuple(outer)
        self._titles = dict(titles)
        super().__init__(
            openapi_url=None,
            default_response_class=ORJSONResponse,
            exception_handlers={**dict.fromkeys(NONSENSE, _not_understood), 404: self._no_page},
            **kwargs,
        )
        self.state_holder = Sessions()

    def build_middleware_stack(self) -> ASGIApp:
        """Wrap our middleware around Gradio's."""
        stack = super().build_middleware_stack()
        for cls, args, kwargs in reversed(self._outer):
            stack = cls(stack, *args, **kwargs)
        return stack

    async def _no_page(self, request: Request, error: HTTPException) -> Response:
        """404: a page for somebody who opened the address, Gradio's own answer for a script."""
        if not is_visit(request):
            return await http_exception_handler(request, error)
        path = path_of(request)
        top = "../" * (path.count("/") - 1) or "./"  # a proxy may serve us in a folder
        names = {name.casefold(): at for at, title in self._titles.items() for name in (at, title)}
        near = difflib.get_close_matches(path.strip("/").casefold(), names, 1)
        meant = names[near[0]] if near else ""
        link = f'<a class="t-button" href="{top}{escape(meant)}">{escape(self._titles[meant])}</a>'
        hint = "Perhaps you meant this page:" if near else "All pages are listed on the first one:"
        text = f"<p>Nothing is at {escape(path[:200])}. {hint}</p><p>{link}</p>"
        return HTMLResponse(plain_page("There is no such page", text), status_code=404)


async def _not_understood(request: Request, error: Exception) -> Response:
    """Answer 400 to an invalid call of Gradio's API; elsewhere the error is a bug of ours."""
    if not request.scope["path"].startswith(API):
        raise error
    log.warning("%s %s: %s", request.method, request.scope["path"][:100], type(error).__name__)
    return PlainTextResponse("There is nothing here by that name", status_code=400)
