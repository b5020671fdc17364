"""The names that people gave to encoders, shown in place of their specs wherever people read.

`engine.encoders.spec` reads them wherever a spec is typed; programs are given specs.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from theodolite.engine.encoders.spec import NAMES

T = TypeVar("T")
_NOT_READ = ("id", "page", "query", "encoder")
"""Fields of blocks, and of what components are given, that the browser sends back."""


def labelled(value: T) -> T:
    """A text with names in place of specs, or data, such as blocks, in which all texts have them.

    Names consist of letters, digits and `. _ -`: they need no escaping where their specs need none.
    """
    names = {spec: name for one in list(NAMES) for spec, name in one.labels().items()}
    if not names:
        return value
    specs = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    # Not the beginning of a longer path, or of more options.
    pattern = re.compile(rf"(?:{specs})(?![\w/%&-]|\.\w)")
    return _replace_names(value, pattern, names)


def _replace_names(value: Any, pattern: re.Pattern[str], names: Mapping[str, str]) -> Any:
    def mapped(one: Any) -> Any:
        return _replace_names(one, pattern, names)

    if isinstance(value, str):
        return pattern.sub(lambda match: names[match[0]], value)
    if isinstance(value, Mapping):
        items = value.items()
        return {mapped(k): one if k in _NOT_READ else mapped(one) for k, one in items}
    if isinstance(value, list | tuple):
        every = map(mapped, value)
        return type(value)(*every) if hasattr(value, "_fields") else type(value)(every)
    if is_dataclass(value) and not isinstance(value, type):
        read = (one.name for one in fields(value) if one.name not in _NOT_READ)
        return replace(value, **{name: mapped(getattr(value, name)) for name in read})
    return value
