"""The catalog: all available data sets by name, loaded on demand.

Names come from the starter set, a data folder, uploads (`upload:NAME`) and the hub (`hub:…`).
Knows neither the store nor the web: uploads come through a small protocol.
"""

from __future__ import annotations

import builtins
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping as MappingABC, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Lock, local
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from theodolite.engine.corpus.files import MANIFEST
from theodolite.engine.datasets import (
    beir,
    by_rule,
    chunks,
    coco,
    held_out,
    hub,
    manifests,
    parallel,
    senteval,
    starter,
    summaries,
    table_folders,
)
from theodolite.engine.datasets.files import DatasetSource, find
from theodolite.engine.datasets.tables import Mapping, read
from theodolite.engine.datasets.types import Dataset, DatasetInfo, Kind, Retrieval, Sentences
from theodolite.engine.errors import UserError, did_you_mean
from theodolite.engine.mteb import own_tasks
from theodolite.engine.stamps import stamp

_FOLDERS = (
    *("downstream", "probing", "probing_multilingual", "senteval"),
    *("mteb", "nli", "captions", "unlabelled", "vectors"),
)
_PLACES = senteval.PLACES | {coco.NAME: coco.NAME}
"""Data set -> its folder under `downstream/`."""
_UPLOAD = "upload:"
_CORPUS = "corpus:"
_READERS = (senteval, coco, manifests, beir, parallel, summaries)
_SHORT = {"starter": "starter-topics"}
_MAX_KEPT = 8
"""Data sets kept in memory: a whole STS evaluation (seven) and the collection being searched."""


@dataclass(frozen=True)
class Upload:
    """An uploaded file.

    Attributes:
        path: where it is stored, under an arbitrary name.
        filename: its original name, whose ending determines the format.
        mapping: the roles of its columns, `tables.Mapping.to_dict()`.
        bytes: size of the file, if known.
        no_task: see `DatasetInfo`.
    """

    path: Path
    filename: str
    mapping: MappingABC[str, Any]
    bytes: int | None = None
    no_task: bool = False


class UploadSource(Protocol):
    """Storage of uploads; the app passes one that reads the store."""

    def names(self) -> list[str]:
        """Return the names of the uploads, without the prefix `upload:`."""
        ...

    def get(self, name: str) -> Upload:
        """Return one upload; raise KeyError for an unknown name."""
        ...


