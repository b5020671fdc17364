"""Where engine and store meet: one store, one data folder, loaded encoders.

Pages, command line and worker all hold a Workspace. It imports the engine's heavy parts only when
an encoder is loaded, so that the first page is up before torch is.
"""

from __future__ import annotations

import os
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app import corpora, endpoints
from app.loaded import Loaded
from engine.datasets import Catalog, Upload
from engine.errors import UserError
from store import Store

if TYPE_CHECKING:
    from engine.encoders.base import Encoder
    from engine.results import Result

STARTER_ENCODERS = ("random:256", "wordllama", "minilm")


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
    """Lets the catalog read the uploads that the store keeps."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def names(self) -> list[str]:
        """Names of all uploads, oldest first."""
        return [row["name"] for row in self._store.uploads.list()]

    def get(self, name: str) -> Upload:
        """One upload.

        Raises:
            KeyError: an unknown name.
        """
        row = self._store.uploads.get(name)
        if row is None:
            raise KeyError(name)
        return Upload(row["path"], row["filename"], row["mapping"], row["bytes"])


class Workspace:
    """One store, one data root and the encoders in memory.

    Args:
        store_folder: made when missing.
        data_root: folder with evaluation data; None for what THEODOLITE_DATA names, if anything.
        read_only: visitors may look and search with what is listed, but not upload, name local
            paths or files of the hub, delete or run.
        demo: visitors may be many, and strangers: read-only, nothing is written to the store, and
            what they would have worked out is kept in memory as far as it has room there.
        hub_files: False where somebody else chooses the names: nothing of the hub is fetched.

    Raises:
        UserError: when `data_root` is no data folder.
        StoreError: when the store cannot be opened.
    """

    def __init__(
        self,
        store_folder: Path,
        data_root: Path | None = None,
        *,
        read_only: bool = False,
        demo: bool = False,
        hub_files: bool = True,
    ) -> None:
        self.demo = demo
        self.read_only = read_only or demo
        self.store = Store.open(store_folder.resolve(), reading=demo)
        self.catalog = Catalog(
            data_root.resolve() if data_root else None,
            StoredUploads(self.store),
            partial(corpora.folders, self.store),
            hub_files=hub_files and not self.read_only,
        )
        self._loaded = Loaded(self.store, self.catalog)

    def refuse_visitors(self) -> None:
        """Begin everything that changes something with this.

        Pages show visitors no such controls, but an event can be sent without its control.

        Raises:
            UserError: when this workspace is for looking only.
        """
        if self.read_only:
            raise UserError(
                "Visitors can view and search here, but change nothing.",
                "Run Theodolite on your own machine to do this.",
            )

    def load(self, spec: str) -> Encoder:
        """Return the encoder for a spec, with the store's vectors as its cache.

        The last few stay in memory, as long as their files and data do not change.

        Raises:
            UserError: for a spec, files or weights that cannot be used, or a visitor's spec that is
                not listed: it could name any folder of this machine.
        """
        from engine import encoders

        name = str(encoders.parse(spec))
        if self.read_only and self.store.encoders.get(name) is None:
            raise UserError(
                f"{name} is not among the encoders here.", "Visitors can use the listed encoders."
            )
        if self.read_only and endpoints.addresses(name):
            raise UserError(
                f"{name} would be sent what visitors ask.", "They can use encoders that are here."
            )
        return self._loaded.get(name)

    def bound(self, spec: str, dataset: str) -> Encoder:
        """The encoder for a spec, with a data set in place of `@task`.

        Steps are fitted on all of its sentences, as often as it has them, as in an evaluation; its
        sentences get the prompt that the model has for documents, and queries that for queries.

        Raises:
            UserError: an encoder or data set that cannot be used.
        """
        from engine.encoders import PromptTask, bind_task

        encoder = self.load(spec)
        if not getattr(encoder, "needs_task", False):
            return encoder
        data = self.catalog.load(dataset)
        return bind_task(encoder, data.sentences, data.hash, PromptTask(dataset, "Retrieval"))

    def keep_result(self, result: Result) -> dict[str, Any]:
        """Put a result into the store, and return its row."""
        # Field by field: `asdict` would copy every array.
        row = {field.name: getattr(result, field.name) for field in fields(result)}
        row["scores"] = [vars(score) for score in result.scores]
        return self.store.results.by_id(self.store.results.put(row))

    def close(self) -> None:
        """Close the store's connections."""
        self.store.close()
