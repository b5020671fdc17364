"""Files of one machine that another needs: which they are, and how they travel.

A parcel is the content of one path: a file with its companion files, or a folder. It travels by the
hash of its content, arrives in a folder of that name, and is opened nowhere else.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.engine.encoders.fingerprint import file_sha256
from theodolite.engine.encoders.spec import SOURCES, SourceSpec, parse
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.store.transfers import Transfers

Parcel = dict[str, Any]
"""`name` of the file or folder; `files`, relative path -> [SHA-256, bytes]."""

MAX_BYTES = 4 << 30
MAX_FILES = 500
ENDINGS = (
    ".json",
    ".txt",
    ".model",
    ".safetensors",
    ".md",
    ".npy",
    ".npz",
    ".parquet",
    ".csv",
    ".tsv",
    ".jsonl",
    ".vec",
    ".jinja",
    ".keys",
)
"""Suffixes of files that travel, each also with `.gz`. None is unpickled, not even a `.npy`."""
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_NAME = re.compile(r"(?!\.)[^/\\:\x00-\x1f]{1,200}")


def paths_of(encoder: str) -> list[str]:
    """Files and folders of this machine that an encoder names."""
    return [path for source in parse(encoder).sources for path in _paths(source)]


def moved(encoder: str, places: Mapping[str, str]) -> str:
    """The spec of an encoder with its paths replaced as in `places`."""
    spec = parse(encoder)
    return str(replace(spec, sources=tuple(_moved(source, places) for source in spec.sources)))


def _paths(source: SourceSpec) -> Iterator[str]:
    if SOURCES[source.kind].value_is == "path":
        yield source.value
    words = source.option("words")
    if words not in (None, "wordllama"):
        yield str(words)


def _moved(source: SourceSpec, places: Mapping[str, str]) -> SourceSpec:
    if SOURCES[source.kind].value_is == "path":
        source = replace(source, value=places.get(source.value, source.value))
    words = source.option("words")
    return source if words is None else source.with_options(words=places.get(words, words))


def pack(path: str) -> Parcel:
    """The parcel of a path. A file is hashed again only when it changes."""
    root = Path(path)
    files = list(_files(root))
    size = sum(file.stat().st_size for _, file in files)
    if size > MAX_BYTES or len(files) > MAX_FILES:
        raise UserError(
            f"{path} holds {len(files):,} files of {size / 1e9:.1f} GB; up to {MAX_FILES} of "
            f"{MAX_BYTES / 1e9:.1f} GB travel.",
            code="too-large",
        )
    return {
        "name": root.name,
        "files": {name: [file_sha256(file), file.stat().st_size] for name, file in files},
    }


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """(relative path, path) of every file that belongs to a path."""
    if root.is_file():
        beside = [root.with_suffix(end) for end in (".txt", ".txt.gz") if root.suffix == ".npy"]
        for file in (root, *(other for other in beside if other.is_file())):
            yield file.name, file
        return
    if not root.is_dir():
        raise UserError(
            f"There is nothing at {root}.", "Give a file or a folder that is there.", code="no-file"
        )
    all_files = sorted(file for file in root.rglob("*") if file.is_file())
    pickles = [file.name for file in all_files if file.suffix.lower() in _PICKLES]
    if pickles and not any(file.suffix == ".safetensors" for file in all_files):
        raise UserError(
            f"{pickles[0]} of {root} is a pickle, which does not travel.", code="wrong-kind"
        )
    for file in all_files:
        if any(part.startswith(".") for part in file.relative_to(root).parts):
            continue
        if file.name.lower().removesuffix(".gz").endswith(ENDINGS):
            yield f"{root.name}/{file.relative_to(root).as_posix()}", file


def under(parcel: Parcel, name: str) -> Parcel:
    """The same parcel with its folder renamed."""
    old = len(str(parcel["name"]))
    return {"name": name, "files": {name + file[old:]: at for file, at in parcel["files"].items()}}


def send(transfers: Transfers, path: str, parcel: Parcel) -> None:
    """Upload the files of a parcel that are not in the database yet."""
    root = Path(path)
    for name, (digest, _) in parcel["files"].items():
        transfers.send(digest, root.parent / name)


def receive(transfers: Transfers, parcel: Parcel, folder: Path) -> Path:
    """Download a parcel into a folder, except files already there; return the parcel's path."""
    files = dict(checked(parcel))
    for name, (digest, size) in files.items():
        transfers.fetch(digest, size, folder / name)
    return folder / str(parcel["name"])


def checked(parcel: Parcel) -> Iterable[tuple[str, tuple[str, int]]]:
    """Name, hash and size of every file of a parcel that came from elsewhere."""
    try:
        files = {
            str(name): (str(digest), int(size)) for name, (digest, size) in parcel["files"].items()
        }
        parts = [str(parcel["name"]), *(part for name in files for part in name.split("/"))]
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(
            "The list of files cannot be read.",
            "Use the same version of Theodolite on all machines.",
            code="damaged",
        ) from error
    wrong = [part for part in parts if not _NAME.fullmatch(part)]
    wrong += [name for name in files if not name.lower().removesuffix(".gz").endswith(ENDINGS)]
    wrong += [digest for digest, _ in files.values() if not re.fullmatch("[0-9a-f]{64}", digest)]
    if wrong or len(files) > MAX_FILES or sum(size for _, size in files.values()) > MAX_BYTES:
        raise UserError(
            f"A file such as {wrong[0] if wrong else len(files)!r} is not accepted.",
            "",
            code="wrong-kind",
        )
    return files.items()


def hash_of(parcels: Mapping[str, Parcel] | Parcel) -> str:
    """Hash of parcels, as the name of a folder for them."""
    text = json.dumps(parcels, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
