"""Files that the machines of a fleet share: at an address of fsspec, by the hash of their content.

A bundle describes one path: a file with its companion files, or a folder. A machine copies what a
bundle names into a folder of its own, and opens nothing else that another machine names.
"""

import contextlib
import hashlib
import re
import secrets
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from theodolite.app.fleet.address import mask
from theodolite.engine.encoders.fingerprint import file_sha256
from theodolite.engine.errors import UserError
from theodolite.store import StoreError
from theodolite.store.fleet import FleetAway

VARIABLE = "THEODOLITE_FILES"
MAX_BYTES = 32 << 30
MAX_FILES = 500
ENDINGS = tuple(
    ".json .txt .model .safetensors .md .npy .npz .parquet .csv .tsv .jsonl .vec .jinja .keys "
    ".arrow .feather .xlsx .xlsm".split()
)
"""Suffixes of files that are shared, each also with `.gz`. None is unpickled, not even a `.npy`."""
UNUSED_SECONDS = 7 * 24 * 3600.0
"""Age of files that are deleted; one that is still in use is put again before."""
SHARED, MADE = "objects", "made"
"""Folders below the address: of files that units read, and of output until it is at its home."""

_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")
_NAME = re.compile(r"(?!\.)[^/\\:\x00-\x1f]{1,200}")

Bundle = dict[str, Any]
"""`name` of the file or folder; `files`, relative path -> [SHA-256, bytes]; `at`, the folder below
the address."""


class Damaged(StoreError):
    """A file at the address is not what was put there, or is gone: it is put there anew."""

    code = "damaged"


class Files:
    """Files at an address such as `s3://bucket/folder`, or in a folder that all machines mount.

    Attributes:
        name: the address, for people, without a password.
    """

    def __init__(self, address: str) -> None:
        import fsspec

        if is_address(address):
            _check_address(address)
        else:
            address = f"file://{Path(address).expanduser().absolute()}"
        self.name, self._address = mask(address), address.rstrip("/")
        try:
            self._system, self._root = fsspec.url_to_fs(
                self._address, skip_instance_cache=True, use_listings_cache=False
            )
        except (ImportError, OSError, ValueError) as error:
            raise UserError(
                f"{self.name} cannot be used for files: {error}",
                "s3:// needs the extra s3: pip install 'theodolite[s3]'.",
                code="unsupported",
            ) from error
        self._is_folder = self._system.protocol[0] == "file"
        if self._is_folder and not Path(self._root).is_dir():
            raise UserError(
                f"There is no folder {self._root}.",
                "Give one that all machines mount.",
                code="no-file",
            )

    def is_below(self, address: str) -> bool:
        """Whether a model may be written to an address: it lies below this one."""
        with contextlib.suppress(UserError):
            _check_address(address)
            below, folder = address.removeprefix(f"{self._address}/"), (SHARED, MADE)
            return below != address and below.partition("/")[0] not in ("", *folder)
        return False

    def put(self, path: str, at: str = SHARED) -> Bundle:
        """Put a file or folder at the address, but for what is there; return its bundle."""
        bundle = {**pack(path), "at": at}
        with self._plain_errors():
            for name, (digest, size) in bundle["files"].items():
                place, there = self._place(at, digest), self._find(at, digest)
                if there is None or there[0] != size or there[1] > UNUSED_SECONDS / 2:
                    self._system.makedirs(self._place(at), exist_ok=True)
                    # An object store shows an object only once it is whole.
                    part = f"{place}.{secrets.token_hex(4)}" if self._is_folder else place
                    self._system.put_file(str(Path(path).parent / name), part)
                    if part != place:
                        self._system.mv(part, place)
        return bundle

    def fetch(self, bundle: Bundle, folder: Path) -> Path:
        """Copy a bundle into a folder, except files already there; return its path there."""
        folder.mkdir(parents=True, exist_ok=True)
        with self._plain_errors(), tempfile.TemporaryDirectory(dir=folder) as temporary:
            for name, (digest, size) in check(bundle).items():
                path, part = folder / name, Path(temporary) / "part"
                if path.is_file() and path.stat().st_size == size:
                    continue
                if (self._find(bundle["at"], digest) or (None,))[0] != size:
                    raise self._damage(f"{path.name} is not at {self.name}.")
                self._system.get_file(self._place(bundle["at"], digest), str(part))
                with part.open("rb") as file:
                    actual = hashlib.file_digest(file, "sha256").hexdigest()
                if actual != digest:
                    self._system.rm_file(self._place(bundle["at"], digest))
                    raise self._damage(f"{path.name} was damaged at {self.name}.")
                path.parent.mkdir(parents=True, exist_ok=True)
                part.replace(path)
        return folder / str(bundle["name"])

    def copy(self, bundle: Bundle, address: str) -> None:
        """Copy the files of a bundle to an address below this one."""
        with self._plain_errors():
            for name, (digest, _) in check(bundle).items():
                below = address.removeprefix(f"{self._address}/")
                place = self._place(below, name.partition("/")[2])
                self._system.makedirs(place.rpartition("/")[0], exist_ok=True)
                self._system.cp_file(self._place(bundle["at"], digest), place)

    def remove(self, bundle: Bundle) -> None:
        """Delete the files of a bundle, which must be in a folder of its own."""
        with self._plain_errors(), contextlib.suppress(FileNotFoundError):
            for place in self._system.find(self._place(bundle["at"])):
                self._system.rm_file(place)

    def clean(self) -> None:
        """Delete the files that were not put there for `UNUSED_SECONDS`."""
        with self._plain_errors(), contextlib.suppress(FileNotFoundError):
            for place in [p for at in (SHARED, MADE) for p in self._system.find(self._place(at))]:
                if self._age(place) > UNUSED_SECONDS:
                    self._system.rm_file(place)

    def _find(self, at: str, digest: str) -> tuple[int, float] | None:
        """Bytes of a file at the address, and the seconds since it was put there."""
        place = self._place(at, digest)
        with contextlib.suppress(FileNotFoundError):
            return int(self._system.info(place)["size"]), self._age(place)
        return None

    def _age(self, place: str) -> float:
        return float((datetime.now(UTC) - self._system.modified(place)).total_seconds())

    def _place(self, *parts: str) -> str:
        """A place below the root; links that others made in a folder are not followed out of it."""
        place = "/".join([self._root, *parts])
        if self._is_folder and not Path(place).resolve().is_relative_to(Path(self._root).resolve()):
            raise UserError(f"{place} leads out of {self._root}.", code="denied")
        return place

    def _damage(self, message: str) -> Damaged:
        return Damaged(message, "Give --files the same address on all machines, and try again.")

    @contextlib.contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """Turn errors of a file system, each of which has its own, into ours.

        Raises:
            FleetAway: it does not answer.
        """
        try:
            if self._is_folder and not Path(self._root).is_dir():  # else it would be made anew
                raise FleetAway(
                    f"There is no folder {self._root} any more.",
                    "Mount it again; what waits for its files goes on then.",
                )
            yield
        except (UserError, StoreError):
            raise
        except FileNotFoundError as error:
            raise self._damage(f"A file is not at {self.name}.") from error
        except PermissionError as error:
            raise UserError(
                f"Permission denied at {self.name}.",
                "Allow this machine to read and write there.",
                code="denied",
            ) from error
        except Exception as error:
            raise FleetAway(
                f"The files at {self.name} cannot be reached: {type(error).__name__}.",
                "What waits for them goes on when they are back.",
            ) from error


