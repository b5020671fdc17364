"""README.md of a published folder: what it is, how to start it, and its licences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.app.publish import live, targets
from theodolite.app.publish.manifest import OURS, UNSTATED

if TYPE_CHECKING:
    from theodolite.app.publish.site import Site
    from theodolite.app.publish.targets import Target
    from theodolite.app.published import Choice
    from theodolite.app.workspace import Workspace

STARTS = {
    "static": "    python -m http.server --directory .",
    "zerogpu": f"    pip install -r requirements.txt gradio spaces torch\n"
    f"    python {targets.SCRIPT}",
    "docker": f"    docker build -t theodolite-demo .\n"
    f"    docker run -p {targets.PORT}:{targets.PORT} theodolite-demo",
}
FOR_LOOKING = (
    "Visitors look, search, compare and decode. Nothing that they type is kept, and no other "
    "server is asked for anything."
)


def text(workspace: Workspace, choice: Choice, site: Site, target: Target, title: str) -> str:
    """The whole text, with the front matter that the hub reads."""
    many = formats.plural(len(choice.encoders), "sentence encoder")
    about = f"{many} compared on {formats.plural(len(choice.tasks), 'task')}"
    models = live.hub_models(choice) if target.live else []
    rest = [
        f"# {title}",
        f"{about}, by [Theodolite](#licences).",
        FOR_LOOKING if target.live else "A folder of files: any web server shows it.",
        "## Start it",
        STARTS[target.name],
        "## Encoders",
        "\n".join(_encoders(workspace, choice, site, target)),
        "## Licences",
        "\n".join(_licences(workspace, site, target)),
    ]
    return targets.front_matter(target, title, about, models) + "\n" + "\n\n".join(rest) + "\n"


def _encoders(workspace: Workspace, choice: Choice, site: Site, target: Target) -> Iterator[str]:
    known = workspace.store.encoders.infos()
    for name, public in choice.encoders.items():
        licence = known.get(name, {}).get("licence") or UNSTATED
        shown = target.live and not live.usable(public, site.texts)
        yield f"- {code(public)}: licence {licence}{'; its results only' if shown else ''}"


def _licences(workspace: Workspace, site: Site, target: Target) -> Iterator[str]:
    yield f"- Theodolite, its pages and scripts: {OURS}."
    known = {info.name: info for info in workspace.catalog.list()}
    for name, number in site.texts.items():
        licence = (known[name].licence if name in known else "") or UNSTATED
        yield f"- Texts of {code(name)}, {formats.plural(number, 'sentence')}: {licence}."
    if target.live:
        yield "- What `requirements.txt` names comes from its makers, under their licences."
    else:
        yield "- IBM Plex, the typeface: OFL-1.1. plotly.js: MIT."


def code(name: str) -> str:
    """A name as a Markdown code span, whatever characters it has."""
    name = " ".join(name.split())
    fence = "`" * (1 + max(map(len, re.findall("`+", name)), default=0))
    return f"{fence} {name} {fence}" if "`" in name else f"`{name}`"
