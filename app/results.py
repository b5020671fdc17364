"""Which of the stored results count: the one place that decides.

The store has a result of an encoder on a task for each protocol, seed and version of the data. Who
shows or compares encoders needs one of each; which one depends on what is asked.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any

from theodolite.engine.protocols import PROTOCOLS, is_package
from theodolite.engine.tasks import Task, by_name, defaults

Row = Mapping[str, Any]
"""A row of the store's results."""
Cells = dict[tuple[str, str], Row]
"""(encoder, task) -> its result."""
question: Callable[[Row], tuple[Any, ...]] = itemgetter("task", "protocol", "seed", "data_hash")
"""Key of a measurement: the examples of two results with equal keys can be paired."""


def has_score(row: Row) -> bool:
    """Whether a result is neither an error nor NaN."""
    return row["error"] is None and row["score"] is not None and math.isfinite(row["score"])


def has_own_seed(row: Row) -> bool:
    """Whether it has the seed of its protocol."""
    protocol = PROTOCOLS.get(row["protocol"])
    return protocol is not None and row["seed"] == protocol.seed


def is_under(row: Row, protocol: str | None) -> bool:
    """Whether it is under a protocol; None for the task's own."""
    return row["protocol"] in (defaults(row["task"]) if protocol is None else (protocol,))


def one_each(rows: Iterable[Row], weight: Callable[[Row], Any] = has_own_seed) -> Cells:
    """One result for each encoder and task: of the greatest weight, among those the newest.

    Args:
        rows: the oldest first.
        weight: preference; by default the protocol's own seed.
    """
    return {(row["encoder"], row["task"]): row for row in sorted(rows, key=weight)}


def under_own_protocol(rows: Iterable[Row]) -> Cells:
    """One result for each encoder and task under the task's own protocol, errors included.

    Results under other protocols are not comparable. Of a task whose type its name does not tell,
    the likelier protocol counts, and any other if there is none.
    """

    def weight(row: Row) -> tuple[int, bool]:
        own = defaults(row["task"])
        place = own.index(row["protocol"]) if row["protocol"] in own else len(own)
        return -place, has_own_seed(row)

    return one_each(
        (row for row in rows if is_under(row, None) or len(defaults(row["task"])) > 1), weight
    )


def under_one_protocol(rows: Sequence[Row], protocol: str = "") -> Cells:
    """One result for each encoder and task, all of a task under one protocol.

    Results of mteb's own code are never mixed with Theodolite's: unless requested, they count only
    if there are no others.

    Args:
        rows: with a score.
        protocol: for all tasks; empty for each task's own, or the one with the most results.
    """
    under = protocols_of(rows, protocol)
    return one_each(row for row in rows if under.get(row["task"]) == row["protocol"])


def protocols_of(rows: Iterable[Row], protocol: str = "") -> dict[str, str]:
    """Task -> the protocol of `under_one_protocol`; tasks without such results are left out."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row["task"]][row["protocol"]] += 1
    if protocol:
        return {task: protocol for task, under in counts.items() if protocol in under}
    ours = {
        task: {name: n for name, n in under.items() if not is_package(name)}
        for task, under in counts.items()
    }
    if any(ours.values()):
        return {task: _own_or_most(task, under) for task, under in ours.items() if under}
    versions = Counter(name for under in counts.values() for name in under)
    newest = max(versions, key=lambda name: (versions[name], name), default="")
    return {task: newest for task, under in counts.items() if newest in under}


def _own_or_most(task: str, under: Mapping[str, int]) -> str:
    known = task_by_name(task)
    if known and known.protocol in under:
        return known.protocol
    return max(under, key=lambda name: (under[name], name))


@lru_cache(maxsize=4096)
def task_by_name(name: str) -> Task | None:
    """The task as its name alone tells it, without its data; None if it tells none."""
    try:
        return by_name(name)
    except ValueError:
        return None


def of_most_encoders(rows: Sequence[Row]) -> Cells:
    """One result for each encoder and task: of the `question` that most encoders answered.

    Otherwise one more seed of one encoder would end a comparison. The task's own protocol comes
    before any other if two encoders answered under it; ties go to the protocol's own seed, then to
    the newest result; a score is preferred to an error.
    """
    answers = Counter(question(row) for row in rows if row["error"] is None)

    def weight(row: Row) -> tuple[Any, ...]:
        number, own = answers[question(row)], is_under(row, None)
        return row["error"] is None, own and number > 1, number, own, has_own_seed(row)

    return one_each(rows, weight)


def of_one_question(
    rows: Iterable[Row], encoders: Collection[str]
) -> dict[tuple[str, str, str], Row]:
    """(protocol, task, encoder) -> the result with the seed and data that most of them have.

    Ties go to the protocol's own seed, then to the newest result. Encoders without a result for it
    are absent.

    Args:
        rows: of any encoders, the oldest first.
        encoders: those whose results decide.
    """
    scored = [(row, question(row)) for row in filter(has_score, rows)]
    answers = Counter((row["encoder"] in encoders, asked) for row, asked in scored)

    def weight(one: tuple[Row, Any]) -> tuple[Any, ...]:
        row, asked = one
        decides = row["encoder"] in encoders
        return decides, answers[decides, asked], has_own_seed(row), row["id"]

    best = {(row["protocol"], row["task"]): asked for row, asked in sorted(scored, key=weight)}
    return {
        (row["protocol"], row["task"], row["encoder"]): row
        for row, asked in scored
        if asked == best[row["protocol"], row["task"]]
    }
