import pytest

from tests.store.test_results import result
from theodolite.store import Store, forget
from theodolite.store.check import check
from theodolite.store.errors import NoSuchRun

SPEC = {
    "version": 1,
    "encoders": ["a"],
    "tasks": ["STS12", "STS13"],
    "protocol": None,
    "seed": None,
}
LABELS = ["a on STS12", "a on STS13"]


@pytest.fixture
def run(store: Store) -> str:
    """A queued run of two units."""
    return store.runs.create("evaluate", SPEC, title="a on two tasks")


@pytest.fixture
def begun(store: Store, run: str) -> str:
    """The same, which a worker has begun."""
    assert store.runs.start(run, 1, "local-0", LABELS)
    return run


def facts(store: Store, run: str, names: str) -> list[object]:
    """What the row of a run says."""
    row = store.runs.get(run)
    return [row[name] for name in names.split()]


def states(store: Store, run: str) -> list[str]:
    """Those of its units."""
    return [unit["state"] for unit in store.runs.units(run)]


def test_the_same_question_is_not_queued_twice(store: Store, run: str) -> None:
    """While it waits or runs; once over it may be asked again. Lists are the newest first."""
    same = dict(reversed(SPEC.items()))
    assert store.runs.create("evaluate", same, title="again") == run
    other = store.runs.create("encode", SPEC, title="other work")
    store.runs.cancel(run)
    again = store.runs.create("evaluate", same, title="again")
    assert [row["id"] for row in store.runs.list()] == [again, other, run]
    assert [row["id"] for row in store.runs.list(["cancelled"])] == [run]


def test_the_course_of_a_run(store: Store, begun: str) -> None:
    """Queued, taken up, unit after unit, over: what failed in part is not done."""
    assert store.runs.progress(begun, 1, 0.03, "encoding")
    assert store.runs.get(begun)["eta_seconds"] is None, "too early to tell"
    assert store.runs.progress(begun, 1, 0.5, "encoding")
    assert facts(store, begun, "state total done fraction") == ["running", 2, 0, 0.25]
    assert store.runs.get(begun)["eta_seconds"] is not None
    assert [store.runs.end_unit(begun, 0, 1.0) for _ in range(2)] == [True, False]
    assert store.runs.start(begun, 1, "local-0", LABELS), "taken up again, as after a crash"
    assert facts(store, begun, "done fraction eta_seconds") == [1, 0.5, None]
    assert not store.runs.retry(begun), "it is being tried"
    assert store.runs.end_unit(begun, 1, 1.0, "It gave NaN.", "Try float32.")
    assert states(store, begun) == ["done", "failed"]
    assert store.runs.finish(begun, 1, "done", "1 of 2 failed")
    ended = facts(store, begun, "state done failed fraction eta_seconds")
    assert ended == ["partly failed", 1, 1, 1.0, None]


def test_another_priority_while_it_waits(store: Store, run: str) -> None:
    """It moves in the queue; once it runs it keeps its place."""
    other = store.runs.create("encode", SPEC, title="other", priority=-3)
    assert [row["id"] for row in store.runs.waiting()] == [other, run]
    assert store.runs.prioritise(run)
    queue = [(row["id"], row["priority"]) for row in store.runs.waiting()]
    assert queue == [(run, -4), (other, -3)]
    assert store.runs.prioritise(run, 7)
    assert [store.runs.claim(run, 1, slot) for slot in ("slot", "another")] == [True, False]
    assert not store.runs.prioritise(run)
    assert store.runs.get(other)["priority"] == -3


def test_cancelling(store: Store, begun: str) -> None:
    """Ends it for people at once; whoever works on it is told at the next word."""
    assert [store.runs.cancel(begun) for _ in range(2)] == [True, False]
    late = (
        store.runs.progress(begun, 1, 0.9, "late"),
        store.runs.finish(begun, 1, "done"),
        store.runs.start(begun, 1, "local-0", LABELS),
        store.runs.is_running(begun, 1),
    )
    assert not any(late) and store.runs.get(begun)["state"] == "cancelled"


