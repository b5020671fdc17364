"""Many who want one model: answered together, loaded once, and none holds up or spoils another."""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from unittest.mock import Mock

import pytest

from tests.waiting import PATIENCE
from theodolite.app.batches import Batches
from theodolite.app.recent import Recent
from theodolite.engine.errors import UserError


class Model:
    """Doubles numbers, remembers its batches, and can be held up in the middle of one."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.inside, self.go = threading.Event(), threading.Event()

    def work(self, items: list[int]) -> list[int]:
        """Twice each; a negative number cannot be doubled."""
        self.batches.append(list(items))
        self.inside.set()
        assert self.go.wait(PATIENCE)
        if min(items) < 0:
            raise UserError(f"{min(items)} is no number of ours.")
        return [2 * item for item in items]


class Line:
    """Callers in threads of their own, begun one behind the other."""

    def __init__(self, batches: Batches, pool: ThreadPoolExecutor) -> None:
        self.batches, self._pool = batches, pool

    def ask(
        self,
        items: list[int],
        model: Model,
        key: str = "one",
        most: int = 16,
        then: Callable[[int], None] | None = None,
    ) -> Future[list]:
        """Ask, and return once the request stands in the line."""
        standing = threading.Event()

        def told(ahead: int) -> None:
            standing.set()
            if then:
                then(ahead)

        future = self._pool.submit(self.batches.ask, key, items, model.work, most, told)
        future.add_done_callback(lambda _: standing.set())
        assert (standing if model.inside.is_set() else model.inside).wait(PATIENCE)
        return future


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """A line that tells its callers often."""
    monkeypatch.setattr("theodolite.app.batches.TOLD_EVERY_SECONDS", 0.01)
    with ThreadPoolExecutor(16) as pool:
        yield Line(Batches(), pool)


@pytest.mark.parametrize(
    ("most", "requests", "batches"),
    [
        (16, [[1], [10, 11], [20, 21], [30]], [[1], [10, 11, 20, 21, 30]]),
        (4, [[1], [*range(10)], [100]], [[1], [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 100]]),
    ],
    ids=["all of them", "a long one is cut"],
)
def test_what_waits_is_answered_together(
    line: Line, most: int, requests: list[list[int]], batches: list[list[int]]
) -> None:
    """While one batch is computed others come: the next are all of them, in order, none larger."""
    model = Model()
    waiting = [line.ask(items, model, most=most) for items in requests]
    model.go.set()
    assert [one.result(PATIENCE) for one in waiting] == [[2 * n for n in of] for of in requests]
    assert model.batches == batches


def test_a_bad_one_fails_alone(line: Line) -> None:
    """Its neighbours in the batch are answered."""
    model = Model()
    first, good, bad, other = (line.ask([n], model) for n in (1, 2, -3, 4))
    model.go.set()
    assert [one.result(PATIENCE) for one in (first, good, other)] == [[2], [4], [8]]
    with pytest.raises(UserError, match="-3"):
        bad.result(PATIENCE)


def test_who_gives_up_leaves_no_work_behind(line: Line) -> None:
    """What is given up while it waits is never computed."""
    model = Model()
    first = line.ask([1], model)
    left = line.ask([2], model, then=Mock(side_effect=[None, InterruptedError]))
    stayed = line.ask([3], model)
    assert isinstance(left.exception(PATIENCE), InterruptedError)
    model.go.set()
    assert (first.result(PATIENCE), stayed.result(PATIENCE)) == ([2], [6])
    assert model.batches == [[1], [3]]


def test_how_many_come_before_is_told(line: Line) -> None:
    """Two others, until they are answered."""
    model, seen = Model(), []
    for n in (1, 2):
        line.ask([n], model)
    last = line.ask([3], model, then=seen.append)
    model.go.set()
    assert last.result(PATIENCE) == [6]
    assert seen[0] == 2


def test_another_model_waits_only_for_its_turn(line: Line) -> None:
    """Under another key nothing is mixed; who came first comes first."""
    model, other = Model(), Model()
    first = line.ask([1], model)
    other.inside.set()  # its request is to wait in the line
    second, third = line.ask([5], other, key="two"), line.ask([2], model)
    other.go.set()
    model.go.set()
    assert [one.result(PATIENCE) for one in (first, second, third)] == [[2], [10], [4]]
    assert (model.batches, other.batches) == ([[1], [2]], [[5]])


def test_two_batches_of_different_models_run_at_once() -> None:
    """As many as are allowed: the second is answered while the first is still at work."""
    batches, model, other = Batches(at_once=2), Model(), Model()
    other.go.set()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(batches.ask, "one", [1], model.work, 4)
        assert model.inside.wait(PATIENCE)
        assert batches.ask("two", [2], other.work, 4) == [4]
        assert not first.done()
        model.go.set()
        assert first.result(PATIENCE) == [2]


def test_a_thread_that_is_ended_leaves_nobody_waiting() -> None:
    """Even what ends a program is raised where it is waited for, and the next one is answered."""
    batches = Batches()
    with pytest.raises(SystemExit):
        batches.ask("one", [1], sys.exit, 4)
    assert batches.ask("one", [1], lambda items: items, 4) == [1]
    assert batches.ask("one", [], Model().work, 4) == []


def test_who_wants_another_one_does_not_wait() -> None:
    """Neither for one that is there nor for one that is quick to load."""
    recent: Recent[str, list[int]] = Recent(4)
    recent.get("there", lambda: [1])
    slow = Model()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(recent.get, "slow", lambda: slow.work([2]))
        assert slow.inside.wait(PATIENCE)
        assert (recent.get("there", list), recent.get("quick", lambda: [3])) == ([1], [3])
        slow.go.set()
        assert future.result(PATIENCE) == [4]


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
