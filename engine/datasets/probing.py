"""Probing data: sentences labelled with a linguistic property.

The ten tasks of SentEval (Conneau et al. 2018) and any other file in their format,
`tr/va/te TAB label TAB sentence`, in any language.

Source: facebookresearch/SentEval, `senteval/probing.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from theodolite.engine.datasets.columns import PROBING_SPLITS
from theodolite.engine.datasets.files import DatasetSource, find, lines, shorten, where
from theodolite.engine.datasets.languages import ENGLISH, codes
from theodolite.engine.datasets.transfer import Labelled, bad_line, joined, labelled
from theodolite.engine.datasets.types import DatasetInfo, Extent, LabelledSentences
from theodolite.engine.errors import UserError

TEN: dict[str, tuple[str, str]] = {
    "Length": ("sentence_length", "their length in six bins"),
    "WordContent": ("word_content", "which of many words they hold"),
    "Depth": ("tree_depth", "the depth of their parse tree"),
    "TopConstituents": ("top_constituents", "the top constituents of their parse"),
    "BigramShift": ("bigram_shift", "whether two adjacent words were swapped"),
    "Tense": ("past_present", "the tense of the main verb"),
    "SubjNumber": ("subj_number", "the number of the subject"),
    "ObjNumber": ("obj_number", "the number of the object"),
    "OddManOut": ("odd_man_out", "whether a word was replaced"),
    "CoordinationInversion": ("coordination_inversion", "whether two clauses were swapped"),
}
"""SentEval's task -> stem of its file, and the labelled property."""

_PLACES = ("probing", "senteval/probing", "senteval/probing_derived")
_MULTILINGUAL = ("probing_multilingual", "senteval/probing_multilingual")


def sources(root: Path) -> list[DatasetSource]:
    """List the probing sets; official files take precedence over stand-ins in the same format.

    Other files than the ten are named by their path: `probing/my_probe`,
    `probing_multilingual/ru/voice`.
    """
    found: dict[str, DatasetSource] = {}
    for place in _PLACES:
        for name, (stem, what) in TEN.items():
            path = find(root / place / f"{stem}.txt")
            if path is None or name in found:
                continue
            kind = "a stand-in, not the official data" if "derived" in place else "probing"
            info = DatasetInfo(
                name,
                "labels",
                "folder",
                f"Sentences by {what} ({kind}).",
                task=name,
                languages=ENGLISH,
            )
            found[name] = DatasetSource(info, partial(read, path, name))
    for name, path in _others(root):
        about = f"Sentences by {path.name.partition('.')[0].replace('_', ' ')} (probing)."
        language = path.parent.name if name.startswith("probing_multilingual/") else ""
        info = DatasetInfo(
            name, "labels", "folder", about, task=f"{name}/probe", languages=codes(language)
        )
        found.setdefault(name, DatasetSource(info, partial(read, path, name)))
    return list(found.values())


def _others(root: Path) -> Iterator[tuple[str, Path]]:
    ten = {stem for stem, _ in TEN.values()}
    for place in _PLACES[:2]:
        for path in sorted((root / place).glob("*.txt*")):
            stem = path.name.partition(".txt")[0]
            if stem not in ten and path.name in (f"{stem}.txt", f"{stem}.txt.gz"):
                yield f"probing/{stem}", path
    for place in _MULTILINGUAL:
        for path in sorted((root / place).glob("*/*.txt*")):
            stem = path.name.partition(".txt")[0]
            if path.name in (f"{stem}.txt", f"{stem}.txt.gz"):
                yield f"probing_multilingual/{path.parent.name}/{stem}", path


def read(path: Path, name: str) -> LabelledSentences:
    """Read a probing file.

    A line without a sentence gives an empty sentence; the reference would use the label as the
    text and so leak the answer.
    """
    rows: list[Labelled] = []
    splits: list[str] = []
    for number, line in enumerate(lines(path), start=1):
        cells = line.rstrip().split("\t")
        if cells[0] not in PROBING_SPLITS:
            raise UserError(
                f"{where(path)}, line {number} begins with {shorten(cells[0])}, not a split.",
                "Each line is `tr`, `va` or `te`, a tab, the label, a tab, the sentence.",
                code="damaged",
            )
        if len(line.split("\t")) < 3:
            raise bad_line(path, number)
        if not cells[1].strip():
            raise UserError(
                f"{where(path)}, line {number} has no label.",
                "Each line is `tr`, `va` or `te`, a tab, the label, a tab, the sentence.",
                code="missing",
            )
        rows.append((joined(cells[-1]) if len(cells) > 2 else "", cells[1]))
        splits.append(PROBING_SPLITS[cells[0]])
    return labelled(name, rows, splits, [Extent(where(path), len(rows))])
