"""What is published: chosen encoders and tasks, as a store of its own that holds nothing else.

Pages made from that store cannot show anything else. Names are masked in the store, before anything
is drawn: a chart that shortens a name would leave half a path visible. What is masked are paths of
this machine, or all names that its user gave.
"""

import builtins
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

from theodolite.app import formats
from theodolite.app.pages.trainings.service import TrainingRun
from theodolite.app.published import Choice, Query
from theodolite.app.workspace import StoredUploads, Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import Dataset, DatasetInfo
from theodolite.engine.encoders import Encoder
from theodolite.engine.encoders.spec import SOURCES, EncoderSpec, SourceSpec
from theodolite.engine.errors import UserError
from theodolite.engine.rankers import Ranker
from theodolite.engine.rankers.spec import RankerSpec, Spec, parse
from theodolite.engine.tasks import expand, get
from theodolite.store.part import copy_results

Mask = Literal["none", "paths", "names"]
UPLOAD = "upload:"
SHIPPED = ("minilm", "wordllama", "random", "borep")
"""Sources whose name reveals nothing about the user."""
MAX_UNNAMED = 3
"""Maximum number of data sets that are all drawn without being named."""
FACTS = (
    "kind",
    "dim",
    "parameters",
    "embedding_parameters",
    "bytes",
    "max_tokens",
    "licence",
    "trained_on",
    "pooling",
)
"""Facts of an encoder that are published; its other facts are about this machine."""


def private(encoders: Collection[str]) -> list[str]:
    """Paths and addresses of servers in the names of encoders."""
    places = []
    for source in (source for name in encoders for source in parse(name).sources):
        places += [source.value] if SOURCES[source.kind].value_is == "address" else source.paths
    return list(dict.fromkeys(places))


