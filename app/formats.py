"""Formatting of numbers and times for people, the same everywhere, so that columns line up."""

from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from math import isnan
from typing import Any

import orjson

from theodolite.app.names import labelled

MISSING = "–"


def score(value: float | None) -> str:
    """Points of 100 with two decimals, as the papers print them."""
    return MISSING if value is None or isnan(value) else f"{value:.2f}".replace("-", "−")


def signed(value: float | None) -> str:
    """A difference with its sign: +0.31, −1.20."""
    return MISSING if value is None or isnan(value) else f"{value:+.2f}".replace("-", "−")


def cosine(value: float) -> str:
    """Three decimals, with a proper minus sign."""
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


def p_value(value: float) -> str:
    """A p-value with three decimals, or `< 0.001`."""
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


def percent(share: float, decimals: int = 0) -> str:
    """A share of 1: none alone is `0 %`, and all alone `100 %`; `under 1 %`, `over 99 %`."""
    points, least = 100.0 * share, 10.0**-decimals
    most = 100.0 - least
    if 0.0 < points < least:
        return f"under {least:.{decimals}f}\u00a0%"
    if most < points < 100.0:
        return f"over {most:.{decimals}f}\u00a0%"
    return f"{points:.{decimals}f}\u00a0%"


def count(value: int | None) -> str:
    """12345 -> 12,345."""
    return MISSING if value is None else f"{value:,}"


def brief(value: float) -> str:
    """A setting in its shortest form: 0.05, 3e-5."""
    return f"{value:g}".replace("e-0", "e-")


def compact(value: int | None) -> str:
    """22713216 -> 22.7M, for parameters."""
    if value is None:
        return MISSING
    for size, letter in ((1_000_000_000, "B"), (1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return str(value)


def size(value: int | None) -> str:
    """Bytes, in units of 1,000: 90.9 MB."""
    if value is None:
        return MISSING
    for power, unit in ((9, "GB"), (6, "MB"), (3, "kB")):
        if value >= 10**power:
            return f"{value / 10**power:.3g} {unit}"
    return f"{value} bytes"


def duration(seconds: float | None) -> str:
    """541 µs, 8.4 ms, 1.2 s, 12 s, 3 min 20 s, 2 h 5 min."""
    if seconds is None:
        return MISSING
    if 0 < seconds < 0.9995:
        unit, value = ("ms", 1e3 * seconds) if seconds >= 0.0009995 else ("µs", 1e6 * seconds)
        return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest and minutes < 10 else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def time_left(seconds: float | None) -> str:
    """Estimated time left, without false precision; empty where no more is counted, too."""
    if not seconds:
        return ""
    if seconds < 5:
        return "a few seconds left"
    if seconds < 57.5:
        return f"about {5 * round(seconds / 5)} s left"
    step = 30 if seconds < 600 else 60
    return f"about {duration(step * round(seconds / step))} left"


def moment(value: float | str | None) -> datetime | None:
    """Read a time of the store: seconds since 1970 or ISO 8601 text, taken as UTC."""
    if value is None or value == "":
        return None
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value, UTC)
    when = datetime.fromisoformat(value)
    return when if when.tzinfo else when.replace(tzinfo=UTC)


def date(value: float | str | None) -> str:
    """A time of the store as a date."""
    when = moment(value)
    return MISSING if when is None else f"{when:%Y-%m-%d}"


DATED: ContextVar[bool] = ContextVar("dated", default=False)
"""Whether times are given as dates, for pages that will be read at another time."""


def ago(value: float | str | None, now: datetime | None = None) -> str:
    """`just now`, `5 min ago`, `3 h ago`, then the date."""
    when = moment(value)
    if when is None:
        return MISSING
    if DATED.get():
        return f"{when:%d %b %Y}".lstrip("0")
    seconds = ((now or datetime.now(UTC)) - when).total_seconds()
    if seconds < 45:
        return "just now"
    if seconds < 3600:
        return f"{max(1, round(seconds / 60))} min ago"
    if seconds < 86400:
        return f"{round(seconds / 3600)} h ago"
    return f"{when:%d %b %Y}".lstrip("0")


def listed(items: Iterable[str], most: int | None = None) -> str:
    """`a, b and c`; if more than `most`, `a, b and 4 more`: a long list would bury the sentence."""
    names = list(items)
    if most is not None and len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def plural(number: int, word: str, words: str | None = None) -> str:
    """`1 task`, `7 tasks`."""
    return f"{count(number)} {word if number == 1 else words or word + 's'}"


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `4th`, `11th`, `21st`."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


def encodable(text: str) -> str:
    """Replace lone surrogates in a text, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode()


def spreadsheet_text(text: str) -> str:
    """Prefix an apostrophe to text that a spreadsheet would take for a formula."""
    sound = encodable(text)
    return f"'{sound}" if sound.startswith(_FORMULA) else sound


def shorten(name: str, limit: int = 30) -> str:
    """The name of an encoder or a task, a long one cut in its middle: both ends tell them apart."""
    name = labelled(name)
    if len(name) <= limit:
        return name
    head = (limit - 1) // 2
    return f"{name[:head]}…{name[-(limit - 1 - head) :]}"


def last_part(name: str) -> str:
    """The last component of a path."""
    return name.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]


def json_text(value: Any) -> str:
    """Rows and numbers for the browser, arrays as lists, NaN and infinity as null."""

    def listed(array: Any) -> Any:  # an array that is not contiguous
        return array.tolist()

    return orjson.dumps(value, default=listed, option=orjson.OPT_SERIALIZE_NUMPY).decode()


def json_script(name: str, value: Any) -> str:
    """The same in HTML, as a JSON script element, escaped so that no text in it can close it."""
    text = json_text(value).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'
