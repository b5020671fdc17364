"""The options of `theodolite train`, `sweep` and `train-decoder`: one a field of their spec."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache, wraps
from typing import Annotated, Any, get_args, get_type_hints

import typer

from engine.training import TrainSpec
from engine.training.fields import defaults, read, types_of

EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Say what it would take, and train nothing.")
]


def about_fields(spec: Any = TrainSpec) -> dict[str, str]:
    """What each field of a spec is, in the words of its docstring."""
    text = inspect.getdoc(spec) or ""
    found = re.findall(r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", text, re.MULTILINE)
    return {name: " ".join(said.split()) for names, said in found for name in names.split(", ")}


def _help(said: str, hint: Any, default: Any) -> str:
    """The words of the docstring, the choices, the default."""
    said = said.replace("None", "none")
    choices = [choice for choice in get_args(hint) if isinstance(choice, str)]
    said = f"{said[0].upper()}{said[1:]}" + (f" One of {', '.join(choices)}." if choices else "")
    shown = "none" if default is None else default
    shown = ("no", "yes")[default] if isinstance(default, bool) else shown
    return f"{said} Default: {shown}."


@cache
def _options(spec: Any) -> list[inspect.Parameter]:
    """An option for each field that has a default; None while it is not given."""
    hints, said = get_type_hints(spec), about_fields(spec)
    return [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                (bool if bool in types_of(spec)[name] else str) | None,
                typer.Option(
                    help=_help(said[name], hints[name], default), metavar=_metavar(spec, name)
                ),
            ],
        )
        for name, default in defaults(spec).items()
    ]


def _metavar(spec: Any, name: str) -> str | None:
    """What stands for the value in the help: numbers are read by us, as they are on the pages."""
    types = types_of(spec)[name]
    return "<int>" if int in types else "<float>" if float in types else None


def takes_settings(spec: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `_options`; it is handed those that were given, as `settings`.

    One option a field by hand would be the same names, types, defaults and words a second time.

    Args:
        spec: whose fields they are; those without a default are the command's own arguments.
    """
    asked = types_of(spec).keys() - defaults(spec).keys()

    def wrap(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters.values()
        options = _options(spec)

        @wraps(command)
        def run(**given: Any) -> None:
            settings = {option.name: given.pop(option.name) for option in options}
            given["settings"] = {
                name: read(spec, name, str(value))
                for name, value in settings.items()
                if value is not None
            }
            command(**given)

        first = [parameter for parameter in own if parameter.name in asked]
        rest = [parameter for parameter in own if parameter.name not in (*asked, "settings")]
        every = [p.replace(kind=p.KEYWORD_ONLY) for p in (*first, *options, *rest)]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in every}
        return run

    return wrap
