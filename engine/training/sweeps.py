"""Grids and random searches over the fields of a run: which runs to make, and the best one.

    varied = dict(parsed(text) for text in ("learning_rate=1e-5,3e-5,5e-5", "batch_size=64,128"))
    for label, changes in grid(spec, varied):
        ...                                     # six runs, the last field changing fastest

A search draws from ranges as well: `temperature=0.01..0.1` evenly, `learning_rate=1e-6..1e-4:log`
evenly in its logarithm.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import Setting, settings
from theodolite.engine.training.spec import TrainSpec

Changes = dict[str, Any]
Values = Sequence[Any]

MAX_RUNS = 500
"""The most runs in a sweep."""
_SEED = " · seed "


@dataclass(frozen=True)
class Range:
    """A range of numbers to draw from.

    Attributes:
        low, high: inclusive bounds.
        log: draw evenly in the logarithm.
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise UserError(
                f"{self.low:g}..{self.high:g} is not a range.", "The lower number comes first."
            )
        if self.log and self.low <= 0:
            raise UserError(
                f"A range from {self.low:g} has no logarithm.", "Start above 0, or leave out :log."
            )

    def draw(self, rng: np.random.Generator, *, whole: bool) -> float | int:
        """Draw a number, rounded to a whole one or to three significant digits."""
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = rng.uniform(self.low, self.high)
        # Rounded so that a label says exactly what was run, but never out of the range.
        rounded = round(value) if whole else float(f"{value:.3g}")
        bounded = min(max(rounded, self.low), self.high)
        return int(bounded) if whole else bounded


def parse(text: str) -> tuple[str, list[Any] | Range]:
    """Read `field=value,value`, `field=low..high` or `field=low..high:log`."""
    name, _, values = (part.strip() for part in text.partition("="))
    setting = _known(name.replace("-", "_"))
    name = setting.name
    if not values:
        raise UserError(
            f"{text!r} gives {name} no values.",
            f"For example {name}=VALUE,VALUE or {name}=LOW..HIGH.",
            code="missing",
        )
    if ".." in values:
        if not setting.is_number:
            raise UserError(f"The {setting.words} is not a number.", "List its values instead.")
        numbers, _, scale = values.partition(":")
        low, _, high = numbers.partition("..")
        if scale not in ("", "log"):
            raise UserError(f"{text!r} ends in {scale!r}.", "After a range comes :log or nothing.")
        first, last = (setting.number(end.strip()) for end in (low, high))
        return name, Range(first, last, log=bool(scale))
    return name, [setting.read(value) for value in values.split(",")]


def grid(spec: TrainSpec, varied: Mapping[str, Values | Range]) -> list[tuple[str, Changes]]:
    """Return every combination of the values, the last field changing fastest.

    Args:
        spec: settings that the runs share.
        varied: field -> values, slowest field first.

    Returns:
        A label and the changes to the spec of each run.
    """
    options = dict[str, Values]()
    for name, values in varied.items():
        if isinstance(values, Range):
            raise UserError(
                f"A grid has no ranges, and {name} is one.",
                "List its values, or make a random search.",
            )
        options[name] = values
    count = math.prod(len(values) for values in options.values())
    if count > MAX_RUNS:
        raise UserError(
            f"This grid has {count:,} runs; {MAX_RUNS} are the most.",
            "Vary less, or make a random search.",
            code="too-large",
        )
    return _distinct(
        spec,
        (dict(zip(options, row, strict=True)) for row in itertools.product(*options.values())),
    )


def search(
    spec: TrainSpec, varied: Mapping[str, Values | Range], runs: int, seed: int
) -> list[tuple[str, Changes]]:
    """Draw combinations of values; the same seed draws the same ones in the same order.

    Args:
        spec: settings that the runs share.
        varied: field -> values, equally likely, or a range; as of `parse`.
        runs: number of runs to draw, from 1 to `MAX_RUNS`; fewer where not as many differ.
        seed: of the draws.

    Returns:
        As for `grid`. More runs of the same seed begin with the same ones.
    """
    rng = np.random.default_rng(seed)
    draws: list[Changes] = []
    for _ in range(20 * runs):  # enough to draw nearly all of a small number of combinations
        changes = {
            name: values.draw(rng, whole=_known(name).kind is int)
            if isinstance(values, Range)
            else values[int(rng.integers(len(values)))]
            for name, values in varied.items()
        }
        if changes not in draws:
            draws.append(changes)
        if len(draws) == runs:
            break
    return _distinct(spec, draws)


def with_seeds(
    children: Sequence[tuple[str, Mapping[str, Any]]], seeds: Sequence[int]
) -> list[tuple[str, Changes]]:
    """Each child once with every seed; a single seed yields to one of the child's own."""
    if len(seeds) == 1:
        return [(label, {"seed": seeds[0], **changes}) for label, changes in children]
    return [
        (f"{label}{_SEED}{seed}", {**changes, "seed": seed})
        for label, changes in children
        for seed in seeds
    ]


def without_seed(label: str) -> str:
    """The label that a child had before `with_seeds`."""
    return label.partition(_SEED)[0]


def best(scores: Sequence[float | None]) -> int | None:
    """Return the position of the highest dev score, the first of equals; None without any."""
    scored = [(i, s) for i, s in enumerate(scores) if s is not None and not math.isnan(s)]
    return max(scored, key=lambda pair: (pair[1], -pair[0]))[0] if scored else None


def _distinct(spec: TrainSpec, rows: Iterable[Changes]) -> list[tuple[str, Changes]]:
    """Label the rows, and check that each is a valid run; duplicates are left out."""
    runs: dict[str, Changes] = {}
    shared = asdict(spec)
    for changes in rows:
        TrainSpec.from_dict(shared | changes)
        label = ", ".join(
            f"{_known(name).words} {_value_label(value)}" for name, value in changes.items()
        )
        runs.setdefault(label, changes)
    return list(runs.items())


def _known(name: str) -> Setting:
    """A field that can be varied."""
    known = {field: setting for field, setting in settings(TrainSpec).items() if field != "out"}
    if name not in known:
        raise UserError(
            f"There is no field {name!r} to vary.",
            f"The fields are {', '.join(known)}.",
            code="unknown",
        )
    return known[name]


def _value_label(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    # All digits where six would not do: two values never share a label.
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
