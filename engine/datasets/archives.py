"""Several files as one data set: BEIR's three, sentences by language, or tables by split.

They come as a ZIP archive, or are packed into one here. Archives are read in memory: no file is
ever written under a name from an archive.
"""

import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from theodolite.engine.datasets import beir, limits, parallel
from theodolite.engine.datasets.dialect import ENDINGS
from theodolite.engine.datasets.files import listed, open_binary, shorten
from theodolite.engine.datasets.formats import counted_lines, json_lines
from theodolite.engine.datasets.languages import is_language
from theodolite.engine.datasets.types import Kind, Parallel, Retrieval, TaskType
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import advice_for

ENDING = ".zip"
EXPECTED = f"{beir.EXPECTED}, or two files of lines that translate one another (a.en.txt, a.de.txt)"
TABLES = "Tables of one data set are named by their splits, such as train.csv and test.csv."
SPLITS = ("train", "training", "dev", "val", "valid", "validation", "trial", "test")
_ENDINGS = re.compile(r"\.(csv|tsv|txt|jsonl?|ndjson|parquet|xml)(\.gz)?$", re.IGNORECASE)
CORPUS = "corpus.jsonl"
_MAX_FILES = 1000
"""Maximum number of files in an archive; a data set has a few."""
_ENTRY = b"PK\x01\x02"
_PIECE = 2**20
BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""Raised when reading an archive that is damaged, encrypted or of an unknown compression."""
_NOT_OF_LANGUAGES = ("txt", "tsv", "csv")


def is_archive(filename: str) -> bool:
    """Whether a file name is that of an archive."""
    return filename.lower().endswith(ENDING)


def pack(files: Mapping[str, Path], target: Path) -> None:
    """Pack files (name in the archive -> file), reproducibly."""
    if sum(path.stat().st_size for path in files.values()) > limits.MAX_BYTES:
        raise limits.too_large(target.name)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            with path.open("rb") as source, archive.open(zipfile.ZipInfo(name), "w") as inside:
                while piece := source.read(_PIECE):
                    inside.write(piece)


def pack_retrieval(
    queries: Mapping[str, Any],
    documents: Mapping[str, Any],
    answers: Mapping[str, Iterable[str]],
    target: Path,
) -> None:
    """Pack a retrieval set in BEIR's layout.

    Args:
        queries: id -> text.
        documents: id -> text, or a mapping with `title` and `text`.
        answers: id of a query -> those of the documents that answer it.
        target: the archive.
    """
    texts = [one if isinstance(one, dict) else {"text": one} for one in documents.values()]
    rows: dict[str, list[dict[str, Any]]] = {
        CORPUS: [{**one, "_id": key} for key, one in zip(documents, texts, strict=True)],
        "queries.jsonl": [{"_id": key, "text": text} for key, text in queries.items()],
        "qrels.jsonl": [
            {"query-id": query, "corpus-id": key, "score": 1}
            for query, keys in answers.items()
            for key in keys
        ],
    }
    with TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in rows}
        for name, file in files.items():
            file.write_text(json_lines(rows[name]), encoding="utf-8")
        pack(files, target)


def tables(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return (split, file) where the files are tables whose names tell splits apart, in order.

    A table alone has the split that its name or its folder's tells, or an empty one. A split may
    come in numbered parts, as on the hub. What describes the data, such as a README, is left out.
    """
    known = [name for name in names if _is_table(name)]
    if len(known) > 1:
        known = [n for n in known if split_of(n)[0] or not n.endswith((".txt", ".json"))]
    parts = sorted((split_of(name)[0] or _split_of_folder(name), name) for name in known)
    splits = Counter(split for split, _ in parts)
    whole = all(splits[split] == 1 or beir.PART.search(name) for split, name in parts)
    if any(map(beir.role_of, known)) or not whole or (len(splits) > 1 and "" in splits):
        return []
    return sorted(parts, key=lambda item: (rank(item[0]), item[1]))


def first_table(source: Path, filename: str) -> tuple[Path | bytes, str]:
    """Return the first table of an archive of `tables`, with its name; any other file itself."""
    if not is_archive(filename):
        return source, filename
    first = tables(names_in(source, filename))[0][1]
    files = dict(entries(source, filename, wanted=first.__eq__))  # the others are not unpacked
    return files[first], first


def names_in(source: Path | bytes, filename: str) -> list[str]:
    """Return the names of an archive's files, of which none is unpacked."""
    return [name for name, _ in entries(source, filename, wanted=lambda name: False)]


def are_languages(names: Sequence[str]) -> bool:
    """Return whether files are two, each named by a language: a.en.txt and a.de.txt."""
    languages = {_language(name) for name in names} - {""}
    return len(names) == len(languages) == 2


def _sides(names: Iterable[str]) -> list[str]:
    """The two files of lines that end in a language, beside what describes them; else all."""
    every = sorted(names)
    found = [n for n in every if is_language(PurePosixPath(n.removesuffix(".gz")).suffix[1:])]
    return found if len(found) == 2 else every


def _is_table(name: str) -> bool:
    return PurePosixPath(name.lower().removesuffix(".gz")).suffix in ENDINGS


def split_of(name: str) -> tuple[str, str]:
    """Return the split that a file's name tells, empty if none, and the rest of its name."""
    stem = beir.PART.sub("", _ENDINGS.sub("", PurePosixPath(name).name))
    words = re.split(r"[-_.]", stem)
    split = next((word for word in words if word.casefold() in SPLITS), "")
    return split, "_".join(word for word in words if word != split)


def _split_of_folder(name: str) -> str:
    folder = PurePosixPath(name).parent.name
    return folder if folder.casefold() in SPLITS else ""


