"""Reasons why a comparison of encoders is unfair, in words, each with a remedy.

After Eger, Rücklé, Gurevych 2019, "Pitfalls in the Evaluation of Sentence Embeddings".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from theodolite.app.pages.compare.tested import UNTESTABLE
from theodolite.engine.encoders.variants import baseline
from theodolite.store.results import REPAIR

Row = Mapping[str, Any]
Cells = Mapping[tuple[str, str], Row]
_LUCK_COUNTED = ("few-shot", "clustering")
"""Task types whose intervals cover what is drawn by the seed."""
_DIFFERING = {"protocol": "protocols", "seed": "seeds", "data_hash": "versions of the data"}


@dataclass(frozen=True)
class Caution:
    """A reason to distrust a comparison.

    Attributes:
        text: plain sentences.
        label: of a link to a remedy; empty without one.
        path: page of the link.
        state: query of the page's address.
    """

    text: str
    label: str = ""
    path: str = ""
    state: Mapping[str, str | Sequence[str]] = field(default_factory=dict)


def cautions(
    names: Sequence[str],
    tasks: Sequence[str],
    cells: Cells,
    rows: Sequence[Row],
    remarks: Sequence[tuple[str, str]],
) -> Iterator[Caution]:
    """Yield what a reader should know before trusting the comparison.

    Args:
        names: the encoders.
        tasks: the tasks shown.
        cells: (encoder, task) -> the result shown.
        rows: every result of these encoders and tasks, other seeds and protocols included.
        remarks: (encoder, warning from when it was added).
    """
    yield from _sizes(names, cells)
    yield from _baselines(names, tasks)
    yield from _single_protocol_or_seed(names, tasks, cells, rows)
    yield from _mismatches(names, tasks, cells)
    for name, remark in remarks:
        yield Caution(f"{name}: {remark}")


def unreadable_values(encoder: str, task: str) -> Caution:
    """A score whose values per example are lost."""
    return Caution(
        f"The values per example of {encoder} on {task} cannot be read: its score stands, and no "
        f"difference is tested. {REPAIR}"
    )


def untested(names: Sequence[str], task: str) -> Caution:
    """Scores without a test."""
    return Caution(f"No difference of {', '.join(names)} on {task} is tested: {UNTESTABLE}")


def _sizes(names: Sequence[str], cells: Cells) -> Iterator[Caution]:
    dims = {name: cells[name, task]["dim"] for name, task in cells if cells[name, task]["dim"]}
    if len(set(dims.values())) > 1:
        sizes = ", ".join(f"{name} {dims[name]}" for name in names if name in dims)
        yield Caution(
            f"The vectors differ in size ({sizes} dimensions): larger ones tend to score higher "
            "for their size alone. The step dims:k,pca,DATA brings them to one size.",
            "Compare at one size",
            "fair-play",
            {"encoder": names},
        )


def _baselines(names: Sequence[str], tasks: Sequence[str]) -> Iterator[Caution]:
    kinds = {baseline(name) for name in names}
    if "random" not in kinds:
        yield Caution(
            "There is no random baseline. Add random:256 to see how much word overlap alone "
            "achieves.",
            "Evaluate random:256",
            "evaluate",
            {"encoder": "random:256", "task": tasks},
        )
    if "bag-of-words" not in kinds:
        yield Caution(
            "There is no average of word vectors, so nothing shows how much word order "
            "contributes.",
            "Evaluate wordllama",
            "evaluate",
            {"encoder": "wordllama", "task": tasks},
        )


def _single_protocol_or_seed(
    names: Sequence[str], tasks: Sequence[str], cells: Cells, rows: Sequence[Row]
) -> Iterator[Caution]:
    """Cautions that trained scores vary with the seed and with the classifier."""
    shown = [cells[pair] for pair in cells if pair[1] in tasks and cells[pair]["error"] is None]
    trained = list(
        dict.fromkeys(
            row["task"]
            for row in shown
            if is_trained(row) and evaluated_as(row) not in _LUCK_COUNTED
        )
    )
    scored = [row for row in rows if row["task"] in trained and row["error"] is None]
    classified = [row for row in scored if evaluated_as(row) in ("transfer", "probing")]
    protocols = {row["protocol"] for row in classified}
    if len(protocols) == 1:
        yield Caution(
            f"One protocol trained all classifiers, {protocols.pop()}. With another "
            "classifier the order may change.",
            "Evaluate with a hidden layer",
            "evaluate",
            {"encoder": names, "task": _tasks(classified), "protocol": "senteval-mlp"},
        )
    seeds = {(row["encoder"], row["task"], row["protocol"], row["seed"]) for row in scored}
    if seeds and len(seeds) == len({key[:3] for key in seeds}):
        yield Caution(
            "Every trained score is from a single seed. Its interval covers the choice of "
            "examples, not the randomness of training.",
            "Evaluate five seeds",
            "evaluate",
            {"encoder": names, "task": trained, "seeds": "5"},
        )


def _tasks(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["task"] for row in rows))


def is_trained(row: Row) -> bool:
    """Whether a result depends on the seed of a training."""
    return _draws(row["task"], row["protocol"])


@lru_cache(maxsize=4096)
def _draws(task: str, protocol: str) -> bool:
    from theodolite.engine import tasks

    try:
        return len(tasks.seeds_of(task, protocol, None, 2)) > 1
    except ValueError:
        return False


def evaluated_as(row: Row) -> str:
    """The task type by which a result was scored; empty if task or protocol is unknown."""
    return _type(row["task"], row["protocol"])


@lru_cache(maxsize=4096)
def _type(task: str, protocol: str) -> str:
    from theodolite.engine import protocols, tasks

    try:
        return tasks.get(task).type_under(protocols.get(protocol).types) or ""
    except ValueError:
        return ""


def _mismatches(names: Sequence[str], tasks: Sequence[str], cells: Cells) -> Iterator[Caution]:
    """Reasons why single tasks are left out of the comparison."""
    for task in tasks:
        rows = [cells[name, task] for name in names if (name, task) in cells]
        scored = [row for row in rows if row["error"] is None]
        for key, word in _DIFFERING.items():
            if len({row[key] for row in scored}) > 1:
                yield Caution(f"{task} was evaluated under different {word}: not compared.")
        if len(scored) < len(names):
            absent = [n for n in names if cells.get((n, task), {"error": ""})["error"] is not None]
            yield Caution(
                f"{task} has no score for {', '.join(absent)}.",
                "Evaluate",
                "evaluate",
                {"encoder": absent, "task": task},
            )
