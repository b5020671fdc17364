"""A page's state in its address, so that a copied link shows the same view.

Values are read from the query when the page loads and written back with `history.replaceState`, in
the browser, whenever a control changes. Lists repeat their name: `?encoder=a&encoder=b`. What a
button opens (`opens` of an `Action`), and what a person adds, is a step of the browser's history.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio as gr


def every(request: gr.Request, name: str) -> list[str]:
    """All values of one name, in order; empty when the address has none."""
    query = request.request.query_params if request.request else {}
    values = query.getlist(name) if hasattr(query, "getlist") else []
    return list(values)


def first(request: gr.Request, name: str, default: str = "") -> str:
    """The first value of one name."""
    return next(iter(every(request, name)), default)


def choice(request: gr.Request, name: str, allowed: Sequence[str], default: str) -> str:
    """The first value if it is allowed, else the default: anybody can write a link."""
    value = first(request, name, default)
    return value if value in allowed else default


def number(text: str) -> float | None:
    """Parse a finite number; None for any other text."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def writer(
    names: Sequence[str],
    defaults: Mapping[str, object] | None = None,
    limits: Mapping[str, object] | None = None,
    opens: Sequence[str] = (),
) -> str:
    """JavaScript which writes the values of an event's inputs to the address.

    Empty values, white space and defaults are left out, so that the plain page keeps its plain
    address, and what is beyond its limits: numbers below or above them, if either is given, texts
    of more lines or more characters in a line. What one of `opens` names is opened.
    """
    how = json.dumps({"limits": limits or {}, "opens": list(opens)})
    return (
        f"(...values) => {{ theodolite.address({json.dumps(list(names))}, values, "
        f"{json.dumps(dict(defaults or {}))}, {how}); }}"
    )


def keep(
    controls: Mapping[str, gr.components.Component],
    defaults: Mapping[str, object] | None = None,
    opens: Sequence[str] = (),
) -> None:
    """Write the address whenever a control changes. Runs in the browser only."""
    import gradio as gr

    gr.on(
        [control.change for control in controls.values()],
        fn=None,
        inputs=list(controls.values()),
        js=writer(list(controls), defaults, opens=opens),
    )


def link(path: str, **values: str | Sequence[str] | None) -> str:
    """A relative link to a page in a state: `link("compare", encoder=["minilm", "wordllama"])`."""
    from urllib.parse import urlencode

    pairs = [
        (name, item)
        for name, value in values.items()
        if value is not None
        for item in ([value] if isinstance(value, str) else value)
    ]
    return f"./{path}" + (f"?{urlencode(pairs)}" if pairs else "")
