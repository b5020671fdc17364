"""Answers of a curation as tables: for a page, as CSV, and in a sentence."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.pages.map import service as maps
from app.web import address, parts

if TYPE_CHECKING:
    import pandas as pd

    from app.pages.curate.service import Answer

SHOWN = 200
"""Rows of a table on a page; the CSV has all."""
MOST_IDS = 500
"""Sentences named in the address of a map: longer addresses are refused."""
HEADS = {
    "group": "group", "occurs": "occurs", "most": "end", "cosine": "cosine", "exact": "same words",
    "twin": "stands there",
}  # fmt: skip


def frame(found: Answer) -> pd.DataFrame:
    """All rows: number of the sentence, the sentence, and what is known of it."""
    import pandas as pd

    columns: dict[str, Any] = {
        "id": found.ids, "sentence": [found.sentences[i] for i in found.ids]
    }  # fmt: skip
    for name in (name for name in HEADS if name in found.columns):
        values = found.columns[name]
        if name == "most":
            values = ["most" if value else "least" for value in values]
        elif name == "exact":
            values = [bool(value) for value in values]
        columns[name] = values
    return pd.DataFrame(columns)


def csv(found: Answer, *, spreadsheet: bool = False) -> bytes:
    """The rows as CSV in UTF-8.

    Args:
        found: the answer.
        spreadsheet: put an apostrophe before text that a spreadsheet would take for a formula.
    """
    table = frame(found)
    for name in ("sentence", "twin"):
        if name in table and spreadsheet:
            table[name] = [maps.spreadsheet_text(text) for text in table[name]]
    text = table.to_csv(index=False, lineterminator="\r\n")
    return text.encode("utf-8", "replace")


def sentence(found: Answer) -> str:
    """What came out, in words with numbers."""
    info, asked = found.info, found.asked
    n = formats.plural(info["n"], "sentence")
    if asked.job in ("exact", "near"):
        if not info["groups"]:
            return f"None of {n} is a duplicate of another."
        groups = formats.plural(info["groups"], "group")
        return (
            f"{groups} of duplicates among {n}: without them there would be "
            f"{info['spare']:,} fewer ({info['spare'] / info['n']:.1%})."
        )
    if asked.job == "leaks":
        where = _part(asked.against, asked.against_split)
        if not info["found"]:
            return f"None of {n} of {_part(asked.dataset, asked.split)} stands in {where} too."
        return (
            f"{info['found']:,} of {n} of {_part(asked.dataset, asked.split)} "
            f"({info['found'] / info['n']:.1%}) stand in {where} too, {info['exact']:,} of them "
            "word for word and the others nearly."
        )
    if asked.job == "outliers":
        return (
            f"The {info['kept']} of {n} that are farthest from their {asked.neighbours} nearest; "
            f"for the sentence in the middle that cosine is {info['middle']:.3f}."
        )
    return (
        f"The {info['kept'] // 2} of {n} nearest to the mean direction and as many farthest from "
        f"it; for the sentence in the middle that cosine is {info['middle']:.3f}."
    )


def _part(dataset: str, split: str) -> str:
    return dataset if split == "all" else f"{dataset} {split}"


def html(found: Answer, encoder: str) -> str:
    """The first rows, with where to look at each, and the links to all of them."""
    said = f'<div class="t-section"><h2>{escape(sentence(found))}</h2>{_ways(found, encoder)}</div>'
    if not len(found.ids):
        return said
    table = frame(found).head(SHOWN)
    names = ["sentence", *(name for name in table.columns if name not in ("id", "sentence"))]
    rows = [[_cell(name, row[name], found, encoder) for name in names]
            for row in table.to_dict("records")]  # fmt: skip
    heads = ["sentence", *(HEADS[name] for name in names[1:])]
    numbers = [i for i, name in enumerate(names) if name in ("group", "occurs", "cosine")]
    return said + parts.table(heads, rows, "What was found", numbers)


def _ways(found: Answer, encoder: str) -> str:
    """CSV, map, and how much of it is on the page."""
    if not len(found.ids):
        return ""
    file = f"./theodolite/curation/{found.key}.csv"
    links = [
        f'<a class="t-button" href="{file}" download>'
        f"Save {formats.plural(found.info['kept'], 'row')} as CSV</a>",
        f'<a class="t-button" href="{file}?spreadsheet=1" download '
        f'title="An apostrophe before text that a spreadsheet would take for a formula">'
        "CSV for spreadsheets</a>",
    ]
    ids = ",".join(str(i) for i in dict.fromkeys(found.ids[:MOST_IDS].tolist()))
    where = {"in": found.asked.dataset, "encoder": encoder or found.asked.encoder, "ids": ids}
    shown = min(MOST_IDS, len(found.ids))
    links.append(
        f'<a class="t-button" href="{escape(address.link("map", **where))}">'
        f"{'Open' if shown == len(found.ids) else f'Open the first {shown}'} on the map</a>"
    )
    more = []
    if found.info["found"] > found.info["kept"]:
        more.append(f"Of {found.info['found']:,} the first {found.info['kept']:,} were kept.")
    if len(found.ids) > SHOWN:
        more.append(f"The first {SHOWN} are shown here.")
    note = f'<p class="t-muted">{" ".join(more)}</p>' if more else ""
    return f'<div class="t-actions t-ways">{"".join(links)}</div>{note}'


def _cell(name: str, value: Any, found: Answer, encoder: str) -> str:
    if name == "sentence":
        text = maps.whole(str(value))
        where = {"q": text[:2000], "in": found.asked.dataset,
                 "encoder": encoder or found.asked.encoder}  # fmt: skip
        return (
            f'<span dir="auto">{escape(text)}</span> <a class="t-small" '
            f'href="{escape(address.link("search", **where))}" '
            f'aria-label="Search for {escape(text[:80])}">search</a>'
        )
    if name == "twin":
        return f'<span dir="auto">{escape(maps.whole(str(value)))}</span>'
    if name == "cosine":
        return f"{value:.3f}".replace("-", "−")
    if name == "most":
        return f"{value} typical"
    if name == "exact":
        return "yes" if value else "no"
    return f"{value:,}"
