"""A decision sheet as a file that needs nothing else: HTML with its picture, Markdown or JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from pathlib import Path

from app.pages.choose import words
from app.pages.choose.sheet import Sheet
from engine.errors import UserError
from store.hashing import to_json

ENDINGS = (".html", ".md", ".json")
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem;
  color: #1d2730; background: #fff; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.muted { color: #5b6770; } .scroll { overflow-x: auto; }
.warn { border-left: 3px solid #b07b10; padding: .4rem .8rem; background: #fbf6ea; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #dde3e7; }
@media (prefers-color-scheme: dark) { body { color: #e6ebee; background: #14191d; }
  .muted { color: #9aa7b0; } .warn { background: #2a2417; } th, td { border-color: #333c43; } }
"""


def check(out: Path) -> None:
    """Refuse a file of another format.

    Raises:
        UserError: its ending is none of those that can be written.
    """
    if out.suffix.lower() not in ENDINGS:
        raise UserError(
            f"{out.name} says no format that a sheet can be written in.",
            f"Name a file that ends in {', '.join(ENDINGS)}.",
        )


def written(sheet: Sheet, out: Path) -> str:
    """The sheet in the format that the file's name says."""
    return {".html": html, ".md": words.markdown, ".json": json}[out.suffix.lower()](sheet)


def json(sheet: Sheet) -> str:
    """For programs."""
    return to_json(sheet)


def html(sheet: Sheet) -> str:
    """A page that holds its style and its picture, and asks no other host for anything."""
    said = "".join(f"<li>{told(text)}</li>" for text in words.sentences(sheet))
    warned = "".join(
        f"<li><strong>{escape(one['code'])}</strong>: {told(one['message'])}</li>"
        for one in sheet["warnings"]
    )
    title, name = escape(words.headline(sheet)), escape(sheet["data"])
    parts = [f'<h1>{title}</h1><p class="muted">Decision sheet for {name}</p><ul>{said}</ul>']
    if warned:
        parts.append(f'<h2>Before you rely on it</h2><ul class="warn">{warned}</ul>')
    parts += [picture(sheet), "<h2>Encoders</h2>", _table(words.HEADS, words.rows(sheet))]
    if sheet["differ"]:
        pair = f"{sheet['differ']['a']} and {sheet['differ']['b']}"
        parts += [f"<h2>Where {escape(pair)} differ most</h2>", _table(*words.differing(sheet))]
    parts.append(f'<p class="muted">{escape(words.measured_how(sheet))}</p>')
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>"
    )


def told(text: str) -> str:
    """A sentence as HTML: no line ends between a number and its per cent."""
    return escape(text).replace(" %", "&nbsp;%")


def picture(sheet: Sheet) -> str:
    """Score against time as SVG, with intervals and the Pareto front; nothing below two points."""
    shown = [row for row in sheet["encoders"] if row["low"] is not None and row["ms_per_sentence"]]
    if len(shown) < 2:
        return ""
    across = [math.log10(row["ms_per_sentence"]) for row in shown]
    ends = min(row["low"] for row in shown), max(row["high"] for row in shown)

    def x(row: Sheet) -> float:
        spread = max(across) - min(across) or 1.0
        return 70 + 600 * (math.log10(row["ms_per_sentence"]) - min(across)) / spread

    def y(score: float) -> float:
        return 280 - 240 * (score - ends[0]) / ((ends[1] - ends[0]) or 1.0)

    by_name = {row["encoder"]: row for row in shown}
    front = " ".join(
        f"{x(by_name[n]):.1f},{y(by_name[n]['score']):.1f}" for n in sheet["front"] if n in by_name
    )
    marks = "".join(
        f'<line x1="{x(row):.1f}" x2="{x(row):.1f}" y1="{y(row["low"]):.1f}" '
        f'y2="{y(row["high"]):.1f}"/><circle cx="{x(row):.1f}" cy="{y(row["score"]):.1f}" r="5" '
        f'fill="currentColor"/><text x="{x(row) + 9:.1f}" y="{y(row["score"]) - 8:.1f}" '
        f'fill="currentColor" stroke="none">{escape(row["encoder"])}</text>'
        for row in shown
    )
    ticks = "".join(
        f'<text x="60" y="{y(value) + 4:.1f}" text-anchor="end" fill="currentColor" stroke="none">'
        f"{value:.0f}</text>"
        for value in ends
    )
    axis = (
        f'<text x="70" y="312" fill="currentColor" stroke="none">{10 ** min(across):.2g} ms</text>'
        '<text x="670" y="312" text-anchor="end" fill="currentColor" stroke="none">'
        f"{10 ** max(across):.2g} ms a sentence</text>"
    )
    return (
        f'<h2>{escape(words.front(sheet))}</h2><p class="muted">{escape(words.FRONT)}</p>'
        '<svg viewBox="0 0 780 320" width="100%" role="img" font-size="13" fill="none" '
        f'stroke="currentColor" aria-label="Score against milliseconds a sentence">'
        f'<polyline points="{front}" stroke-dasharray="3 4"/>{marks}{ticks}{axis}</svg>'
    )


def _table(heads: Sequence[str], table: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )
