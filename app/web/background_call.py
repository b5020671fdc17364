"""What a page shows while an answer is computed: the current step, a bar, the time left."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.web import parts

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


ALIVE_SECONDS = 2.0
"""So often an answer that has nothing new says so all the same: a tab that was closed meanwhile is
noticed then."""

_MOST_TABS = 1000
_latest: dict[str, _Question] = {}
"""What each tab waits for."""


class _Superseded(Exception):
    """The person has asked for something else meanwhile, or closed the tab."""


class _Question:
    """What a tab asks, which several works may answer."""

    def __init__(self, session: str | None) -> None:
        self.changed = threading.Event()
        self.over = False
        self._session = session
        if session:
            _latest[session] = self
            while len(_latest) > _MOST_TABS:
                del _latest[next(iter(_latest))]

    @property
    def stale(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.over or (self._session is not None and _latest.get(self._session) is not self)

    def end(self) -> None:
        """Nobody waits for it any more."""
        self.over = True
        if self._session and _latest.get(self._session) is self:
            del _latest[self._session]


class _Work:
    """Work in a thread of its own, and what it says of itself."""

    def __init__(self, do: Callable[[Say], Any], first: str, question: _Question) -> None:
        self.said: tuple[str, float | None, float | None] = (first, None, None)
        self.error: BaseException | None = None
        self.result: Any = None
        self._question = question
        self._thread = threading.Thread(target=self._run, args=(do,), name="page", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has returned or raised."""
        return self.result is not None or self.error is not None

    def _say(self, text: str, share: float | None, left: float | None) -> None:
        if self._question.stale:
            raise _Superseded
        self.said = (text, share, left)

    def _run(self, do: Callable[[Say], Any]) -> None:
        try:
            self.result = do(self._say)
        except BaseException as error:  # raised again where it is waited for
            self.error = error
        self._question.changed.set()


def together(
    works: Mapping[str, Callable[[Say], Any]], firsts: Mapping[str, str], session: str | None = None
) -> Iterator[dict[str, tuple[str, Any]]]:
    """Work in a thread each and tell how far each is.

    Args:
        works: by name; each is given a `Say` to call as it goes on; returns what is wanted, never
            None.
        firsts: what each does first, in words.
        session: the tab that asks, `request.session_hash`. What it asked before is given up, as
            this is when the tab is closed.

    Yields:
        By name (HTML of the progress, None) while it works, then ("", what it returned).

    Raises:
        Exception: what one of them raised.
    """
    question = _Question(session)
    running = {name: _Work(do, firsts[name], question) for name, do in works.items()}
    try:
        until = time.monotonic() + SOON_SECONDS
        shown, reported = None, until
        while not question.stale:
            question.changed.clear()
            if error := next((work.error for work in running.values() if work.error), None):
                if isinstance(error, _Superseded):
                    return
                raise error
            over = all(work.done for work in running.values())
            now = time.monotonic()
            state = [work.done or work.said for work in running.values()]
            if over or (now >= until and (state != shown or now >= reported + ALIVE_SECONDS)):
                shown, reported = state, now
                yield {name: ("", work.result) if work.done else (card(*work.said), None)
                       for name, work in running.items()}  # fmt: skip
            if over:
                return
            question.changed.wait(max(until - now, 0) or EVERY_SECONDS)
    finally:
        question.end()


def followed(
    work: Callable[[Say], Any], first: str, session: str | None = None
) -> Iterator[tuple[str, Any]]:
    """The same for one work: (HTML of the progress, None), then ("", what it returned)."""
    for found in together({"": work}, {"": first}, session):
        yield found[""]


def waiting(say: Say) -> Callable[[int], None]:
    """Say how many requests of others come before."""

    def tell(ahead: int) -> None:
        before = f"Waiting, {formats.plural(ahead, 'request')} before it"
        say(before if ahead else "Decoding", None, None)

    return tell


def card(text: str, share: float | None, left: float | None) -> str:
    """One step of work as HTML; the text is plain."""
    more = formats.time_left(left)
    below = f'<p class="t-muted">{escape(more)}</p>' if more else ""
    return (
        f'<div class="t-run" role="status"><p>{escape(text)}</p>'
        f"{parts.progress_bar(share, text)}{below}</div>"
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
    from app import vectors

    sentences, _ = workspace.catalog.sentences(dataset)
    patience = VISITORS_PATIENCE_SECONDS if workspace.read_only else PATIENCE_SECONDS
    say(f"Loading {encoder}; a model that has not been used yet takes some seconds", None, None)
    models = list(vectors.sources(workspace.load(encoder)))
    say(f"Looking for what {encoder} has encoded of {dataset}", None, None)
    for model in models:
        lacking = vectors.uncached(model, sentences)
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
