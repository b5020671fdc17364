"""Examples from a text file: one sentence per line, an empty line between documents."""

from __future__ import annotations

from array import array
from functools import partial
from pathlib import Path

from theodolite.engine.datasets.row_file import RowFile
from theodolite.engine.training.examples.base import (
    SENTENCE,
    Digest,
    Examples,
    ExamplesSpec,
    counted,
    no_pairs,
)


def examples(path: Path, wanted: ExamplesSpec, folder: Path) -> Examples:
    """Open a text file."""
    file = RowFile(path, folder)
    if wanted.objective == "sup":
        raise no_pairs(file.name, "one sentence a line")
    return _sentences(file, wanted) if wanted.single else _following(file, wanted)


def _sentences(file: RowFile, wanted: ExamplesSpec) -> Examples:
    offsets, digest, empty = array("q"), Digest(), 0
    for row in file.rows():
        if not row.cells:
            empty += 1
            continue
        if len(offsets) == wanted.limit:
            break
        offsets.append(row.offset)
        digest.add(row.cells)
    notes = counted(empty, "empty line was left out", "empty lines were left out")
    read = partial(_read, file, offsets)
    return Examples(SENTENCE, str(digest), tuple(notes), len(offsets), read)


def _read(file: RowFile, offsets: array[int], position: int) -> tuple[str, ...]:
    return tuple(file.at(offsets[position]))


class _Documents:
    """Sentences in reading order, and those of them (anchors) that others follow."""

    def __init__(self, next_sentences: int) -> None:
        self.offsets = array("q")
        self.anchors = array("q")
        self.followers = array("b")
        self.count = 0
        self._next = next_sentences
        self._start = 0

    def end(self) -> None:
        """End a document: list all its sentences but the last as anchors."""
        stop = len(self.offsets)
        for anchor in range(self._start, stop - 1):
            self.anchors.append(anchor)
            self.followers.append(min(self._next, stop - 1 - anchor))
        self.count += stop > self._start
        self._start = stop


def _following(file: RowFile, wanted: ExamplesSpec) -> Examples:
    documents, digest = _Documents(wanted.next_sentences), Digest()
    for row in file.rows():
        if row.cells:
            documents.offsets.append(row.offset)
        else:
            documents.end()
            if wanted.limit is not None and len(documents.anchors) >= wanted.limit:
                break
        digest.add(row.cells)
    documents.end()
    notes = [f"{documents.count:,} documents, told apart by empty lines."]
    if documents.count == 1:
        notes = ["There is no empty line between documents: all lines count as one document."]
    count = min(len(documents.anchors), wanted.limit or len(documents.anchors))
    read = partial(_read_following, file, documents)
    return Examples(wanted.following, str(digest), tuple(notes), count, read)


def _read_following(file: RowFile, documents: _Documents, position: int) -> tuple[str, ...]:
    anchor = documents.anchors[position]
    last = anchor + documents.followers[position]
    return tuple(file.at(offset)[0] for offset in documents.offsets[anchor : last + 1])
