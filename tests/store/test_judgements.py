"""Sessions of judging."""

import subprocess
import sys

import pytest

from tests.errors import refused
from theodolite.store import Store


@pytest.fixture
def session(store: Store) -> str:
    """One with two draws."""
    name = store.judgements.begin("cats", {"k": 5}, {"queries": ["a cat"]})
    for position in range(2):
        store.judgements.add_draw(name, position, {"unit": position})
    return name


def test_a_mark_is_taken_once_and_can_be_taken_back(store: Store, session: str) -> None:
    """A second press changes nothing; what was taken back can be marked anew."""
    marks, _presses = store.judgements, (("me", 1.0), ("me", 0.0), ("you", 0.0))
    pressed = [marks.add_mark(session, 0, *press) for press in presses]
    assert pressed == [True, False, True]
    assert marks.marks(session) == {0: {"me": 1.0, "you": 0.0}} and marks.get(session)["marks"] == 2
    assert [marks.add_mark(session, 0, "me", None) for _ in range(2)] == [True, False]
    assert marks.marks(session) == {0: {"you": 0.0}} and marks.get(session)["marks"] == 1
    assert marks.add_mark(session, 0, "me", 0.0)
    rows = store.database.rows("SELECT mark FROM marks WHERE judge = 'me' ORDER BY id")
    assert [row["mark"] for row in rows] == [1.0, None, 0.0]  # nothing is ever written over


def test_what_was_drawn_stays(store: Store, session: str) -> None:
    """Of two pages that draw at once the first counts."""
    store.judgements.add_draw(session, 1, {"unit": 7})
    assert [one["unit"] for one in store.judgements.draws(session)] == [0, 1]


def test_a_session_is_known_by_its_id(store: Store, session: str) -> None:
    """With its facts, and gone with its marks when it is removed."""
    row = store.judgements.get(session)
    assert (row["title"], row["spec"], row["marks"]) == ("cats", {"k": 5}, 0)
    assert store.judgements.pool(session) == {"queries": ["a cat"]}
    store.judgements.add_mark(session, 0, "me", 1.0)
    store.judgements.remove(session)
    assert store.judgements.list() == [] and store.database.rows("SELECT * FROM marks") == []
    with refused("unknown", session):
        store.judgements.get(session)


def test_marks_survive_a_kill(store: Store, session: str) -> None:
    """Whatever was said to be kept is there when its process is killed the moment after."""
    code = (
        "import sys, time; from pathlib import Path; from theodolite.store import Store\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "store.judgements.add_mark(sys.argv[2], 0, 'me', 1.0)\n"
        "print('kept', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(store.folder), session]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "kept\n"
        process.kill()
    assert store.judgements.marks(session) == {0: {"me": 1.0}}
