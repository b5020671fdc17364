"""The card of a protocol as HTML: every setting that affects a score, and other papers' choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.web import parts


def card(name: str, more: Sequence[tuple[str, str]] = ()) -> str:
    """The card of one protocol.

    Args:
        name: name of the protocol.
        more: (name, description) rows to add, such as the seed of a result.
    """
    from theodolite.engine import protocols

    protocol = protocols.get(name)
    lines = "".join(
        f"<dt>{escape(what)}</dt><dd>{code(description)}</dd>"
        for what, description in [*protocol.card(), *more]
        if "table B.1" not in what  # shown as a table below
    )
    return (
        f'<p class="t-muted">{code(protocol.description)}</p><dl class="t-facts">{lines}</dl>'
        + (_table_b1() if "sts" in protocol.types else "")
    )


def prompts(prompts_used: Mapping[str, str]) -> list[tuple[str, str]]:
    """Card rows of the prompts before the sentences, such as `query_prompt`."""
    return [
        (name.replace("_", " "), f"`{text}`" if text else "none")
        for name, text in prompts_used.items()
    ]


def drawn(dependent: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """A card row of what intervals and tests draw where examples are not independent.

    Args:
        dependent: of a result's details, see `engine.tasks.clusters`.
    """
    if dependent is None:
        return []
    number, largest = (formats.count(dependent[name]) for name in ("n", "largest"))
    text = f"{number} clusters, the largest of {largest} examples: those that share a "
    text += dependent["by"]
    if dependent["by"] == "column":
        text = f"{number} clusters, named by a column, the largest of {largest} examples"
    elif dependent["ways"] > 1:
        text = (
            f"the {number} texts of the pairs, each in up to {largest}; as clusters, pairs that "
            "share a text would be one long chain. Intervals are rather too wide than too narrow"
        )
    return [("drawn for intervals and tests", text)]


def code(text: str) -> str:
    """Escape a text, and render its backticks as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))


def _table_b1() -> str:
    """How ten papers evaluate STS: their numbers need not be comparable."""
    from theodolite.engine.protocols.published import TABLE_B1

    rows = [
        (escape(s.paper), "yes" if s.regressor else "no", escape(s.metric), escape(s.aggregation))
        for s in TABLE_B1
    ]
    heads = ("Paper", "Regressor", "Correlation", "Aggregation")
    return (
        '<details class="t-twin"><summary>How other papers evaluate STS (SimCSE, table B.1)'
        f"</summary>{parts.table(heads, rows, 'How papers evaluate similarity')}</details>"
    )
