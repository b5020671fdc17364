"""What a page shows while it works on an answer: what is done now, a bar, and the time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats, parts

if TYPE_CHECKING:
    from app.workspace import Workspace

Say = Callable[[str, float | None, float | None], None]
"""What is done now, the share done (None: cannot be known), the seconds left (None likewise)."""

SOON_SECONDS = 0.3
"""An answer that is there by then is shown without a bar before it."""
EVERY_SECONDS = 0.4
PATIENCE_SECONDS = 30.0
PART = 128
"""Sentences encoded between two words on how far it is."""
VISITORS_PATIENCE_SECONDS = 4.0


_MOST_TABS = 1000
_latest: dict[str, _Work] = {}
"""The work that each tab waits for."""


class _Superseded(Exception):
    """The person has asked for something else meanwhile."""


class _Work:
    """Work in a thread of its own, and what it says of itself."""

    def __init__(self, do: Callable[[Say], Any], first: str, session: str | None) -> None:
        self.said: tuple[str, float | None, float | None] = (first, None, None)
        self.error: BaseException | None = None
        self.result: Any = None
        self.session = session
        if session:
            _latest[session] = self
            while len(_latest) > _MOST_TABS:
                del _latest[next(iter(_latest))]
        self.thread = threading.Thread(target=self._run, args=(do,), name="page", daemon=True)
        self.thread.start()

    @property
    def stale(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.session is not None and _latest.get(self.session) is not self

    def _say(self, text: str, share: float | None, left: float | None) -> None:
        if self.stale:
            raise _Superseded
        self.said = (text, share, left)

    def _run(self, do: Callable[[Say], Any]) -> None:
        try:
            self.result = do(self._say)
        except BaseException as error:  # raised again where it is waited for
            self.error = error


def followed(
    work: Callable[[Say], Any], first: str, session: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Work in a thread and tell how far it is.

    Args:
        work: is given a `Say` to call as it goes on; returns what is wanted, never None.
        first: what it does first, in words.
        session: the tab that asks, `request.session_hash`. What it asked before is given up.

    Yields:
        (HTML of the progress, None) while it works, then ("", what it returned).

    Raises:
        Exception: what it raised.
    """
    mine = _Work(work, first, session)
    mine.thread.join(SOON_SECONDS)
    shown = None
    while mine.thread.is_alive() and not mine.stale:
        if mine.said != shown:
            shown = mine.said
            yield card(*shown), None
        mine.thread.join(EVERY_SECONDS)
    if mine.stale:
        return
    if mine.error:
        raise mine.error
    yield "", mine.result


def card(text: str, share: float | None, left: float | None) -> str:
    """One step of work as HTML; the text is plain."""
    more = formats.time_left(left)
    below = f'<p class="t-muted">{escape(more)}</p>' if more else ""
    return (
        f'<div class="t-run" role="status"><p>{escape(text)}</p>{parts.bar(share, text)}{below}'
        "</div>"
    )


class TooSlow(Exception):
    """Encoding would take longer than a page may wait; what was encoded by then is kept.

    Attributes:
        left: about how many seconds the rest takes.
    """

    def __init__(self, left: float) -> None:
        super().__init__(f"about {left:.0f} s are left")
        self.left = left


def encode(workspace: Workspace, encoder: str, dataset: str, say: Say) -> None:
    """Encode what the cache lacks of a collection while a person waits.

    Raises:
        TooSlow: it would take too long for that.
        UserError: an encoder or a collection that cannot be used.
    """
    from app.collection import searchable

    sentences, _ = workspace.catalog.sentences(dataset)
    patience = VISITORS_PATIENCE_SECONDS if workspace.read_only else PATIENCE_SECONDS
    say(f"Loading {encoder}; a model that was not used yet takes some seconds", None, None)
    models = list(searchable.sources(workspace.load(encoder)))
    say(f"Looking for what {encoder} has encoded of {dataset}", None, None)
    for model in models:
        lacking = searchable.uncached(model, sentences)
        what = f"Encoding {formats.plural(len(lacking), 'sentence')} of {dataset} with {model.name}"
        if lacking:
            say(what, None, None)
        began = time.monotonic()
        for start in range(0, len(lacking), PART):
            model.encode(lacking[start : start + PART])
            done = min(start + PART, len(lacking))
            if not start:  # this one loaded the weights: it says nothing of the others
                began = time.monotonic()
                continue
            left = (time.monotonic() - began) * (len(lacking) - done) / (done - PART)
            if left > patience:
                raise TooSlow(left)
            say(what, done / len(lacking), left)
