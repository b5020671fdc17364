"""A local server that speaks as much of the Hugging Face hub's protocol as downloads need.

Files lie in `root/models/OWNER/NAME/` and `root/datasets/OWNER/NAME/`: that is revision `main`. A
second folder `NAME@v2` beside it is revision `v2`. A revision's commit is the SHA-1 of its files,
or its own name where that is 40 hex digits. Which repositories are closed says `FakeHub.closed`.

`huggingface_hub` reads `HF_ENDPOINT` when it is imported, so a test runs the code in a subprocess
or sets the endpoint by hand.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from tests.fakes.server import FakeServer, Handler

MAIN = "main"


class FakeHub(FakeServer):
    """Serves a folder until the `with` block ends.

    Attributes:
        url: what `HF_ENDPOINT` must be.
        requests: `METHOD path` of everything asked for, in order.
        closed: `OWNER/NAME` -> what the hub then answers who has no access: GatedRepo where terms
            have to be accepted, RepoNotFound of a private one, which it does not admit to have.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.requests: list[str] = []
        self.closed: dict[str, str] = {}
        super().__init__(_Handler)

    def folder(self, kind: str, repository: str, revision: str) -> Path | None:
        """Folder of a revision given by name or by commit; None when there is none."""
        owner, _, name = repository.partition("/")
        parent = self.root / kind / owner
        for folder in sorted(parent.glob(f"{name}*")):
            known, _, label = folder.name.partition("@")
            if known == name and revision in (label or MAIN, commit(folder)):
                return folder
        return None


def commit(folder: Path) -> str:
    """40 hex digits that change with any file of the folder, or that it is named by."""
    label = folder.name.partition("@")[2]
    if re.fullmatch("[0-9a-f]{40}", label):
        return label
    digest = hashlib.sha1(usedforsecurity=False)
    for file in _files(folder):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.is_file())


class _Handler(Handler[FakeHub]):
    def do_GET(self) -> None:
        path, given = unquote(urlsplit(self.path).path), parse_qs(self.read().decode())
        self.fake.requests.append(f"{self.command} {path}")
        if path.startswith("/api/"):
            self._api(path.removeprefix("/api/").split("/"), given)
        else:
            self._file(path.strip("/").split("/"))

    do_HEAD = do_POST = do_GET

    def _api(self, parts: list[str], said: Mapping[str, list[str]]) -> None:
        """`models|datasets / OWNER / NAME [/ revision|tree|paths-info / REVISION [/ FOLDER]]`."""
        kind, repository, rest = parts[0], "/".join(parts[1:3]), parts[3:]
        folder = self._find(kind, repository, rest[1] if len(rest) > 1 else MAIN)
        if folder is None:
            return
        names = [f.relative_to(folder).as_posix() for f in _files(folder)]
        if rest[:1] == ["tree"]:
            self._tree(folder, names, "/".join(rest[2:]))
        elif rest[:1] == ["paths-info"]:
            there = [name for name in said.get("paths", ()) if name in names]
            self.send_json([_tree_entry(folder, name) for name in there])
        else:
            facts = {"id": repository, "modelId": repository, "private": False, "tags": []}
            siblings = [{"rfilename": name} for name in names]
            self.send_json({**facts, "sha": commit(folder), "siblings": siblings})

    def _tree(self, folder: Path, names: list[str], inside: str) -> None:
        """The files of a folder and of those in it."""
        found = [name for name in names if not inside or name.startswith(f"{inside}/")]
        if inside and not found:
            self._error("EntryNotFound", commit(folder))
            return
        self.send_json([_tree_entry(folder, name) for name in found])

    def _file(self, parts: list[str]) -> None:
        """`[datasets /] OWNER / NAME / resolve / REVISION / FILE`."""
        kind = "datasets" if parts[0] == "datasets" else "models"
        parts = parts[1:] if kind == "datasets" else parts
        if len(parts) < 5 or parts[2] != "resolve":
            self._error("EntryNotFound")
            return
        folder = self._find(kind, "/".join(parts[:2]), parts[3])
        if folder is None:
            return
        file = folder.joinpath(*parts[4:])
        if ".." in parts or not file.is_file():
            self._error("EntryNotFound", commit(folder))
            return
        body = file.read_bytes()
        self.send(200, body, ETag=f'"{_sha256(body)}"', X_Repo_Commit=commit(folder))

    def _find(self, kind: str, repository: str, revision: str) -> Path | None:
        if repository in self.fake.closed:
            self._error(self.fake.closed[repository], status=401)
            return None
        folder = self.fake.folder(kind, repository, revision)
        if folder is None:
            known = self.fake.folder(kind, repository, MAIN) is not None
            self._error("RevisionNotFound" if known else "RepoNotFound")
        return folder

    def _error(self, code: str, at: str = "", status: int = 404) -> None:
        commits = {"X_Repo_Commit": at} if at else {}
        self.send(status, b"", X_Error_Code=code, X_Error_Message=code, **commits)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def _tree_entry(folder: Path, name: str) -> dict[str, object]:
    body = (folder / name).read_bytes()
    return {"type": "file", "path": name, "size": len(body), "oid": _sha256(body)[:40]}