class Alias:
    """Replacements for names: equal names get equal ones, different names different ones."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._given: dict[str, str] = {}

    def encoder(self, spec: Spec) -> Spec:
        """The spec with its masked parts replaced."""
        if self._mask == "none":
            return spec
        if isinstance(spec, RankerSpec):
            model = spec.model and self._source(spec.model)
            return replace(spec, parts=tuple(map(self.encoder, spec.parts)), model=model)
        steps = (replace(step, data=self.data(step.data)) for step in spec.steps)
        return EncoderSpec(tuple(map(self._source, spec.sources)), tuple(steps))

    def data(self, name: str) -> str:
        """A name of a data set or task; those of uploads are given by the user."""
        if self._mask != "names" or not name.startswith(UPLOAD):
            return name
        upload, slash, rest = name.removeprefix(UPLOAD).partition("/")
        return f"{UPLOAD}{self._number(UPLOAD + upload, 'data')}{slash}{rest}"

    def own(self, name: str, word: str) -> str:
        """A name that the user gave to something."""
        return self._number(name, word) if self._mask == "names" else name

    def setting(self, name: str) -> str:
        """An encoder, a file or a data set in the settings of a training."""
        if Path(name).is_absolute():
            return name if self._mask == "none" else self._path(name)
        with contextlib.suppress(UserError):
            return str(self.encoder(parse(name)))
        return self.data(name)

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

    def _path(self, path: str) -> str:
        """Its last part, numbered where that is taken."""
        if self._mask == "names":
            return f"/{self._number(path, 'encoder')}"
        last, taken = f"/{formats.last_part(path)}", self._given.values()
        names = (last if number == 1 else f"{last}-{number}" for number in count(1))
        return self._given.setdefault(path, next(name for name in names if name not in taken))

    def _number(self, value: str, word: str) -> str:
        many = sum(name.startswith(f"{word}-") for name in self._given.values())
        return self._given.setdefault(value, f"{word}-{many + 1}")


class TextCatalog(Catalog):
    """A catalog of the published data sets alone.

    Args:
        source: the workspace with all data sets.
        names: published name -> name in the source.
        texts: whether texts may be loaded.

    Attributes:
        real_names: names in the source.
        asked: published name of each data set that was loaded -> number of distinct sentences.
    """

    def __init__(self, source: Workspace, names: Mapping[str, str], *, texts: bool) -> None:
        super().__init__(source.catalog.root, StoredUploads(source.store), hub_files=False)
        self._names = names
        self.real_names = sorted(names.values())
        self._texts = texts
        self.asked: dict[str, int] = {}

    def list(self) -> builtins.list[DatasetInfo]:
        """As `Catalog.list`, by published names."""
        here = {info.name: info for info in super().list()}
        return [
            replace(here[real], name=name) for name, real in self._names.items() if real in here
        ]

    def has(self, names: Iterable[str]) -> set[str]:
        """As `Catalog.has`, by published names."""
        members = set(names)
        real = super().has(self._names[name] for name in members & set(self._names))
        return {name for name in members if self._names.get(name) in real}

    def load(self, name: str) -> Dataset:
        """As `Catalog.load`, by published name."""
        if not self._texts or name not in self._names:
            raise UserError(f"The texts of {name} are not published.", code="denied")
        data = super().load(name)
        self.asked[name] = len(set(data.sentences))
        return data

    def _locate(self, name: str) -> tuple[object, Callable[[], Dataset]]:
        return super()._locate(self._names.get(name, name))


def choose(
    workspace: Workspace,
    encoders: Sequence[str] = (),
    tasks: str | None = None,
    mask: Mask = "none",
    data: Sequence[str] = (),
    trainings: Sequence[str] = (),
    *,
    evaluated_only: bool = True,
) -> Choice:
    """Choose what is published.

    Args:
        workspace: with the store.
        encoders: spec strings; none for those that Compare opens with.
        tasks: names or suites, separated by commas; None for all.
        mask: whether paths of this machine, or all names given by the user, are replaced.
        data: data sets to show maps, spaces and geometry of; none for those of the tasks, if these
            are few, else for those of them that were drawn before.
        trainings: keys of trainings whose curves are shown beside those that made the encoders.
        evaluated_only: whether encoders that were not evaluated on these tasks are left out, or
            refused where they are named.
    """
    from theodolite.app.pages.encoders.service import shown_first

    workspace.refuse_visitors()
    names = [str(parse(spec)) for spec in encoders] or shown_first(workspace)
    rows = [row for row in workspace.store.results.table(encoders=names) if row["error"] is None]
    if tasks is not None:
        task_names = expand(tasks, workspace.catalog, None, {row["task"] for row in rows})
        rows = [row for row in rows if row["task"] in task_names]
    for name in data:
        workspace.catalog.load(name)
    evaluated = names if data or not evaluated_only else {row["encoder"] for row in rows}
    included = [name for name in names if name in evaluated]
    if not included:
        raise UserError(
            "There is nothing to publish: no encoder was evaluated on these tasks.",
            "Evaluate one first: theodolite evaluate.",
            code="no-result",
        )
    if encoders and (missing := [name for name in names if name not in evaluated]):
        raise UserError(
            f"{formats.listed(missing)} was not evaluated on these tasks.",
            "Leave it out, or evaluate it: theodolite evaluate.",
            code="no-result",
        )
    alias = Alias(mask)
    public = {row["task"]: alias.data(row["task"]) for row in rows}
    readable = dict.fromkeys([*data, *_datasets(workspace, public)])
    public_names = {name: str(alias.encoder(parse(name))) for name in included}
    runs = _trainings(workspace, included, trainings)
    settings = [
        str(name)
        for row in runs
        for name in (row.encoder, *map(row.settings.get, ("base", "train", "dev")))
        if name
    ]
    labels = workspace.store.encoders.labels()
    return Choice(
        public_names,
        public,
        tuple(row["id"] for row in rows),
        {name: alias.data(name) for name in readable},
        {name: alias.data(name) for name in data or _maps_of(workspace, included, readable)},
        tuple(row.key for row in runs),
        {name: alias.setting(name) for name in settings}
        | {
            row["name"]: alias.own(row["name"], "decoder")
            for row in workspace.store.decoders.list()
            if row["encoder"] in included
        },
        {
            public_names[name]: labels[name]
            for name in included
            if name in labels and mask != "names"
        },
    )


def _trainings(
    workspace: Workspace, encoders: Collection[str], keys: Sequence[str]
) -> list[TrainingRun]:
    """Trainings that are named, or are done and made one of the encoders."""
    from theodolite.app.pages.trainings import service

    rows = {row.key: row for row in service.table(workspace, kinds=service.ENCODERS)}
    if unknown := [key for key in keys if key not in rows]:
        raise UserError(
            f"There is no training {unknown[0]!r}.", "`theodolite runs` lists them.", code="unknown"
        )
    return [
        row
        for row in rows.values()
        if row.key in keys or (row.state == "done" and row.encoder in encoders)
    ]


def _maps_of(
    workspace: Workspace, encoders: Collection[str], data: Collection[str]
) -> tuple[str, ...]:
    """The data sets to draw: all when they are few, else those drawn before."""
    if len(data) <= MAX_UNNAMED:
        return tuple(data)
    maps = {
        row["info"]["dataset"]
        for kind in ("map", "geometry")
        for row in workspace.store.derived.list(kind)
        if row["info"]["encoder"] in encoders
    }
    return tuple(name for name in data if name in maps)


class Part(Workspace):
    """A workspace of what is published, which pages are frozen from.

    Its encoders have their published names, and encode as their originals in the source do.
    """

    def __init__(self, source: Workspace, choice: Choice, folder: Path, *, texts: bool) -> None:
        super().__init__(folder, source.catalog.root, read_only=True)
        names = {public: real for real, public in choice.texts.items()}
        self.catalog: TextCatalog = TextCatalog(source, names, texts=texts)
        self._source = source
        self._encoders = {public: real for real, public in choice.encoders.items()}
        known = source.store.encoders.infos()
        for public, name in self._encoders.items():
            info: Mapping[str, Any] = known.get(name, {})
            facts = {fact: info[fact] for fact in FACTS if info.get(fact) is not None}
            self.store.encoders.add(public, facts)
            if public in choice.labels:
                self.store.encoders.label(public, choice.labels[public])
        copy_results(source.store, self.store, choice.results, choice.encoders, choice.tasks)

    def ranker(self, spec: str) -> Encoder | Ranker:
        """As `Workspace.ranker`, by published name."""
        name = str(parse(spec))
        if name not in self._encoders:
            raise UserError(f"{name} is not published.", code="denied")
        return self._source.ranker(self._encoders[name])


def _datasets(workspace: Workspace, tasks: Collection[str]) -> list[str]:
    """Names of the data sets of tasks, as far as they are available here."""
    here, names = set(workspace.catalog.names()), []
    for name in tasks:
        with contextlib.suppress(UserError):
            names.append(get(name, workspace.catalog).dataset)
    return [name for name in dict.fromkeys(names) if name in here]


PRIVATE = "__"
"""Prefix of the query parameters that Gradio itself adds to an address."""


def read_address(address: str) -> tuple[str, Query]:
    """Parse an address into the name of a page and its query parameters.

    Args:
        address: of a page of the app, whole or from its name on: `compare?encoder=minilm`.
    """
    try:
        parts = urlsplit(address)
        query = parse_qsl(parts.query, max_num_fields=1000)
    except ValueError as error:
        raise UserError(
            f"{address[:80]!r} is not the address of a page.", "Copy it from the browser."
        ) from error
    name = parts.path.strip("/").rpartition("/")[2]
    parameters = tuple((key, value) for key, value in query if not key.startswith(PRIVATE))
    return name or "overview", parameters
