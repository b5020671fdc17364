"""The list of decoders."""

from __future__ import annotations

from pathlib import Path

from theodolite.store import Store


def test_decoders_are_listed_the_newest_first(store: Store, tmp_path: Path) -> None:
    """With what is known of them; adding one again replaces its facts."""
    first = store.decoders.folder / "minilm-1"
    store.decoders.add(first, "minilm", "f" * 32, {"dim": 384})
    store.decoders.add(tmp_path / "mine", "wordllama", "e" * 32, {"dim": 256})
    store.decoders.add(first, "minilm", "d" * 32, {"dim": 385})
    rows = store.decoders.list()
    assert [(row["name"], row["encoder"], row["info"]) for row in rows] == [
        ("minilm-1", "minilm", {"dim": 385}),
        ("mine", "wordllama", {"dim": 256}),
    ]
    assert rows[0]["fingerprint"] == "d" * 32
    assert [row["folder"] for row in rows] == [first, tmp_path / "mine"]
    assert store.decoders.remove("mine")
    assert not store.decoders.remove("mine")


def test_two_folders_of_one_name_are_two_decoders(store: Store, tmp_path: Path) -> None:
    """The second gets a number; each keeps its name when it is added again."""
    one, two = tmp_path / "a" / "mine", tmp_path / "b" / "mine"
    assert store.decoders.add(one, "minilm", "f")["name"] == "mine"
    assert store.decoders.add(two, "minilm", "f")["name"] == "mine-2"
    assert store.decoders.add(one, "minilm", "f")["name"] == "mine"
    assert store.decoders.add(two, "minilm", "f")["name"] == "mine-2"


def test_a_store_that_is_moved_still_finds_its_decoders(tmp_path: Path) -> None:
    """Those in it are kept by their place in it."""
    store = Store.open(tmp_path / "here")
    store.decoders.add(store.decoders.folder / "minilm-1", "minilm", "f")
    store.close()
    (tmp_path / "here").rename(tmp_path / "there")
    moved = Store.open(tmp_path / "there")
    (row,) = moved.decoders.list()
    assert row["folder"] == tmp_path / "there" / "decoders" / "minilm-1"
    moved.close()


def test_a_decoder_whose_folder_is_gone_is_found_and_forgotten(store: Store) -> None:
    """By `check` and by `clean`; one that is there stays."""
    for name in ("here", "gone"):
        store.decoders.add(store.decoders.folder / name, "minilm", "f")
    (store.decoders.folder / "here").mkdir(parents=True)
    (finding,) = store.check()
    assert (finding.subject, "'gone' is gone" in finding.message) == ("gone", True)
    store.clean()
    assert [row["name"] for row in store.decoders.list()] == ["here"]
    assert store.check() == []