def rank(split: str) -> int:
    """Return the place of a split in the usual order; the last for others."""
    return SPLITS.index(split.casefold()) if split else len(SPLITS)


def kind_of(names: list[str]) -> tuple[Kind, TaskType]:
    """Return the kind and task type of an archive's data set, by its files' names."""
    expected = f"Expected: {EXPECTED}. {TABLES}"
    if not names:
        raise UserError("The folder or archive holds no file.", expected, code="wrong-kind")
    two = _sides(names)
    stems = {PurePosixPath(name).name.partition(".")[0] for name in two}
    plain = [name.lower().removesuffix(".gz") for name in names if _is_table(name)]
    of_lines = are_languages(two) or all(name.endswith(".txt") for name in plain)
    if not stems & {"corpus", "queries"} and len(two) == 2 and of_lines:
        return "parallel", "BitextMining"
    try:
        listed_too = beir.layout(names).candidates
    except UserError as error:
        unread = map(advice_for, {PurePosixPath(name.lower()).suffix for name in names})
        raise UserError(
            f"The files {listed(names, 6)} are not those of a known data set. {error.message}",
            next(filter(None, unread), expected),
            code="wrong-kind",
        ) from error
    return "retrieval", "Reranking" if listed_too else "Retrieval"


def read(
    path: Path | bytes, filename: str, kind: Kind, type: TaskType | None, name: str
) -> Retrieval | Parallel:
    """Read an archive as a data set."""
    files = unpack(path, filename)
    content, made_for = kind_of(list(files))
    if content != kind:
        raise UserError(
            f"{filename} contains files of {content}, not of {kind}.",
            f"Choose the kind {content}.",
            code="wrong-kind",
        )
    if type == "Reranking" != made_for:
        raise UserError(
            f"{filename} does not list the documents to rank for each query.",
            "Add top_ranked/SPLIT.jsonl with query-id and corpus-ids, or choose Retrieval.",
            code="missing",
        )
    if content == "retrieval":
        return beir.read(name, files, filename)
    left, right = _sides(files)
    sides = [_lines(files[side], side) for side in (left, right)]
    part = parallel.align(sides[0], sides[1], left, right)
    return parallel.parallel(name, {"test": part}, (_language(left), _language(right)))


def _language(name: str) -> str:
    """Return the language named by a file's last ending, the one before `.txt`, or any word."""
    stem, *endings = name.removesuffix(".gz").rpartition("/")[2].split(".")
    plain = [word for word in endings if word not in _NOT_OF_LANGUAGES]
    if plain and parallel.LANGUAGE.fullmatch(plain[-1]):
        return plain[-1]
    return next(filter(is_language, re.split("[-_]", stem)), "")


def _lines(raw: bytes, name: str) -> list[str]:
    unpacking = limits.Unpacking(name, raw, limits.MAX_BYTES)
    return list(counted_lines(raw, name, unpacking, name.endswith(".gz")))


def unpack(source: Path | bytes, filename: str) -> dict[str, bytes]:
    """Return name -> content of an archive's files; names keep at most their last two parts."""
    files: dict[str, bytes] = {}
    for full, content in entries(source, filename):
        printable = "".join(c if c.isprintable() else "?" for c in full)
        name = "/".join(part[-80:] for part in PurePosixPath(printable).parts[-2:])
        if name in files:
            raise UserError(
                f"{filename} contains two files {name!r}.", "Keep one of them.", code="conflict"
            )
        files[name] = content
    return files


def entries(
    source: Path | bytes,
    filename: str,
    most: int = _MAX_FILES,
    wanted: Callable[[str], bool] = lambda name: True,
) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of an archive's files, by their full names with `/`.

    Files that operating systems add are skipped, and those that are not wanted are empty.
    """
    unpacking = limits.Unpacking(filename, source, limits.MAX_BYTES)
    _check_entries(source, filename, most)
    try:
        with open_binary(source, packed=False) as raw, zipfile.ZipFile(raw) as archive:
            for entry in archive.infolist():
                name = _name(entry).replace("\\", "/")
                last = PurePosixPath(name).name
                # Operating systems add files of their own.
                if entry.is_dir() or not last or last.startswith(".") or "__MACOSX" in name:
                    continue
                pieces = []
                if not wanted(name):
                    yield name, b""
                    continue
                with archive.open(entry) as inside:
                    while piece := inside.read(_PIECE):
                        unpacking.add(len(piece))
                        pieces.append(piece)
                yield name, b"".join(pieces)
    except UserError:
        raise
    except BROKEN_ZIP as error:
        raise UserError(
            f"{filename} cannot be unpacked ({shorten(str(error), 80)}).",
            "Pack it again as a plain ZIP archive, without a password.",
            code="damaged",
        ) from error


def _name(entry: zipfile.ZipInfo) -> str:
    """The name of a file: UTF-8, of which macOS and `zip` say nothing, else as ZIP has it."""
    try:
        return entry.filename.encode("cp437").decode()
    except UnicodeError:
        return entry.filename


def _check_entries(source: Path | bytes, filename: str, most: int) -> None:
    """Refuse too many files before zipfile reads its directory into memory."""
    count, before = 0, b""
    with open_binary(source, packed=False) as raw:
        while piece := raw.read(_PIECE):
            piece = before[-len(_ENTRY) + 1 :] + piece
            count, before = count + piece.count(_ENTRY), piece
    if count > most:
        raise UserError(
            f"{filename} contains more than {most:,} files.",
            "Is it the right one? If it is, pack them into several.",
            code="too-large",
        )
