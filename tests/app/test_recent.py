"""What takes long to load is loaded once, and holds up nobody who wants something else."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from theodolite.app.recent import Recent

PATIENCE = 20


def test_who_wants_another_one_does_not_wait() -> None:
    """Neither for one that is there nor for one that is quick to load."""
    recent: Recent[str, int] = Recent(4)
    recent.get("there", lambda: 1)
    loading, go = threading.Event(), threading.Event()

    def slow() -> int:
        loading.set()
        assert go.wait(PATIENCE)
        return 2

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(recent.get, "slow", slow)
        assert loading.wait(PATIENCE)
        assert (recent.get("there", int), recent.get("quick", lambda: 3)) == (1, 3)
        go.set()
        assert future.result(PATIENCE) == 2


def test_many_at_once_load_once() -> None:
    """The others are given what the first one loaded."""
    recent: Recent[str, object] = Recent(4)
    loads: list[object] = []
    together = threading.Barrier(8)

    def ask(_: int) -> object:
        def load() -> object:
            loads.append(object())
            return loads[-1]

        together.wait(PATIENCE)
        return recent.get("one", load)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1
    assert len(loads) == 1


def test_the_longest_unused_goes_first() -> None:
    """One that was asked for again stays."""
    recent: Recent[str, str] = Recent(2)
    for key in ("a", "b", "a", "c"):
        recent.get(key, str)
    assert recent.get("a", lambda: "loaded") == ""
    assert recent.get("b", lambda: "loaded") == "loaded"


def test_what_failed_is_tried_again() -> None:
    """An error is not remembered."""
    recent: Recent[str, int] = Recent(2)
    with pytest.raises(ZeroDivisionError):
        recent.get("a", lambda: 1 // 0)
    assert recent.get("a", lambda: 1) == 1


def test_what_is_dropped_is_loaded_again() -> None:
    """Only what was chosen."""
    recent: Recent[str, int] = Recent(2)
    for key in "ab":
        recent.get(key, int)
    recent.forget(lambda key: key == "a")
    assert (recent.get("a", lambda: 1), recent.get("b", lambda: 1)) == (1, 0)