class Catalog:
    """A catalog of data sets by name.

    Args:
        root: a data folder in either layout (SentEval's own, or one with `senteval/`, `mteb/`,
            `nli/`, `captions/`, `unlabelled/`); by default the value of THEODOLITE_DATA, if set.
        uploads: the storage of uploads, if any.
        corpora: returns the folders of encoded corpora by name, see `engine.corpus`.
        hub_files: whether `hub:…` may be downloaded; off where strangers choose the names.
    """

    def __init__(
        self,
        root: Path | None = None,
        uploads: UploadSource | None = None,
        corpora: Callable[[], MappingABC[str, Path]] = dict,
        *,
        hub_files: bool = True,
    ) -> None:
        if root is None and os.environ.get("THEODOLITE_DATA"):
            root = Path(os.environ["THEODOLITE_DATA"])
        self.root = None if root is None else _check_root(root)
        self._uploads = uploads
        self._corpora = corpora
        self._hub_files = hub_files
        self._loaded: OrderedDict[object, Dataset] = OrderedDict()
        self._distinct: WeakKeyDictionary[Dataset, dict[bool, tuple[builtins.list[str], str]]]
        self._distinct = WeakKeyDictionary()
        self._listing: _Listed | None = None
        self._snapshot = local()
        self._lock = Lock()  # pages and jobs use it from several threads

    @classmethod
    def of(cls, data: Catalog | Path | str | None) -> Catalog:
        """Return a catalog as is, or the catalog of a data folder; None for THEODOLITE_DATA."""
        if isinstance(data, Catalog):
            return data
        return cls(None if data is None else Path(data))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Scan the folders only once for all calls by this thread in the context."""
        before, self._snapshot.sources = getattr(self._snapshot, "sources", None), self._sources()
        try:
            yield
        finally:
            self._snapshot.sources = before

    def list(self) -> list[DatasetInfo]:
        """List what can be loaded: uploads, starter set, data folder, corpora. Reads no rows."""
        infos = [source.info for source in self._sources().values() if not source.info.problem]
        corpora = (
            DatasetInfo(
                _CORPUS + name, "sentences", "corpus", f"Encoded into the folder {folder.name}."
            )
            for name, folder in self._corpora().items()
        )
        return [*self._own(), *infos, *corpora]

    def _own(self) -> Iterator[DatasetInfo]:
        if self._uploads is not None:
            for name in sorted(self._uploads.names()):
                # One may have been removed since the names were read.
                with suppress(KeyError):
                    yield _of_upload(_UPLOAD + name, self._uploads.get(name))

    def names(self) -> builtins.list[str]:
        """Return the names of the listed data sets."""
        return [info.name for info in self.list()]

    def has(self, names: Iterable[str]) -> set[str]:
        """Return those of the names that are of the starter set or of a standard layout.

        Quick: other folders hold tables, which have to be opened to know what they are.
        """
        sources = starter.sources() if self.root is None else _standard(self.root)
        return {source.info.name for source in sources if not source.info.problem} & set(names)

    def unread(self) -> builtins.list[DatasetInfo]:
        """List the data sets of the data folder that cannot be read, each with its problem."""
        return [source.info for source in self._sources().values() if source.info.problem]

    def with_sizes(self, infos: Sequence[DatasetInfo]) -> builtins.list[DatasetInfo]:
        """Fill in the sizes of the files on disk."""
        sources = self._sources()
        return [
            replace(info, bytes=_bytes(sources[info.name].paths)) if info.name in sources else info
            for info in infos
        ]

    def files(self, name: str) -> builtins.list[Path]:
        """Return the files that a data set of the data folder is read from; none for others.

        For a set of SentEval's, all files in its folder.
        """
        source = self._sources().get(name)
        if source is None or source.info.origin != "folder":
            return []
        every = [file for place in source.paths for file in (find(place), *place.rglob("*"))]
        return sorted({file for file in every if file and file.is_file()})

    def load(self, name: str) -> Dataset:
        """Return a data set by name; the last few stay in memory until their files change.

        `starter` is short for `starter-topics`.
        """
        return self._remember(*self._locate(name))

    def sentences(self, name: str, *, queries: bool = True) -> tuple[builtins.list[str], str]:
        """Return the distinct sentences of a data set in order, and the hash of that list.

        Used for search and display. Of a retrieval set, `queries` says whether its own count too.
        """
        dataset = self.load(name)
        documents = dataset.documents if isinstance(dataset, Retrieval) and not queries else None
        known, whole = self._distinct.setdefault(dataset, {}), documents is None
        if whole not in known:
            texts = dataset.sentences if documents is None else documents.values()
            distinct = list(dict.fromkeys(texts))
            known[whole] = distinct, Sentences(name, distinct).hash
        return known[whole]

    def every_sentence(self, name: str) -> tuple[builtins.list[str], str]:
        """Return all sentences of a data set, with repetitions, and the hash of that list.

        Steps such as `whiten:nli` are fitted on these, as with `@task` on those of a task. The hash
        equals that of `sentences` if no sentence repeats.
        """
        every = self.load(name).sentences
        return every, Sentences(name, every).hash

    def stamp(self, name: str) -> object:
        """Return a stamp that changes with the data set's files, without reading them."""
        return self._locate(name)[0]

    def content(self, name: str) -> str:
        """Return a cache key of a data set's content, without reading large files."""
        # Shipped sets have no file to stamp, and are small enough to read.
        shipped = bool(name) and name.startswith("starter-")
        return self.load(name).hash if shipped else repr(self.stamp(name))

    def _locate(self, name: str) -> tuple[object, Callable[[], Dataset]]:
        """Return a data set's stamp, which changes with it, and the function that reads it."""
        if name is None:
            raise UserError(
                "No data set is chosen.",
                "Choose one; `theodolite data` lists them.",
                code="missing",
            )
        name = _SHORT.get(name, name)
        whole, splitter = chunks.split_name(name)
        if splitter is not None:
            stamp, _ = self._locate(whole)
            return (stamp, splitter), lambda: chunks.cut(self.load(whole), splitter, name)
        whole, seed = held_out.split_name(name)
        if seed is not None:
            stamp, _ = self._locate(whole)
            return (stamp, "split", seed), lambda: held_out.split(self.load(whole), seed, name)
        whole, is_made = by_rule.split_name(name)
        if is_made:
            stamp, _ = self._locate(whole)
            return (stamp, by_rule.STEP), lambda: by_rule.make(self.load(whole), name)
        if name.startswith((hub.PREFIX, own_tasks.PREFIX)):
            if not self._hub_files:
                raise UserError(
                    "Files from the hub cannot be downloaded here.",
                    "Choose a listed set.",
                    code="denied",
                )
            return name, partial(hub.load if name.startswith(hub.PREFIX) else own_tasks.load, name)
        if name.startswith(_UPLOAD):
            return self._found_upload(name)
        if name.startswith(_CORPUS):
            return self._found_corpus(name)
        # The starter set is shipped: no need to scan data folders for it.
        starters = {source.info.name: source for source in starter.sources()}
        source = starters.get(name) or self._sources().get(name)
        if source is None:
            raise self._unknown(name)
        return (name, source.stamp), source.read

    def _sources(self) -> dict[str, DatasetSource]:
        """Return the available data sets by name, rescanned when a folder has changed."""
        if self.root is None:
            return {source.info.name: source for source in starter.sources()}
        seen: dict[str, DatasetSource] | None = getattr(self._snapshot, "sources", None)
        if seen is not None:
            return seen
        now = _folders_stamp(self.root)
        known = self._listing
        if known is None or known.folders != now or stamp(*known.faulty) != known.files:
            sources = _sources(self.root)
            faulty = [
                path for source in sources.values() if source.info.problem for path in source.paths
            ]
            known = self._listing = _Listed(now, faulty, stamp(*faulty), sources)
        return known.sources

    def _found_upload(self, name: str) -> tuple[object, Callable[[], Dataset]]:
        try:
            if self._uploads is None:
                raise KeyError(name)
            upload = self._uploads.get(name.removeprefix(_UPLOAD))
        except KeyError:
            raise self._unknown(name) from None
        mapping = Mapping.from_dict(upload.mapping)
        # A name may be reused for another file or mapping, so both are part of the key.
        key = (name, upload.path, repr(mapping))
        return key, partial(read, upload.path, upload.filename, mapping, name)

    def _found_corpus(self, name: str) -> tuple[object, Callable[[], Dataset]]:
        folder = self._corpora().get(name.removeprefix(_CORPUS))
        if folder is None:
            raise self._unknown(name)
        return (name, stamp(folder / MANIFEST)), partial(_read_corpus, name, folder)

    def remember(self, name: str, data: Dataset) -> None:
        """Keep a data set that was just read under its name, so that it is not read again."""
        self._remember(self._locate(name)[0], lambda: data)

    def _remember(self, key: object, load: Callable[[], Dataset]) -> Dataset:
        with self._lock:
            if key in self._loaded:
                self._loaded.move_to_end(key)
                return self._loaded[key]
        # Outside the lock, so that a download never blocks a page; at worst it is read twice.
        data = load()
        with self._lock:
            self._loaded[key] = data
            while len(self._loaded) > _MAX_KEPT:
                self._loaded.popitem(last=False)
        return data

    def _unknown(self, name: str) -> UserError:
        message = f"There is no data set named {name!r}."
        place = _PLACES.get(name)
        if place:
            return UserError(
                message,
                f"Its files belong in downstream/{place} of the data folder "
                "that --data or THEODOLITE_DATA names.",
                code="unknown",
            )
        names = (info.name for info in self.list())
        hint = did_you_mean(name, names, "The page Data, or `theodolite data`, lists what is here.")
        return UserError(message, hint, code="unknown")


