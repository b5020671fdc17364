"""The options of `theodolite train`, `sweep` and `train-decoder`: one per field of the spec."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, get_args, get_type_hints

import typer

from theodolite.app.terminal import takes
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.fields import defaults, read, types_of

EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Estimate the cost, and train nothing.")
]


def about_fields(spec: Any = TrainSpec) -> dict[str, str]:
    """Field -> its description in the docstring of a spec."""
    text = inspect.getdoc(spec) or ""
    found = re.findall(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", text, re.MULTILINE)
    return {
        name: " ".join(meaning.split()) for names, meaning in found for name in names.split(", ")
    }


def _help(text: str, hint: Any, default: Any) -> str:
    """The help text: description, choices, default."""
    text = text.replace("None", "none")
    choices = [choice for choice in get_args(hint) if isinstance(choice, str)]
    text = f"{text[0].upper()}{text[1:]}" + (f" One of {', '.join(choices)}." if choices else "")
    shown = "none" if default is None else default
    shown = ("no", "yes")[default] if isinstance(default, bool) else shown
    return f"{text} Default: {shown}."


@cache
def _options(spec: Any) -> list[inspect.Parameter]:
    """An option for each field with a default; its value is None unless given."""
    hints, meanings = get_type_hints(spec), about_fields(spec)
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                (bool if bool in types_of(spec)[name] else str) | None,
                typer.Option(
                    help=_help(meanings[name], hints[name], default), metavar=_metavar(spec, name)
                ),
            ],
        )
        for name, default in defaults(spec).items()
    ]


def _metavar(spec: Any, name: str) -> str | None:
    """The value's placeholder in the help: numbers are strings, parsed as on the pages."""
    types = types_of(spec)[name]
    return "<int>" if int in types else "<float>" if float in types else None


def takes_settings(spec: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `_options`; it receives those given as `settings`.

    Options by hand would repeat the names, types, defaults and descriptions of the fields.

    Args:
        spec: class with the fields; those without a default are the command's own arguments.
    """

    def read_those_given(**given: Any) -> dict[str, Any]:
        return {n: read(spec, n, str(value)) for n, value in given.items() if value is not None}

    return takes("settings", read_those_given, _options(spec))
