"""Files from the Hugging Face hub as data sets, pinned to a commit.

    hub:OWNER/NAME[@REVISION]/PATH/TO/FILE.csv[?ROLE=COLUMN&…]

REVISION is a commit, tag or branch (`main` by default; a `/` in it is written `%2F`). The file is
CSV, TSV, JSON lines, Parquet or plain lines. ROLE=COLUMN assigns the roles of `tables.Mapping` to
columns; by default they are guessed:

    hub:mteb/stsbenchmark-sts@main/test.jsonl.gz?left=sentence1&right=sentence2&score=score

The returned data set has the pinned name, with commit and columns. Only the file is downloaded, and
no code from a repository is run. For a repository without a file, the error lists its files.
`HF_ENDPOINT`, `HF_HOME`, `HF_TOKEN` and `HF_HUB_OFFLINE` work as in `huggingface_hub`.
"""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import parse_qsl, quote, unquote, urlencode

from theodolite.engine.datasets.columns import ROLES
from theodolite.engine.datasets.dialect import ENDINGS
from theodolite.engine.datasets.limits import MAX_BYTES, too_large
from theodolite.engine.datasets.tables import Mapping, preview, read
from theodolite.engine.datasets.types import Dataset, Kind
from theodolite.engine.errors import UserError
from theodolite.engine.hub import fetched, in_cache

PREFIX = "hub:"

_NAME = re.compile(
    r"hub:(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[^/?]+))?(/(?P<file>[^?]+))?"
    r"(\?(?P<query>.*))?"
)
_COMMIT = re.compile("[0-9a-f]{40}")
_FORM = "hub:OWNER/NAME@REVISION/FILE?ROLE=COLUMN"


@dataclass(frozen=True)
class HubFile:
    """One file of a data set repository.

    Attributes:
        repository: `owner/name`.
        revision: commit, tag or branch.
        file: path in the repository; empty if only the repository is named.
        columns: role -> column; empty to guess them.
    """

    repository: str
    revision: str
    file: str
    columns: dict[str, str]

    def __str__(self) -> str:
        query = urlencode(self.columns, quote_via=quote)
        head = f"{PREFIX}{self.repository}@{quote(self.revision, safe='')}/{quote(self.file)}"
        return f"{head}?{query}" if query else head


def parse(name: str) -> HubFile:
    """Parse a name."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise UserError(f"{name!r} does not name a file on the hub.", f"Write {_FORM}.")
    columns = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    if columns:
        _infer_mapping(columns)
    file = unquote(match["file"] or "")
    if ".." in PurePosixPath(file).parts:
        raise UserError(f"{name!r} points outside its repository.", f"Write {_FORM}.")
    return HubFile(match["repository"], unquote(match["revision"] or "main"), file, columns)


def _infer_mapping(columns: dict[str, str]) -> Mapping:
    """Infer the kind of data set from the given roles."""
    telling: dict[str, Kind] = {"score": "pairs", "left": "pairs", "right": "pairs"}
    telling |= {"anchor": "triplets", "positive": "triplets", "negative": "triplets"}
    telling |= {"label": "labels", "split": "labels"}
    known = {role for roles in ROLES.values() for role in roles} | {"split"}
    unknown = [role for role in columns if role not in known]
    if unknown:
        raise UserError(
            f"{unknown[0]!r} is not a role of a column.",
            f"Roles: {', '.join(sorted(known))}.",
            code="unknown",
        )
    kind: Kind = next((telling[role] for role in telling if role in columns), "sentences")
    return Mapping(kind, columns)


def load(name: str) -> Dataset:
    """Read a file, downloaded if it is not in the hub's cache.

    Returns:
        The data set, named with the commit and the columns used, so that the name always gives the
        same data.
    """
    address = parse(name)
    path = _fetch(address)
    # The cache is laid out as …/snapshots/COMMIT/FILE, so the commit is also known offline.
    commit = path.parents[len(PurePosixPath(address.file).parts) - 1].name
    filename = path.name
    columns = address.columns
    mapping = _infer_mapping(columns) if columns else preview(path, filename).mapping
    pinned = HubFile(address.repository, commit, address.file, mapping.columns)
    return read(path, filename, mapping, str(pinned))


def _fetch(address: HubFile) -> Path:
    """Return the file's path in the hub's cache, downloading it if needed."""
    place, revision, file = address.repository, address.revision, address.file

    def kept() -> Path | None:
        return in_cache(place, file, revision, "dataset") if file else None

    def fetch() -> Path:
        from huggingface_hub import HfApi, hf_hub_download

        about = HfApi().dataset_info(place, revision=revision, timeout=15, files_metadata=True)
        _check(address, {one.rfilename: one.size for one in about.siblings or []})
        return Path(hf_hub_download(place, file, repo_type="dataset", revision=revision))

    # A commit never changes, so the hub need not be asked.
    if _COMMIT.fullmatch(revision) and (cached := kept()):
        return cached
    what = f"{file or 'list of files'} of the data set {place}"
    return fetched(fetch, kept, what, f"datasets/{place}", revision)


def _check(address: HubFile, sizes: dict[str, int | None]) -> None:
    """Refuse a missing or too large file before downloading."""
    if address.file not in sizes:
        known = [f for f in sizes if f.lower().removesuffix(".gz").endswith(ENDINGS)]
        near = difflib.get_close_matches(address.file, known, n=5, cutoff=0.3) or known[:5]
        what = f"no file {address.file}" if address.file else "more than one file to choose from"
        raise UserError(
            f"{address.repository} has {what} at {address.revision}.",
            f"Write {_FORM}. Files it has: {', '.join(near) or 'none that can be read here'}.",
            code="unknown" if address.file else "ambiguous",
        )
    if (sizes[address.file] or 0) > MAX_BYTES:
        raise too_large(f"{address.file} of {address.repository}")
