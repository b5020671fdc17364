"""The panel *Publish*: list what would leave with the page as it is shown, and send it as a ZIP.

Both use `theodolite publish`, in a process of its own: freezing lays a page out again, which would
interfere with those that are served.
"""

from __future__ import annotations

import io
import json
import secrets
import shlex
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from theodolite.app.jobs import processes
from theodolite.app.publish.mask import Mask
from theodolite.app.web.routes import NO_STORE
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

SECONDS = 600
MAX_ASKED = 2**16
NAME = "theodolite-site"


@dataclass
class _Last:
    """The folder that was published last, and the token by which it can be fetched."""

    folder: tempfile.TemporaryDirectory[str] | None = None
    token: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)


def routes(workspace: Workspace) -> list[Route]:
    """`theodolite/publish`, which freezes and lists, and `theodolite/publish/TOKEN.zip`."""
    last = _Last()

    async def freeze(request: Request) -> Response:
        try:
            body = json.loads((await request.body())[:MAX_ASKED])
            arguments = _arguments(body)
        except (ValueError, TypeError, KeyError, AttributeError):
            return PlainTextResponse("This cannot be read", status_code=400)
        try:
            outcome = await run_in_threadpool(_freeze, workspace, last, arguments)
        except UserError as error:
            message = f"{error.message} {error.hint}".strip()
            return JSONResponse({"error": message}, headers=NO_STORE)
        words = ["theodolite", "publish", "FOLDER", *arguments]
        return JSONResponse({**outcome, "command": shlex.join(words)}, headers=NO_STORE)

    def fetch(request: Request) -> Response:
        with last.lock:
            if last.folder is None or not secrets.compare_digest(
                request.path_params["token"].encode(), last.token.encode()
            ):
                return PlainTextResponse("It is no longer here", status_code=404)
            packed = _packed(Path(last.folder.name) / NAME)
        name = f'attachment; filename="{NAME}.zip"'
        return Response(
            packed, media_type="application/zip", headers={**NO_STORE, "Content-Disposition": name}
        )

    return [
        Route("/theodolite/publish", freeze, methods=["POST"]),
        Route("/theodolite/publish/{token:str}.zip", fetch),
    ]


def _arguments(body: Mapping[str, Any]) -> list[str]:
    """The verb's options from the body of a page's request.

    Raises:
        ValueError: no page sends such a body.
    """
    address, mask, texts = body["address"], body["mask"], body["texts"]
    if not isinstance(address, str) or mask not in get_args(Mask) or "\0" in address:
        raise ValueError("no page asks so")
    return [
        *([f"--view={address}"] if address else []),
        *([] if mask == "none" else ["--mask", mask]),
        *([] if texts else ["--no-texts"]),
    ]


def _freeze(workspace: Workspace, last: _Last, arguments: list[str]) -> dict[str, Any]:
    """Have the verb write a folder, one at a time; return its list and the address of the ZIP."""
    root = workspace.catalog.root
    with last.lock:
        if last.folder:
            last.folder.cleanup()
        last.folder, last.token = tempfile.TemporaryDirectory(prefix="theodolite-"), ""
        command = [
            "publish",
            str(Path(last.folder.name) / NAME),
            *arguments,
            "--yes",
            "--json",
            "--store",
            str(workspace.store.folder),
        ]
        command += ["--data", str(root)] if root else []
        try:
            code, printed, complained = processes.output("theodolite.app", command, SECONDS)
        except subprocess.TimeoutExpired as error:
            raise UserError(
                f"It takes longer than {SECONDS // 60} minutes.", code="too-large"
            ) from error
        output = printed.decode()
        if code:
            raise _error(output, complained.decode("utf-8", "replace"))
        last.token = secrets.token_urlsafe(16)
        *rows, _ = map(json.loads, output.splitlines())
        return {"rows": rows, "zip": f"./theodolite/publish/{last.token}.zip"}


def _error(output: str, wrong: str) -> UserError:
    """The error of the verb, from its output, for people."""
    try:
        error = json.loads((output.splitlines() or [""])[-1])
        return UserError(error["error"], error.get("hint") or "", code="failed")
    except (ValueError, KeyError, TypeError):
        return UserError(
            " ".join(wrong.split())[-500:] or "This page could not be published.", code="failed"
        )


def _packed(folder: Path) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                made.write(path, f"{NAME}/{path.relative_to(folder).as_posix()}")
    return file.getvalue()