def is_address(text: str) -> bool:
    """Whether a text is an address such as `s3://lab/models`, not a folder of this machine."""
    return "://" in text


def _check_address(address: str) -> None:
    from fsspec import available_protocols

    parts = urlsplit(address)
    is_plain = not (parts.query or parts.fragment or "::" in address)
    if not is_plain or not parts.scheme or ".." in parts.path.split("/"):
        raise UserError(
            f"{mask(address)} is not an address for files.", "Write it like s3://bucket/folder."
        )
    if parts.scheme not in available_protocols():
        raise UserError(
            f"No file system is known for {parts.scheme}://.",
            "See fsspec's documentation.",
            code="unsupported",
        )


def pack(path: str) -> Bundle:
    """The `name` and `files` of the bundle of a path. A file is hashed again when it changes."""
    root = Path(path)
    files = dict(_files(root))
    size = sum(file.stat().st_size for file in files.values())
    if size > MAX_BYTES or len(files) > MAX_FILES:
        raise UserError(
            f"{path} holds {len(files):,} files of {size / 1e9:.1f} GB; a fleet shares up to "
            f"{MAX_FILES} files of {MAX_BYTES / 1e9:.1f} GB.",
            code="too-large",
        )
    hashed = {name: [file_sha256(file), file.stat().st_size] for name, file in files.items()}
    return {"name": root.name, "files": hashed}


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """(relative path, path) of every file that belongs to a path."""
    if root.is_file():
        beside = [root.with_suffix(end) for end in (".txt", ".txt.gz") if root.suffix == ".npy"]
        yield from ((file.name, file) for file in (root, *beside) if file.is_file())
        return
    if not root.is_dir():
        raise UserError(
            f"There is nothing at {root}.", "Give a file or a folder that is there.", code="no-file"
        )
    files = sorted(file for file in root.rglob("*") if file.is_file())
    pickles = [file.name for file in files if file.suffix.lower() in _PICKLES]
    if pickles and not any(file.suffix == ".safetensors" for file in files):
        raise UserError(
            f"{pickles[0]} of {root} is a pickle, which is not shared.", code="wrong-kind"
        )
    for file in files:
        below = file.relative_to(root)
        if _is_shared(file.name) and not any(part.startswith(".") for part in below.parts):
            yield f"{root.name}/{below.as_posix()}", file


def _is_shared(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(ENDINGS)


def check(bundle: Bundle) -> dict[str, tuple[str, int]]:
    """The files of a bundle that came from elsewhere: name -> hash and bytes."""
    try:
        files = {
            str(name): (str(digest), int(size)) for name, (digest, size) in bundle["files"].items()
        }
        parts = [
            part for name in (bundle["name"], bundle["at"], *files) for part in name.split("/")
        ]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            "The list of files cannot be read.",
            "Use the same version of Theodolite on all machines.",
            code="damaged",
        ) from error
    wrong = [part for part in parts if not _NAME.fullmatch(part)]
    wrong += [name for name in files if not _is_shared(name)]
    wrong += [digest for digest, _ in files.values() if not re.fullmatch("[0-9a-f]{64}", digest)]
    if wrong or len(files) > MAX_FILES or sum(size for _, size in files.values()) > MAX_BYTES:
        raise UserError(
            f"A file such as {wrong[0] if wrong else len(files)!r} is not accepted.",
            code="wrong-kind",
        )
    return files
