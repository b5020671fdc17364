"""What is published: chosen encoders and tasks, as a store of its own that holds nothing else.

Pages made from that store cannot show anything else. Names are masked in the store, before anything
is drawn: a chart that shortens a name would leave half a path visible.
"""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from theodolite.app import formats
from theodolite.app.publish.mask import Alias, Mask
from theodolite.app.published import Choice
from theodolite.app.workspace import StoredUploads, Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse
from theodolite.store.part import copy_results

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import TrainingRun
    from theodolite.app.published import Query
    from theodolite.engine.datasets.types import Dataset, DatasetInfo
    from theodolite.engine.encoders import Encoder
    from theodolite.engine.rankers import Ranker

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
        wanted = set(names)
        real = super().has(self._names[name] for name in wanted & set(self._names))
        return {name for name in wanted if self._names.get(name) in real}

    def load(self, name: str) -> Dataset:
        """As `Catalog.load`, by published name."""
        if not self._texts or name not in self._names:
            raise UserError(f"The texts of {name} are not published.", code="denied")
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
    from theodolite.engine.tasks import expand

    workspace.refuse_visitors()
    names = [str(parse(spec)) for spec in encoders] or shown_first(workspace)
    rows = workspace.store.results.table(encoders=names)
    rows = [row for row in rows if row["error"] is None]
    if tasks is not None:
        wanted = expand(tasks, workspace.catalog, None, {row["task"] for row in rows})
        rows = [row for row in rows if row["task"] in wanted]
    evaluated = {row["encoder"] for row in rows}
    for name in data:
        workspace.catalog.load(name)
    if data or not evaluated_only:
        evaluated |= set(names)
    if not evaluated:
        raise UserError(
            "There is nothing to publish: no encoder was evaluated on these tasks.",
            "Evaluate one first: theodolite evaluate.",
            code="no-result",
        )
    missing = [name for name in names if name not in evaluated]
    if encoders and missing:
        raise UserError(
            f"{formats.listed(missing)} was not evaluated on these tasks.",
            "Leave it out, or evaluate it: theodolite evaluate.",
            code="no-result",
        )
    kept = [name for name in names if name in evaluated]
    alias = Alias(mask)
    public = {row["task"]: alias.data(row["task"]) for row in rows}
    readable = dict.fromkeys([*data, *_datasets(workspace, public)])
    shown = {name: str(alias.encoder(parse(name))) for name in kept}
    runs = _trainings(workspace, kept, trainings)
    labels = workspace.store.encoders.labels()
    return Choice(
        shown,
        public,
        tuple(row["id"] for row in rows),
        {name: alias.data(name) for name in readable},
        {name: alias.data(name) for name in data or _drawn(workspace, kept, readable)},
        tuple(row.key for row in runs),
        {name: alias.setting(name) for row in runs for name in _settings(row)}
        | {
            row["name"]: alias.own(row["name"], "decoder")
            for row in workspace.store.decoders.list()
            if row["encoder"] in kept
        },
        {shown[name]: labels[name] for name in kept if name in labels and mask != "names"},
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


def _settings(row: TrainingRun) -> list[str]:
    """Names in the settings of a training: encoders, files, data sets."""
    named = [row.encoder, *(row.settings.get(name) for name in ("base", "train", "dev"))]
    return [str(name) for name in named if name]


def _drawn(
    workspace: Workspace, encoders: Collection[str], data: Collection[str]
) -> tuple[str, ...]:
    """The data sets to draw: all when they are few, else those drawn before."""
    if len(data) <= MAX_UNNAMED:
        return tuple(data)
    rows = (row for kind in ("map", "geometry") for row in workspace.store.derived.list(kind))
    infos = [row["info"] for row in rows]
    made = {info["dataset"] for info in infos if info["encoder"] in encoders}
    return tuple(name for name in data if name in made)


class PartWorkspace(Workspace):
    """A read-only workspace of what is published.

    Its encoders have their published names, and encode as their originals in the source do.
    """

    def __init__(
        self, folder: Path, source: Workspace, catalog: TextCatalog, encoders: Mapping[str, str]
    ) -> None:
        super().__init__(folder, catalog.root, read_only=True)
        self.catalog: TextCatalog = catalog
        self._source = source
        self._encoders = encoders

    def ranker(self, spec: str) -> Encoder | Ranker:
        """As `Workspace.ranker`, by published name."""
        name = str(parse(spec))
        if name not in self._encoders:
            raise UserError(f"{name} is not published.", code="denied")
        return self._source.ranker(self._encoders[name])


def part(workspace: Workspace, choice: Choice, folder: Path, *, texts: bool) -> PartWorkspace:
    """Make the store that pages are frozen from."""
    names = {public: real for real, public in choice.texts.items()}
    catalog = TextCatalog(workspace, names, texts=texts)
    made = PartWorkspace(
        folder, workspace, catalog, {public: real for real, public in choice.encoders.items()}
    )
    known = workspace.store.encoders.infos()
    for name, public in choice.encoders.items():
        info: Mapping[str, Any] = known.get(name, {})
        kept = {fact: info[fact] for fact in FACTS if info.get(fact) is not None}
        made.store.encoders.add(public, kept)
        if public in choice.labels:
            made.store.encoders.label(public, choice.labels[public])
    copy_results(workspace.store, made.store, choice.results, choice.encoders, choice.tasks)
    return made


def _datasets(workspace: Workspace, tasks: Collection[str]) -> list[str]:
    """Names of the data sets of tasks, as far as they are available here."""
    from theodolite.engine.tasks import get

    here, found = set(workspace.catalog.names()), []
    for name in tasks:
        with contextlib.suppress(UserError):
            found.append(get(name, workspace.catalog).dataset)
    return [name for name in dict.fromkeys(found) if name in here]


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
