"""How the ranking changes with settings that have nothing to do with the encoders.

The classifier, z-normalisation, the size of the vectors, the seed: the same encoders and tasks
under each, from the results in the store, with the missing ones listed for measurement. After
Eger, Rücklé, Gurevych 2019, sections 3 and 4.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from theodolite.app.formats import listed
from theodolite.app.pages.compare.cautions import Caution, evaluated_as, is_trained
from theodolite.app.workspace import Workspace
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.stats.agreement import Agreement
from theodolite.engine.stats.ranks import ranked
from theodolite.engine.tasks import TASKS, defaults

Row = Mapping[str, Any]
Scores = dict[str, dict[str, dict[str, float]]]
"""Condition -> encoder -> task -> points."""

KINDS = {
    "classifier": "Classifier",
    "normalisation": "Normalisation",
    "size": "Size",
    "seed": "Seed",
}
CLASSIFIERS = (
    "senteval",
    "senteval-exact",
    "senteval-mlp",
    "senteval-fast",
    "senteval-sklearn",
    "pitfalls",
    "pitfalls-mlp",
)
AS_IT_IS = "as they are"
FEW = 4
"""Most names listed individually."""
_METHODS = {"pca": "PCA", "random": "projection"}


@dataclass(frozen=True)
class Swap:
    """Two encoders that swap ranks: `ahead` leads under `first`, `behind` under `second`."""

    ahead: str
    behind: str
    task: str
    first: str
    second: str


@dataclass(frozen=True, eq=False)
class Stability:
    """One set of encoders and tasks under several conditions.

    Attributes:
        kind: what the conditions are, a key of KINDS.
        encoders: encoders with results under every condition, in the requested order.
        tasks: tasks with results under every condition for all of these encoders.
        means: condition -> encoder -> mean over the tasks.
        ranks: condition -> encoder -> rank by it, from 1.
        agreements: (condition, condition) -> how far the two orders agree.
        swaps: pairs that swap ranks on a task between two conditions.
        missing: results missing from the store, and where to compute them.
    """

    kind: str
    encoders: tuple[str, ...]
    tasks: tuple[str, ...]
    means: Mapping[str, Mapping[str, float]]
    ranks: Mapping[str, Mapping[str, int]]
    agreements: Mapping[tuple[str, str], Agreement]
    swaps: tuple[Swap, ...]
    missing: tuple[Caution, ...]


def stability(
    workspace: Workspace,
    kind: str,
    encoders: Sequence[str],
    tasks: Sequence[str],
    protocol: str | None = None,
) -> Stability:
    """Rank the encoders under every condition of a kind with results in the store.

    Args:
        workspace: its store holds the results.
        kind: a key of KINDS.
        encoders: names.
        tasks: names.
        protocol: for all tasks, unless the conditions are protocols; None for each task's own.
    """
    scores = {
        "classifier": _by_classifier,
        "normalisation": _by_normalisation,
        "size": _by_size,
        "seed": _by_seed,
    }[kind](workspace, encoders, tasks, protocol)
    missing = tuple(_missing(kind, scores, encoders, tasks, protocol))
    return _compared(kind, *_shared(scores, encoders, tasks), missing)


def _compared(
    kind: str,
    scores: Scores,
    names: Sequence[str],
    tasks: Sequence[str],
    missing: tuple[Caution, ...],
) -> Stability:
    from theodolite.engine.stats.agreement import agreement, means

    averages = {condition: means(found, names, tasks) for condition, found in scores.items()}
    pairs = list(combinations(scores, 2))
    swaps = [
        Swap(ahead, behind, task, a, b)
        for a, b in pairs
        for task in tasks
        for ahead, behind in agreement(
            {name: scores[a][name][task] for name in names},
            {name: scores[b][name][task] for name in names},
        ).swapped
    ]
    return Stability(
        kind,
        tuple(names),
        tuple(tasks),
        averages,
        {condition: ranked(found) for condition, found in averages.items()},
        {(a, b): agreement(averages[a], averages[b]) for a, b in pairs},
        tuple(swaps),
        missing,
    )


def _shared(
    scores: Scores, encoders: Sequence[str], tasks: Sequence[str]
) -> tuple[Scores, list[str], list[str]]:
    """Keep the conditions, encoders and tasks that are complete; empty if no two conditions are.

    The two conditions with the most results decide which encoders take part. While no task is
    shared by all, the condition with the fewest results is dropped.
    """

    def size(condition: str) -> int:
        return sum(len(found) for found in scores[condition].values())

    def has(condition: str, name: str, task: str) -> bool:
        return task in scores[condition].get(name, ())

    best = sorted(scores, key=size, reverse=True)[:2]
    names = [n for n in encoders if any(all(has(c, n, task) for c in best) for task in tasks)]
    kept = list(scores)
    while len(kept) > 1 and len(names) > 1:
        common = [t for t in tasks if all(has(c, n, t) for c in kept for n in names)]
        if common:
            return {condition: scores[condition] for condition in kept}, names, common
        kept.remove(min(reversed(kept), key=size))
    return {}, [], []


def _put(scores: Scores, condition: str, name: str, task: str, score: float) -> None:
    scores.setdefault(condition, {}).setdefault(name, {})[task] = score


def _good(rows: Sequence[Row]) -> list[Row]:
    """Rows with a score; those of the protocol's own seed last, so that they take precedence."""
    seeds = {name: protocol.seed for name, protocol in PROTOCOLS.items()}
    scored = [row for row in rows if row["error"] is None and row["score"] == row["score"]]
    return sorted(scored, key=lambda row: row["seed"] == seeds.get(row["protocol"]))


