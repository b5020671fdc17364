"""Texts of data sets as files of published pages, fetched when one is viewed."""

import json
from collections.abc import Iterator, Sequence

from theodolite.app import formats
from theodolite.app.blocks import Folders
from theodolite.app.published import FOLDER

PER_FILE = 500
"""Texts, or records of sentences, per file: some 50 kB."""


def texts_of(sentences: Sequence[str], data_hash: str) -> tuple[str, Folders]:
    """The texts of a data set in a folder that all pages share.

    Args:
        sentences: the distinct sentences of the data set.
        data_hash: their hash.

    Returns:
        Address of the folder, and the function which makes its files: `texts-0`, `texts-1`, …
    """
    folder = f"{FOLDER}/texts/{data_hash[:16]}"
    return folder, {folder: lambda: dict(_parts(sentences))}


def _parts(sentences: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for number, start in enumerate(range(0, len(sentences), PER_FILE)):
        part = [formats.encodable(text) for text in sentences[start : start + PER_FILE]]
        yield f"texts-{number}", json.dumps(part, ensure_ascii=False).encode()
