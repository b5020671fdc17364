"""`theodolite …`: every action of the pages as a command, each documented by --help.

A command's module is imported when the command is run. The list of all commands is read from the
sources: importing them takes seconds.
"""

import ast
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from inspect import cleandoc
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from theodolite.app import pages

PLACES = {
    "serve": "serve:serve",
    "results": "pages.overview.command:result_verbs",
    "data": "pages.data.command:data_verbs",
    "encode": "pages.encoders.command:encode",
    "encode-corpus": "pages.encoders.command:encode_corpus",
    "encoders": "pages.encoders.command:encoder_verbs",
    "choose": "",
    "evaluate": "pages.evaluate.command:evaluate",
    "gate": "pages.evaluate.gate:gate_verbs",
    "gate check": "pages.evaluate.gate:GATE",
    "judge": "pages.judge.command:judge_verbs",
    "compare": "",
    "fair": "",
    "board": "",
    "search": "",
    "project": "pages.map.command:PROJECT",
    "spaces": "",
    "upgrade": "",
    "geometry": "",
    "decode": "",
    "interpolate": "",
    "analogy": "",
    "diagnose": "",
    "train": "pages.train.command:train",
    "sweep": "pages.train.command:sweep",
    "train-decoder": "pages.train.command:train_decoder",
    "decoders": "pages.train.command:decoder_verbs",
    "runs": "pages.trainings.command:runs",
    "jobs": "pages.jobs.command:job_verbs",
    "jobs add": "pages.evaluate.command:add_job",
    "workers": "pages.jobs.command:workers",
    "publish": "publish.command:publish",
    "report": "report.command:report_verbs",
    "mcp": "agents.command:mcp",
    "desktop": "desktop.launcher:desktop",
    "store": "store_command:store_verbs",
    "worker": "pages.jobs.command:worker",
    "password": "web.guard.accounts:password",
}
"""Command, with its group if it has one -> where it is; questions are commands where they are."""
PLACES |= pages.declared("QUESTIONS")
_HELP = {"help_option_names": ["-h", "--help"]}
_SINGLE_BREAK = re.compile(r"(?<!\n)\n(?!\n)")
"""A line of a docstring ends here; a terminal has its own width."""


class _Places(Mapping[str, Any]):
    """The commands by name, imported one by one."""

    def __iter__(self) -> Iterator[str]:
        return (name for name in PLACES if " " not in name)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> Any:
        if name not in list(self):
            raise KeyError(name)
        return load(name)


class Commands(TyperGroup):
    """The commands of `PLACES`; a list of them imports none."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands: Any = _Places()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """List the commands by what their sources say."""
        self.commands = {name: TyperCommand(name, help=summary(name)) for name in self.commands}
        super().format_help(ctx, formatter)


@cache
def load(name: str) -> Any:
    """Import a command, or a group with those that pages add to it.

    Until then, an interrupt ends the process in a line (`app.__main__`); a command says more.
    """
    one = typer.Typer(context_settings=_HELP, callback=lambda: None)
    module = pages.load(_place(name))
    if isinstance(module, typer.Typer):
        for whole in PLACES:
            group, _, last = whole.rpartition(" ")
            if group == name:
                module.command(last)(_command(whole))
        one.add_typer(module, name=name)
    else:
        one.command(name)(_command(name))
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    loaded = get_group(one).commands[name]
    for each in (loaded, *getattr(loaded, "commands", {}).values()):
        each.help = _SINGLE_BREAK.sub(" ", cleandoc(each.help or ""))
    return loaded


def _command(name: str) -> Callable[..., Any]:
    from theodolite.app.terminal import command

    module = pages.load(_place(name))
    return module if callable(module) else command(module)


def _place(name: str) -> str:
    place = PLACES[name]
    return place if place.startswith("theodolite.") else f"theodolite.app.{place}"


def summary(name: str) -> str:
    """What a command does, from its source: a function, a group, or a question's spec."""
    return _summary(_place(name))


def _summary(place: str) -> str:
    module, _, attribute = place.partition(":")
    path = Path(__file__).parent.joinpath(*module.split(".")[2:]).with_suffix(".py")
    tree = ast.parse(path.read_text("utf-8")).body
    defined = {node.name: node for node in tree if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    elsewhere: dict[str, str] = {}
    for node in tree:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == attribute:
            default: Any = node.value
            argument = default.args[0] if len(default.args) < 2 else default.args[1]
            if isinstance(argument, ast.Constant):
                return str(argument.value)
            attribute = argument.id
        if isinstance(node, ast.ImportFrom):
            elsewhere |= {name.name: f"{node.module}:{name.name}" for name in node.names}
    if attribute in elsewhere:
        return _summary(elsewhere[attribute])
    text = cleandoc(ast.get_docstring(defined[attribute]) or "")
    return " ".join(text.partition("\n\n")[0].split())


app = typer.Typer(
    cls=Commands,
    name="theodolite",
    help=(
        "A workbench for sentence encoders: load or name them, evaluate them, compare them "
        "fairly, search with them, train your own.\n\nWithout a command, the app opens in "
        "the browser."
    ),
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)


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
