"""`theodolite serve` and `theodolite worker`: the processes that stay."""

from __future__ import annotations

import contextlib
import gc
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.pages.evaluate.job import welcome
from app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    emit_json,
    plain_errors,
    say,
)

if TYPE_CHECKING:
    from app.workspace import Workspace

NO_TUNNEL = """\
There is no public link: Gradio's tunnel cannot be reached. The app goes on, on this machine, with
the same login and for looking only. To let others in without the tunnel, stop it and start it with
--host 0.0.0.0 --auth NAME:PASSWORD on a network you trust, or forward the address below yourself
(ssh -R, cloudflared, a reverse proxy)."""


@plain_errors
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Default: the first free from 7860.")
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Do not open it.")] = False,
    share: Annotated[
        bool, typer.Option("--share", help="Public link with a password, for looking only.")
    ] = False,
    auth: Annotated[
        str | None, typer.Option(metavar="NAME:PASSWORD", help="Ask visitors for this login.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Launch the app in the browser. This is what `theodolite` alone does.

    The app listens on this machine only, keeps everything in the store folder and starts one
    background worker. Closing the page loses nothing: runs go on, and pages re-attach.

    A public link (--share) always has a password, and its visitors cannot upload, name local paths,
    start runs or delete anything. An address beyond this machine (--host) needs --auth.

    theodolite --data ~/senteval

    theodolite serve --host 0.0.0.0 --port 8000 --auth ada:lovelace --no-browser
    """
    login = parse_login(auth)
    if share and login is None:
        login = ("visitor", secrets.token_urlsafe(12))
        say(f"Login for the public link: {login[0]} / {login[1]}")

    from app.workspace import Workspace, default_data, default_store

    workspace = Workspace(store or default_store(), data or default_data(), read_only=share)
    try:
        _serve(workspace, host, port, login, share, not no_browser, as_json)
    finally:
        workspace.close()


def _serve(
    workspace: Workspace,
    host: str,
    port: int | None,
    login: tuple[str, str] | None,
    share: bool,
    open_browser: bool,
    as_json: bool,
) -> None:
    """Page first, worker after it: the person waits for the page."""
    from app import ui
    from app.jobs.supervisor import Supervisor
    from app.pages.compare import tested

    with contextlib.redirect_stdout(sys.stderr):  # Gradio prints why it has no tunnel
        demo = ui.launch(workspace, host, port, open_browser, share, login, block=False)
    gc.freeze()  # the pages stay: looking through them for garbage held every answer up by 0.5 s
    if share and demo.share_url is None:
        say(NO_TUNNEL)
    if as_json:
        emit_json({"event": "ready", "url": demo.local_url, "share": demo.share_url})
    else:
        say(f"Theodolite is at {demo.local_url}   Stop it with Ctrl+C; runs continue next time.")
    with Supervisor(workspace.store.folder, workspace.catalog.root), tested.ahead(workspace):
        welcome(workspace)
        demo.block_thread()


@plain_errors
def worker(
    store: StoreOption = None,
    data: DataOption = None,
    slot: Annotated[
        str, typer.Option(help="Name of this worker; one process a name. Restart it by that name.")
    ] = "extra-1",
    as_json: JsonOption = False,
) -> None:
    """Start one more worker on a store, beside the one that the app runs.

    Workers share the queue: each takes one run at a time. A worker started again under its slot's
    name resumes what it was doing.

    theodolite worker --slot second --store /shared/theodolite
    """
    from app.jobs import worker as process
    from app.workspace import default_data, default_store

    folder: Path = store or default_store()
    if as_json:
        emit_json({"event": "started", "slot": slot, "store": str(folder)})
    else:
        say(f"Worker {slot} waits for runs in {folder}. Stop it with Ctrl+C.")
    process.run(folder, data or default_data(), slot)


def parse_login(auth: str | None) -> tuple[str, str] | None:
    """Split NAME:PASSWORD.

    Raises:
        UserError: when either half is missing.
    """
    from engine.errors import UserError

    if auth is None:
        return None
    name, _, password = auth.partition(":")
    if not name or not password:
        raise UserError(
            "--auth was given without a name or without a password.",
            "Write it as --auth NAME:PASSWORD.",
        )
    return name, password
