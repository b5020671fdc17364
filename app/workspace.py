"""A workspace, which joins engine and store: one store, one data folder, loaded encoders.

Pages, command line and worker all hold a Workspace. It imports the engine's heavy modules only when
an encoder is loaded, so that the first page does not wait for torch.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from theodolite.app import corpora, endpoints, typed
from theodolite.app.recent import Recent
from theodolite.engine import encoders, rankers
from theodolite.engine.datasets import Catalog, Upload, chunks
from theodolite.engine.encoders import MemoryCache, PromptTask, bind_task
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.spec import LISTED_ONLY, NAMES
from theodolite.engine.errors import UserError
from theodolite.engine.rankers import Ranker
from theodolite.engine.results import Result
from theodolite.store import Store

E = TypeVar("E")
IN_MEMORY = 4
"""Loaded encoders that are cached, each until the files that it was loaded from change."""
STARTER_ENCODERS = ("random:256", "wordllama", "minilm")
SHIPPED = Path(__file__).parent / "examples" / "store"
"""The store with results of these encoders on the starter set, see `app.examples.make`."""


def default_store() -> Path:
    """THEODOLITE_HOME, else the platform's folder for a user's data."""
    home = os.environ.get("THEODOLITE_HOME")
    if home:
        return Path(home).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("theodolite", appauthor=False))


def default_data() -> Path | None:
    """THEODOLITE_DATA, or None for the starter set only."""
    data = os.environ.get("THEODOLITE_DATA")
    return Path(data).expanduser() if data else None


class StoredUploads:
    """The uploads of the store, for the catalog."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def names(self) -> list[str]:
        """Names of all uploads, oldest first."""
        return [row["name"] for row in self._store.uploads.list()]

    def get(self, name: str) -> Upload:
        """One upload.

        Raises:
            KeyError: the name is unknown.
        """
        row = self._store.uploads.get(name)
        if row is None:
            raise KeyError(name)
        no_task = bool(row["info"].get("no_task"))
        return Upload(row["path"], row["filename"], row["mapping"], row["bytes"], no_task)


