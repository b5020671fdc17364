"""What takes long to load is loaded once, and holds up nobody who wants something else."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.waiting import PATIENCE
from theodolite.app.recent import Recent


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
    together = threading.Barrier(8)

    def ask(_: int) -> object:
        together.wait(PATIENCE)
        return recent.get("one", object)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(8)))) == 1


def test_what_is_kept_and_what_is_loaded_again() -> None:
    """The longest unused goes first; so does what was chosen, and an error is not remembered."""
    recent: Recent[str, int] = Recent(2)
    for key in "abac":
        recent.get(key, int)
    assert [recent.get(key, lambda: 1) for key in "acb"] == [0, 0, 1]
    recent.forget(lambda key: key == "b")
    with pytest.raises(ZeroDivisionError):
        recent.get("b", lambda: 1 // 0)
    assert [recent.get(key, lambda: 2) for key in "cb"] == [0, 2]
