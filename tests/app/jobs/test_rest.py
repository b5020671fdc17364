"""Queues that ask for work only while there may be some."""

import threading
from types import SimpleNamespace

from tests.app.jobs.conftest import PATIENCE
from theodolite.app.jobs.worker import Rest


def test_queues_rest_until_a_run_waits_and_miss_none() -> None:
    """They poll as often as they would while one waits; at rest not at all."""
    end, polls, rest = threading.Event(), threading.Semaphore(0), Rest()

    def queue() -> None:
        while not end.wait(timeout=0.001):
            polls.release()

    rest.keep(SimpleNamespace(background_thread_stop_events=[end]))
    polling = threading.Thread(target=queue, daemon=True)
    polling.start()
    assert not polls.acquire(timeout=0.05)
    for _ in range(3):
        rest.wake(True)
        assert all(polls.acquire(timeout=PATIENCE) for _ in range(3))
        rest.wake(False)
        assert not all(polls.acquire(timeout=0.05) for _ in range(100_000)), "it never rests"
    end.set()
    rest.wake(True)
    polling.join(PATIENCE)
    assert not polling.is_alive()


def test_a_queue_without_such_events_is_left_alone() -> None:
    """It polls all the time, and no run is missed."""
    Rest().keep(SimpleNamespace())
