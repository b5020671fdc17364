"""The fields of a spec as text, on a page or in a terminal: parsed and formatted."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType
from typing import Any, get_args, get_type_hints

from theodolite.engine.errors import UserError


@cache
def types_of(spec: Any) -> dict[str, tuple[Any, ...]]:
    """Field -> its type, with `NoneType` where it may be none, or the values it can have."""
    hints = get_type_hints(spec)
    return {f.name: get_args(hints[f.name]) or (hints[f.name],) for f in fields(spec)}


@cache
def defaults(spec: Any) -> dict[str, Any]:
    """Field -> its default, of those that have one."""
    return {f.name: f.default for f in fields(spec) if f.default is not MISSING}


def read(spec: Any, name: str, text: str) -> Any:
    """Parse the text of a field.

    Args:
        spec: the class of the spec.
        name: of the field.
        text: as typed; empty or `none` is None in optional fields.
    """
    types, text = types_of(spec)[name], text.strip()
    if NoneType in types and text.casefold() in ("", "none"):
        return None
    if not text:
        raise UserError(
            f"The {shown(name)} is empty.", f"Usual is {defaults(spec).get(name)}.", code="missing"
        )
    if bool in types:
        if text.casefold() in ("true", "false"):
            return text.casefold() == "true"
        raise _refused(name, text, "true or false")
    if int in types or float in types:
        return number(name, text, whole=int in types, such_as=defaults(spec).get(name))
    return text


def written(value: Any) -> str:
    """Format a value as `read` parses it, in as few digits as possible: `3e-5`."""
    if isinstance(value, float):
        brief = f"{value:g}".replace("e-0", "e-")
        return brief if float(brief) == value else str(value)
    return str(value).lower() if isinstance(value, bool | NoneType) else str(value)


def number(name: str, text: str, *, whole: bool = False, such_as: Any = None) -> int | float:
    """Parse the number of a field."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (whole and value != int(value)):
        example = "" if such_as is None else f", such as {such_as}"
        raise _refused(name, text, f"a {'whole ' if whole else ''}number{example}")
    return int(value) if whole else value


def shown(name: str) -> str:
    """The name of a field in a sentence."""
    return name.replace("_", " ")


def _refused(name: str, text: str, expected: str) -> UserError:
    return UserError(f"The {shown(name)} cannot be {text[:40]!r}.", f"Expected {expected}.")
