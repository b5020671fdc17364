"""Settings, encoders, decoders, uploads and workers."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from theodolite.store import Store
from theodolite.store.check import check, clean


@pytest.mark.parametrize("value", [0, "text", [1, 2], {"a": {"b": None}}, False, 1.5])
def test_settings_give_back_what_they_got(store: Store, value: object) -> None:
    """Any JSON value, replaced by the next one; None forgets, and leaves the default."""
    store.settings.set("name", "before")
    store.settings.set("name", value)
    assert store.settings.get("name") == value
    store.settings.set("name", None)
    assert store.settings.get("name", "default") == "default"


def test_encoders_keep_their_order_and_facts(store: Store) -> None:
    """Adding again replaces the facts, not the place."""
    store.encoders.add("minilm", {"dim": 384, "warnings": ("short",)})
    store.encoders.add("random:256", {"dim": np.int64(256)})
    store.encoders.add("minilm", {"dim": 385})
    assert [(row["name"], row["info"]) for row in store.encoders.list()] == [
        ("minilm", {"dim": 385}),
        ("random:256", {"dim": 256}),
    ]
    assert [store.encoders.remove("minilm") for _ in range(2)] == [True, False]
    assert store.encoders.get("minilm") is None


def test_an_upload_is_kept_by_its_content(store: Store, tmp_path: Path) -> None:
    """Bytes and a file of the same bytes share one file, named by their hash; it goes with both."""
    text = b"sentence\nA cat.\n"
    (tmp_path / "cats.csv").write_bytes(text)
    names = {"text": "sentence"}
    store.uploads.add("one", "sentences", text, mapping=names, filename="a.csv")
    store.uploads.add("two", "sentences", tmp_path / "cats.csv", mapping={})
    one, two = store.uploads.list()
    path = one["path"]
    assert (one["name"], one["filename"], one["mapping"]) == ("one", "a.csv", names)
    assert (two["name"], two["filename"], two["path"]) == ("two", "cats.csv", path)
    assert path.read_bytes() == text
    assert path.name == hashlib.blake2b(text, digest_size=20).hexdigest()
    store.uploads.add("two", "sentences", text, mapping={})
    with refused("conflict", "two"):
        store.uploads.add("two", "sentences", b"y", mapping={})
    assert store.uploads.remove("one") and path.exists()
    assert [store.uploads.remove("two") for _ in range(2)] == [True, False] and not path.exists()


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a\\b", ".hidden", "a\nb", "x" * 81, "a:b"])
def test_upload_names_are_plain(store: Store, name: str) -> None:
    """No path, no control character, no novel."""
    with refused("invalid"):
        store.uploads.add(name, "sentences", b"x", mapping={})


def test_workers_are_listed_while_they_are_heard_of(store: Store) -> None:
    """A silent one is gone."""
    store.workers.beat("local-0")
    assert [(w["slot"], w["pid"]) for w in store.workers.list()] == [("local-0", os.getpid())]
    store.database.change("UPDATE workers SET seen = seen - 60")
    assert store.workers.list() == []


def test_decoders_are_listed_the_newest_first(store: Store, tmp_path: Path) -> None:
    """With what is known of them; adding one again replaces its facts."""
    first, mine = store.decoders.folder / "minilm-1", tmp_path / "mine"
    store.decoders.add(first, "minilm", "f" * 32, {"dim": 384})
    store.decoders.add(mine, "wordllama", "e" * 32, {"dim": 256})
    store.decoders.add(first, "minilm", "d" * 32, {"dim": 385})
    names = ("folder", "name", "encoder", "fingerprint", "info")
    assert [tuple(row[name] for name in names) for row in store.decoders.list()] == [
        (first, "minilm-1", "minilm", "d" * 32, {"dim": 385}),
        (mine, "mine", "wordllama", "e" * 32, {"dim": 256}),
    ]
    assert [store.decoders.remove("mine") for _ in range(2)] == [True, False]
    # Two folders of one name are two decoders: each keeps its name when it is added again.
    again = [store.decoders.add(tmp_path / folder / "mine", "minilm", "f") for folder in "abab"]
    assert [row["name"] for row in again] == ["mine", "mine-2"] * 2


def test_a_store_that_is_moved_still_finds_its_decoders(tmp_path: Path) -> None:
    """Those in it are kept by their place in it."""
    store = Store.open(tmp_path / "here")
    store.decoders.add(store.decoders.folder / "minilm-1", "minilm", "f")
    store.close()
    (tmp_path / "here").rename(tmp_path / "there")
    moved = Store.open(tmp_path / "there")
    assert [row["folder"] for row in moved.decoders.list()] == [moved.decoders.folder / "minilm-1"]
    moved.close()


def test_a_decoder_whose_folder_is_gone_is_found_and_forgotten(store: Store) -> None:
    """By `check` and by `clean`; one that is there stays."""
    for name in ("here", "gone"):
        store.decoders.add(store.decoders.folder / name, "minilm", "f")
    (store.decoders.folder / "here").mkdir(parents=True)
    found = [(finding.subject, "'gone'" in finding.message) for finding in check(store)]
    assert found == [("gone", True)]
    clean(store)
    assert [row["name"] for row in store.decoders.list()] == ["here"] and check(store) == []


# --- sessions of judging ---


@pytest.fixture
def session(store: Store) -> str:
    """One with two draws."""
    name = store.judgements.begin("cats", {"k": 5}, {"queries": ["a cat"]})
    for position in range(2):
        store.judgements.add_draw(name, position, {"unit": position})
    return name


def test_a_mark_is_taken_once_and_can_be_taken_back(store: Store, session: str) -> None:
    """A second press changes nothing; what was taken back can be marked anew."""
    marks, presses = store.judgements, (("me", 1.0), ("me", 0.0), ("you", 0.0))
    assert [marks.add_mark(session, 0, *press) for press in presses] == [True, False, True]
    assert marks.marks(session) == {0: {"me": 1.0, "you": 0.0}} and marks.get(session)["marks"] == 2
    assert [marks.add_mark(session, 0, "me", None) for _ in range(2)] == [True, False]
    assert marks.marks(session) == {0: {"you": 0.0}} and marks.get(session)["marks"] == 1
    assert marks.add_mark(session, 0, "me", 0.0)
    rows = store.database.rows("SELECT mark FROM marks WHERE judge = 'me' ORDER BY id")
    assert [row["mark"] for row in rows] == [1.0, None, 0.0]  # nothing is ever written over


def test_a_session_is_known_by_its_id(store: Store, session: str) -> None:
    """With its facts and draws, and gone with its marks when it is removed."""
    store.judgements.add_draw(session, 1, {"unit": 7})  # of two pages that draw the first counts
    assert [one["unit"] for one in store.judgements.draws(session)] == [0, 1]
    row = store.judgements.get(session)
    assert (row["title"], row["spec"], row["marks"]) == ("cats", {"k": 5}, 0)
    assert store.judgements.pool(session) == {"queries": ["a cat"]}
    store.judgements.add_mark(session, 0, "me", 1.0)
    store.judgements.remove(session)
    assert store.judgements.list() == [] and store.database.rows("SELECT * FROM marks") == []
    with refused("unknown", session):
        store.judgements.get(session)
