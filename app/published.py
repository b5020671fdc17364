"""What is published of a store, and under which names.

A page that can be published has `PUBLISHED`, a `Static`. What is shown is what its question answers
in a store of the published results alone.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from theodolite.app.blocks import Block
from theodolite.app.question import Question
from theodolite.app.spec import Spec, parameters, read_query
from theodolite.app.workspace import Workspace
from theodolite.store.hashing import hash_of

LIVE = "t-live-only"
"""CSS class of text about work that a page could start; a frozen page leaves it out."""
FOLDER = "theodolite"
"""Subfolder of a published folder whose files are fetched by pages, not opened by people."""
Query = tuple[tuple[str, str], ...]
"""Names and values of a query string, in order."""


@dataclass(frozen=True)
class Choice:
    """The part of a store to publish.

    Attributes:
        encoders: name -> name in the published pages, in the order of the list.
        tasks: likewise.
        results: ids of results.
        texts: data sets whose texts may be shown, likewise.
        data: those of them whose maps, spaces and geometry are shown, likewise.
        trainings: keys of the trainings whose curves are shown.
        labels: published name of an encoder -> the name that people gave to it.
        settings: base models and data sets of these trainings, and the encoders' decoders,
            likewise.
    """

    encoders: Mapping[str, str]
    tasks: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[int] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    trainings: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Published(Choice):
    """A choice whose pages are being frozen.

    Attributes:
        source: the complete workspace.
        workspace: a workspace of the published part only, in which pages are opened.
    """

    source: Workspace
    workspace: Workspace

    @cached_property
    def with_vectors(self) -> tuple[str, ...]:
        """Published names of the encoders; rankers, which have no vectors, are left out."""
        from theodolite.engine.encoders.spec import RANKER

        return tuple(name for name in self.encoders.values() if not RANKER.search(name))

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """(name, published name) where they differ, the longest name first."""
        every = {**self.settings, **self.texts, **self.tasks, **self.encoders}
        masked = [(name, public) for name, public in every.items() if name != public]
        return sorted(masked, key=lambda one: len(one[0]), reverse=True)

    def renamed(self, value: Any) -> Any:
        """Replace every name in a JSON value by its published name."""
        if isinstance(value, str):
            for name, public in self._names:
                value = value.replace(name, public)
            return value
        if isinstance(value, Mapping):
            return {self.renamed(key): self.renamed(one) for key, one in value.items()}
        return [self.renamed(one) for one in value] if isinstance(value, list | tuple) else value

    def keep(self, kind: str, key: str, answer: Mapping[str, Any]) -> None:
        """Store an answer in the published workspace, for `kept`."""
        self.workspace.store.derived.put(hash_of(kind, key), kind, self.renamed(answer))


@dataclass(frozen=True)
class NoSpec(Spec):
    """Of a page that is asked for nothing."""


@dataclass(frozen=True)
class Static:
    """What a page shows when it is published.

    Attributes:
        question: that it answers; None if it is asked for nothing.
        views: yields (label, spec) of each answer to publish where no address is given.
        carry: copies what the answers need into the published store, under published names.
        blocks: what is shown of a spec; None for the blocks of its answer.
        all_encoders: whether an address without encoders means all.
        asked: what can be asked anew on the page, and so is not told above its answer: its names
            in an address, with the values where the address has none.
    """

    question: Question[Any, Any] | None
    views: Callable[[Published], Iterable[tuple[str, Any]]]
    carry: Callable[[Published], None] | None = None
    blocks: Callable[[Workspace, Any], Sequence[Block]] | None = None
    all_encoders: bool = False
    asked: Query = ()

    @property
    def spec(self) -> type[Spec]:
        """What the question is asked with."""
        return self.question.spec if self.question else NoSpec

    @property
    def usual(self) -> Mapping[str, str]:
        """The values that a page leaves out of its address, by their names there."""
        defaults = {parameter.key: parameter.default for parameter in parameters(self.spec)}
        texts = {name: value for name, value in defaults.items() if isinstance(value, str)}
        return texts | dict(self.asked)

    def whole(self, address: Query) -> Query:
        """An address with the values that were left out of it."""
        names = {name for name, _ in address}
        return address + tuple(pair for pair in self.usual.items() if pair[0] not in names)

    def at(self, published: Published, address: Query) -> Spec:
        """The spec of an address, which is of the published encoders if it names none."""
        if not any(name == "encoder" for name, _ in address):
            address += tuple(("encoder", name) for name in published.encoders.values())
        return read_query(self.spec, self.whole(address))

    def answer(self, workspace: Workspace, spec: Spec) -> Sequence[Block]:
        """What is shown of a spec; nothing is started for it."""
        if self.blocks is not None:
            return self.blocks(workspace, spec)
        return (
            self.question.last(workspace, spec, lambda job: False).blocks() if self.question else []
        )


def hashed_name(name: str, *parts: bytes) -> str:
    """The unique address of a file, or of a folder with these parts, by its content."""
    digest = sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()
    return f"{FOLDER}/{name}-{digest[:16]}"


def stored_answer(workspace: Workspace, kind: str, key: str) -> Any:
    """The answer stored by `Published.keep`; None if it stored none for the key."""
    row = workspace.store.derived.get(hash_of(kind, key))
    return None if row is None else row["info"]
