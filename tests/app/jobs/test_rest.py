"""Queues that ask for work only while there may be some."""

import threading
import time
from types import SimpleNamespace

from theodolite.app.jobs.worker import Rest


def test_queues_rest_until_a_run_waits_and_miss_none() -> None:
    """They poll as often as they would while one waits; at rest not at all."""
    end, polls = threading.Event(), []

    def queue() -> None:
        while not end.wait(timeout=0.001):
            polls.append(time.monotonic())

    rest = Rest()
    rest.keep(SimpleNamespace(background_thread_stop_events=[end]))
    polling = threading.Thread(target=queue, daemon=True)
    polling.start()
    time.sleep(0.05)
    assert not polls
    for _ in range(3):
        before = len(polls)
        rest.wake(True)
        while len(polls) < before + 3:
            time.sleep(0.001)
        rest.wake(False)
        before = len(polls)
        time.sleep(0.05)
        assert len(polls) <= before + 1  # the one that was under way
    end.set()
    rest.wake(True)
    polling.join(5.0)
    assert not polling.is_alive()


def test_a_queue_without_such_events_is_left_alone() -> None:
    """It polls all the time, and no run is missed."""
    Rest().keep(SimpleNamespace())
