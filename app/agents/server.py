"""The tools over the Model Context Protocol, with its official package."""

import inspect
from collections.abc import Callable
from functools import wraps
from importlib.metadata import version
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import ToolAnnotations

from theodolite.app.agents.tools import Tools
from theodolite.app.pages import load, questions
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreError

NAMES = ("encoders", "data", "results", "evaluate")
ABOUT = (
    "Theodolite evaluates and compares sentence encoders. Scores are points of 100 unless their "
    "metric says otherwise. Differences are real only where a verdict says so."
)


def server(tools: Tools) -> MCPServer[Any]:
    """Make the server; `run("stdio")` serves until its client disconnects."""
    mcp_server: MCPServer[Any] = MCPServer(
        "theodolite", instructions=ABOUT, version=version("theodolite"), log_level="WARNING"
    )
    # A misspelt argument is refused: left out in silence, it would change what was asked.
    ArgModelBase.model_config["extra"] = "forbid"
    every = {name: (getattr(tools, name), name == "evaluate") for name in NAMES}
    specs = {name: load(place) for name, place in questions().items()}
    every |= {name: (tools.ask(one), False) for name, one in specs.items()}
    for name, (tool, changes) in every.items():
        hints = ToolAnnotations(
            read_only_hint=not changes,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        )
        mcp_server.add_tool(_in_sentences(tool), name=name, annotations=hints)
    return mcp_server


def _in_sentences(tool: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a tool so that its errors reach the agent as a message and a hint."""

    @wraps(tool)
    def run(*args: Any, **given: Any) -> Any:
        try:
            return tool(*args, **given)
        except (UserError, StoreError) as error:
            raise ToolError(f"{error.message} {error.hint}".strip()) from error

    run.__signature__ = inspect.signature(tool)  # type: ignore[attr-defined]
    return run
