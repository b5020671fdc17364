"""`theodolite serve` and `theodolite worker`: the processes that stay."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Annotated

import typer

from app.commands.output import (
    DataOption,
    JsonOption,
    StoreOption,
    emit_json,
    plain_errors,
    say,
)

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@plain_errors
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 7860,
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
    """
    from engine.errors import UserError

    login = parse_login(auth)
    if host not in LOOPBACK and login is None:
        raise UserError(
            f"--host {host} opens the app to other machines, and no login was given.",
            "Add --auth NAME:PASSWORD, or leave --host out.",
        )
    if share and login is None:
        login = ("visitor", secrets.token_urlsafe(12))
        say(f"Login for the public link: {login[0]} / {login[1]}")

    from app.workspace import Workspace, default_data, default_store

    workspace = Workspace(store or default_store(), data or default_data(), read_only=share)
    from app import ui

    try:
        ui.launch(
            workspace,
            host=host,
            port=port,
            open_browser=not no_browser,
            share=share,
            auth=login,
            on_ready=(lambda url: emit_json({"event": "ready", "url": url})) if as_json else None,
        )
    finally:
        workspace.close()


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
    """
    from app import worker as process
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
