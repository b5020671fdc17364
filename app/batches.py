"""Dynamic batching of requests of many visitors to the same model.

A forward pass over many rows takes little longer than over one. So while one batch is computed,
requests to the same model queue up and form the next batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

Work = Callable[[list[Any]], Sequence[Any]]
"""Computes an answer for each item, in order."""
Waiting = Callable[[int], None]
"""Called at intervals with the number of requests ahead; may raise to give the request up."""

TOLD_EVERY_SECONDS = 0.25


@dataclass(eq=False)
class _Request:
    """Items of one caller, with their answers or errors."""

    key: Hashable
    items: Sequence[Any]
    work: Work
    most: int
    begun: int = 0  # items taken into batches
    answers: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether items are left to take into a batch."""
        return self.begun < len(self.items) and not self.errors

    @property
    def answered(self) -> bool:
        return bool(self.errors) or len(self.answers) == len(self.items)


class Batches:
    """A queue of requests, answered in order of arrival, those of one key in batches.

    Args:
        at_once: maximum number of concurrent batches, at most one per key. They run in dedicated
            threads: memory freed in one thread is of no use to another.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._pool = ThreadPoolExecutor(at_once, "batch")
        self._at_once = at_once
        self._changed = threading.Condition()
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
        mine = _Request(key, items, work, most)
        with self._changed:
            self._line.append(mine)
            self._begin()
        try:
            while True:
                with self._changed:
                    ahead = self._line.index(mine)
                    if mine.answered or self._changed.wait_for(
                        lambda: mine.answered, TOLD_EVERY_SECONDS if waiting else None
                    ):
                        break
                if waiting:
                    waiting(ahead)
        finally:
            with self._changed:
                self._line.remove(mine)
        if mine.errors:
            raise mine.errors[0]
        return mine.answers

    def _begin(self) -> None:
        """Start batches while threads and requests are available; the lock is held."""
        while len(self._running) < self._at_once:
            waiting = [one for one in self._line if one.open and one.key not in self._running]
            if not waiting:
                return
            first, batch = waiting[0], list[tuple[_Request, Any]]()
            for one in waiting:
                if one.key == first.key:
                    taken = one.items[one.begun : one.begun + first.most - len(batch)]
                    one.begun += len(taken)
                    batch += [(one, item) for item in taken]
            self._running.add(first.key)
            self._pool.submit(self._run, first, batch)

    def _run(self, first: _Request, batch: list[tuple[_Request, Any]]) -> None:
        answers = _answers(first.work, [item for _, item in batch])
        with self._changed:
            for (one, _), (answer, error) in zip(batch, answers, strict=True):
                one.answers += answer
                one.errors += [error] if error else []
            self._running.remove(first.key)
            self._begin()
            self._changed.notify_all()


def _answers(work: Work, items: list[Any]) -> list[tuple[list[Any], BaseException | None]]:
    """The answer or the error of each item: one that fails must not fail the rest of its batch."""
    try:
        return [([answer], None) for answer in work(items)]
    except BaseException as error:  # raised again in the waiting thread
        if len(items) == 1:
            return [([], error)]
        return [found for item in items for found in _answers(work, [item])]