def test_other_machines_tell_how_far_they_are(store: Store, begun: str) -> None:
    """Those at work on this attempt; a share counts until its unit ends, or the next is told."""
    assert store.runs.shares(begun, 1, {0: 0.5}, "1 of 2")
    assert facts(store, begun, "fraction message") == [0.25, "1 of 2"]
    assert store.runs.shares(begun, 1, {1: 0.2}, "2 of 2")
    assert facts(store, begun, "fraction") == [pytest.approx(0.1)]
    assert not store.runs.shares(begun, 2, {1: 0.9}, "of another attempt")
    store.runs.cancel(begun)
    assert not store.runs.shares(begun, 1, {1: 0.9}, "too late")


def test_a_retry_does_only_what_is_not_done(store: Store, begun: str) -> None:
    """Failed units wait again, finished ones stay, and the old attempt has no say."""
    store.runs.end_unit(begun, 0, 1.0)
    store.runs.end_unit(begun, 1, 1.0, "It gave NaN.")
    store.runs.finish(begun, 1, "failed", error="It gave NaN.")
    assert store.runs.retry(begun)
    assert facts(store, begun, "state attempt error done") == ["queued", 2, None, 1]
    assert states(store, begun) == ["done", "waiting"]
    assert [r["id"] for r in store.runs.waiting()] == [begun]
    assert not store.runs.finish(begun, 1, "done")


def test_a_crash_farther_on_is_the_first_again(store: Store, begun: str) -> None:
    """Of processes that each got further than those before none crashes over the same thing."""
    for fraction, crashes in zip(
        (0.2, 0.4, 0.6, 0.6, 0.605, 0.1, 0.7), (1, 1, 1, 2, 3, 4, 1), strict=True
    ):
        store.runs.progress(begun, 1, fraction, "encoding")
        assert store.runs.lost_unit(begun, 0) == crashes, fraction


def test_what_was_left_out_as_asked_is_no_failure(store: Store, begun: str) -> None:
    """The run is done, and a retry begins with what was left out."""
    store.runs.end_unit(begun, 0, 1.0)
    store.runs.end_unit(begun, 1, 0.0, "Left out.", left_out=True)
    store.runs.finish(begun, 1, "done")
    assert facts(store, begun, "state done failed total") == ["done", 1, 0, 2]
    assert store.runs.retry(begun)
    assert states(store, begun) == ["done", "waiting"]


def test_events_are_read_by_cursor(store: Store, run: str) -> None:
    """What came after, in order; and the last that has something, however many came after it."""
    for step in range(3):
        store.events.add(run, "metric", {"step": step})
        store.events.add(run, "metric", {"step": 10 * step}, position=1)
    first = store.events.of(run, limit=2)
    assert [e["data"]["step"] for e in first] == [0, 1]
    assert [e["data"]["step"] for e in store.events.of(run, after=first[-1]["id"])] == [2]
    assert store.events.last(run, "metric", position=1) == {"step": 20}
    assert store.events.last(run, "other") is None
    for step, best in ((1, True), (2, True), (3, False)):
        store.events.add(run, "looked", {"step": step, "best": best, "score": float("nan")})
    assert store.events.last(run, "looked", having="best")["step"] == 2


def test_a_word_is_asked_of_what_is_at_work(store: Store, run: str) -> None:
    """It is gone with the next attempt; a run that is not wanted any more hears None."""
    assert not store.runs.ask(run, "stop")
    store.runs.start(run, 1, "local-0", LABELS)
    assert store.runs.request(run, 1) == ""
    assert store.runs.ask(run, "stop")
    assert store.runs.request(run, 1) == "stop"
    store.runs.cancel(run)
    assert store.runs.request(run, 1) is None
    store.runs.retry(run)
    assert store.runs.get(run)["asked"] == ""


