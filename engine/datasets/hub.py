"""Files of the Hugging Face hub as data sets, pinned to a commit.

    hub:OWNER/NAME[@REVISION]/PATH/TO/FILE.csv[?ROLE=COLUMN&…]

REVISION is a commit, tag or branch (`main` by default; a `/` in it is written `%2F`). The file is
CSV, TSV, JSON lines, Parquet or plain lines. ROLE=COLUMN says which column is what, with the roles
of `tables.Mapping`; left out, the columns are guessed:

    hub:mteb/stsbenchmark-sts@main/test.jsonl.gz?left=sentence1&right=sentence2&score=score

The data set that comes back bears the pinned name: commit and columns written out. Only the file
is fetched and no code of a repository is run. `HF_ENDPOINT`, `HF_HOME`, `HF_TOKEN` and
`HF_HUB_OFFLINE` mean what they mean to `huggingface_hub`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

from engine.datasets.columns import ROLES
from engine.datasets.formats import ENDINGS, MAX_BYTES, too_large
from engine.datasets.tables import Mapping, preview, read
from engine.datasets.types import Dataset, Kind
from engine.errors import UserError

PREFIX = "hub:"

_NAME = re.compile(
    r"hub:(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[^/?]+))?(/(?P<file>[^?]+))?"
    r"(\?(?P<query>.*))?"
)
_FORM = "hub:OWNER/NAME@REVISION/FILE?ROLE=COLUMN"


@dataclass(frozen=True)
class HubFile:
    """One file of a data set repository.

    Attributes:
        repository: `owner/name`.
        revision: commit, tag or branch.
        file: path in the repository.
        columns: role -> column; empty to have them guessed.
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
    """Read a name.

    Raises:
        UserError: it is not of the form above.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise UserError(f"{name!r} does not name a file on the hub.", f"Write {_FORM}.")
    if not match["file"]:
        raise UserError(
            f"{name!r} names a repository, not a file in it.",
            f"Add the path of one of its files ({', '.join(ENDINGS)}): {_FORM}.",
        )
    columns = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    if columns:
        _mapping(columns)
    return HubFile(
        match["repository"], unquote(match["revision"] or "main"), unquote(match["file"]), columns
    )


def _mapping(columns: dict[str, str]) -> Mapping:
    """Take the kind that needs the roles given."""
    telling: dict[str, Kind] = {"score": "pairs", "left": "pairs", "right": "pairs"}
    telling |= {"anchor": "triplets", "positive": "triplets", "negative": "triplets"}
    telling |= {"label": "labels", "split": "labels"}
    known = {role for roles in ROLES.values() for role in roles} | {"split"}
    unknown = [role for role in columns if role not in known]
    if unknown:
        raise UserError(
            f"{unknown[0]!r} is not a role of a column.", f"Roles: {', '.join(sorted(known))}."
        )
    kind: Kind = next((telling[role] for role in telling if role in columns), "sentences")
    return Mapping(kind, columns)


def load(name: str) -> Dataset:
    """Fetch a file, or find it in the hub's cache, and read it.

    Returns:
        The data set, named with the commit and the columns used, so that the name gives the same
        data for ever.

    Raises:
        UserError: a bad name; no such repository, revision or file; no access; no network and not
            in the cache; or a file that cannot be read.
    """
    wanted = parse(name)
    path, commit = _fetch(wanted)
    filename = Path(wanted.file).name
    columns = wanted.columns
    mapping = _mapping(columns) if columns else preview(path, filename).mapping
    pinned = HubFile(wanted.repository, commit, wanted.file, mapping.columns)
    return read(path, filename, mapping, str(pinned))


def _fetch(wanted: HubFile) -> tuple[Path, str]:
    """Return where the file lies and the commit it is of."""
    from huggingface_hub import errors, hf_hub_download

    what = f"{wanted.file} of {wanted.repository} at {wanted.revision}"
    try:
        # The dry run turns a branch or tag into a commit and tells the size; off line, from cache.
        facts = hf_hub_download(
            wanted.repository,
            wanted.file,
            repo_type="dataset",
            revision=wanted.revision,
            dry_run=True,
        )
        if (facts.file_size or 0) > MAX_BYTES:
            raise too_large(what)
        path = hf_hub_download(
            wanted.repository, wanted.file, repo_type="dataset", revision=facts.commit_hash
        )
    except errors.GatedRepoError as error:
        raise UserError(
            f"{wanted.repository} asks you to accept its terms first.",
            "Accept them on its page on the hub and set HF_TOKEN.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise UserError(
            f"The hub has no data set {wanted.repository}, or it is private.",
            "Check the spelling; for a private one set HF_TOKEN.",
        ) from error
    except errors.RevisionNotFoundError as error:
        raise UserError(
            f"{wanted.repository} has no revision {wanted.revision}.",
            "Use a commit, a tag or a branch of it; main is the default.",
        ) from error
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise UserError(
            f"{what} is not in the hub's cache here, and the hub cannot be reached.",
            "Check the network and HF_HUB_OFFLINE, or upload the file instead.",
        ) from error
    except errors.EntryNotFoundError as error:
        raise UserError(
            f"{wanted.repository} has no file {wanted.file} at {wanted.revision}.",
            "Copy the path from the page Files of the repository.",
        ) from error
    except (errors.HfHubHTTPError, errors.HFValidationError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"The hub did not give {what}: {reason}", "Try again later.") from error
    return Path(path), facts.commit_hash