def _under(row: Row, protocol: str | None) -> bool:
    """Whether a row is of the given protocol, or of its task's own if None."""
    return row["protocol"] in (defaults(row["task"]) if protocol is None else (protocol,))


def _by_classifier(
    workspace: Workspace, encoders: Sequence[str], tasks: Sequence[str], _: str | None
) -> Scores:
    rows = workspace.store.results.table(encoders=encoders, tasks=tasks, protocols=CLASSIFIERS)
    scores: Scores = {}
    for row in sorted(_good(rows), key=lambda row: CLASSIFIERS.index(row["protocol"])):
        if evaluated_as(row) in ("transfer", "probing"):
            _put(scores, row["protocol"], row["encoder"], row["task"], row["score"])
    return scores


def _by_normalisation(
    workspace: Workspace, encoders: Sequence[str], tasks: Sequence[str], protocol: str | None
) -> Scores:
    wanted = protocol if protocol in ("pitfalls", "pitfalls-mlp") else "pitfalls"
    rows = _good(workspace.store.results.table(encoders=encoders, tasks=tasks, protocols=[wanted]))
    numbers = workspace.store.results.in_full([row["id"] for row in rows])
    scores: Scores = {}
    for row in rows:
        for condition, score in _either_way(numbers[row["id"]]["scores"]):
            _put(scores, condition, row["encoder"], row["task"], score)
    return scores


def _either_way(numbers: Sequence[Row]) -> list[tuple[str, float]]:
    """A result's main score without and with z-normalisation; empty unless it has both."""
    main = next((number for number in numbers if number["main"]), None)
    if main is None:
        return []
    metric, where = main["metric"], main["aggregation"]
    found: dict[tuple[str, str | None], float] = {
        (number["metric"], number["aggregation"]): number["score"]
        for number in numbers
        if number["split"] == main["split"]
    }
    plain = found.get((metric, "plain"), found[metric, where])
    other = found.get((metric, "z-normalised"), found.get((f"znorm_{metric}", where)))
    return [] if other is None else [("plain", plain), ("z-normalised", other)]


def _by_size(
    workspace: Workspace, encoders: Sequence[str], tasks: Sequence[str], protocol: str | None
) -> Scores:
    found: dict[tuple[str, int, str], list[tuple[str, str, float]]] = {}
    for row in _good(workspace.store.results.table(tasks=tasks)):
        if not _under(row, protocol):
            continue
        name, _, step = row["encoder"].rpartition(" | dims:")
        size = re.match(r"(\d+)(?:,(\w+))?", step) if name else None
        if size is not None and name in encoders:
            method = _METHODS.get(size[2] or "", "first")
            key = (method, int(size[1]), f"{size[1]}, {method}")
        elif row["encoder"] in encoders:
            name, key = row["encoder"], ("", 0, AS_IT_IS)
        else:
            continue
        found.setdefault(key, []).append((name, row["task"], row["score"]))
    scores: Scores = {}
    for key in sorted(found):
        for name, task, score in found[key]:
            _put(scores, key[2], name, task, score)
    return scores


def _by_seed(
    workspace: Workspace, encoders: Sequence[str], tasks: Sequence[str], protocol: str | None
) -> Scores:
    rows = _good(workspace.store.results.table(encoders=encoders, tasks=tasks))
    scores: Scores = {}
    for row in sorted(rows, key=lambda row: row["seed"]):
        if _under(row, protocol) and is_trained(row):
            _put(scores, f"seed {row['seed']}", row["encoder"], row["task"], row["score"])
    return scores


