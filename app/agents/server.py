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
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from theodolite.app.agents.tools import Tools
from theodolite.app.pages import load, questions
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreError

NAMES = ("encoders", "data", "results", "evaluate")
ABOUT = (
    "Theodolite evaluates and compares sentence encoders. Scores are points of 100 unless their "
    "metric says otherwise. Differences are real only where a verdict says so."
)
MAX_SHOWN = 80
"""Characters of a wrong value that its refusal repeats."""


class _Server(MCPServer[Any]):
    """A server whose refusals of arguments are sentences, not a validator's report."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool."""
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            (tool,) = (one for one in await self.list_tools() if one.name == name)
            takes = ", ".join(tool.input_schema["properties"]) or "no arguments"
            wrong = " ".join(map(_sentence, error.__cause__.errors()))
            raise ToolError(f"{wrong} {name} takes {takes}.") from error


def _sentence(wrong: ErrorDetails) -> str:
    """What is wrong with an argument."""
    name = ".".join(map(str, wrong["loc"]))
    if wrong["type"] == "missing":
        return f"{name} is missing."
    if wrong["type"] == "extra_forbidden":
        return f"There is no argument {name!r}."
    return f"{name} cannot be {str(wrong['input'])[:MAX_SHOWN]!r}: {wrong['msg'].lower()}."


def server(tools: Tools) -> MCPServer[Any]:
    """Make the server; `run("stdio")` serves until its client disconnects."""
    mcp_server = _Server(
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
