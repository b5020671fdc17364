"""A question as data: a frozen dataclass whose annotations say what each value means and may be.

    @dataclass(frozen=True)
    class SearchSpec(Spec):
        queries: Annotated[Sequence[str], Field("Query", "What to look for.")]
        k: Annotated[int, Field("Top k", "Hits of each query.", ge=1, le=1000)] = 10

Controls and addresses of a page, options of a command, keywords of a Python function and the schema
that an agent sees are derived from the fields, in `app.surfaces`. Values are checked and brought
to their types when a spec is made, wherever they come from.
"""

import contextlib
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from theodolite.engine.errors import UserError
from theodolite.engine.given import text
from theodolite.engine.rankers.spec import parse

S = TypeVar("S", bound="Spec")
Names = Literal["", "encoder", "rankers", "dataset", "text", "task"]
"""What a value names, if anything: surfaces offer the names that there are, and check them. Rankers
stand in one string, with commas; a text is a data set, a file of sentences or `held-out`."""


@dataclass(frozen=True)
class Field:
    """What a value of a spec is called, means and may be.

    Attributes:
        label: above its control, and in messages. Capitalised.
        help: one sentence.
        names: what its texts name.
        offers: makes of the workspace what a page offers, value -> label; of a value that is not in
            the address the first is taken, of several none.
        key: its name in an address; empty for the field's own.
        flags: its spelling on the command line; empty for `--name`.
        argument: whether a command takes it as an argument although it has a default.
        ge, le: lowest and highest value of a number.
        choices: value -> label of a value that is one of few.
        for_agents: whether agents may set it.
        none: the word for None of an optional value; empty where it is left out.
    """

    label: str
    help: str = ""
    names: Names = ""
    offers: Callable[[Any], Mapping[str, str]] | None = None
    key: str = ""
    flags: tuple[str, ...] = ()
    argument: bool = False
    ge: float | None = None
    le: float | None = None
    choices: Mapping[str, str] | None = None
    for_agents: bool = True
    none: str = ""


@dataclass(frozen=True)
class Parameter:
    """A field of a spec, with its type taken apart.

    Attributes:
        name: of the field.
        type: `str`, `int`, `float` or `bool`.
        many: whether its value is a tuple of these, declared as `Sequence`.
        optional: whether it may be None.
        default: `dataclasses.MISSING` if it must be given.
        field: what it means.
    """

    name: str
    type: type
    many: bool
    optional: bool
    default: Any
    field: Field

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is MISSING

    @property
    def is_argument(self) -> bool:
        """Whether a command takes it as an argument, not as an option."""
        return self.required or self.field.argument

    @property
    def key(self) -> str:
        """Its name in an address."""
        return self.field.key or self.name

    @property
    def flags(self) -> tuple[str, ...]:
        """Its spelling on the command line."""
        return self.field.flags or (f"--{self.name.replace('_', '-')}",)

    @property
    def annotation(self) -> Any:
        """Its type as a list where there are many, with None where it is optional."""
        kind: Any = list[self.type] if self.many else self.type  # type: ignore[name-defined]
        if self.field.none:
            return str
        return kind | None if self.optional else kind

    def text(self, value: Any) -> str:
        """A value as it is written in an address or on the command line."""
        return self.field.none if value is None else str(value)

    @property
    def meaning(self) -> str:
        """What it means and may be, in a sentence or two."""
        label, about, choices = self.field.label, self.field.help, self.field.choices
        # Beside its control the help follows the label; alone it may not say what it is about.
        words = [about] if label.lower() in about.lower() else [f"{label}.", *filter(None, [about])]
        words += [f"One of {', '.join(choices)}."] if choices is not None else []
        if self.field.ge is not None and self.field.le is not None:
            words.append(f"From {self.field.ge:,g} to {self.field.le:,g}.")
        return " ".join(words)

    def read(self, value: Any) -> Any:
        """The value in the field's type, if it is one that the field may have."""
        if isinstance(value, str) and self.field.none and value.strip() in (self.field.none, ""):
            return None
        if value is None or (isinstance(value, str) and not value and self.type is not str):
            if self.optional:
                return None
            if not self.required:
                return self.default
            if value is None:
                raise UserError(f"{self.field.label} is missing.", self.meaning)
        if self.many:
            is_one = isinstance(value, str | bytes) or not isinstance(value, Iterable)
            if isinstance(value, Mapping) or (not is_one and getattr(value, "ndim", 1) != 1):
                raise UserError(
                    f"{self.field.label} are a {type(value).__name__}, where a list is expected.",
                    self.meaning,
                )
            values: Iterable[Any] = [value] if is_one else value
            return tuple(dict.fromkeys(self._one(item) for item in values))
        return self._one(value)

    def _one(self, value: Any) -> Any:
        label, field = self.field.label, self.field
        # What is no text may have no hash, or be equal to many texts at once.
        is_text = isinstance(value, str)
        if field.choices is not None and not (is_text and value in field.choices):
            raise UserError(
                f"{label} cannot be {value!r}.",
                f"Choose one of {', '.join(field.choices)}.",
                code="unknown",
            )
        if self.type is str:
            is_name = field.names == "encoder"
            given = str(value) if isinstance(value, Path) else value
            value = text(given, label, _GIVE_SPEC if is_name else "")
            if is_name:
                with contextlib.suppress(UserError):  # its use says what is wrong
                    value = str(parse(value))
            return value
        if self.type is bool:
            return bool(value)
        return self._number(value)

    def _number(self, value: Any) -> Any:
        low = -math.inf if self.field.ge is None else self.field.ge
        high = math.inf if self.field.le is None else self.field.le
        try:
            number = self.type(value)
            fits = low <= number <= high and number == float(value)
        except (TypeError, ValueError, OverflowError):
            fits = False
        if not fits:
            what = "a whole number" if self.type is int else "a number"
            raise UserError(
                f"{self.field.label} cannot be {value!r}.", f"Give {what}{bounds(low, high)}."
            )
        return number


