"""A report as Markdown: the text and tables of its HTML, and its numbers as files."""

import re
from collections.abc import Sequence
from html.parser import HTMLParser

from theodolite.app.blocks import Block
from theodolite.app.report.file import CAPS, Report, left_out, provenance
from theodolite.app.surfaces.document import pieces

MAX_ROWS = 100
"""Rows of a table in the text; its file has all."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>#!|~&])")
_HEADS = {"h1": "# ", "h2": "## ", "h3": "### "}
_BLOCKS = (*_HEADS, "p", "li", "dt", "dd", "summary", "div", "section", "ul", "ol", "dl", "small")
_SILENT = ("script", "style", "svg")


def files(report: Report, stem: str) -> dict[str, bytes]:
    """The files of a report, by name: `STEM.md`, and the tables that it links to.

    Charts and maps are left out: the HTML document has them.
    """
    cap = CAPS[0]
    tables = [table.cut(cap) for table in report.tables]
    pictures: dict[str, bytes] = {}
    text = [f"# {_text(report.title)}", _text(report.about)]
    text += [of_html(part) for part in report.draw(cap) if isinstance(part, str)]
    text.append("## Numbers")
    for table in tables:
        name = f"{stem}-{table.name}.csv"
        pictures[name] = table.csv().encode()
        text.append(f"- [{name}]({name}), {len(table.rows):,} of {table.total:,} rows")
    if cut := left_out(report, tables, cap):
        text.append(f"Shortened: {cut}.")
    text.append(of_html(f"<p>{provenance(report)}</p>"))
    whole = "\n\n".join(one for one in text if one.strip())
    return {f"{stem}.md": f"{whole}\n".encode(), **pictures}


def of_blocks(blocks: Sequence[Block]) -> str:
    """Blocks as Markdown, without charts and maps."""
    return "\n\n".join(of_html(piece) for piece in pieces(blocks) if isinstance(piece, str))


def of_html(html: str) -> str:
    """Our HTML as Markdown, with text escaped so that it is no link, picture or HTML."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return "\n\n".join(reader.done())


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


class _Reader(HTMLParser):
    """Blocks of text, one after the other; tables as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._before = ""
        self._silent: list[str] = []
        self._rows: list[list[str]] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, a row or a cell."""
        attributes = dict(attrs)
        button = tag == "button" and attributes.get("data-press") != "sort"
        if (
            tag in _SILENT
            or button
            or attributes.get("aria-hidden") == "true"
            or self._leads(tag, attributes.get("href"))
            or (self._silent and tag == self._silent[0])
        ):
            self._silent.append(tag)
        elif tag == "table":
            self._end()
            self._rows = []
        elif tag == "tr" and self._rows is not None:
            self._rows.append([])
        elif tag in ("td", "th"):
            self._words = []
        elif tag == "pre":
            self._end()
        elif tag in _BLOCKS and self._rows is None:
            self._end()
            self._before = _HEADS.get(tag, "- " if tag in ("li", "dt") else self._before)
        else:
            self._words.append(" ")

    def _leads(self, tag: str, href: str | None) -> bool:
        """Whether a tag is a link to a page of the app that is not part of a sentence."""
        before = "".join(self._words).rstrip()
        return tag == "a" and (href or "").startswith("./") and before[-1:] in ("", ".", "!", "?")

    def handle_endtag(self, tag: str) -> None:
        """End a block, a row or a cell."""
        if self._silent:
            if tag == self._silent[-1]:
                self._silent.pop()
        elif tag == "table" and self._rows is not None:
            self._blocks.append(_table(self._rows))
            self._rows, self._words = None, []
        elif tag in ("td", "th") and self._rows:
            self._rows[-1].append(_text("".join(self._words)))
            self._words = []
        elif tag == "pre":  # indented, for no text can end that
            lines = "".join(self._words).splitlines()
            self._blocks.append("\n".join(f"    {line}" for line in lines))
            self._words = []
        elif tag in _BLOCKS and self._rows is None:
            self._end()
        else:
            self._words.append(" ")

    def handle_data(self, data: str) -> None:
        """Add text to the open block or cell."""
        if not self._silent:
            self._words.append(data)

    def done(self) -> list[str]:
        """End the last block; return all blocks."""
        self._end()
        return self._blocks

    def _end(self) -> None:
        if text := _text("".join(self._words)):
            self._blocks.append(self._before + text)
            self._before = ""
        self._words = []


def _table(rows: list[list[str]]) -> str:
    heads, *rest = [row for row in rows if row] or [[]]
    lines = [heads, ["---"] * len(heads), *rest[:MAX_ROWS]]
    more = len(rest) - MAX_ROWS
    below = f"\n\n{more:,} more rows in the file." if more > 0 else ""
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + below
