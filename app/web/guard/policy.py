"""The content security policy: load only what is local, run only our own scripts.

Scripts run that we serve or that bear the number of this very answer. `unsafe-eval` is needed by
Gradio, which makes functions of the texts of our events; `unsafe-inline`, for styles alone, by
Gradio and Plotly, which set them on elements.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextvars import ContextVar

from engine.errors import UserError

_number: ContextVar[str] = ContextVar("number", default="")
"""The number of the answer that is being made."""
_SOURCE = re.compile(r"'self'|'none'|\*|[\w.*:/-]+", re.ASCII)
OTHERS = {
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "referrer-policy": "origin",
    "x-content-type-options": "nosniff",
}
"""Headers of every answer that are always the same."""


def number() -> str:
    """The number that scripts of the page bear; for the page's template."""
    return _number.get()


def begin() -> None:
    """Draw the number of a new answer."""
    _number.set(secrets.token_urlsafe(16))


def headers(frame_ancestors: str) -> Iterator[tuple[bytes, bytes]]:
    """What goes with the answer that was begun.

    Args:
        frame_ancestors: who may show our pages in a frame; as `ancestors` reads it.
    """
    found = {"content-security-policy": policy(frame_ancestors), **OTHERS}
    if frame_ancestors == "'self'":  # the older header knows no more
        found["x-frame-options"] = "SAMEORIGIN"
    return ((name.encode(), value.encode()) for name, value in found.items())


def policy(frame_ancestors: str) -> str:
    """The Content-Security-Policy of the answer that was begun."""
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{number()}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {frame_ancestors}",
        )
    )


def ancestors(text: str) -> str:
    """Origins whose pages may show ours in a frame, as the policy writes them.

    Raises:
        UserError: they would say something else there.
    """
    words = text.split()
    if not words or not all(map(_SOURCE.fullmatch, words)):
        raise UserError(
            f"{text!r} does not name origins that may embed the app.",
            "Write them like https://huggingface.co, with spaces between.",
        )
    return " ".join(words)