def bounds(low: float, high: float) -> str:
    """The end of `Give a number`: ` of at least 1`, ` from 0 to 1`, or nothing."""
    least = f" of at least {low:,g}" if math.isfinite(low) else ""
    return f" from {low:,g} to {high:,g}" if math.isfinite(high) else least


class Spec:
    """The base of a question's dataclass."""

    def __post_init__(self) -> None:
        read = {
            parameter.name: parameter.read(getattr(self, parameter.name))
            for parameter in parameters(type(self))
        }
        vars(self).update(read)
        self.check()

    def check(self) -> None:
        """Raise a UserError for values that do not go together.

        It may write equal questions in the same way, by `vars(self).update(…)`: a spec is frozen
        from then on.
        """


Encoders = Annotated[
    Sequence[str],
    Field(
        "Encoders",
        "Spec string of an encoder.",
        names="encoder",
        key="encoder",
        flags=("--encoder", "-e"),
    ),
]
"""The encoders that a question is asked of."""
Tasks = Annotated[
    Sequence[str],
    Field("Tasks", "Task or suite; default: evaluated tasks.", key="task", flags=("--tasks",)),
]
"""The tasks that a question is about."""
_GIVE_SPEC = 'Give its spec, such as "minilm": only evaluate and search take encoders as objects.'
_KNOWN: dict[type, tuple[Parameter, ...]] = {}


def function_name(verb: str) -> str:
    """The function of a command: its last word, with its group if that says too little alone."""
    last = verb.rpartition(" ")[2]
    return verb.replace(" ", "_") if last in ("status", "check") else last


def parameters(spec: type[Spec]) -> tuple[Parameter, ...]:
    """The fields of a spec, in order."""
    if spec not in _KNOWN:
        hints = get_type_hints(spec, include_extras=True)
        every: Any = sorted(fields(spec), key=lambda field: field.kw_only)  # type: ignore[arg-type]
        _KNOWN[spec] = tuple(_parameter(field.name, hints[field.name], field) for field in every)
    return _KNOWN[spec]


def _parameter(name: str, hint: Any, field: Any) -> Parameter:
    kind, meaning = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, Field(name))
    default = field.default if field.default_factory is MISSING else field.default_factory()
    members = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)
    (kind,) = (member for member in members if member is not type(None))
    many = get_origin(kind) is Sequence
    if many:
        kind = get_args(kind)[0]
    if get_origin(kind) is Literal:
        kind = str
    return Parameter(name, kind, many, type(None) in members, default, meaning)


def read_query(spec: type[S], pairs: Iterable[tuple[str, str]]) -> S:
    """The spec of an address: the inverse of `query`; other names are ignored.

    Args:
        spec: its class.
        pairs: names and values, in order.
    """
    texts: dict[str, list[str]] = {}
    for name, value in pairs:
        texts.setdefault(name, []).append(value)
    values: dict[str, Any] = {}
    for parameter in parameters(spec):
        if parameter.key in texts:
            first = texts[parameter.key][0]
            text: Any = texts[parameter.key] if parameter.many else first
            values[parameter.name] = (
                first in ("True", "true", "1") if parameter.type is bool else text
            )
    return spec(**values)


def query(spec: Spec) -> dict[str, str | Sequence[str]]:
    """The values of a spec that are not their defaults, by their names in an address."""
    values = {}
    for parameter in parameters(type(spec)):
        value = getattr(spec, parameter.name)
        if value != parameter.default:
            values[parameter.key] = value if parameter.many else parameter.text(value)
    return values


def words(spec: Spec) -> list[str]:
    """The values of a spec that are not their defaults, as arguments and options of a command."""
    parts: list[str] = []
    for parameter in parameters(type(spec)):
        value = getattr(spec, parameter.name)
        if value == parameter.default:
            continue
        each = value if parameter.many else [value]
        if parameter.is_argument:
            parts += map(str, each)
        elif parameter.type is bool:
            parts.append(parameter.flags[0])
        else:
            parts += [word for one in each for word in (parameter.flags[0], parameter.text(one))]
    return parts
