"""The base of all training specs: validation, JSON, a hash, folders."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args, get_origin, get_type_hints

from theodolite.engine.errors import UserError
from theodolite.engine.paths import named
from theodolite.engine.training.fields import written

Ranges = Mapping[str, tuple[Callable[[Any], bool], str]]
"""Field -> a check of its value, and the expected values in words."""

PrecisionName = Literal["auto", "fp32", "bf16", "fp16"]

RANGES: Ranges = {
    "seed": (lambda n: isinstance(n, int) and 0 <= n < 2**32, "a whole number below 2^32"),
    "epochs": (lambda n: 0 < n < math.inf, "more than 0"),
    "learning_rate": (lambda n: 0 < n < 1, "more than 0 and below 1"),
    "dropout": (lambda n: 0 <= n < 1, "from 0 to below 1"),
}
"""Of the fields that all specs have."""

_FOLDERS = re.compile(
    r"(^|:|[+|,=] *)(?:[A-Za-z]:|~)?[/\\](?:(?:(?! \+ )[^/\\?|])*[/\\])*(?=[^/\\])"
)
"""The folders of a file named by its absolute path, alone or within an encoder's spec."""


class BaseSpec:
    """The spec of a run, a frozen dataclass; every field but `out` determines the weights.

    Attributes:
        version: of the fields.
        name: of this kind of spec, for people.
        verb: of the command line.
        arguments: fields that the command takes without their names.
        sources: fields that may name files of this machine.
        out: the folder to which the trained model is written.
        seed: of everything random.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    version: ClassVar[int]
    name: ClassVar[str]
    verb: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]]
    sources: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:  # fields of the subclasses: declared here they would come before all others

        @property
        def out(self) -> str:
            """See above."""

        @property
        def seed(self) -> int:
            """See above."""

    def check(self, ranges: Ranges) -> None:
        """Check the fields against their choices and ranges; a default of None is allowed."""
        optional = {field.name for field in fields(self) if field.default is None}
        for name, (fits, expected) in {**_choices(type(self)), **RANGES, **ranges}.items():
            given = getattr(self, name)
            if given is None and name in optional:
                continue
            if given is None or not fits(given):
                shown = name.replace("_", " ")
                raise UserError(f"The {shown} cannot be {given!r}.", f"Expected {expected}.")

    def to_dict(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {"version": self.version} | values

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The spec that `to_dict` wrote; fields with a default may be missing."""
        if given.get("version", cls.version) != cls.version:
            raise UserError(
                f"This {cls.name} is of version {given['version']}, not {cls.version}.",
                "Use the program that wrote it, or a newer one.",
                code="unsupported",
            )
        wanted = {  # JSON has no tuples
            field: tuple(value) if isinstance(value, list) else value
            for field, value in given.items()
            if field != "version"
        }
        known = {field.name: field for field in fields(cls)}
        if unknown := sorted(wanted.keys() - known.keys()):
            raise UserError(
                f"A {cls.name} has no field {unknown[0]!r}.",
                f"The fields are {', '.join(sorted(known))}.",
                code="unknown",
            )
        needed = {name for name, field in known.items() if field.default is MISSING}
        if missing := sorted(needed - wanted.keys()):
            raise UserError(f"A {cls.name} needs the field {missing[0]!r}.", code="missing")
        return cls(**wanted)

    def command(self) -> list[str]:
        """The command line that trains the same, as a list of words."""
        words = ["theodolite", self.verb, *(getattr(self, name) for name in self.arguments)]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in self.arguments or value == field.default or value == "":
                continue
            option = field.name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                for one in value if isinstance(value, tuple) else (value,):
                    words += [f"--{option}", written(one)]
        return words

    @property
    def hash(self) -> str:
        """32 hexadecimal digits over everything that determines the weights; not over `out`."""
        facts = {name: value for name, value in self.to_dict().items() if name != "out"}
        text = json.dumps(facts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def out_folder(self) -> Path:
        """The folder of the trained model."""
        return named(self.out).absolute()

    @property
    def working_folder(self) -> Path:
        """The folder of the checkpoint until the trained model is written."""
        return self.out_folder.with_name(self.out_folder.name + ".training")

    def relative_paths(self) -> Self:
        """The spec without the folders of this machine, to be shared."""
        shared: dict[str, Any] = {}
        for name in self.sources:
            value = getattr(self, name)
            if isinstance(value, tuple):
                shared[name] = tuple(map(relative_path, value))
            else:
                shared[name] = value and relative_path(value)
        return replace(self, out=Path(self.out).name, **shared)


def _choices(spec: type[BaseSpec]) -> dict[str, tuple[Callable[[Any], bool], str]]:
    """The ranges of the fields whose type lists their values."""
    return {
        name: (get_args(hint).__contains__, f"one of {', '.join(get_args(hint))}")
        for name, hint in get_type_hints(spec).items()
        if get_origin(hint) is Literal
    }


def relative_path(source: str) -> str:
    """A file, or a spec that names one, with file names instead of absolute paths.

    Any other source, such as the name of a data set or of a model on the hub, stays as it is.
    """
    return _FOLDERS.sub(r"\1", source)


def short(source: str) -> str:
    """A source without the folders of this machine."""
    kind, colon, value = source.partition(":")
    if kind == "dir":
        return f"{kind}:{Path(value).name}"
    return source if colon else Path(source).name or source
