"""What stays alive of a page once it is frozen into static files; pages without this stay at home.

A page names it in `FROZEN`. All that needs no Python lives on by itself: hover, zoom, sorting, the
tabs of a page, files that are saved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


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
class Frozen:
    """What of a page is answered beforehand.

    Attributes:
        controls: elem_ids of radio buttons and lists to choose one from, all of whose choices are.
            No two may change the same part of the page: only one at a time is answered, the others
            as the page opens.
        asks: elem_id of a component -> what it asks for.
    """

    controls: tuple[str, ...] = ()
    asks: Mapping[str, Asks] = field(default_factory=dict)
