"""Results of a check on the page: the first rows, with links."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.pages.curate.tables import HEADS, frame, sentence
from theodolite.app.web import address, parts

if TYPE_CHECKING:
    from theodolite.app.pages.curate.service import Answer

MAX_SHOWN = 200
"""Most rows of a table on the page; the CSV has all."""
MAX_IDS = 500
"""Most sentences in the address of a map: longer addresses are refused."""


def html(found: Answer, encoder: str) -> str:
    """The summary, the links to all rows, and a table of the first rows with search links."""
    heading = (
        f'<div class="t-section"><h2>{escape(sentence(found))}</h2>{_ways(found, encoder)}</div>'
    )
    if not len(found.ids):
        return heading
    table = frame(found).head(MAX_SHOWN)
    names = ["sentence", *(name for name in table.columns if name not in ("id", "sentence"))]
    rows = [
        [_cell(name, row[name], found, encoder) for name in names]
        for row in table.to_dict("records")
    ]
    heads = ["Sentence", *(HEADS[name] for name in names[1:])]
    numbers = [i for i, name in enumerate(names) if name in ("group", "occurs", "cosine")]
    return heading + parts.table(heads, rows, "What was found", numbers)


def _ways(found: Answer, encoder: str) -> str:
    """Links to the CSV and the map, and notes on rows that are left out."""
    if not len(found.ids):
        return ""
    file = f"./theodolite/curation/{found.key}.csv"
    links = [
        f'<a href="{file}" download>Save {formats.plural(found.info["kept"], "row")} as CSV</a>',
        f'<a href="{file}?spreadsheet=1" download '
        f'title="An apostrophe before text that a spreadsheet would take for a formula">'
        "CSV for spreadsheets</a>",
    ]
    ids = ",".join(str(i) for i in dict.fromkeys(found.ids[:MAX_IDS].tolist()))
    where = {"in": found.job.dataset, "encoder": encoder or found.job.encoder, "ids": ids}
    shown = min(MAX_IDS, len(found.ids))
    links.append(
        f'<a href="{escape(address.link("map", **where))}">'
        f"{'Open' if shown == len(found.ids) else f'Open the first {shown}'} on the map</a>"
    )
    more = []
    if found.info["found"] > found.info["kept"]:
        more.append(f"Of {found.info['found']:,} the first {found.info['kept']:,} were kept.")
    if len(found.ids) > MAX_SHOWN:
        more.append(f"The first {MAX_SHOWN} are shown here.")
    note = f'<p class="t-muted">{" ".join(more)}</p>' if more else ""
    return f'<p class="t-ways">{"".join(links)}</p>{note}'


def _cell(name: str, value: Any, found: Answer, encoder: str) -> str:
    if name == "sentence":
        text = formats.encodable(str(value))
        where = {"q": text[:2000], "in": found.job.dataset, "encoder": encoder or found.job.encoder}
        return (
            f'<span dir="auto">{escape(text)}</span> <a class="t-small" '
            f'href="{escape(address.link("search", **where))}" '
            f'aria-label="Search for {escape(text[:80])}">search</a>'
        )
    if name == "twin":
        return f'<span dir="auto">{escape(formats.encodable(str(value)))}</span>'
    if name == "cosine":
        return f"{value:.3f}".replace("-", "−")
    if name == "most":
        return f"{value} typical"
    if name == "exact":
        return "yes" if value else "no"
    return f"{value:,}"
