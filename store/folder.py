"""The store: one folder, one object, with an attribute for each kind of data."""

from __future__ import annotations

from pathlib import Path

from theodolite.store.database import Database
from theodolite.store.derived import Derived
from theodolite.store.errors import DATABASE, StoreError, as_store_errors
from theodolite.store.judgements import Judgements
from theodolite.store.nouns import Decoders, Encoders, Settings, Visits, Workers
from theodolite.store.results import Published, Results
from theodolite.store.runs import Events, Logs, Runs
from theodolite.store.terminals import Terminals
from theodolite.store.uploads import Uploads
from theodolite.store.vectors import VectorStore


class Store:
    """All persistent data, in one folder. Safe to share between threads."""

    def __init__(self, folder: Path, *, reading: bool = False, immutable: bool = False) -> None:
        self.folder = folder
        self.database = Database(folder / DATABASE, reading=reading, immutable=immutable)
        self.settings = Settings(self.database)
        self.encoders = Encoders(self.database)
        self.decoders = Decoders(self.database, folder / "decoders")
        self.uploads = Uploads(self.database, folder / "uploads")
        self.results = Results(self.database, folder / "examples")
        self.published = Published(self.database)
        self.judgements = Judgements(self.database)
        self.runs = Runs(self.database)
        self.logs = Logs(self.runs, folder / "logs")
        self.events = Events(self.database)
        self.terminals = Terminals(self.database, self.runs, self.logs, folder / "locks")
        self.visits = Visits(folder / "visited")
        self.workers = Workers(self.database)
        self.vectors = VectorStore(folder / "vectors", self.database)
        self.derived = Derived(self.database, folder / "derived")

    @classmethod
    def open(cls, folder: Path, *, reading: bool = False) -> Store:
        """Open the store in a folder, creating it or bringing it up to date as needed.

        If `reading`, writes are refused once it is open.
        """
        folder = Path(folder).expanduser().resolve()
        if folder.exists() and not folder.is_dir():
            raise StoreError(
                f"The store at {folder} is a file, not a folder.",
                "Choose another with --store.",
                code="wrong-kind",
            )
        with as_store_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            store = cls(folder, reading=reading)
            if not store.reading:
                store.logs.folder.mkdir(exist_ok=True)
        return store

    @classmethod
    def shipped(cls, folder: Path) -> Store:
        """Open a store that was installed: it is only read, and nothing is written beside it."""
        return cls(folder, immutable=True)

    @property
    def reading(self) -> bool:
        """Whether writes are refused."""
        return self.database.reading

    def refuse_writing(self) -> None:
        """Raise if the store is read-only; call this before long work that is to be stored."""
        self.database.refuse_writing()

    def close(self) -> None:
        """Close the connections of all threads."""
        self.database.close()
