"""The card of a protocol as HTML: every setting that affects a score, and other papers' choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from app.web import parts


def card(name: str, more: Sequence[tuple[str, str]] = ()) -> str:
    """The card of one protocol.

    Args:
        name: name of the protocol.
        more: (name, description) rows to add, such as the seed of a result.

    Raises:
        UserError: there is no such protocol.
    """
    from engine import protocols

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


def code(text: str) -> str:
    """Escape a text, and render its backticks as code."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))


def _table_b1() -> str:
    """How ten papers evaluate STS: their numbers need not be comparable."""
    from engine.protocols.published import TABLE_B1

    rows = [
        (escape(s.paper), "yes" if s.regressor else "no", escape(s.metric), escape(s.aggregation))
        for s in TABLE_B1
    ]
    heads = ("Paper", "Regressor", "Correlation", "Aggregation")
    return (
        '<details class="t-twin"><summary>How other papers evaluate STS (SimCSE, table B.1)'
        f"</summary>{parts.table(heads, rows, 'How papers evaluate similarity')}</details>"
    )
