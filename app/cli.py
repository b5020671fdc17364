"""`theodolite …`: every action of the pages as a command, each documented by --help."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import typer

from theodolite.app import serve
from theodolite.app import store_command as store
from theodolite.app.agents import command as agents
from theodolite.app.desktop import command as desktop
from theodolite.app.pages import FOLDERS, load, named
from theodolite.app.publish import command as publishing
from theodolite.app.report import command as reporting
from theodolite.app.terminal import command

app = typer.Typer(
    name="theodolite",
    help=(
        "A workbench for sentence encoders: load or name them, evaluate them, compare them "
        "fairly, search with them, train your own.\n\nWithout a command, the app opens in "
        "the browser."
    ),
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


PAGES = Path(__file__).parent / "pages"


def _add_verbs() -> None:
    """Register the commands of the app and of the pages; `jobs add` goes into the group `jobs`."""
    listed: dict[str, Any] = {"serve": serve.serve}
    for folder in FOLDERS:
        if (PAGES / folder / "command.py").exists():
            listed |= import_module(f"theodolite.app.pages.{folder}.command").VERBS
    listed |= {name: command(load(place)) for name, place in named("QUESTIONS").items()}
    listed |= publishing.VERBS | reporting.VERBS | agents.VERBS | desktop.VERBS
    listed |= {"store": store.store_verbs, "worker": serve.worker, "password": serve.password}
    for name, verb in listed.items():
        group, _, last = name.rpartition(" ")
        if isinstance(verb, typer.Typer):
            app.add_typer(verb, name=name)
        else:
            (listed[group] if group else app).command(last)(verb)


_add_verbs()


@app.callback(invoke_without_command=True)
def root(
    show_version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    """Say the version; the rest is in the verbs."""
    if show_version:
        sys.stdout.write(f"theodolite {version('theodolite')}\n")
        raise typer.Exit


def main() -> None:
    """Run the command line; `theodolite` and `theodolite --port 8000` mean `serve`."""
    arguments = sys.argv[1:]
    asks_help = any(word in ("-h", "--help", "--version") for word in arguments[:1])
    if not arguments or (arguments[0].startswith("-") and not asks_help):
        arguments = ["serve", *arguments]
    app(args=arguments)
