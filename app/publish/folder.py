"""Where published files go: a folder, and a Space of the hub, new or published before.

Files that were published there before are replaced, and nothing else is ever removed. In a Space
all files go in one commit: it has its old content or what was listed, never something in between.
The token comes from the environment or from the hub's own login, and is shown nowhere.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from theodolite.app.publish.targets import Target
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

LIST = "theodolite/published.json"
"""The list of the files that were written, so that these alone are replaced the next time."""
MADE_BY_THE_HUB = frozenset({".gitattributes", "README.md"})
"""Files of a new Space."""
ADVICE = {
    401: "The hub does not know the token. Log in again (hf auth login), or set another HF_TOKEN.",
    402: "Choose --target static, which is free, or zerogpu, of which a free account may have two; "
    "or look at https://huggingface.co/pricing.",
    403: "The token may not write there. Make one with the role `write` at "
    "https://huggingface.co/settings/tokens, or name a Space of your own.",
    404: "Check the name: OWNER/NAME, where OWNER is you or an organisation that you are in.",
}
"""HTTP status of the hub's answer -> what to do."""


def check(folder: Path) -> list[str]:
    """Check that a folder may be written; return the files that were published there before."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(
            f"{folder} is a link or a file.",
            "Name a folder that is empty or new.",
            code="wrong-kind",
        )
    if not folder.exists():
        return []
    there = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    if links := [path for path in there if path.is_symlink()]:
        raise UserError(
            f"{links[0]} is a link: what is written there would land elsewhere.",
            "Remove it, or name a folder that is empty or new.",
            code="wrong-kind",
        )
    known = read_list(folder / LIST)
    names = [path.relative_to(folder).as_posix() for path in there]
    if others := sorted(set(names) - {*known, LIST}):
        raise UserError(
            f"{folder} holds {others[0]}, which was not published.",
            "Name a folder that is empty or new.",
            code="conflict",
        )
    return names


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, and remove those published there before that are not among them."""
    before = check(folder)
    try:
        # Listed first, then written: what an interruption leaves can be replaced as well.
        _write(folder, LIST, list_of({*before, *files}))
        for name in set(before) - {*files, LIST}:
            (folder / name).unlink()
        for name, data in files.items():
            _write(folder, name, data)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        _write(folder, LIST, list_of(files))
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written: {error.strerror or error}.",
            "Name another folder.",
            code="no-file",
        ) from error


def list_of(files: Iterable[str]) -> bytes:
    """Content of `LIST` for a folder with these files."""
    return (json.dumps({"files": sorted(files)}, indent=1) + "\n").encode()


def read_list(file: Path) -> set[str]:
    """The names in a list; none when it cannot be read."""
    try:
        files = json.loads(file.read_text("utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {name for name in files if isinstance(name, str)} if isinstance(files, list) else set()


def _write(folder: Path, name: str, data: bytes) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is not inside a folder")
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def by_hand(target: Target, folder: Path, name: str) -> str:
    """Shell commands that upload the folder as a Space without this verb."""
    hardware = f" --flavor {target.hardware}" if target.hardware else ""
    return (
        "hf auth login\n"
        f"hf repos create {name} --type space --space-sdk {target.sdk}{hardware}\n"
        f"hf upload {name} {folder} . --repo-type space"
    )


def check_name(name: str) -> None:
    """Check that a Space can have the name, before anything else is done."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise UserError(
            f"{name!r} cannot be the name of a Space.",
            "Write OWNER/NAME: letters, digits, - _ and .",
        ) from error


def upload(
    files: Mapping[str, bytes], folder: Path, target: Target, name: str, *, private: bool
) -> str:
    """Upload files as a Space of the hub; return its address.

    Args:
        files: path in the Space -> content.
        folder: where they were written.
        target: what the Space runs.
        name: `OWNER/NAME`, or a name that belongs to the token's owner.
        private: whether only its owner sees it, if it is new.
    """
    import huggingface_hub as hub

    token = hub.get_token()
    if token is None:
        raise UserError(
            "There is no token for the hub.",
            "Set HF_TOKEN, or log in, and give the same command again. Without it, "
            f"type:\n{by_hand(target, folder, name)}",
            code="missing",
        )
    api = hub.HfApi(token=token, library_name="theodolite")
    with _plain_errors("Nothing was uploaded."):
        owner = str(api.whoami()["name"])
        name = name if "/" in name else f"{owner}/{name}"
        before = _before(api, target, name, private=private)
    left = f"The Space {name} is as it was."
    if before is None:
        left = f"The Space {name} was created and is empty. The same command continues."
    files = {**files, LIST: list_of(files)}
    added = [hub.CommitOperationAdd(path, data) for path, data in files.items()]
    with _plain_errors(left):
        api.preupload_lfs_files(name, added, repo_type="space")  # large files not there yet
    stale = sorted((before or set()) - files.keys())
    removed = [hub.CommitOperationDelete(path) for path in stale]
    with _plain_errors(
        left,
        f"It is not known whether the Space {name} received the files: look at it. "
        "Giving the same command again does no harm.",
    ):
        api.create_commit(
            name, [*added, *removed], repo_type="space", commit_message="Publish with Theodolite"
        )
    return f"{api.endpoint}/spaces/{name}"


def _before(api: HfApi, target: Target, name: str, *, private: bool) -> set[str] | None:
    """The files of a Space that were published into it before; None of one that is made now."""
    from huggingface_hub.errors import HfHubHTTPError

    try:
        api.create_repo(
            name,
            repo_type="space",
            space_sdk=target.sdk,
            private=private or None,
            space_hardware=target.hardware,  # type: ignore[arg-type]
        )
        return None
    except HfHubHTTPError as error:
        if error.response.status_code != 409:
            raise
    there = set(api.list_repo_files(name, repo_type="space"))
    if LIST in there:
        with tempfile.TemporaryDirectory() as folder:
            path = api.hf_hub_download(name, LIST, repo_type="space", local_dir=folder)
            return there & read_list(Path(path))
    if there - MADE_BY_THE_HUB:
        raise UserError(
            f"There is a Space {name}, and it was not published from here. Nothing was uploaded.",
            "Choose another name.",
            code="conflict",
        )
    return set()


@contextmanager
def _plain_errors(left: str, broken: str | None = None) -> Iterator[None]:
    """Turn errors of the hub and of the connection to it into `UserError`.

    Args:
        left: what is on the hub when it refuses.
        broken: the same for when no answer comes, if that differs.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except UserError:
        raise
    except OfflineModeIsEnabled as error:
        raise UserError(
            f"HF_HUB_OFFLINE is set: the hub is not asked. {left}",
            "Unset it, and give the same command again.",
            code="unreachable",
        ) from error
    except HfHubHTTPError as error:
        status = error.response.status_code
        words = (error.server_message or "").strip().splitlines()
        reason = f': "{words[0]}"' if words else ""
        raise UserError(
            f"The hub refused ({status}){reason}. {left}",
            ADVICE.get(status, "Try it again later."),
            code="unreachable",
        ) from error
    except ValueError as error:  # a front matter that the hub does not take
        reason = " ".join(str(error).split())[:300]
        raise UserError(f"The hub refused it: {reason}. {left}", code="unreachable") from error
    except (httpx2.HTTPError, OSError, RuntimeError) as error:  # the last by the package hf-xet
        raise UserError(
            f"The connection to the hub broke ({type(error).__name__}). {broken or left}",
            "Give the same command again.",
            code="unreachable",
        ) from error