def test_time_left_is_measured_from_where_a_unit_went_on(store: Store, begun: str) -> None:
    """What an earlier process did was not done at the present speed."""
    store.runs.lost_unit(begun, 0)
    store.runs.resumed(begun, 1, 0.8)
    assert store.runs.get(begun)["fraction"] == pytest.approx(0.4)
    store.database.change("UPDATE runs SET clock = clock - 10")
    store.runs.progress(begun, 1, 0.9, "training")
    # 5 % of the whole took 10 s, 55 % are left.
    assert facts(store, begun, "eta_seconds") == pytest.approx([110], rel=0.05)
    store.runs.checkpointed(begun, 0)
    assert store.runs.units(begun)[0]["crashes"] == 0


def test_a_run_that_is_over_can_be_forgotten(store: Store, run: str) -> None:
    """With its parts, events and log; one that waits or runs cannot."""
    other = store.runs.create("encode", {"a": 1}, title="another")
    for one in (run, other):
        store.events.add(one, "metric", {"step": 1})
        store.logs.path(one).write_bytes(b"x" * 100)
    assert not forget.run(store, run)
    store.runs.start(run, 1, "local-0", LABELS)
    assert not forget.run(store, run)
    store.runs.cancel(run)
    assert forget.sizes(store) == {one: forget.size(store, one) for one in (run, other)}
    assert forget.size(store, run) > 100
    assert forget.run(store, run)
    assert [row["id"] for row in store.runs.list()] == [other]
    assert store.runs.units(run) == store.events.of(run) == []
    assert [path.stem for path in store.logs.folder.iterdir()] == [other]
    assert len(store.events.of(other)) == 1
    with pytest.raises(NoSuchRun):
        forget.run(store, run)
    assert check(store) == []


def test_old_runs_and_results_are_forgotten_by_age(store: Store, run: str) -> None:
    """By when they ended and were measured; what is not over stays however old."""
    old, young = (store.runs.create("encode", {"a": n}, title="") for n in range(2))
    for one in (old, young):
        store.runs.cancel(one)
    store.database.change("UPDATE runs SET finished = finished - 864000 WHERE id = ?", [old])
    store.database.change("UPDATE runs SET created = created - 864000, updated = 0")
    assert forget.runs_older(store, 9.0) == 1
    assert {row["id"] for row in store.runs.list()} == {run, young}
    for task in ("STS12", "STS13"):
        store.results.put(result(task=task))
    store.database.change("UPDATE results SET created = created - 864000 WHERE task = 'STS12'")
    assert forget.results_older(store, 9.0) == 1
    assert [row["task"] for row in store.results.table()] == ["STS13"]


@pytest.mark.parametrize("name", ["nothing", "../theodolite", ""])
def test_an_unknown_run_is_said_plainly(store: Store, name: str) -> None:
    """And names no file."""
    for ask in (store.runs.get, store.logs.lines, store.logs.path):
        with pytest.raises(NoSuchRun):
            ask(name)


def test_the_log_is_read_by_line(store: Store, run: str) -> None:
    """From a line on; bytes that are no text do no harm."""
    assert store.logs.lines(run) == []
    store.logs.path(run).write_bytes(b"one\ntwo\n\xff\xfe three\n")
    lines = store.logs.lines(run)
    assert (lines[:2], lines[2][-5:]) == (["one", "two"], "three")
    assert store.logs.lines(run, after=2) == lines[2:]


def test_units_count_by_their_weight(store: Store, run: str) -> None:
    """A part that takes nine times as long is nine tenths of the run; so is the time left."""
    store.runs.start(run, 1, "local-0", LABELS, [9.0, 1.0])
    store.runs.progress(run, 1, 0.5, "half of the long one")
    assert facts(store, run, "fraction unit_fraction") == pytest.approx([0.45, 0.5])
    store.database.change("UPDATE runs SET clock = clock - 45")
    store.runs.end_unit(run, 0, 90.0)
    assert facts(store, run, "fraction unit_fraction") == pytest.approx([0.9, 0.0])
    assert facts(store, run, "eta_seconds") == pytest.approx([5.0], abs=0.5)  # 0.9 took 45 s
