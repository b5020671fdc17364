"""Batches requests of many visitors that wait for the same model.

A pass of a model over many rows takes little longer than over one. So while one batch is computed,
what is asked of the same model waits in a line, and is the next batch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

Work = Callable[[list[Any]], Sequence[Any]]
"""Answers items, one each, in order."""
Waiting = Callable[[int], None]
"""Told how many requests come before, every now and then; may raise to give the request up."""

TOLD_EVERY_SECONDS = 0.25


@dataclass(eq=False)
class _Request:
    """Items of one caller, and what became of them."""

    key: Hashable
    items: Sequence[Any]
    work: Work
    most: int
    begun: int = 0  # items that were taken
    answers: list[Any] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether there is something left to begin."""
        return self.begun < len(self.items) and not self.errors

    @property
    def answered(self) -> bool:
        return bool(self.errors) or len(self.answers) == len(self.items)


class Batches:
    """A line of requests, answered in the order of their arrival, those of one key together.

    Args:
        at_once: how many batches may run at the same moment; of one key only one does. They run in
            threads of their own: memory that was freed in one is of no use to another.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._pool = ThreadPoolExecutor(at_once, "batch")
        self._at_once = at_once
        self._changed = threading.Condition()
        self._line: list[_Request] = []
        self._running: set[Hashable] = set()

    def ask(
        self, key: Hashable, items: Sequence[Any], work: Work, most: int,
        waiting: Waiting | None = None,
    ) -> list[Any]:  # fmt: skip
        """Answer items, if possible together with those that others ask under the same key.

        Args:
            key: of what answers; whoever gives the same key gives work that does the same.
            items: what is to be answered.
            work: answers items of any callers.
            most: items of a batch; a request of more is answered in several.
            waiting: see `Waiting`.

        Raises:
            BaseException: what `work` raised of one of these items, or what `waiting` raised.
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
        """Begin batches while there is room and something to do; the lock is held."""
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
    """Of each item its answer or its error: one that fails is not to fail its neighbours."""
    try:
        return [([answer], None) for answer in work(items)]
    except BaseException as error:  # raised again where it is waited for
        if len(items) == 1:
            return [([], error)]
        return [found for item in items for found in _answers(work, [item])]