def _missing(
    kind: str,
    scores: Scores,
    encoders: Sequence[str],
    tasks: Sequence[str],
    protocol: str | None,
) -> list[Caution]:
    """The measurements needed for all encoders to be compared."""
    learned = [t for t in tasks if t in TASKS and TASKS[t].type in ("transfer", "probing")]
    if kind == "size":
        return (
            []
            if len(scores) > 1
            else [
                Caution(
                    "No size study of these encoders is in the store.",
                    "Study sizes",
                    "fair-play",
                    {"encoder": encoders},
                )
            ]
        )
    if kind == "seed":
        drawn = [t for t in tasks if t not in TASKS or TASKS[t].type not in ("sts", "search")]
        state = {"encoder": encoders, "task": drawn, "seeds": "5"} | (
            {"protocol": protocol} if protocol else {}
        )
        if not drawn:
            return [Caution("Nothing is drawn at random on these tasks: any seed gives the same.")]
        return (
            []
            if len(scores) > 1
            else [
                Caution("There is a single seed of each score.", "Evaluate five", "evaluate", state)
            ]
        )
    if kind == "normalisation":
        wanted = {"z-normalised": "pitfalls"}
        able = [t for t in tasks if t in TASKS and TASKS[t].type in ("transfer", "probing", "sts")]
    else:
        wanted = {"senteval": "senteval", "senteval-mlp": "senteval-mlp"}
        able = learned
    if not able:
        return [
            Caution("No classifier is trained on these tasks: choose transfer or probing ones.")
        ]
    return [
        gap
        for condition, name in wanted.items()
        for gap in _gaps(scores.get(condition, {}), encoders, able, name)
    ]


def _gaps(
    found: Mapping[str, Mapping[str, float]],
    encoders: Sequence[str],
    tasks: Sequence[str],
    protocol: str,
) -> list[Caution]:
    lacking = {n: [t for t in tasks if t not in found.get(n, ())] for n in encoders}
    who = [name for name in encoders if lacking[name]]
    what = [task for task in tasks if any(task in lacking[name] for name in who)]
    if not who:
        return []
    return [
        Caution(
            f"Under {protocol}, {listed(what, FEW)} {'is' if len(what) == 1 else 'are'} not "
            f"evaluated for {'any of them' if len(who) == len(encoders) else listed(who, FEW)}.",
            "Evaluate",
            "evaluate",
            {"encoder": who, "task": what, "protocol": protocol},
        )
    ]


def sentences(found: Stability, ties: Mapping[str, Mapping[str, str]], most: int = 6) -> list[str]:
    """The findings of the chart in words."""
    if not found.ranks:
        return []
    what, lines = KINDS[found.kind].lower(), _mean_swaps(found)
    swapped: dict[frozenset[str], dict[str, Swap]] = {}
    for swap in found.swaps:
        swapped.setdefault(frozenset((swap.ahead, swap.behind)), {}).setdefault(swap.task, swap)
    if not swapped:
        number = f"any of these {len(found.tasks)} tasks"
        where = number if len(found.tasks) > 1 else found.tasks[0]
        return [*lines, f"No two encoders swap ranks with the {what} on {where}."]
    for tasks in sorted(swapped.values(), key=lambda tasks: -len(tasks))[:most]:
        swap = next(iter(tasks.values()))
        text = (
            f"The order of {swap.ahead} and {swap.behind} turns with the {what} on "
            f"{listed(tasks, FEW)}: {swap.ahead} leads under {swap.first}, {swap.behind} under "
            f"{swap.second}"
        )
        letters = [ties.get(task, {}) for task in tasks]
        tied = [
            t.get(swap.ahead) is not None and t.get(swap.ahead) == t.get(swap.behind)
            for t in letters
        ]
        lines.append(text + (", and they tie there anyway." if all(tied) else "."))
    if len(swapped) > most:
        lines.append(f"So do {len(swapped) - most} more pairs: see the numbers.")
    return lines


def _mean_swaps(found: Stability) -> list[str]:
    """The pairs whose means swap ranks, if the means are over more than one task."""
    pairs: dict[tuple[str, str], tuple[str, str]] = {}
    for conditions, agreement in found.agreements.items():
        for pair in agreement.swapped:
            pairs.setdefault(pair, conditions)
    if not pairs or len(found.tasks) < 2:
        return []
    lines = [
        f"{a} leads {b} under {first} and trails under {second}"
        for (a, b), (first, second) in list(pairs.items())[:3]
    ]
    return [f"By the mean over {len(found.tasks)} tasks, {'; '.join(lines)}."]
