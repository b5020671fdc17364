"""The base of all training specs: validation, JSON, a hash, folders."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from theodolite.engine.errors import UserError
from theodolite.engine.paths import named
from theodolite.engine.training.fields import written

Ranges = Mapping[str, tuple[Callable[[Any], bool], str]]
"""Field -> a check of its value, and the expected values in words."""

_FOLDERS = re.compile(
    r"(^|:|[+|,=] *)(?:[A-Za-z]:|~)?[/\\](?:(?:(?! \+ )[^/\\?|])*[/\\])*(?=[^/\\])"
)
"""The folders of a file named by its absolute path, alone or within an encoder's spec."""


class BaseSpec:
    """The spec of a run, a frozen dataclass; every field but `out` determines the weights.

    Attributes:
        version: of the fields.
        name: of this kind of spec, for people.
        out: the folder to which the trained model is written.
        seed: of everything random.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    version: ClassVar[int]
    name: ClassVar[str]

    if TYPE_CHECKING:  # fields of the subclasses: declared here they would come before all others

        @property
        def out(self) -> str:
            """See above."""

        @property
        def seed(self) -> int:
            """See above."""

    def check(self, ranges: Ranges) -> None:
        """Check the fields against their ranges; None is allowed where it is the default."""
        optional = {field.name for field in fields(self) if field.default is None}
        for name, (fits, expected) in ranges.items():
            given = getattr(self, name)
            if given is None and name in optional:
                continue
            if given is None or not fits(given):
                shown = name.replace("_", " ")
                raise UserError(f"The {shown} cannot be {given!r}.", f"Expected {expected}.")

    def to_dict(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        return {"version": self.version} | asdict(self)

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
        raise NotImplementedError

    def options(self, *aside: str) -> list[str]:
        """The fields that differ from their defaults, as options of a command.

        Args:
            *aside: fields to leave out, which the command gives in another way.
        """
        words = []
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in aside or value == field.default:
                continue
            option = field.name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", written(value)]
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
        return replace(self, out=Path(self.out).name)


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
