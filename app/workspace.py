"""Where engine and store meet: one folder of results, one root of data, cached encoders.

Pages, command line and worker all hold a Workspace. It imports the engine's heavy parts only when
an encoder is loaded, so that the first page is up before torch is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.loaded import Loaded
from engine.datasets import Catalog, Upload
from engine.errors import UserError
from store import Store

if TYPE_CHECKING:
    from engine.encoders.base import Encoder, Progress
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
        return Upload(row["path"], row["filename"], row["mapping"])


class Workspace:
    """One store, one data root and the encoders in memory.

    Args:
        store_folder: made when missing.
        data_root: folder with evaluation data; None for what THEODOLITE_DATA names, if anything.
        read_only: visitors may look and search with what is listed, but not upload, name local
            paths or files of the hub, delete or run.

    Raises:
        UserError: when `data_root` is no data folder.
        StoreError: when the store cannot be opened.
    """

    def __init__(
        self, store_folder: Path, data_root: Path | None = None, *, read_only: bool = False
    ) -> None:
        self.store = Store.open(store_folder.resolve())
        self.catalog = Catalog(
            data_root.resolve() if data_root else None,
            StoredUploads(self.store),
            hub_files=not read_only,
        )
        self.read_only = read_only
        self._loaded = Loaded(self.store, self.catalog)

    def refuse_visitors(self) -> None:
        """Begin everything that changes something with this.

        Pages show visitors no such controls, but an event can be sent without its control.

        Raises:
            UserError: when this workspace is for looking only.
        """
        if self.read_only:
            raise UserError(
                "Visitors can look and search here, and change nothing.",
                "Start Theodolite on a machine of your own to do that.",
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
                f"{name} is not among the encoders here.", "Visitors can use those that are listed."
            )
        return self._loaded.get(name)

    def bound(self, spec: str, dataset: str) -> Encoder:
        """The encoder for a spec; steps that say `@task` are fitted on a data set.

        On all of its sentences, as often as it has them: as in an evaluation.

        Raises:
            UserError: an encoder or data set that cannot be used.
        """
        from engine.encoders import bind_task

        encoder = self.load(spec)
        if not getattr(encoder, "needs_task", False):
            return encoder
        data = self.catalog.load(dataset)
        return bind_task(encoder, data.sentences, data.hash)

    def add_encoder(self, spec: str) -> dict[str, Any]:
        """Check a spec, remember it with what is known of it, and return its row."""
        self.refuse_visitors()
        return self._add_encoder(spec)

    def _add_encoder(self, spec: str) -> dict[str, Any]:
        from engine import encoders

        name = str(encoders.parse(spec))
        return dict(self.store.encoders.add(name, encoders.describe(name)))

    def evaluate(
        self,
        specs: Sequence[str],
        tasks: Sequence[str],
        protocol: str | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
        *,
        seeds: int = 1,
        listed: bool = True,
    ) -> Iterator[dict[str, Any]]:
        """Yield the store's result row for each encoder and task, measured now if it is not there.

        Args:
            specs: encoders.
            tasks: by name.
            protocol: for all tasks; None is each task's own.
            seed: the first; None is the protocol's own.
            progress: called with (done, total) of the present task.
            seeds: how many in a row; a task that draws nothing is measured once all the same.
            listed: False to leave the encoders out of the list that the pages offer.

        Raises:
            UserError: before anything is computed, for a spec or seed that cannot be read. What
                goes wrong later is in the rows.
        """
        from engine import encoders, protocols
        from engine.tasks import seeds_of

        protocols.check_seed(seed, seeds)
        names = [str(encoders.parse(spec)) for spec in specs]
        if listed:
            self.list_encoders(names)
        return (
            self.evaluate_one(name, task, protocol, number, progress)
            for name in dict.fromkeys(names)
            for task in tasks
            for number in seeds_of(task, protocol, seed, seeds)
        )

    def evaluate_one(
        self,
        name: str,
        task: str,
        protocol: str | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """One row of `evaluate`: from the store if this very question was answered before."""
        from engine import evaluate

        try:
            encoder = self.load(name)
        except UserError as error:
            return self.keep_result(self._unloaded(name, task, protocol, seed, error))
        known = self.known(encoder, task, protocol, seed)
        if known is not None:
            return known
        (result,) = evaluate(
            encoder, [task], protocol=protocol, seed=seed, data=self.catalog, progress=progress
        )
        return self.keep_result(result)

    def list_encoders(self, names: Iterable[str]) -> None:
        """Have the pages show encoders that are being measured."""
        for name in names:
            if self.store.encoders.get(name) is None:
                self.show_encoder(name)

    def show_encoder(self, name: str) -> None:
        """Have the pages show an encoder, with what is known of it if anything is."""
        try:
            self._add_encoder(name)
        except UserError:  # it cannot be described: whoever uses it will be told why
            self.store.encoders.add(name)

    def known(
        self, encoder: Encoder, task: str, protocol: str | None, seed: int | None
    ) -> dict[str, Any] | None:
        """The result that answers this very question, with these weights and data, if any.

        One whose per-example values cannot be read is measured again.
        """
        from engine import protocols, tasks
        from engine.encoders import bind_task

        found = tasks.get(task, self.catalog)
        chosen = protocols.get(protocol or found.protocol)
        try:
            dataset = self.catalog.load(found.dataset)
            bound = bind_task(encoder, dataset.sentences, dataset.hash)
        except UserError:
            return None  # the evaluation will say it
        row = self.store.results.get(
            encoder=encoder.name,
            fingerprint=bound.fingerprint,
            task=task,
            protocol=chosen.name,
            seed=chosen.seed if seed is None else seed,
            data_hash=dataset.hash,
        )
        if row is None or row["error"] is not None or not self.store.results.is_readable(row):
            return None
        return row

    def _unloaded(
        self, name: str, task: str, protocol: str | None, seed: int | None, error: UserError
    ) -> Result:
        from engine import protocols, tasks
        from engine.results import Result

        chosen = protocols.get(protocol or tasks.get(task, self.catalog).protocol)
        return Result(
            encoder=name,
            fingerprint="",
            dim=0,
            task=task,
            protocol=chosen.name,
            seed=chosen.seed if seed is None else seed,
            data_hash="",
            error=error.message,
            hint=error.hint,
        )

    def keep_result(self, result: Result) -> dict[str, Any]:
        """Put a result into the store, and return its row."""
        # Field by field: `asdict` would copy every array.
        row = {field.name: getattr(result, field.name) for field in fields(result)}
        row["scores"] = [vars(score) for score in result.scores]
        return self.store.results.by_id(self.store.results.put(row))

    def close(self) -> None:
        """Close the store's connections."""
        self.store.close()
