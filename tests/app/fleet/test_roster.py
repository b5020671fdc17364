"""Who works in a fleet: slots that one process fills, and what each says of itself."""

import time
from collections.abc import Iterator

import pytest

from store import roster
from store.postgres import FleetAway
from store.postgres import Postgres as Database
from store.roster import Roster
from tests.app.fleet.conftest import Postgres

pytestmark = pytest.mark.slow

HAS = {"data": {"MR": "abc"}, "cores": 2}


@pytest.fixture
def two(database: str) -> Iterator[tuple[Roster, Roster]]:
    """What two processes have of one fleet."""
    made = Roster(Database(database, "fleet")), Roster(Database(database, "fleet"))
    yield made
    for one in made:
        one.close()


def test_a_slot_is_filled_once(two: tuple[Roster, Roster]) -> None:
    """And is free as soon as its process is gone, however it went."""
    one, other = two
    assert one.fill("lab-1")
    assert one.fill("lab-1")
    assert not other.fill("lab-1")
    assert other.fill("lab-2")
    one.close()
    deadline = time.monotonic() + 10
    while not other.fill("lab-1"):
        assert time.monotonic() < deadline


def test_what_a_worker_says(two: tuple[Roster, Roster]) -> None:
    """Is read by all; it starts once, however often it is heard of."""
    one, other = two
    assert other.list() == []
    one.seen("lab-1", "lab", 7, HAS, {})
    (first,) = other.list()
    one.seen("lab-1", "lab", 7, None, {"unit": "u", "share": 0.5})
    (again,) = other.list()
    assert first["started"] == again["started"]
    assert again["has"] == HAS
    assert again["doing"] == {"unit": "u", "share": 0.5}
    assert (again["slot"], again["host"], again["pid"]) == ("lab-1", "lab", 7)
    assert again["silent"] < 5
    one.seen("lab-1", "lab", 8, HAS, {})
    assert other.list()[0]["started"] > first["started"]
    one.gone("lab-1")
    assert other.list() == []


def test_who_is_gone(two: tuple[Roster, Roster], monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that nobody holds, after a while; not one that is held or was just heard of."""
    one, other = two
    one.fill("held")
    one.seen("let-go", "lab", 7, HAS, {})
    assert other.forsaken(["held", "let-go", "never"]) == {"never"}
    monkeypatch.setattr(roster, "FORSAKEN", 0.0)
    assert other.forsaken(["held", "let-go"]) == {"let-go"}
    assert one.fill("let-go")  # to look is not to take


def test_a_database_that_is_away(postgres: Postgres, two: tuple[Roster, Roster]) -> None:
    """Is said in words; when it is back all goes on, and the slot is taken anew."""
    one, other = two
    one.fill("lab-1")
    postgres.stop()
    try:
        with pytest.raises(FleetAway, match="does not answer"):
            one.fill("lab-1")
    finally:
        postgres.start()
    assert one.fill("lab-1")
    assert not other.fill("lab-1")