class Workspace:
    """One store, one data root and the encoders in memory.

    Args:
        store_folder: folder of the store, created if missing.
        data_root: folder with evaluation data; None for the folder of THEODOLITE_DATA, if set.
        read_only: visitors may view, and search with listed encoders and data sets, but not upload,
            name local paths or hub files, delete or run.
        demo: read-only for many unknown visitors: nothing is written to the store, and their
            results are cached in memory, within limits.
        hub_files: False to fetch nothing from the hub, where names come from somebody else.

    Attributes:
        ships: whether its results are those that ship: they count whatever versions of libraries
            are installed.
    """

    ships = False

    def __init__(
        self,
        store_folder: str | Path,
        data_root: str | Path | None = None,
        *,
        read_only: bool = False,
        demo: bool = False,
        hub_files: bool = True,
    ) -> None:
        self.demo = demo
        self.read_only = read_only or demo
        self.store = Store.open(Path(store_folder).resolve(), reading=demo)
        self.catalog = Catalog(
            Path(data_root).resolve() if data_root else None,
            StoredUploads(self.store),
            partial(corpora.folders, self.store),
            hub_files=hub_files and not self.read_only,
        )
        self._loaded: Recent[tuple[str, object], Encoder | Ranker] = Recent(IN_MEMORY)
        self.store.encoders.closed = self.read_only
        NAMES.add(self.store.encoders)

    def __repr__(self) -> str:
        return f"<workspace {str(self.store.folder)!r}, data {str(self.catalog.root)!r}>"

    @cached_property
    def shipped(self) -> Workspace:
        """The results that ship, with the data and the encoders of this workspace."""
        return self if self.ships else _Shipped(self)

    def refuse_visitors(self) -> None:
        """Check that the workspace may be changed; every operation with effects starts with this.

        Pages show visitors no such controls, but an event can be sent without its control.
        """
        if self.read_only:
            raise UserError(
                "Visitors can view and search here, but change nothing.",
                "Run Theodolite on your own machine to do this.",
                code="denied",
            )

    def load(self, spec: str) -> Encoder:
        """Return the encoder for a spec, with the store's vectors as its cache.

        The last few stay in memory, as long as their files and data do not change. Concurrent
        requests for one model share it.
        """
        encoders.parse(spec)  # refuses a ranker that has no vectors
        encoder: Encoder = self.ranker(spec)  # type: ignore[assignment]
        return encoder

    def ranker(self, spec: str) -> Encoder | Ranker:
        """As `load`, of a spec that may be a ranker's as well."""
        parsed = rankers.parse(spec)
        name = str(parsed)
        if self.read_only and self.store.encoders.get(name) is None:
            raise UserError(
                f"{name} is not among the encoders here.",
                LISTED_ONLY,
                code="denied",
            )
        if self.read_only and endpoints.addresses(name):
            raise UserError(
                f"{name} would be sent what visitors ask.",
                "They can use encoders that are here.",
                code="denied",
            )
        # Read each time: a permission can be revoked.
        urls = {address.url for address in endpoints.addresses(name)}
        send_texts = frozenset(
            urls.intersection(endpoints.allowed_urls(self.store) if urls else ())
        )
        data = map(self.catalog.stamp, parsed.data_sets)
        stamp = (encoders.stamp_of(parsed.sources, data), send_texts)
        self._loaded.forget(lambda key: key[0] == name and key[1] != stamp)
        return self._loaded.get((name, stamp), partial(self._load, name, send_texts))

    def fresh(self, spec: str) -> Encoder:
        """The encoder without the vectors in the store: an endpoint may answer otherwise today."""
        self.refuse_visitors()
        data, allowed = self.catalog.every_sentence, endpoints.allowed_urls(self.store)
        cache = encoders.MemoryCache()
        return encoders.load(spec, cache=cache, datasets=data, send_texts=allowed)

    @cached_property
    def _typed_vectors(self) -> MemoryCache:
        """Vectors of typed sentences, of all encoders."""
        return MemoryCache(typed.MEMORY_BYTES)

    def _load(self, name: str, send_texts: Collection[str]) -> Encoder | Ranker:
        disk = corpora.WithCorpora(self.store.vectors.of(name), self.store)
        cache = typed.TypedApart(disk, self._typed_vectors, reading=self.store.reading)
        return rankers.load(
            name, cache=cache, datasets=self.catalog.every_sentence, send_texts=send_texts
        )

    def bound(self, spec: str, dataset: str) -> Encoder:
        """The encoder for a spec, with a data set in place of `@task`.

        Steps are fitted on all of its sentences, duplicates included, as in an evaluation; its
        sentences get the model's document prompt, and queries its query prompt.
        """
        return self.bind(self.load(spec), dataset)

    def bind(self, encoder: E, dataset: str) -> E:
        """As `bound`, of a loaded encoder or ranker."""
        _, splitter = chunks.split_name(dataset)
        is_late = splitter is not None and splitter.late
        if not (is_late or getattr(encoder, "needs_task", False)):
            return encoder
        from theodolite.engine.rankers.late import late

        data = self.catalog.load(dataset)
        task = PromptTask(dataset, "Retrieval")
        return late(bind_task(encoder, data.sentences, data.hash, task), data)

    def keep_result(self, result: Result) -> dict[str, Any]:
        """Store a result, and return its row."""
        # Field by field: `asdict` would copy every array.
        row = {field.name: getattr(result, field.name) for field in fields(result)}
        row["scores"] = [vars(score) for score in result.scores]
        return self.store.results.by_id(self.store.results.put(row))

    def close(self) -> None:
        """Close the store's connections."""
        NAMES.discard(self.store.encoders)
        self.store.close()


class _Shipped(Workspace):
    """The store that ships, as a part of another workspace, which loads and caches the encoders."""

    ships = True

    def __init__(self, workspace: Workspace) -> None:
        self.demo, self.read_only = workspace.demo, workspace.read_only
        self.catalog, self._workspace = workspace.catalog, workspace
        self.store = Store.shipped(SHIPPED)

    def ranker(self, spec: str) -> Encoder | Ranker:
        """As of the other workspace."""
        return self._workspace.ranker(spec)
