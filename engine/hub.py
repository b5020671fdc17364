"""Loading from the Hugging Face hub: whether it answers, and why something did not come from it."""

import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from theodolite.engine.errors import Code, UserError

T = TypeVar("T")

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


NO_ID = "There can be no {what} on the hub: it is not an id."
_UNREACHABLE: tuple[Code, str, str] = (
    "unreachable",
    "The {what} is not on this machine, and the hub cannot be reached.",
    "Connect and try again, or bring it from elsewhere: a model as dir:FOLDER, data as an upload.",
)
_ERRORS: dict[str, tuple[Code, str, str]] = {
    "GatedRepoError|is (a )?gated": (
        "denied",
        "The {what} is not open to everybody.",
        "Accept the terms at {page} and log in with `hf auth login`.",
    ),
    "HFValidationError": (
        "invalid",
        NO_ID,
        "Ids look like owner/name.",
    ),
    "RevisionNotFoundError": (
        "unknown",
        "The hub has no revision {revision!r} of the {what}.",
        "Give a branch, tag or commit; main is the default.",
    ),
    "(Repository|Dataset)NotFoundError": (
        "unknown",
        "The hub has no {what}, or it is private.",
        "It may be misspelt or withdrawn; log in with `hf auth login` if you have access to it.",
    ),
    "LocalEntryNotFoundError|OfflineMode|ConnectionError|ConnectError|ProxyError|MaxRetryError|"
    "ConnectTimeout|ReadTimeout|couldn't (reach|connect|find cache)": _UNREACHABLE,
}
"""Sign in the names or messages of errors -> code, what it says, what to do; the first that fits.
The errors are those of three libraries, and differ between their versions."""


def explain_failure(
    error: BaseException, what: str, page: str = "", revision: str = "", *, is_open: bool = True
) -> UserError | None:
    """Say why something did not come from the hub; None for other errors.

    Args:
        error: what was raised.
        what: that was to be loaded, such as `model 'owner/name'`.
        page: its path on the hub.
        revision: as asked for.
        is_open: whether everybody may load it, as far as known.
    """
    signs = "" if is_open else "is gated "
    signs += " ".join(f"{type(cause).__name__} {str(cause).lower()}" for cause in causes(error))
    for sign, (code, message, hint) in _ERRORS.items():
        if re.search(sign, signs):
            place = f"https://huggingface.co/{page}"
            facts = {"what": what, "page": place, "revision": revision}
            return UserError(message.format(**facts), hint.format(**facts), code=code)
    return None


def fetched(
    fetch: Callable[[], T], in_cache: Callable[[], T | None], what: str, page: str, revision: str
) -> T:
    """Return what `fetch` loads from the hub; if it cannot be reached, what was `kept` of it."""
    try:
        with offline_if_unreachable():
            return fetch()
    except UserError:
        raise
    except Exception as error:  # the HTTP library's own differ between versions
        code, message, hint = _UNREACHABLE
        unknown = f"{message.format(what=what)} ({type(error).__name__})"
        why = explain_failure(error, what, page, revision) or UserError(unknown, hint, code=code)
        stored = in_cache() if why.code == "unreachable" else None
        if stored is None:
            raise why from error
        return stored


def in_cache(repository: str, file: str, revision: str | None, kind: str = "model") -> Path | None:
    """Return a file of a `model` or `dataset` downloaded before, without asking the network."""
    from huggingface_hub import errors, try_to_load_from_cache

    try:
        path = try_to_load_from_cache(repository, file, revision=revision, repo_type=kind)
    except errors.HFValidationError:
        return None
    return Path(path) if isinstance(path, str) else None


def causes(error: BaseException) -> list[BaseException]:
    """Return an error and its chain of causes, the root cause last."""
    errors = [error]
    while (cause := errors[-1].__cause__ or errors[-1].__context__) and cause not in errors:
        errors.append(cause)
    return errors
