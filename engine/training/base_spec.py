"""What all training specs share: settings as data, validation, JSON, a hash, folders."""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    get_args,
    get_origin,
    get_type_hints,
)

from theodolite.engine.encoders.spec import check_name
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand

PrecisionName = Literal["auto", "fp32", "bf16", "fp16"]

_FOLDERS = re.compile(
    r"(^|:|[+|,=] *)(?:[A-Za-z]:|~)?[/\\](?:(?:(?! \+ )[^/\\?|])*[/\\])*(?=[^/\\])"
)
"""The folders of a file named by its absolute path, alone or within an encoder's spec."""


@dataclass(frozen=True)
class Setting:
    """What a field of a spec is called, means and may be, for pages and the command line alike.

    Attributes:
        label: above its control. Capitalised.
        help: a sentence or two.
        group: title of the fold of a form in which it lies; empty for none.
        ge, gt, le, lt, multiple_of: bounds of a number, which is always finite.
        choices: value, as text -> label, of a value that is one of few.
        offers: the same, of a value that may also be another.
        when: whether it applies, given every value as a form has it: text, or bool.
        name, kind, optional, required, default: of the field: its type, `str` for any but `bool`,
            `int` and `float`; whether it may be None, and whether it must be given.
    """

    label: str = ""
    help: str = ""
    group: str = ""
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    multiple_of: int | None = None
    choices: Mapping[str, str] | None = None
    offers: Mapping[str, str] | None = None
    when: Callable[[Mapping[str, Any]], bool] | None = None
    name: str = ""
    kind: type = str
    optional: bool = False
    required: bool = False
    default: Any = None

    @property
    def words(self) -> str:
        """The name of the field in a sentence."""
        return self.name.replace("_", " ")

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return self.kind in (int, float)

    def read(self, text: str) -> Any:
        """Parse its text; empty or `none` is None in optional fields."""
        text = text.strip()
        if self.optional and text.casefold() in ("", "none"):
            return None
        if not text:
            raise UserError(
                f"The {self.words} is empty.", f"Usual is {self.default}.", code="missing"
            )
        if self.kind is bool:
            if text.casefold() not in ("true", "false"):
                raise self._refusal(text)
            return text.casefold() == "true"
        return self.number(text) if self.is_number else text

    def number(self, text: str) -> int | float:
        """Parse its number; whether it is within the bounds is checked in a spec."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or (self.kind is int and value != int(value)):
            raise self._refusal(text)
        return int(value) if self.kind is int else value

    def check(self, value: Any) -> None:
        """Refuse a value that the field cannot have."""
        if not (self._fits(value) if value is not None else self.optional):
            raise self._refusal(value)

    def _fits(self, value: Any) -> bool:
        if self.choices is not None:
            return str(value) in self.choices
        if not self.is_number:
            return isinstance(value, (self.kind, tuple))
        kinds = int if self.kind is int else (int, float)
        return (
            isinstance(value, kinds)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and all(fits(value, bound) for fits, _, bound in self._bounds())
        )

    def _bounds(self) -> list[tuple[Callable[[Any, Any], bool], str, Any]]:
        """Comparison, its words and the bound, of those that there are."""
        every = (
            (operator.ge, "at least", self.ge),
            (operator.gt, "more than", self.gt),
            (operator.le, "at most", self.le),
            (operator.lt, "less than", self.lt),
            (lambda value, bound: value % bound == 0, "a multiple of", self.multiple_of),
        )
        return [one for one in every if one[-1] is not None]

    def _refusal(self, value: Any) -> UserError:
        """The error of a value, which says what was expected."""
        expected = "true or false" if self.kind is bool else "a text, such as the name of a file"
        if self.choices is not None:
            expected = f"one of {', '.join(self.choices)}"
        elif self.is_number:
            bounds = " and ".join(f"{words} {bound:,}" for _, words, bound in self._bounds())
            expected = "a whole number" if self.kind is int else "a number"
            expected += f", {bounds}" if bounds else ""
            expected += "" if self.default is None else f", such as {written(self.default)}"
        text = value[:40] if isinstance(value, str) else value
        return UserError(f"The {self.words} cannot be {text!r}.", f"Expected {expected}.")


PRECISION = Setting(
    "Precision",
    "By device: bf16 or fp16 on a GPU, whichever it has, and fp32 on a CPU.",
    "Machine",
    choices={"auto": "by device", "fp32": "fp32", "bf16": "bf16", "fp16": "fp16"},
)
DEVICE = Setting(
    "Device",
    "Such as cpu or cuda:1; empty or none: the first GPU, if there is one.",
    "Machine",
    offers={
        "none": "the first GPU, if any",
        "cpu": "CPU",
        "cuda": "CUDA",
        "mps": "Apple MPS",
    },
)


@cache
def settings(spec: Any) -> dict[str, Setting]:
    """The fields of a spec, a class, in their order."""
    hints = get_type_hints(spec, include_extras=True)
    return {field.name: _setting_of(hints[field.name], field) for field in fields(spec)}


def _setting_of(hint: Any, field: Field[Any]) -> Setting:
    declared = Setting()
    if get_origin(hint) is Annotated:
        hint, declared = get_args(hint)
    members = get_args(hint) or (hint,)
    values = {member: member for member in members} if get_origin(hint) is Literal else None
    return replace(
        declared,
        choices=declared.choices or values,
        name=field.name,
        kind=next((kind for kind in (bool, int, float) if kind in members), str),
        optional=NoneType in members,
        required=field.default is MISSING,
        default=None if field.default is MISSING else field.default,
    )


def defaults(spec: Any) -> dict[str, Any]:
    """Field -> its default, of those that have one."""
    return {name: one.default for name, one in settings(spec).items() if not one.required}


def written(value: Any) -> str:
    """Format a value as `Setting.read` parses it, in as few digits as possible: `3e-5`."""
    if isinstance(value, float):
        brief = f"{value:g}".replace("e-0", "e-")
        return brief if float(brief) == value else str(value)
    return str(value).lower() if isinstance(value, bool | NoneType) else str(value)


class BaseSpec:
    """The spec of a run, frozen; every field but `out` and `name` determines the weights.

    Attributes:
        version: of the fields.
        noun: for this kind of spec.
        verb: of the command line.
        arguments: fields that the command takes without their names.
        sources: fields that may name files of this machine.
        out: the folder to which the trained model is written.
        name: of the trained model, for people.
        seed: of everything random.
        device, precision: as asked for.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    version: ClassVar[int]
    noun: ClassVar[str]
    verb: ClassVar[str]
    arguments: ClassVar[tuple[str, ...]]
    sources: ClassVar[tuple[str, ...]]

    if TYPE_CHECKING:  # fields of the subclasses: declared here they would come before all others

        @property
        def out(self) -> str:
            """See above."""

        @property
        def name(self) -> str | None:
            """See above."""

        @property
        def seed(self) -> int:
            """See above."""

        @property
        def device(self) -> str | None:
            """See above."""

        @property
        def precision(self) -> PrecisionName:
            """See above."""

    def __post_init__(self) -> None:
        """Check every field by itself."""
        kind: Any = type(self)
        for name, setting in settings(kind).items():
            value = getattr(self, name)
            if isinstance(value, Path):
                vars(self)[name] = value = str(value)
            setting.check(value)
        if self.name is not None:
            check_name(self.name)

    @classmethod
    def applies(cls, setting: Setting, values: Mapping[str, Any]) -> bool:
        """Whether a setting is shown and read, given every value as a form has it."""
        return setting.when is None or setting.when(values)

    def to_dict(self) -> dict[str, Any]:
        """Every field and the version, JSON-able."""
        values = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(self).items()}
        return {"version": self.version} | values

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """The spec that `to_dict` wrote; fields with a default may be missing."""
        if given.get("version", cls.version) != cls.version:
            raise UserError(
                f"This {cls.noun} is of version {given['version']}, not {cls.version}.",
                "Use the program that wrote it, or a newer one.",
                code="unsupported",
            )
        values = {  # JSON has no tuples
            field: tuple(value) if isinstance(value, list) else value
            for field, value in given.items()
            if field != "version"
        }
        kind: Any = cls
        known = settings(kind)
        if unknown := sorted(values.keys() - known.keys()):
            raise UserError(
                f"A {cls.noun} has no field {unknown[0]!r}.",
                f"The fields are {', '.join(sorted(known))}.",
                code="unknown",
            )
        needed = {name for name, setting in known.items() if setting.required}
        if missing := sorted(needed - values.keys()):
            raise UserError(f"A {cls.noun} needs the field {missing[0]!r}.", code="missing")
        return cls(**values)

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
        """32 hexadecimal digits over everything that determines the weights."""
        facts = {k: value for k, value in self.to_dict().items() if k not in ("out", "name")}
        text = json.dumps(facts, sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def out_folder(self) -> Path:
        """The folder of the trained model."""
        return expand(self.out).absolute()

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
