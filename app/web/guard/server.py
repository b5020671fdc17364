"""Gradio's server with the guard in front of it.

Gradio adds its own middleware, with the CORS headers, around whatever it is given; what is to have
the last word has to stand around that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradio.route_utils import FnIndexInferError
from gradio.routes import App, ORJSONResponse
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp

from app.web.guard.requests import API, log
from app.web.sessions import Sessions

NONSENSE = (FnIndexInferError, LookupError, ValueError, TypeError, AttributeError, AssertionError)
"""What Gradio raises on a request that names a function or component that it does not have."""


class GuardedApp(App):
    """Gradio's app behind middleware that also sees what Gradio's own middleware answers.

    Args:
        outer: from the outside in.
        **kwargs: as FastAPI takes them.
    """

    def __init__(self, outer: Sequence[Middleware], **kwargs: Any) -> None:
        self._outer = tuple(outer)
        super().__init__(
            openapi_url=None,
            default_response_class=ORJSONResponse,
            exception_handlers=dict.fromkeys(NONSENSE, _not_understood),
            **kwargs,
        )
        self.state_holder = Sessions()

    def build_middleware_stack(self) -> ASGIApp:
        """Put ours around the others."""
        stack = super().build_middleware_stack()
        for cls, args, kwargs in reversed(self._outer):
            stack = cls(stack, *args, **kwargs)
        return stack


async def _not_understood(request: Request, error: Exception) -> Response:
    """400 for a call of Gradio's own that makes no sense; elsewhere it is a fault of ours."""
    if not request.scope["path"].startswith(API):
        raise error
    log.warning("%s %s: %s", request.method, request.scope["path"][:100], type(error).__name__)
    return PlainTextResponse("There is nothing here by that name", status_code=400)
