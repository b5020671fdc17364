"""Where engine and store meet: one folder of results, one root of data, encoders with a durable cache.

Pages, command line and worker all hold a Workspace. It imports the engine's heavy parts only when an
encoder is loaded, so that the first page is up before torch is.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.datasets import Catalog
from engine.errors import UserError
from store import Store
from store.jobs import Jobs

if TYPE_CHECKING:
    from engine.encoders import Encoder
    from engine.results import Result

STARTER_ENCODERS = ("random:256", "wordllama", "minilm")
STARTER_TASKS = ("StarterSTS", "StarterTopics", "StarterSearch")
FIRST_LOOK_TASKS = ("STSBenchmark", "SICKRelatedness")
ENCODERS_IN_MEMORY = 4


def default_store() -> Path:
    """THEODOLITE_HOME, else the platform's folder for a user's data."""
    home = os.environ.get("THEODOLITE_HOME")
    if home:
        return Path(home).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("theodolite", appauthor=False))


def default_data() -> Path | None:
    """THEODOLITE_DATA, or None: the starter set alone."""
    data = os.environ.get("THEODOLITE_DATA")
    return Path(data).expanduser() if data else None


class StoredUploads:
    """Lets the catalogue read the uploads that the store keeps."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def names(self) -> list[str]:
        """Names of all uploads, oldest first."""
        return [row["name"] for row in self._store.uploads.list()]

    def get(self, name: str) -> tuple[Path, str, dict[str, Any]]:
        """Return (file, the name it was uploaded under, column mapping)."""
        row = self._store.uploads.get(name)
        return Path(row["path"]), row["filename"], row["mapping"]


class Workspace:
    """One store, one data root and the encoders in memory.

    Args:
        store_folder: made when missing.
        data_root: folder with evaluation data, or None for the starter set alone.
        read_only: visitors may look and search, but not upload, name local paths, delete or run.

    Raises:
        UserError: when `data_root` is given and is no folder.
        StoreError: when the store cannot be opened.
    """

    def __init__(
        self, store_folder: Path, data_root: Path | None = None, *, read_only: bool = False
    ) -> None:
        if data_root is not None and not data_root.is_dir():
            raise UserError(
                f"The data folder {str(data_root)!r} does not exist.",
                "Name a folder that holds senteval/, downstream/, mteb/, nli/, captions/ or "
                "unlabelled/ with --data or THEODOLITE_DATA, or leave both out.",
            )
        self.store_folder = store_folder.resolve()
        self.data_root = data_root.resolve() if data_root else None
        self.read_only = read_only
        self.store = Store.open(self.store_folder)
        self._loaded: OrderedDict[str, Encoder] = OrderedDict()
        self._load_lock = threading.Lock()

    @cached_property
    def catalog(self) -> Catalog:
        """Every data set by name: starter, folder, hub and uploads."""
        return Catalog(self.data_root, StoredUploads(self.store))

    @cached_property
    def jobs(self) -> Jobs:
        """The queue of background runs."""
        return Jobs(self.store)

    def load(self, spec: str) -> Encoder:
        """Return the encoder for a spec, with the store's vectors as its cache.

        The last few stay in memory. Loading is serialised: two pages that ask for one model at the
        same moment share it.

        Raises:
            UserError: for a spec, files or weights that cannot be used.
        """
        from engine import encoders

        name = str(encoders.parse(spec))
        with self._load_lock:
            if name not in self._loaded:
                self._loaded[name] = encoders.load(
                    name, cache=self.store.vectors, datasets=self.catalog.sentences
                )
                while len(self._loaded) > ENCODERS_IN_MEMORY:
                    self._loaded.popitem(last=False)
            self._loaded.move_to_end(name)
            return self._loaded[name]

    def add_encoder(self, spec: str) -> dict[str, Any]:
        """Check a spec, remember it with what is known of it, and return its row."""
        from engine import encoders

        name = str(encoders.parse(absolute_paths(spec)))
        self.store.encoders.add(name, encoders.describe(name))
        return self.store.encoders.get(name)

    def evaluate(
        self,
        specs: Sequence[str],
        tasks: Sequence[str],
        protocol: str | None = None,
        seed: int | None = None,
    ) -> Iterator[tuple[str, str, Result | None]]:
        """Run what the store does not hold yet; yield (encoder, task, result) as each is stored.

        A result that is there already is yielded as None: read it from the store.
        """
        for spec in specs:
            for task in tasks:
                yield spec, task, self.evaluate_one(spec, task, protocol, seed)

    def evaluate_one(
        self, spec: str, task: str, protocol: str | None = None, seed: int | None = None
    ) -> Result | None:
        raise NotImplementedError  # replaced below once the engine's parts have landed

    def welcome_run(self) -> str | None:
        """Queue the first run of a new store, once; return its id or None."""
        if self.store.settings.get("welcomed"):
            return None
        from engine import tasks

        for spec in STARTER_ENCODERS:
            self.add_encoder(spec)
        present = {task.name for task in tasks.available(self.catalog)}
        names = [name for name in (*STARTER_TASKS, *FIRST_LOOK_TASKS) if name in present]
        run = self.jobs.enqueue(
            "evaluate",
            {
                "version": 1,
                "encoders": list(STARTER_ENCODERS),
                "tasks": names,
                "protocol": None,
                "seed": None,
            },
            title="First look: the starter encoders",
        )
        self.store.settings.set("welcomed", True)
        return run

    def close(self) -> None:
        """Close the store's connections."""
        self.store.close()


def absolute_paths(spec: str) -> str:
    """Make `dir:` and `words:` paths absolute, since the worker runs in another folder."""
    from engine import encoders

    return encoders.absolute(spec)
