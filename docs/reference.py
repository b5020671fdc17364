"""What the site takes from the code: verbs, protocols, names for Python. Written as Markdown.

Knows nothing of the site; `docs.hooks` puts it in its places.
"""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.cli import get_docs_for_click
from typer.main import get_command

SECTIONS = ("Args", "Attributes", "Returns", "Yields", "Raises")


def verbs() -> str:
    """Every verb as `--help` has it, a heading each."""
    from theodolite.app.cli import app

    command = get_command(app)
    whole = get_docs_for_click(
        obj=command, ctx=Context(command, info_name="theodolite"), name="theodolite"
    )
    _, first, rest = whole.partition("## `theodolite ")
    # An example is a paragraph of its help, between others.
    return re.sub(r"(?m)^(theodolite .+)$", r"```sh\n\1\n```", first + rest)


def protocols() -> str:
    """The card of every protocol."""
    from theodolite.engine.protocols.registry import PROTOCOLS

    parts = []
    for protocol in PROTOCOLS.values():
        parts += [
            f"### {protocol.name}",
            "",
            protocol.description,
            "",
            "| what | choice |",
            "|---|---|",
        ]
        parts += [f"| {_cell(what)} | {_cell(choice)} |" for what, choice in protocol.card()]
        parts.append("")
    return "\n".join(parts)


def names() -> str:
    """What `import theodolite` offers, from its docstrings."""
    import theodolite

    parts = []
    for name in sorted(theodolite.__all__, key=str.lower):
        found = getattr(theodolite, name)
        parts += [f"## {name}", "", *_signature(name, found), "", *_text(found), ""]
        if inspect.isclass(found):
            for own, method in vars(found).items():
                if inspect.isfunction(method) and not own.startswith("_") and method.__doc__:
                    parts += [f"### {name}.{own}", "", *_signature(own, method), ""]
                    parts += [*_text(method), ""]
    return "\n".join(parts)


def _signature(name: str, found: Any) -> list[str]:
    """Its parameters, a line each, as they would be written."""
    signature = inspect.signature(found)
    lines = []
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            lines.append("    *,")
            keyword_only = True
        if parameter.name != "self":
            lines.append(f"    {_parameter(parameter)},")
    whole = f"{name}(\n" + "\n".join(lines) + "\n)" if lines else f"{name}()"
    if signature.return_annotation not in (signature.empty, None, "None"):
        whole += f" -> {signature.return_annotation}"
    return ["```python", whole, "```"]


def _parameter(parameter: inspect.Parameter) -> str:
    """Its type unquoted, and a function that is a default by its name: its address changes."""
    default, kind = parameter.default, parameter.annotation
    typed = parameter.name if kind is parameter.empty else f"{parameter.name}: {kind}"
    if default is parameter.empty:
        return typed
    said = default.__name__ if inspect.isfunction(default) else repr(default)
    return f"{typed} = {said}"


def _text(found: Any) -> Iterator[str]:
    """A docstring of Google's style: prose and examples as they stand, sections as lists."""
    section = False
    for line in (inspect.getdoc(found) or "").splitlines():
        if line.rstrip(":") in SECTIONS and line.endswith(":"):
            section = True
            yield from (f"**{line.rstrip(':')}**", "")
        elif section and re.match(r" {4}\S", line):
            named = re.match(r" {4}(\w+): (.*)", line)
            yield f"- `{named[1]}`: {named[2]}" if named else f"- {line.strip()}"
        elif section and line.startswith("        "):
            yield f"  {line.strip()}"
        else:
            section = section and not line
            yield line


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
