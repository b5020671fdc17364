"""Settings, encoders, uploads and workers."""

import hashlib
import os
from pathlib import Path

import numpy as np
import pytest

from theodolite.store import Store, StoreError


@pytest.mark.parametrize("value", [0, "text", [1, 2], {"a": {"b": None}}, False, 1.5])
def test_settings_give_back_what_they_got(store: Store, value: object) -> None:
    """Any JSON value, replaced by the next one."""
    store.settings.set("name", "before")
    store.settings.set("name", value)
    assert store.settings.get("name") == value


def test_settings_forget(store: Store) -> None:
    """None forgets, and a name not there gives the default."""
    store.settings.set("name", 1)
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
    assert store.encoders.remove("minilm")
    assert not store.encoders.remove("minilm")
    assert store.encoders.get("minilm") is None


def test_an_upload_is_kept_by_its_content(store: Store, tmp_path: Path) -> None:
    """Bytes and a file of the same bytes share one file, named by their hash."""
    text = b"sentence\nA cat.\n"
    (tmp_path / "cats.csv").write_bytes(text)
    one = store.uploads.add(
        "one", "sentences", text, mapping={"text": "sentence"}, filename="a.csv"
    )
    two = store.uploads.add("two", "sentences", tmp_path / "cats.csv", mapping={})
    assert one["path"] == two["path"]
    assert one["path"].read_bytes() == text
    assert one["path"].name == hashlib.blake2b(text, digest_size=20).hexdigest()
    assert (one["filename"], two["filename"]) == ("a.csv", "cats.csv")
    assert one["mapping"] == {"text": "sentence"}
    assert [row["name"] for row in store.uploads.list()] == ["one", "two"]


def test_removing_an_upload_keeps_a_shared_file(store: Store) -> None:
    """The file goes with the last name."""
    path = store.uploads.add("one", "sentences", b"x", mapping={})["path"]
    store.uploads.add("two", "sentences", b"x", mapping={})
    assert store.uploads.remove("one")
    assert path.exists()
    assert store.uploads.remove("two")
    assert not path.exists()
    assert not store.uploads.remove("two")


def test_an_upload_may_be_repeated_but_not_replaced(store: Store) -> None:
    """A name means one content."""
    store.uploads.add("one", "sentences", b"x", mapping={})
    store.uploads.add("one", "sentences", b"x", mapping={})
    with pytest.raises(StoreError, match="already, with other content"):
        store.uploads.add("one", "sentences", b"y", mapping={})


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a\\b", ".hidden", "a\nb", "x" * 81, "a:b"])
def test_upload_names_are_plain(store: Store, name: str) -> None:
    """No path, no control character, no novel."""
    with pytest.raises(StoreError, match="cannot name an upload"):
        store.uploads.add(name, "sentences", b"x", mapping={})


def test_workers_are_listed_while_they_are_heard_of(store: Store) -> None:
    """A silent one is gone."""
    store.workers.seen("local-0")
    assert [(w["slot"], w["pid"]) for w in store.workers.list()] == [("local-0", os.getpid())]
    store.database.change("UPDATE workers SET seen = seen - 60")
    assert store.workers.list() == []
