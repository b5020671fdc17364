"""What stays interactive of a page when it is published as static files.

A page names it in `FROZEN`. All that needs no Python lives on by itself: hover, zoom, sorting, the
tabs of a page, files that are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from store.hashing import hash_of

if TYPE_CHECKING:
    from app.workspace import Workspace

LIVE = "t-live-only"
"""Class of what a page says of work that it would begin: a frozen page leaves it out."""
FOLDER = "theodolite"
"""Of a published folder: what lies in it is fetched by pages, not opened."""
Query = tuple[tuple[str, str], ...]
"""Names and values of an address, in order."""
Folders = Mapping[str, Callable[[], Mapping[str, bytes]]]
"""Address relative to the first page -> makes the files in it, by name; one that several values
name is made once."""


@dataclass(frozen=True)
class Asks:
    """What a component asks Python for, of each thing that it shows.

    Attributes:
        things: numbers of these things in its value.
        event: fired when one is pressed.
        name: under which the number goes along with the event, and stands in the address.
        server: the function that is asked when one is pointed at.
    """

    things: Callable[[Any], Iterable[int]]
    event: str
    name: str
    server: str


@dataclass(frozen=True)
class View:
    """An address at which a page is opened.

    Attributes:
        label: among the others, for people; plain text.
        query: of the address.
    """

    label: str
    query: Query


@dataclass(frozen=True)
class Choice:
    """What is published of a store.

    Attributes:
        encoders: name -> name in the published pages, in the order of the list.
        tasks: likewise.
        results: ids.
        texts: data sets whose texts may be shown, likewise.
        data: those of them that maps, spaces and geometry are shown of, likewise.
        trainings: keys of those whose curves are shown.
        settings: what these were trained from and on, and decoders of the encoders, likewise.
    """

    encoders: Mapping[str, str]
    tasks: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[int] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    trainings: Sequence[str] = ()
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Published(Choice):
    """What is published, while its pages are frozen.

    Attributes:
        source: the workspace that has everything.
        workspace: has what is published and nothing beside; pages are opened over it.
    """

    source: Workspace
    workspace: Workspace

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """Every name that is published as another, and that; the longest first."""
        every = {**self.settings, **self.texts, **self.tasks, **self.encoders}
        masked = [(name, public) for name, public in every.items() if name != public]
        return sorted(masked, key=lambda one: len(one[0]), reverse=True)

    def renamed(self, value: Any) -> Any:
        """JSON in which every name stands as it is published."""
        if isinstance(value, str):
            for name, public in self._names:
                value = value.replace(name, public)
            return value
        if isinstance(value, Mapping):
            return {self.renamed(key): self.renamed(one) for key, one in value.items()}
        return [self.renamed(one) for one in value] if isinstance(value, list | tuple) else value

    def keep(self, kind: str, key: str, answer: Mapping[str, Any]) -> None:
        """Bring along what a page shows of something, for `kept`."""
        self.workspace.store.derived.put(hash_of(kind, key), kind, self.renamed(answer))


def hashed(name: str, *parts: bytes) -> str:
    """An address of a file, or of a folder with these parts, that nothing else can have."""
    digest = sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()
    return f"{FOLDER}/{name}-{digest[:16]}"


def kept(workspace: Workspace, kind: str, key: str) -> Any:
    """What `Published.keep` brought along; None where it brought nothing of that key."""
    row = workspace.store.derived.get(hash_of(kind, key))
    return None if row is None else row["info"]


@dataclass(frozen=True)
class Frozen:
    """What of a page is answered beforehand.

    Attributes:
        controls: elem_ids of radio buttons and lists to choose one from, all of whose choices are.
            No two may change the same part of the page: only one at a time is answered, the others
            as the page opens.
        asks: elem_id of a component -> what it asks for.
        carry: brings what the page shows into the published workspace, under published names.
        views: the addresses at which the page can be opened, the first as it opens; the page is
            left out where there are none. None: only as it opens by itself.
        files: elem_id of a component that asks a server for more than its value -> what makes of
            its value that without a server, and the folders that it then reads.
        build: lays out the page in place of its own `build`, of which little would live on.
        all_encoders: whether the page shows all there are while its address names none.
    """

    controls: tuple[str, ...] = ()
    asks: Mapping[str, Asks] = field(default_factory=dict)
    carry: Callable[[Published], None] | None = None
    views: Callable[[Published], Sequence[View]] | None = None
    files: Mapping[str, Callable[[Workspace, Any], tuple[Any, Folders]]] = field(
        default_factory=dict
    )
    build: Callable[[Workspace], None] | None = None
    all_encoders: bool = False
