"""What to know before trusting a comparison, and the scores of papers beside it.

Published scores are numbers without examples: never part of a test.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from statistics import fmean
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import Caveat, Cell, Link
from theodolite.app.metrics import METRICS
from theodolite.app.pages.compare.checks import BASELINES
from theodolite.app.results import Cells, Row
from theodolite.app.significance import UNTESTABLE, TaskTests
from theodolite.engine import protocols, tasks
from theodolite.engine.encoders.spec import RANKER
from theodolite.engine.encoders.variants import baseline
from theodolite.engine.errors import UserError
from theodolite.engine.protocols import published as papers
from theodolite.engine.stats.spread import spreads
from theodolite.store.results import REPAIR

_LUCK_COUNTED = ("few-shot", "clustering")
"""Task types whose intervals cover what is drawn by the seed."""
MAX_LISTED = 10
"""Most tasks that a caveat names."""
_DIFFERING = {"protocol": "protocols", "seed": "seeds", "data_hash": "versions of the data"}


def caveats(
    names: Sequence[str],
    cells: Cells,
    rows: Sequence[Row],
    tests: Mapping[str, TaskTests],
    remarks: Sequence[tuple[str, str]],
) -> Iterator[Caveat]:
    """Yield what a reader should know before trusting the comparison.

    Args:
        names: the encoders.
        cells: (encoder, task) -> the result shown.
        rows: every result of these encoders and tasks, other seeds and protocols included.
        tests: task -> its tests.
        remarks: (encoder, warning from when it was added).
    """
    for name, task in sorted((name, t) for t, one in tests.items() for name in one.unreadable):
        yield Caveat(
            f"The values per example of {name} on {task} cannot be read: its score is shown, "
            f"but no difference is tested. {REPAIR}"
        )
    for task, one in tests.items():
        if one.untested:
            yield Caveat(
                f"No difference of {', '.join(one.untested)} on {task} is tested: {UNTESTABLE}"
            )
    dims = {name: cells[name, task]["dim"] for name, task in cells if cells[name, task]["dim"]}
    if len(set(dims.values())) > 1:
        sizes = ", ".join(f"{name} {dims[name]}" for name in names if name in dims)
        yield Caveat(
            f"The vectors differ in size ({sizes} dimensions): larger ones tend to score higher "
            "for their size alone. The step dims:k,pca,DATA brings them to one size.",
            Link("Compare at one size", "fair-play", {"encoder": names}),
        )
    kinds = {baseline(name) for name in names}
    for kind, spec in BASELINES.items():
        if kind not in kinds:
            yield Caveat(
                f"There is no {kind} baseline, so nothing shows what shared words alone achieve.",
                Link(f"Evaluate {spec}", "evaluate", {"encoder": spec, "task": [*tests]}),
            )
    yield from _of_training(names, cells, rows, tests)
    yield from _mismatches(names, cells, tests)
    for name, remark in remarks:
        yield Caveat(f"{name}: {remark}")


def _mismatches(
    names: Sequence[str], cells: Cells, tests: Mapping[str, TaskTests]
) -> Iterator[Caveat]:
    """Reasons why tasks are left out of the comparison: one for all tasks that share it."""
    differing, missing, unscorable = (defaultdict[Any, list[str]](list) for _ in range(3))
    for task in tests:
        scored = {n: cells[n, task] for n in names if (n, task) in cells}
        scored = {name: row for name, row in scored.items() if row["error"] is None}
        for key, word in _DIFFERING.items():
            if len({row[key] for row in scored.values()}) > 1:
                differing[word].append(task)
        absent = [name for name in names if name not in scored]
        unable = [name for name in absent if RANKER.search(name) and not _can_be_ranked(task)]
        missing[tuple(name for name in absent if name not in unable)].append(task)
        unscorable[tuple(unable)].append(task)
    for word, on in differing.items():
        yield Caveat(f"Evaluated under different {word}, so not compared: {_names_of(on)}.")
    for able, on in missing.items():
        if able:
            query = {"encoder": able, "task": on}
            few = on[0] if len(on) == 1 else f"{len(on)} tasks"
            link = Link(f"Evaluate {formats.listed(able)} on {few}", "evaluate", query)
            yield Caveat(f"No score for {formats.listed(able)} on {_names_of(on)}.", link)
    for unable, on in unscorable.items():
        if unable:
            yield Caveat(
                f"Without vectors, {formats.listed(unable)} can only order documents for a query: "
                f"no score is possible on {_names_of(on)}."
            )


def _names_of(on: Sequence[str]) -> str:
    """Tasks by name, with their number if there are several."""
    names = formats.listed(on, MAX_LISTED)
    return names if len(on) == 1 else f"{len(on)} tasks: {names}"


def _of_training(
    names: Sequence[str], cells: Cells, rows: Sequence[Row], tests: Mapping[str, TaskTests]
) -> Iterator[Caveat]:
    """Caveats on scores of trained classifiers that are of one protocol, or of one seed."""
    names = [name for name in names if not RANKER.search(name)]  # they have no such scores
    trained = dict.fromkeys(
        row["task"]
        for (_, task), row in cells.items()
        if task in tests
        and row["error"] is None
        and draws(task, row["protocol"])
        and scored_as(task, row["protocol"]) not in _LUCK_COUNTED
    )
    scored = [row for row in rows if row["task"] in trained and row["error"] is None]
    classified = [
        row for row in scored if scored_as(row["task"], row["protocol"]) in ("transfer", "probing")
    ]
    under = {row["protocol"] for row in classified}
    if len(under) == 1:
        on = [*dict.fromkeys(row["task"] for row in classified)]
        yield Caveat(
            f"One protocol trained all classifiers, {under.pop()}. With another "
            "classifier the order may change.",
            Link(
                "Evaluate with a hidden layer",
                "evaluate",
                {"encoder": names, "task": on, "protocol": "senteval-mlp"},
            ),
        )
    if scored and not spreads(scored):
        yield Caveat(
            "Every trained score is from a single seed. Its interval covers the choice of "
            "examples, not the randomness of training.",
            Link(
                "Evaluate five seeds",
                "evaluate",
                {"encoder": names, "task": [*trained], "seeds": "5"},
            ),
        )


@lru_cache(maxsize=4096)
def _can_be_ranked(task: str) -> bool:
    """Whether a ranker without vectors can be scored on a task; true of unknown tasks."""
    try:
        definition = tasks.get(task)
        return tasks.type_of(definition, protocols.get(definition.protocol)).ranked is not None
    except ValueError:
        return True


@lru_cache(maxsize=4096)
def draws(task: str, protocol: str) -> bool:
    """Whether a score depends on the seed of a training."""
    try:
        return len(tasks.seeds_of(task, protocol, None, 2)) > 1
    except ValueError:
        return False


def selected_by(row: Row) -> str:
    """What a regressor was selected by, if the score is of one; else empty."""
    metric = row["metric"] if scored_as(row["task"], row["protocol"]) == "relatedness" else None
    return f"learned, {METRICS.get(metric, metric)}" if metric else ""


@lru_cache(maxsize=4096)
def scored_as(task: str, protocol: str) -> str:
    """The task type by which a result was scored; empty if task or protocol is unknown."""
    try:
        return tasks.get(task).type_under(protocols.get(protocol).types) or ""
    except ValueError:
        return ""


@cache
def references() -> dict[str, papers.Published]:
    """Every published row by its key in addresses."""
    tables = {
        "all": papers.TABLE_MAIN,
        "wmean": papers.TABLE_B3,
        "transfer": papers.TABLE_E1,
        "transfer, InferSent": papers.TABLE_INFERSENT,
        **papers.FURTHER,
    }
    # Without commas, which stand between several.
    return {
        f"{row.model} / {row.training} / {kind}".replace(", ", " / "): row
        for kind, rows in tables.items()
        for row in rows
    }


def reference(key: str) -> papers.Published:
    """The published row of a key."""
    if key not in references():
        raise UserError(
            f"There is no published row {key[:60]!r}.",
            f"Available: {', '.join(list(references())[:3])} and others.",
            code="unknown",
        )
    return references()[key]


def published_cell(
    row: papers.Published, tasks: Sequence[str], under: Mapping[str, set[str]]
) -> Cell:
    """The score of a task, or the mean of several if all are published and can be averaged.

    Args:
        row: of a paper.
        tasks: their names.
        under: task -> the protocols of the results beside it; none other is comparable.
    """
    known = [row.scores[t] for t in tasks if t in row.scores and under[t] <= {*row.protocols}]
    whole = len(known) == len(tasks) and (len(tasks) == 1 or row.aggregation != "wmean")
    score = fmean(known) if whole else None
    return Cell(score, formats.score(score), kind="printed")


def published_caveats(
    rows: Sequence[papers.Published], under: Mapping[str, set[str]]
) -> Iterator[Caveat]:
    """Caveats against reading published scores as one's own."""
    if rows:
        yield Caveat(
            "Published rows are numbers from a paper. They have no examples, so no interval and no "
            "verdict; the text they were computed on may have been prepared in another way."
        )
    for row in rows:
        hidden = [t for t in under if t in row.scores and not under[t] <= {*row.protocols}]
        if hidden:
            how = "by plain cosine" if row.aggregation else "under protocol senteval"
            yield Caveat(
                f"{row.model}: {row.table} has {', '.join(hidden)} computed {how}; here it "
                "is computed otherwise, so the printed number is left out."
            )
    weighted = [row.model for row in rows if row.aggregation == "wmean"]
    if weighted and any(task.startswith("STS1") for task in under):
        yield Caveat(
            f"{', '.join(weighted)} from table B.3: STS12 to STS16 are weighted means over subsets "
            "there, and one correlation over all subsets here. Compare only STS-B and SICK-R."
        )
