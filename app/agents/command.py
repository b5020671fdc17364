"""`theodolite mcp`: the tools for agents, over standard input and output."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.app.terminal import DataOption, StoreOption, plain_errors


@plain_errors
def mcp(
    root: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Where an agent may name files (dir:, words:, vectors:); once for each.",
        ),
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
) -> None:
    """Serve an agent over standard input and output (Model Context Protocol).

    theodolite mcp

    theodolite mcp --root ~/models --store ~/theodolite

    Its tools list encoders, data and results, compare, search and decode, and evaluate: only the
    last one writes, results that are kept. An agent names encoders that you keep or that ship, and
    files below --root; it fetches nothing from the hub. Needs the extra `mcp`.
    """
    from theodolite.app.agents.allowed import Allowed
    from theodolite.app.agents.tools import Tools
    from theodolite.app.workspace import Workspace, default_data, default_store
    from theodolite.engine.errors import UserError

    try:
        from theodolite.app.agents.server import server
    except ModuleNotFoundError as error:
        raise UserError(
            "The package mcp is not installed here.",
            "Install it: pip install 'theodolite[mcp]'.",
            code="unsupported",
        ) from error
    workspace = Workspace(store or default_store(), data or default_data(), hub_files=False)
    server(Tools(workspace, Allowed(workspace, root or ()))).run("stdio")
