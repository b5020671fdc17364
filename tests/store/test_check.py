import os
from pathlib import Path

import pytest

from tests.store.test_results import result
from tests.store.test_vectors import keys, rows
from theodolite.store import Store, forget
from theodolite.store.check import check, clean, orphans


@pytest.fixture
def full(store: Store) -> Store:
    """A store with one of everything."""
    store.encoders.add("minilm", {})
    store.results.put(result())
    store.uploads.add("cats", "sentences", b"A cat.", mapping={})
    store.vectors.of("minilm").put("f1", keys(*range(10)), rows(10))
    store.logs.path(store.runs.create("evaluate", {}, title="")).write_text("log")
    return store


def overwrite(store: Store, pattern: str) -> None:
    """Change the first byte of the one file."""
    (path,) = store.folder.glob(pattern)
    path.write_bytes(b"\x7f" + path.read_bytes()[1:])


def age(*paths: Path) -> None:
    """Have them be of the year 2001."""
    for path in paths:
        os.utime(path, (1e9, 1e9))


def _dangling_score(store: Store) -> None:
    store.database.connection.executescript(
        "PRAGMA foreign_keys = OFF;"
        "INSERT INTO scores VALUES (99, 0, 'all', NULL, 'x', 1.0, 1, 1, '')"
    )


def _old_orphan(store: Store) -> None:
    path = store.folder / "examples" / "0000.npz"
    path.write_bytes(b"x" * 1000)
    age(path)


def _index_torn(store: Store) -> None:
    """Put an index over other columns than it says: SQLite then misses rows in it."""
    store.database.connection.executescript(
        "PRAGMA writable_schema = ON;"
        "UPDATE sqlite_master SET sql = 'CREATE INDEX runs_spec ON runs (title)'"
        " WHERE name = 'runs_spec';"
        "PRAGMA writable_schema = OFF"
    )
    store.database.close()


@pytest.mark.parametrize(
    ("harm", "subject", "named"),
    [
        (lambda store: next(store.results.folder.iterdir()).unlink(), "examples/", "are missing"),
        (lambda store: overwrite(store, "examples/*"), "examples/", "hash"),
        (lambda store: overwrite(store, "uploads/*"), "uploads/", "hash"),
        (lambda store: overwrite(store, "vectors/f1/8.f32"), "vectors/f1/8.f32", "1 of 10"),
        (_dangling_score, "theodolite.db", "results"),
        (_old_orphan, "examples/0000.npz", "1000 bytes"),
        (_index_torn, "theodolite.db", "damaged"),
    ],
)
def test_harm_is_found(full: Store, harm, subject: str, named: str) -> None:
    """Each kind gives one finding that names the thing and what to do; what is whole gives none."""
    assert check(full) == []
    harm(full)
    (finding,) = check(full)
    assert finding.subject.startswith(subject) and named in finding.message and finding.hint


def test_clean_takes_orphans_only(full: Store) -> None:
    """Temporary files too, however they came about; not those that may be about to be named."""
    _old_orphan(full)
    young = full.folder / "uploads" / "young.tmp"
    young.write_bytes(b"x")
    assert [p.name for p in orphans(full)] == ["0000.npz"]
    assert clean(full) >= 1000 and young.exists()
    clean(full, grace=0)
    assert not young.exists() and check(full) == []
    assert len(full.results.examples(1)) == 2


def test_clean_takes_the_vectors_of_removed_encoders(full: Store) -> None:
    """Unless another encoder uses them, or they are young and it is not known whose they are."""
    full.encoders.add("minilm | normalise", {})
    full.vectors.of("minilm | normalise").get("f1", keys(0), 8)
    full.vectors.put("f2", keys(0), rows(1))
    full.encoders.remove("minilm")
    clean(full)
    assert set(full.vectors.usage()) == {"f1", "f2"}
    full.encoders.remove("minilm | normalise")
    assert clean(full) >= 10 * 8 * 4
    assert set(full.vectors.usage()) == {"f2"}
    assert not full.vectors.get("f1", keys(0), 8)[0].any()


def test_clean_takes_vectors_without_an_owner(full: Store) -> None:
    """Old ones, as a removal leaves them that broke off; they are found by `check` before."""
    full.database.change("DELETE FROM vector_users")
    assert check(full) == []
    clean(full)
    assert set(full.vectors.usage()) == {"f1"}
    age(full.folder / "vectors/f1", *(full.folder / "vectors/f1").iterdir())
    assert [finding.subject for finding in check(full)] == ["vectors/f1"]
    assert clean(full) >= 10 * 8 * 4
    assert full.vectors.usage() == {}


def test_vectors_that_come_after_a_removal_have_their_owner_again(full: Store) -> None:
    """Their encoder was in memory all the while, as in an app when a terminal cleans."""
    view = full.vectors.of("wordllama")
    view.put("f2", keys(0), rows(1))
    clean(full)
    assert set(full.vectors.usage()) == {"f1"}
    view.put("f2", keys(1), rows(1))
    assert set(full.vectors.usage()) == {"f1", "f2"}
    clean(full)
    assert set(full.vectors.usage()) == {"f1"}


def test_clean_takes_the_checkpoints_of_removed_trainings(store: Store) -> None:
    """In the store's folders, of encoders, children of sweeps and decoders; not one still young."""
    outs = ("encoders/sup-minilm-1", "encoders/sweep-1/02-lr", "decoders/minilm-1")
    one, several, decoder = places = [f"{store.folder}/{out}" for out in outs]
    runs = [
        store.runs.create("train", {"out": one}, title=""),
        store.runs.create("sweep", {"children": [{"spec": {"out": several}}]}, title=""),
        store.runs.create("train-decoder", {"out": decoder}, title=""),
    ]
    folders = [Path(f"{out}.training") for out in places]
    for folder, run in zip(folders, runs, strict=True):
        (folder / "step-5").mkdir(parents=True)
        (folder / "step-5" / "weights").write_bytes(b"x" * 1000)
        store.runs.cancel(run)
    clean(store, grace=0)
    assert all(folder.is_dir() for folder in folders), "they can be retried"
    assert all(forget.run(store, run) for run in runs)
    assert (check(store), clean(store)) == ([], 0), "an hour has to pass"
    for folder in folders:
        age(folder, *folder.rglob("*"))
    assert {f.subject for f in check(store)} == {f"{out}.training" for out in outs}
    assert clean(store) >= 3000
    assert not any(folder.exists() for folder in folders)


def test_clean_gives_pages_of_the_database_back(store: Store) -> None:
    """After much was replaced."""
    store.settings.set("big", "x" * 2_000_000)
    store.settings.set("big", None)
    assert clean(store) > 1_500_000