class _Listed(NamedTuple):
    """A scan of a data folder, with the stamps of its folders and unreadable files."""

    folders: tuple[int, ...]
    faulty: list[Path]
    files: object
    sources: dict[str, DatasetSource]


def _standard(root: Path) -> list[DatasetSource]:
    """List the starter set, and the folders whose names and files tell what they are."""
    return [*starter.sources(), *chain.from_iterable(one.sources(root) for one in _READERS)]


def _sources(root: Path) -> dict[str, DatasetSource]:
    sources = _standard(root)
    sources += table_folders.sources(root, _covered_paths(sources))
    sources += _unreadable(root, _covered_paths(sources))
    by_name: dict[str, DatasetSource] = {}
    for source in sources:  # of equal names, the set of a built-in task comes first
        by_name.setdefault(source.info.name, source)
    return by_name


def _of_upload(name: str, upload: Upload) -> DatasetInfo:
    mapping = Mapping.from_dict(upload.mapping)
    task = {"labels": f"{name}/classify", "sentences": None, "triplets": None}.get(
        mapping.kind, name
    )
    return DatasetInfo(
        name,
        mapping.kind,
        "upload",
        f"Added as {upload.filename}.",
        task=task,
        type=mapping.type,
        bytes=upload.bytes,
        no_task=upload.no_task,
    )


