"""Whether the Hugging Face hub answers, asked before anything is loaded from it."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

REMEMBERED = 60.0
"""Seconds for which a hub that did not answer is not asked again."""
_lock = threading.Lock()
_inside = 0
_silent = -REMEMBERED
_before: dict[Any, bool] = {}


@contextmanager
def offline_if_unreachable() -> Iterator[None]:
    """Have the hub's libraries do without it at once if it does not answer.

    They would try for half a minute at every file, also for those that are on this machine. May be
    entered by several threads, and again inside; the first to enter asks.
    """
    global _inside
    with _lock:
        if not _inside and not _answers():
            for settings in _settings():
                _before[settings] = settings.HF_HUB_OFFLINE
                settings.HF_HUB_OFFLINE = True
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while not _inside and _before:
                settings, value = _before.popitem()
                settings.HF_HUB_OFFLINE = value


def _settings() -> list[Any]:
    """The modules that say whether to do without the hub; `datasets` has a copy of its own."""
    from huggingface_hub import constants

    copied = sys.modules.get("datasets.config")
    return [constants, copied] if copied else [constants]


def _answers() -> bool:
    """Whether the hub answers, or did not a moment ago."""
    global _silent
    from huggingface_hub import constants, get_session

    if time.monotonic() - _silent < REMEMBERED:
        return False
    try:
        get_session().head(constants.ENDPOINT, timeout=10.0)
    except Exception:  # of the HTTP library, which differs by version
        _silent = time.monotonic()
        return False
    return True
