"""Reasons why a comparison of encoders is unfair, in words, each with a remedy.

After Eger, Rücklé, Gurevych 2019, "Pitfalls in the Evaluation of Sentence Embeddings".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from theodolite.app.blocks import Caveat, Link
from theodolite.app.metrics import METRICS
from theodolite.app.pages.compare.service import UNTESTABLE, TaskTests
from theodolite.app.results import Cells, Row
from theodolite.engine.encoders.variants import baseline
from theodolite.store.results import REPAIR

_LUCK_COUNTED = ("few-shot", "clustering")
"""Task types whose intervals cover what is drawn by the seed."""
_DIFFERING = {"protocol": "protocols", "seed": "seeds", "data_hash": "versions of the data"}


def caveats(
    names: Sequence[str],
    tasks: Sequence[str],
    cells: Cells,
    rows: Sequence[Row],
    remarks: Sequence[tuple[str, str]],
) -> Iterator[Caveat]:
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
        yield Caveat(f"{name}: {remark}")


def of_tests(tests: Mapping[str, TaskTests]) -> Iterator[Caveat]:
    """Scores whose values per example are lost, and scores without a test."""
    for name, task in sorted((name, t) for t, one in tests.items() for name in one.unreadable):
        yield Caveat(
            f"The values per example of {name} on {task} cannot be read: its score stands, and no "
            f"difference is tested. {REPAIR}"
        )
    for task, one in tests.items():
        if one.untested:
            who = ", ".join(one.untested)
            yield Caveat(f"No difference of {who} on {task} is tested: {UNTESTABLE}")


def _sizes(names: Sequence[str], cells: Cells) -> Iterator[Caveat]:
    dims = {name: cells[name, task]["dim"] for name, task in cells if cells[name, task]["dim"]}
    if len(set(dims.values())) > 1:
        sizes = ", ".join(f"{name} {dims[name]}" for name in names if name in dims)
        yield Caveat(
            f"The vectors differ in size ({sizes} dimensions): larger ones tend to score higher "
            "for their size alone. The step dims:k,pca,DATA brings them to one size.",
            Link("Compare at one size", "fair-play", {"encoder": names}),
        )


def _baselines(names: Sequence[str], tasks: Sequence[str]) -> Iterator[Caveat]:
    kinds = {baseline(name) for name in names}
    if "random" not in kinds:
        yield Caveat(
            "There is no random baseline. Add random:256 to see how much word overlap alone "
            "achieves.",
            Link("Evaluate random:256", "evaluate", {"encoder": "random:256", "task": tasks}),
        )
    if "bag-of-words" not in kinds:
        yield Caveat(
            "There is no average of word vectors, so nothing shows how much word order "
            "contributes.",
            Link("Evaluate wordllama", "evaluate", {"encoder": "wordllama", "task": tasks}),
        )


def _single_protocol_or_seed(
    names: Sequence[str], tasks: Sequence[str], cells: Cells, rows: Sequence[Row]
) -> Iterator[Caveat]:
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
        tasks_of = list(dict.fromkeys(row["task"] for row in classified))
        yield Caveat(
            f"One protocol trained all classifiers, {protocols.pop()}. With another "
            "classifier the order may change.",
            Link(
                "Evaluate with a hidden layer",
                "evaluate",
                {"encoder": names, "task": tasks_of, "protocol": "senteval-mlp"},
            ),
        )
    seeds = {(row["encoder"], row["task"], row["protocol"], row["seed"]) for row in scored}
    if seeds and len(seeds) == len({key[:3] for key in seeds}):
        yield Caveat(
            "Every trained score is from a single seed. Its interval covers the choice of "
            "examples, not the randomness of training.",
            Link(
                "Evaluate five seeds",
                "evaluate",
                {"encoder": names, "task": trained, "seeds": "5"},
            ),
        )


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


def learned(row: Row) -> str:
    """What a regressor was selected by, if the score is of one; else empty."""
    metric = row["metric"] if evaluated_as(row) == "relatedness" else None
    return f"learned, {METRICS.get(metric, metric)}" if metric else ""


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


def _mismatches(names: Sequence[str], tasks: Sequence[str], cells: Cells) -> Iterator[Caveat]:
    """Reasons why single tasks are left out of the comparison."""
    for task in tasks:
        rows = [cells[name, task] for name in names if (name, task) in cells]
        scored = [row for row in rows if row["error"] is None]
        for key, word in _DIFFERING.items():
            if len({row[key] for row in scored}) > 1:
                yield Caveat(f"{task} was evaluated under different {word}: not compared.")
        if len(scored) < len(names):
            absent = [n for n in names if cells.get((n, task), {"error": ""})["error"] is not None]
            yield Caveat(
                f"{task} has no score for {', '.join(absent)}.",
                Link("Evaluate", "evaluate", {"encoder": absent, "task": task}),
            )
