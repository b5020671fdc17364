"""Dynamic batching of requests of many visitors to the same model.

A forward pass over many rows takes little longer than over one. So while one batch is computed,
requests to the same model queue up and form the next batch.
"""

import threading
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

Work = Callable[[list[Any]], Sequence[Any]]
"""Computes an answer for each item, in order."""
Waiting = Callable[[int], None]
"""Called at intervals with the number of requests ahead; may raise to give the request up."""
Item = tuple[Any, Future[Any]]

TOLD_EVERY_SECONDS = 0.25


@dataclass(eq=False)
class _Request:
    """Items of one caller that are in no batch yet, each with the future of its answer."""

    key: Hashable
    items: deque[Item]
    work: Work
    most: int


class Batches:
    """A queue of requests, answered in order of arrival, those of one key in batches.

    Args:
        at_once: maximum number of concurrent batches, at most one per key. They run in dedicated
            threads: memory freed in one thread is of no use to another.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._pool = ThreadPoolExecutor(at_once, "batch")
        self._at_once = at_once
        self._lock = threading.Lock()
        self._line: list[_Request] = []
        self._running: set[Hashable] = set()

    def ask(
        self,
        key: Hashable,
        items: Sequence[Any],
        work: Work,
        most: int,
        waiting: Waiting | None = None,
    ) -> list[Any]:
        """Answer items, if possible in one batch with those of others under the same key.

        Args:
            key: key of the work; callers with the same key give equivalent `work`.
            items: the items to answer.
            work: answers items of any caller.
            most: maximum batch size; a larger request is split.
            waiting: see `Waiting`.

        Raises:
            BaseException: the exception of `work` on one of these items, or of `waiting`.
        """
        answers: list[Future[Any]] = [Future() for _ in items]
        mine = _Request(key, deque(zip(items, answers, strict=True)), work, most)
        with self._lock:
            self._line.append(mine)
            self._begin()
        try:
            while wait(answers, TOLD_EVERY_SECONDS if waiting else None).not_done:
                with self._lock:
                    ahead = self._line.index(mine)
                if waiting:
                    waiting(ahead)
        finally:
            with self._lock:
                self._line.remove(mine)
        return [answer.result() for answer in answers]

    def _begin(self) -> None:
        """Start batches while threads and requests are available; the lock is held."""
        while len(self._running) < self._at_once:
            line = [one for one in self._line if one.items and one.key not in self._running]
            if not line:
                return
            first, batch = line[0], list[Item]()
            for one in line:
                while one.key == first.key and one.items and len(batch) < first.most:
                    batch.append(one.items.popleft())
            self._running.add(first.key)
            self._pool.submit(self._run, first, batch)

    def _run(self, first: _Request, batch: list[Item]) -> None:
        _answer(first.work, batch)
        with self._lock:
            self._running.remove(first.key)
            self._begin()


def _answer(work: Work, batch: list[Item]) -> None:
    """Answer each item; one that fails must not fail the rest of its batch."""
    try:
        answers = work([item for item, _ in batch])
    except BaseException as error:  # raised again in the waiting thread
        if len(batch) == 1:
            batch[0][1].set_exception(error)
        for one in batch if len(batch) > 1 else ():
            _answer(work, [one])
    else:
        for (_, future), answer in zip(batch, answers, strict=True):
            future.set_result(answer)