def _read_corpus(name: str, folder: Path) -> Dataset:
    from theodolite.engine.corpus.reading import EncodedCorpus

    return Sentences(name, list(EncodedCorpus(folder).sentences()))


def _check_root(root: Path) -> Path:
    root = root.expanduser()
    if not root.is_dir():
        raise UserError(
            f"The data folder {root} is not a folder.",
            "Give --data or THEODOLITE_DATA a folder that exists, or leave both out.",
            code="no-file",
        )
    if not any((root / folder).is_dir() for folder in _FOLDERS):
        raise UserError(
            f"The data folder {root} holds none of {', '.join(_FOLDERS)}.",
            "Name the folder that holds SentEval's downstream/, or one with senteval/, mteb/ and "
            "the like.",
            code="wrong-kind",
        )
    return root


_EXPECTED: dict[str, tuple[Kind, str]] = {
    "mteb/retrieval": ("retrieval", beir.EXPECTED),
    "mteb/bitext": ("parallel", parallel.EXPECTED),
    "mteb/summarization": ("summaries", summaries.EXPECTED),
    **{place: (kind, table_folders.EXPECTED) for place, (kind, _) in table_folders.FOLDERS.items()},
}
"""Folder -> kind of its data sets, and the expected layout."""


def _covered_paths(sources: Iterable[DatasetSource]) -> set[Path]:
    """Return the files and folders that readers cover, and all their parent folders."""
    paths = {path for source in sources for path in source.paths}
    return paths | {folder for path in paths for folder in path.parents}


def _unreadable(root: Path, covered_paths: set[Path]) -> list[DatasetSource]:
    """List the folders below `mteb/*/`, `nli/` and `captions/` that are not taken."""
    places = (
        path
        for pattern in ("mteb/*/*/", "nli/*/", "captions/*/")
        for path in sorted(root.glob(pattern))
        if path not in covered_paths
    )
    return [_unreadable_source(path.relative_to(root).as_posix()) for path in places]


def _unreadable_source(place: str) -> DatasetSource:
    kind, expected = _EXPECTED.get(place.rpartition("/")[0], (None, ""))
    problem = f"The folder {place} holds no data set that can be read"
    problem += f": expected are {expected}." if expected else "."
    info = DatasetInfo(
        place, kind, "folder", "Files of a kind that is not known here.", problem=problem
    )
    return DatasetSource(info, partial(_refuse, problem))


def _refuse(problem: str) -> Dataset:
    raise UserError(problem, "`theodolite data list` shows what can be read.", code="wrong-kind")


def _folders_stamp(root: Path) -> tuple[int, ...]:
    """Return a stamp that changes when files are added to or removed from the folders."""
    changed = []
    for folder in _FOLDERS:
        for place, *_ in os.walk(root / folder, followlinks=True):
            with suppress(OSError):  # removed meanwhile
                changed.append(os.stat(place).st_mtime_ns)  # noqa: PTH116, called often
    return tuple(changed)


def _bytes(paths: Iterable[Path]) -> int:
    """Return the total bytes of files and folders; missing ones count 0."""
    files = (file for path in paths for file in (path, *path.rglob("*")))
    return sum(file.stat().st_size for file in files if file.is_file())
