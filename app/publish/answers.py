"""The answers of a frozen page to its controls and to presses, computed in advance."""

from __future__ import annotations

from typing import Any

from gradio.blocks import Block

from theodolite.app.publish.opened import OpenedPage, Props, is_part
from theodolite.app.web.frozen import Asks, Frozen

MAX_ASKED = 5000
"""Maximum number of items of a component that can be pressed; of more, the first."""
Parts = dict[str, Any]
"""Id of a part of the page -> the value that it shows."""


def of(opened: OpenedPage, frozen: Frozen) -> dict[str, Any]:
    """All answers, as the script of frozen pages reads them.

    Raises:
        ValueError: two controls change the same part, whose combinations have no answer.
    """
    claimed: dict[int, str] = {}
    for name in frozen.controls:
        for number in opened.reached(opened.by_id(name), "input"):
            if claimed.setdefault(number, name) != name:
                raise ValueError(f"{claimed[number]} and {name} change the same part")
    asks = {name: opened.by_id(name) for name in frozen.asks}
    return {
        "controls": {n: _of_choices(opened, opened.by_id(n)) for n in frozen.controls},
        "asks": {str(b._id): _of_things(opened, b, frozen.asks[name]) for name, b in asks.items()},
    }


def choices(shown: Props) -> list[tuple[str, Any]]:
    """(label, value) of every choice of a control."""
    return [
        (str(one[0]), one[1]) if isinstance(one, list | tuple) else (str(one), one)
        for one in shown["choices"] or []
    ]


def _of_choices(opened: OpenedPage, block: Block) -> dict[str, Parts]:
    """Value of a control -> the parts that depend on it."""
    shown = opened.shown[block._id]
    changes = {
        str(value): _changed(opened, block, "input", value=value)
        for _, value in choices(shown)
        if value != shown["value"]
    }
    parts = {number for answer in changes.values() for number in answer}
    first = {number: opened.shown[int(number)]["value"] for number in parts}
    return {str(shown["value"]): first} | {value: first | new for value, new in changes.items()}


def _of_things(opened: OpenedPage, block: Any, asks: Asks) -> dict[str, Any]:
    """The answers for each item of a component, when it is pressed and when it is pointed at."""
    server = getattr(block, asks.server)
    things = list(dict.fromkeys(asks.things(opened.shown[block._id]["value"])))[:MAX_ASKED]
    return {
        "event": asks.event,
        "name": asks.name,
        "server": asks.server,
        "pressed": {str(n): _changed(opened, block, asks.event, {asks.name: n}) for n in things},
        "served": {str(n): server(n) for n in things},
    }


def _changed(
    opened: OpenedPage, block: Block, event: str, data: dict[str, Any] | None = None, **props: Any
) -> Parts:
    """The parts that an event would change, with their new values."""
    then = opened.after(block, event, data, **props)
    every = opened.blocks.blocks
    return {str(n): held["value"] for n, held in then.items() if is_part(every[n])}
