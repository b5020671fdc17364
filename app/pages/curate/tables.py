"""Results of a check as rows, as CSV, and in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theodolite.app import formats

if TYPE_CHECKING:
    import pandas as pd

    from theodolite.app.pages.curate.service import Answer

HEADS = {
    "group": "Group",
    "occurs": "Occurs",
    "most": "End",
    "cosine": "Cosine",
    "exact": "Same words",
    "twin": "Its match there",
}


def frame(found: Answer) -> pd.DataFrame:
    """All rows: id of the sentence, the sentence, and its attributes."""
    import pandas as pd

    columns: dict[str, Any] = {"id": found.ids, "sentence": [found.sentences[i] for i in found.ids]}
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
            table[name] = [formats.spreadsheet_text(text) for text in table[name]]
    text = table.to_csv(index=False, lineterminator="\r\n")
    return text.encode("utf-8", "replace")


def sentence(found: Answer) -> str:
    """Summarise the answer in a sentence."""
    info, job = found.info, found.job
    n = formats.plural(info["n"], "sentence")
    if job.check in ("exact", "near"):
        if not info["groups"]:
            return f"None of {n} is a duplicate of another."
        groups = formats.plural(info["groups"], "group")
        return (
            f"{groups} of duplicates among {n}: without them there would be "
            f"{info['spare']:,} fewer ({info['spare'] / info['n']:.1%})."
        )
    if job.check == "leaks":
        where = _part(job.against, job.against_split)
        if not info["found"]:
            return f"None of {n} of {_part(job.dataset, job.split)} stands in {where} too."
        return (
            f"{info['found']:,} of {n} of {_part(job.dataset, job.split)} "
            f"({info['found'] / info['n']:.1%}) stand in {where} too, {info['exact']:,} of them "
            "word for word and the others nearly."
        )
    if job.check == "outliers":
        return (
            f"The {info['kept']} of {n} that are farthest from their {job.neighbours} nearest; "
            f"the median cosine to them is {info['middle']:.3f}."
        )
    return (
        f"The {info['kept'] // 2} of {n} nearest to the mean direction and as many farthest from "
        f"it; the median cosine to it is {info['middle']:.3f}."
    )


def _part(dataset: str, split: str) -> str:
    return dataset if split == "all" else f"{dataset} {split}"
