"""The content security policy: load only local resources, run only our own scripts.

A script runs if we serve it or if it carries the nonce of the response. `unsafe-eval` is needed by
Gradio, which compiles the JavaScript of our events; `unsafe-inline`, for styles alone, by Gradio
and Plotly, which set them on elements.
"""

import re
import secrets
from collections.abc import Iterator
from contextvars import ContextVar

from theodolite.engine.errors import UserError

_number: ContextVar[str] = ContextVar("number", default="")
"""The nonce of the current response."""
_SOURCE = re.compile(r"'self'|'none'|\*|[\w.*:/-]+", re.ASCII)
OTHERS = {
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "referrer-policy": "origin",
    "x-content-type-options": "nosniff",
}
"""Constant headers of every response."""


def number() -> str:
    """The nonce of the page's scripts; for the page's template."""
    return _number.get()


def begin() -> None:
    """Draw the nonce of a new response."""
    _number.set(secrets.token_urlsafe(16))


def headers(frame_ancestors: str) -> Iterator[tuple[bytes, bytes]]:
    """The headers of the current response.

    Args:
        frame_ancestors: who may show our pages in a frame; as `ancestors` reads it.
    """
    rules = (
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
    sent = {"content-security-policy": "; ".join(rules), **OTHERS}
    if frame_ancestors == "'self'":  # the older header cannot express other origins
        sent["x-frame-options"] = "SAMEORIGIN"
    return ((name.encode(), value.encode()) for name, value in sent.items())


def ancestors(text: str) -> str:
    """Normalise the origins whose pages may show ours in a frame."""
    words = text.split()
    if not words or not all(map(_SOURCE.fullmatch, words)):
        raise UserError(
            f"{text!r} does not name origins that may embed the app.",
            "Write them like https://huggingface.co, with spaces between.",
        )
    return " ".join(words)
