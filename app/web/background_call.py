"""Background calls of a page, with their progress: the current step, a bar, the time left."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.names import labelled
from theodolite.app.vectors import encode_missing
from theodolite.app.web import parts
from theodolite.app.workspace import Workspace

Say = Callable[[str, float | None, float | None], None]
"""Progress callback: the current step, the share done and the seconds left (None: unknown)."""

SOON_SECONDS = 0.3
"""Answers which arrive sooner are shown without a progress bar before them."""
EVERY_SECONDS = 0.4
ALIVE_SECONDS = 2.0
"""Interval at which unchanged progress is sent all the same, which notices a closed tab."""

_MAX_TABS = 1000
_latest: dict[object, object] = {}
"""The question that each tab waits for; a call without a tab has one of its own."""


class _Superseded(Exception):
    """The tab has asked something else meanwhile, or was closed."""


class _Work(threading.Thread):
    """A call in a thread of its own, with its latest progress.

    Args:
        do: the call.
        first: its progress at first.
        is_stale: whether nobody waits for its result any more.
        changed: set when it has ended.
    """

    def __init__(
        self,
        do: Callable[[Say], Any],
        first: str,
        is_stale: Callable[[], bool],
        changed: threading.Event,
    ) -> None:
        super().__init__(name="page", daemon=True)
        self.said: tuple[str, float | None, float | None] = (first, None, None)
        self.error: BaseException | None = None
        self.result: Any = None
        self._do, self._is_stale, self._changed = do, is_stale, changed
        self.start()

    @property
    def done(self) -> bool:
        """Whether the call has returned or raised."""
        return self.result is not None or self.error is not None

    def _say(self, *said: Any) -> None:
        if self._is_stale():
            raise _Superseded
        self.said = said

    def run(self) -> None:
        """Call it; what it raises is raised again in the thread that waits."""
        try:
            self.result = self._do(self._say)
        except BaseException as error:
            self.error = error
        self._changed.set()


def ask(tab: object) -> Callable[[], bool]:
    """Drop the question that a tab has waited for.

    Returns:
        Whether the tab has asked something else by now, or its answer is complete.
    """
    question = object()
    _latest[tab] = question
    while len(_latest) > _MAX_TABS:
        del _latest[next(iter(_latest))]
    return lambda: _latest.get(tab) is not question


def together(
    works: Mapping[str, Callable[[Say], Any]],
    firsts: Mapping[str, str],
    session: str | None = None,
    draw: Callable[[str, float | None, float | None], Any] | None = None,
) -> Iterator[dict[str, tuple[Any, Any]]]:
    """Run calls in a thread each and yield their progress.

    Args:
        works: the calls by name; each takes a `Say` for its progress and returns its result, never
            None.
        firsts: the first step of each, in words.
        session: the tab that asks, `request.session_hash`. Its previous question is dropped, as
            this one is when the tab is closed.
        draw: makes what is yielded of a step, its share and the time left; None for `card`.

    Yields:
        By name (the progress, None) while the call runs, then ("", its result).

    Raises:
        Exception: the first exception that a call raised.
    """
    tab, changed = session or object(), threading.Event()
    is_stale = ask(tab)
    running = {name: _Work(do, firsts[name], is_stale, changed) for name, do in works.items()}
    try:
        until = time.monotonic() + SOON_SECONDS
        last_state, reported = None, until
        while not is_stale():
            changed.clear()
            if error := next((work.error for work in running.values() if work.error), None):
                if isinstance(error, _Superseded):
                    return
                raise error
            over = all(work.done for work in running.values())
            now = time.monotonic()
            state = [work.done or work.said for work in running.values()]
            if over or (now >= until and (state != last_state or now >= reported + ALIVE_SECONDS)):
                last_state, reported = state, now
                yield {
                    name: ("", work.result) if work.done else ((draw or card)(*work.said), None)
                    for name, work in running.items()
                }
            if over:
                return
            changed.wait(max(until - now, 0) or EVERY_SECONDS)
    finally:
        if not is_stale():
            del _latest[tab]


def follow(
    work: Callable[[Say], Any],
    first: str,
    session: str | None = None,
    draw: Callable[[str, float | None, float | None], Any] | None = None,
) -> Iterator[tuple[Any, Any]]:
    """`together` for a single call: yield (the progress, None), then ("", its result)."""
    for answers in together({"": work}, {"": first}, session, draw):
        yield answers[""]


def changes(
    work: Callable[[Say], Mapping[str, Any]], first: str, session: str | None, words: str
) -> Iterator[Mapping[str, Any]]:
    """`follow` for changes of a page's components by name.

    Args:
        work: returns the changes.
        first: the progress at first.
        session: session of the tab.
        words: name of the component which displays the progress.
    """
    for progress, answer in follow(lambda say: [work(say)], first, session):
        yield {words: progress} if answer is None else answer[0]


def waiting(say: Say) -> Callable[[int], None]:
    """A callback which reports how many requests of others are ahead in the queue."""

    def tell(ahead: int) -> None:
        before = f"Waiting, {formats.plural(ahead, 'request')} before it"
        say(before if ahead else "Decoding", None, None)

    return tell


def card(text: str, share: float | None, left: float | None) -> str:
    """The progress of one step as HTML; the text is plain."""
    more = formats.time_left(left)
    below, text = f'<p class="t-muted">{escape(more)}</p>' if more else "", labelled(text)
    return (
        f'<div class="t-run" role="status"><p>{escape(text)}</p>'
        f"{parts.progress_bar(share, text)}{below}</div>"
    )


def encode(workspace: Workspace, encoder: str, dataset: str, say: Say) -> None:
    """Encode the sentences of a collection that the cache lacks, while a person waits."""
    for step in encode_missing(workspace, encoder, dataset):
        say(*step)
