"""The panel *Publish*: list what would leave with the page as it is shown, and send it as a ZIP.

Both use `theodolite publish`, in a process of its own: freezing lays a page out again, which would
interfere with those that are served.
"""

import json
import secrets
import shlex
import subprocess
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from shutil import make_archive
from typing import Any

from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from theodolite.app.jobs import processes
from theodolite.app.publish.choice import Mask
from theodolite.app.web.routes import NO_STORE
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

SECONDS = 600
MAX_ASKED = 2**16
NAME = "theodolite-site"


class _Asked(BaseModel):
    """What a page asks to have published: the page at an address, or all."""

    address: str = Field(pattern=r"^[^\x00]*$")
    mask: Mask
    texts: bool

    def arguments(self) -> list[str]:
        """The options of the verb."""
        return [
            *([f"--view={self.address}"] if self.address else []),
            *([] if self.mask == "none" else ["--mask", self.mask]),
            *([] if self.texts else ["--no-texts"]),
        ]


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
            question = _Asked.model_validate_json((await request.body())[:MAX_ASKED])
        except ValidationError:
            return PlainTextResponse("This cannot be read", status_code=400)
        arguments = question.arguments()
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
            site = Path(last.folder.name) / NAME
            packed = Path(make_archive(str(site), "zip", last.folder.name, NAME)).read_bytes()
        name = f'attachment; filename="{NAME}.zip"'
        return Response(
            packed, media_type="application/zip", headers={**NO_STORE, "Content-Disposition": name}
        )

    return [
        Route("/theodolite/publish", freeze, methods=["POST"]),
        Route("/theodolite/publish/{token:str}.zip", fetch),
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
