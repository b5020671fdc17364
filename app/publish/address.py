"""The address of a page, and the part of the store that is published with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from theodolite.app.publish.choice import choose
from theodolite.app.publish.mask import Mask
from theodolite.app.web.frozen import Choice
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.web.frozen import Query
    from theodolite.app.workspace import Workspace

DATA = ("in", "data", "task")
"""Query parameters that name a data set in the addresses of pages."""
PRIVATE = "__"
"""Prefix of the query parameters that Gradio itself adds to an address."""


def read(address: str) -> tuple[str, Query]:
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


def of_views(
    workspace: Workspace, views: Sequence[tuple[str, Query]], mask: Mask = "none"
) -> Choice:
    """Choose what of a store is published so that pages can be frozen at their addresses."""
    from theodolite.app.publish.site import freezable

    pages = freezable()
    here = set(workspace.catalog.names())
    encoders: list[str] = []
    data: list[str] = []
    trainings: list[str] = []
    for name, query in views:
        named = [value for key, value in query if key == "encoder"]
        if not named and name in pages and pages[name].FROZEN.all_encoders:
            named = workspace.store.encoders.names()
        encoders += named
        data += [value for key, value in query if key in DATA and value in here]
        for key, value in query:
            if key == "session":
                spec = workspace.store.judgements.get(value)["spec"]
                encoders += spec["encoders"]
                data.append(spec["collection"])
            elif key == "run" and name == "runs":
                trainings += value.split(",")
    return choose(
        workspace,
        list(dict.fromkeys(encoders)),
        None,
        mask,
        list(dict.fromkeys(data)),
        list(dict.fromkeys(trainings)),
        evaluated_only=False,
    )
