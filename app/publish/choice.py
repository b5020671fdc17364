"""What is published: chosen encoders and tasks, as a store of its own that holds nothing else.

Pages made over that store cannot show what was not chosen. Names that are masked are masked there,
before anything is drawn: a chart that shortens a name would leave half a path standing.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from app import formats
from app.workspace import StoredUploads, Workspace
from engine.datasets import Catalog
from engine.encoders.spec import SOURCES, EncoderSpec, SourceSpec, StepSpec, parse
from engine.errors import UserError
from store.part import copy_results

if TYPE_CHECKING:
    from engine.datasets.types import Dataset, DatasetInfo
    from engine.encoders import Encoder

Mask = Literal["none", "paths", "names"]
UPLOAD = "upload:"
FEW = 3
"""Data sets that are drawn without having been named."""
SHIPPED = ("minilm", "wordllama", "random", "borep")
"""Sources whose name says nothing of whoever uses them."""
FACTS = ("kind", "dim", "parameters", "embedding_parameters", "bytes", "max_tokens", "licence",
         "trained_on", "pooling")  # fmt: skip
"""What is known of an encoder and goes along; what else is listed speaks of this machine."""


@dataclass(frozen=True)
class Choice:
    """What is published of a store.

    Attributes:
        encoders: name -> name in the published pages, in the order of the list.
        tasks: likewise.
        results: ids.
        data: data sets whose texts may be shown, likewise.
        drawn: those of them that maps, spaces and geometry are shown of; names in the store.
    """

    encoders: Mapping[str, str]
    tasks: Mapping[str, str]
    results: tuple[int, ...]
    data: Mapping[str, str] = field(default_factory=dict)
    drawn: tuple[str, ...] = ()


class TextCatalog(Catalog):
    """The data sets of what is published, and none beside; it remembers whose texts were asked for.

    Args:
        source: where all data sets are.
        names: of these, as they are published -> as they are there.
        texts: whether it gives any texts.

    Attributes:
        names: of these, as they are there.
    """

    def __init__(self, source: Workspace, names: Mapping[str, str], *, texts: bool) -> None:
        super().__init__(source.catalog.root, StoredUploads(source.store), hub_files=False)
        self._names = names
        self.names = sorted(names.values())
        self._texts = texts
        self.asked: dict[str, int] = {}

    def list(self) -> builtins.list[DatasetInfo]:
        """As of a `Catalog`."""
        here = {info.name: info for info in super().list()}
        return [
            replace(here[real], name=name) for name, real in self._names.items() if real in here
        ]

    def load(self, name: str) -> Dataset:
        """As of a `Catalog`.

        Raises:
            UserError: also where these texts are not to be published.
        """
        if not self._texts or name not in self.names:
            raise UserError(f"The texts of {name} are not published.")
        data = super().load(name)
        self.asked[name] = len(set(data.sentences))
        return data

    def _found(self, name: str) -> tuple[object, Callable[[], Dataset]]:
        return super()._found(self._names.get(name, name))


def choose(
    workspace: Workspace,
    encoders: Sequence[str] = (),
    tasks: str | None = None,
    mask: Mask = "none",
    data: Sequence[str] = (),
) -> Choice:
    """Find what is published.

    Args:
        workspace: whose store has it.
        encoders: spec strings; none for those that Compare opens with.
        tasks: names or suites, separated by commas; None for all.
        mask: whether paths of this machine, or all names of one's own, are replaced.
        data: data sets that maps, spaces and geometry are shown of; none for those of the tasks,
            where these are few, else for those of them that something was drawn of before.

    Raises:
        UserError: for visitors, a spec, task or data set that cannot be read, or nothing that was
            measured while no data set is named.
    """
    from app.pages.encoders.service import shown_first
    from engine.tasks import expand

    workspace.refuse_visitors()
    names = [str(parse(spec)) for spec in encoders] or shown_first(workspace)
    rows = workspace.store.results.table(encoders=names)
    rows = [row for row in rows if row["error"] is None]
    if tasks is not None:
        wanted = expand(tasks, workspace.catalog, None, {row["task"] for row in rows})
        rows = [row for row in rows if row["task"] in wanted]
    measured = {row["encoder"] for row in rows}
    for name in data:
        workspace.catalog.load(name)
    if data:
        measured |= set(names)
    if not measured:
        raise UserError("There is nothing to publish: no encoder was measured on these tasks.",
                        "Measure them first: theodolite evaluate.")  # fmt: skip
    missing = [name for name in names if name not in measured]
    if encoders and missing:
        raise UserError(f"{formats.listed(missing)} was not measured on these tasks.",
                        "Leave it out, or measure it: theodolite evaluate.")  # fmt: skip
    kept = [name for name in names if name in measured]
    alias = _Alias(mask)
    public = {row["task"]: alias.data(row["task"]) for row in rows}
    readable = dict.fromkeys([*data, *_datasets(workspace, public)])
    return Choice(
        {name: str(alias.encoder(parse(name))) for name in kept},
        public,
        tuple(row["id"] for row in rows),
        {name: alias.data(name) for name in readable},
        tuple(data) or _drawn(workspace, kept, readable),
    )


def _drawn(
    workspace: Workspace, encoders: Collection[str], data: Collection[str]
) -> tuple[str, ...]:
    """The data sets that something is drawn of: all where they are few."""
    if len(data) <= FEW:
        return tuple(data)
    store = workspace.store
    infos = [row["info"] for row in (*store.projections.list(), *store.derived.list("geometry"))]
    made = {info["dataset"] for info in infos if info["encoder"] in encoders}
    return tuple(name for name in data if name in made)


class PartWorkspace(Workspace):
    """A store of what is published, for looking only.

    Its encoders have their published names, and encode as those of the source do that they are.

    Args:
        folder: of the store.
        source: what it is a part of.
        catalog: of what is published.
        encoders: names -> what they are in the source.
    """

    def __init__(
        self, folder: Path, source: Workspace, catalog: TextCatalog, encoders: Mapping[str, str]
    ) -> None:
        super().__init__(folder, catalog.root, read_only=True)
        self.catalog: TextCatalog = catalog
        self._source = source
        self._encoders = encoders

    def load(self, spec: str) -> Encoder:
        """As of a `Workspace`.

        Raises:
            UserError: an encoder that is not published, or cannot be used.
        """
        name = str(parse(spec))
        if name not in self._encoders:
            raise UserError(f"{name} is not published.")
        return self._source.load(self._encoders[name])


def part(workspace: Workspace, choice: Choice, folder: Path, *, texts: bool) -> PartWorkspace:
    """Make the store that pages are frozen over.

    Args:
        workspace: whose store has all.
        choice: what of it.
        folder: of the new store.
        texts: whether pages may show texts of data sets.
    """
    names = {public: real for real, public in choice.data.items()}
    catalog = TextCatalog(workspace, names, texts=texts)
    made = PartWorkspace(
        folder, workspace, catalog, {public: real for real, public in choice.encoders.items()}
    )
    known = {row["name"]: row["info"] for row in workspace.store.encoders.list()}
    for name, public in choice.encoders.items():
        info: Mapping[str, Any] = known.get(name, {})
        kept = {fact: info[fact] for fact in FACTS if info.get(fact) is not None}
        made.store.encoders.add(public, kept)
    copy_results(workspace.store, made.store, choice.results, choice.encoders, choice.tasks)
    return made


def _datasets(workspace: Workspace, tasks: Collection[str]) -> list[str]:
    """Names of the data sets that tasks are on, as far as they are here."""
    from engine.tasks import get

    here, found = {info.name for info in workspace.catalog.list()}, []
    for name in tasks:
        with contextlib.suppress(UserError):
            found.append(get(name, workspace.catalog).dataset)
    return [name for name in dict.fromkeys(found) if name in here]


def private(encoders: Collection[str]) -> list[str]:
    """Paths and addresses of servers that stand in names of encoders."""
    found = []
    for source in (source for name in encoders for source in parse(name).sources):
        if SOURCES[source.kind].value_is in ("path", "address"):
            found.append(source.value)
        words = source.option("words") or ""
        found += [words] if Path(words).is_absolute() else []
    return list(dict.fromkeys(found))


class _Alias:
    """Names in place of others: the same one for the same, another for another."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._given: dict[str, str] = {}

    def encoder(self, spec: EncoderSpec) -> EncoderSpec:
        """A spec in which nothing that is masked stands."""
        if self._mask == "none":
            return spec
        return EncoderSpec(
            tuple(map(self._source, spec.sources)), tuple(map(self._step, spec.steps))
        )

    def data(self, name: str) -> str:
        """A name of a data set or task; that of an upload is one's own."""
        if self._mask != "names" or not name.startswith(UPLOAD):
            return name
        upload, slash, rest = name.removeprefix(UPLOAD).partition("/")
        return f"{UPLOAD}{self._number(UPLOAD + upload, 'data')}{slash}{rest}"

    def _source(self, source: SourceSpec) -> SourceSpec:
        words = source.option("words")
        if words and Path(words).is_absolute():
            source = source.with_options(words=self._path(words))
        if data := source.option("data"):
            source = source.with_options(data=self.data(data))
        kind = SOURCES[source.kind].value_is
        if kind == "path":
            return replace(source, value=self._path(source.value))
        if kind == "address":
            name = self._number(source.value, "endpoint")
            return replace(source, value=f"https://{name}.invalid#{name}")
        if self._mask == "names" and source.value and source.kind not in SHIPPED:
            return replace(source, value=self._number(source.value, "encoder"))
        return source

    def _step(self, step: StepSpec) -> StepSpec:
        return replace(step, data=self.data(step.data))

    def _path(self, path: str) -> str:
        if self._mask == "names":
            return f"/{self._number(path, 'encoder')}"
        return self._given.setdefault(path, self._free(f"/{formats.last_part(path)}"))

    def _number(self, value: str, word: str) -> str:
        many = sum(given.startswith(f"{word}-") for given in self._given.values())
        return self._given.setdefault(value, f"{word}-{many + 1}")

    def _free(self, name: str) -> str:
        """The name, or with a number where another has it."""
        taken, tried, number = set(self._given.values()), name, 1
        while tried in taken:
            number += 1
            tried = f"{name}-{number}"
        return tried
