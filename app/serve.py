"""`theodolite serve`: the app, until it is stopped."""

import contextlib
import gc
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Annotated

import gradio as gr
import typer

from theodolite.app import endpoints, formats, significance, ui
from theodolite.app.desktop.window import Browser, for_window
from theodolite.app.fleet.address import Address
from theodolite.app.pages.evaluate.job import welcome
from theodolite.app.terminal import (
    DataOption,
    FilesOption,
    FleetOption,
    JsonOption,
    StoreOption,
    emit_json,
    join_fleet,
    plain_errors,
    say,
)
from theodolite.app.workspace import Workspace, default_data, default_store
from theodolite.engine.errors import UserError

_QUEUE_SECONDS = 0.005
MAX_NAMED = 20
"""Most data sets that are named when a demonstration starts; uploads come first."""
NO_TUNNEL = """\
There is no public link: Gradio's tunnel cannot be reached. The app goes on, on this machine, with
the same login and for looking only. To let others in without the tunnel, stop it and start it with
--host 0.0.0.0 --auth-file FILE on a network you trust, or forward the address below yourself
(ssh -R, cloudflared, a reverse proxy)."""


@plain_errors
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Default: the first free port from 7860.")
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Do not open a browser.")
    ] = False,
    window: Annotated[
        bool,
        typer.Option("--window", help="Open in a window of its own; closing it ends the app."),
    ] = False,
    share: Annotated[
        bool, typer.Option("--share", help="Public link with a password, read-only.")
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="Public demonstration: view, search, decode; nothing is stored."
        ),
    ] = False,
    auth: Annotated[
        str | None,
        typer.Option(
            metavar="NAME:PASSWORD",
            envvar="THEODOLITE_AUTH",
            help="Require this login. Other users of this machine can see it on the command line.",
        ),
    ] = None,
    auth_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Require one of these logins; see `password`."),
    ] = None,
    root_path: Annotated[
        str | None, typer.Option(metavar="/PATH", help="Path under which a proxy serves the app.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Host name under which a proxy serves the app."),
    ] = None,
    frame_ancestors: Annotated[
        str,
        typer.Option(metavar="ORIGINS", help="Origins that may embed the app in a frame."),
    ] = "'self'",
    fleet: FleetOption = None,
    files: FilesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Launch the app in the browser. This is what `theodolite` alone does.

    The app listens on this machine only, keeps everything in the store folder and starts one
    background worker. Closing the page loses nothing: runs go on, and pages re-attach.

    A public link (--share) always has a password, and its visitors cannot upload, name local paths,
    start runs or delete anything. An address beyond this machine (--host) needs a login, or --demo,
    a public demonstration: visitors can use the listed encoders and the data sets of the store,
    within a limit for each visitor, and nothing that they type is kept. See docs/hosting.md.

    With --window the app opens in a window of its own, drawn by an installed Chrome, Chromium or
    Edge. Closing the window ends the app, once its last run is over. `theodolite desktop install`
    adds it to the menu.

    With --fleet the workers of other machines evaluate and train; the results are kept here.
    The password comes from PGPASSWORD or ~/.pgpass. Encoders in files, texts and trained weights
    are shared at the address of --files; without it, work on these is done here. See
    docs/scaling.md.

    theodolite --data ~/senteval

    theodolite serve --host 0.0.0.0 --port 8000 --auth-file logins --no-browser

    theodolite --demo --store /srv/demo --root-path /theodolite --port 8000 --no-browser
    """
    browser: Browser | None = None
    if window:
        if no_browser:
            raise UserError(
                "A window needs a browser.",
                "Use --window or --no-browser, not both.",
                code="conflict",
            )
        browser = for_window()
    login = _login(auth, auth_file)
    if share and login is None:
        login = ("visitor", secrets.token_urlsafe(12))
        say(f"Login for the public link: {login[0]} / {login[1]}")
    if demo:
        os.environ["HF_HUB_OFFLINE"] = "1"  # read when the hub's package is imported
    path, names = parse_root_path(root_path), tuple(map(parse_host, allow_host or ()))
    if fleet:
        say(f"Evaluations and trainings go to the fleet at {join_fleet(fleet, files)}.")
        from theodolite.store.fleet import FleetAway

        with contextlib.suppress(FleetAway):  # it may come back
            Address.parse(fleet).database().rows("SELECT 1")
    with contextlib.closing(
        Workspace(store or default_store(), data or default_data(), read_only=share, demo=demo)
    ) as workspace:
        if demo:
            say(_summary(workspace))
        else:
            workspace.store.refuse_writing()
        with contextlib.redirect_stdout(sys.stderr):  # Gradio prints why it has no tunnel
            pages = ui.launch(
                workspace,
                host,
                port,
                not (no_browser or window),
                share,
                login,
                path,
                block=False,
                frame_ancestors=frame_ancestors,
                allow_hosts=names,
            )
        if share and pages.share_url is None:
            say(NO_TUNNEL)
        if as_json:
            emit_json({"event": "ready", "url": pages.local_url, "share": pages.share_url})
        else:
            end = "Close its window or press Ctrl+C to stop it" if window else "Stop it with Ctrl+C"
            runs = "" if workspace.read_only else "; runs continue next time"
            say(f"Theodolite is at {pages.local_url}   {end}{runs}.")
        _stay(workspace, pages, browser, fleet=bool(fleet))


def _stay(workspace: Workspace, pages: gr.Blocks, browser: Browser | None, *, fleet: bool) -> None:
    """Serve the pages until interrupted, with the worker: people wait for the page first."""
    from theodolite.app.jobs.supervisor import Supervisor

    gc.freeze()  # the pages are permanent: collecting them delayed every answer by 0.5 s
    # Gradio looks for events every millisecond, which takes 5 % of a core when there are none.
    pages._queue.sleep_when_free = _QUEUE_SECONDS
    with contextlib.ExitStack() as beside:
        if browser is not None:
            from theodolite.app.desktop import window

            desktop_window = beside.enter_context(window.open_window(browser, pages.local_url))
        if not workspace.demo:
            folder, data = workspace.store.folder, workspace.catalog.root
            beside.enter_context(Supervisor(folder, data, fleet=fleet))
            welcome(workspace)
        beside.enter_context(significance.ahead(workspace))
        if browser is None:
            pages.block_thread()
        else:
            with contextlib.suppress(KeyboardInterrupt):
                window.stay(desktop_window, workspace, pages.local_url)


def _summary(workspace: Workspace) -> str:
    """A sentence on what visitors of a demonstration can use."""
    names = workspace.store.encoders.names()
    here = [name for name in names if not endpoints.addresses(name)]
    data = workspace.catalog.names()
    return (
        f"Open to everybody: {formats.listed(here) if here else 'no encoder'}; "
        f"{formats.plural(len(data), 'data set')} ({formats.listed(data, MAX_NAMED)})."
    )


def _login(auth: str | None, file: Path | None) -> ui.Auth | None:
    """The logins; None to let everybody in."""
    from theodolite.app.web.guard.accounts import Accounts

    if auth is not None and file is not None:
        raise UserError(
            "Both kinds of logins are given.",
            "Use --auth or --auth-file, not both.",
            code="conflict",
        )
    if file is not None:
        return Accounts.read(file)
    if auth is None:
        return None
    name, _, password = auth.partition(":")
    if not name or not password:
        raise UserError(
            "--auth was given without a name or without a password.",
            "Write it as --auth NAME:PASSWORD.",
            code="missing",
        )
    if auth != os.environ.pop("THEODOLITE_AUTH", None):
        say(
            "The password of --auth is visible in the process list to all users of this "
            "machine. Better use --auth-file, or THEODOLITE_AUTH=NAME:PASSWORD."
        )
    return name, password


def parse_root_path(text: str | None) -> str | None:
    """Normalise the path under which a proxy serves us, to one leading and no trailing slash."""
    if text is None or not text.strip("/"):
        return None
    if not re.fullmatch(r"[\w.~/-]+", text.strip("/"), re.ASCII):
        raise UserError(
            f"{text!r} is not a path under which a proxy could serve the app.",
            "Write it like /theodolite.",
        )
    return f"/{text.strip('/')}"


def parse_host(text: str) -> str:
    """Check a host name under which a proxy serves us; `*.` stands for any name below another."""
    if not re.fullmatch(r"(\*\.)?[\w-]+(\.[\w-]+)*|\[[0-9a-fA-F:.]+\]", text, re.ASCII):
        raise UserError(
            f"{text!r} is not the name of a host.",
            "Write it like theodolite.example.org, without https:// and without a port.",
        )
    return text.lower()
