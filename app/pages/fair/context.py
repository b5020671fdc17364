"""Points 5 to 7: baselines, transfer against probing, seeds.

Pitfalls, sections 3.1 and 4 (figure 3); on seeds Reimers and Gurevych 2017, whom it follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from theodolite.app import formats
from theodolite.app.pages.fair import size
from theodolite.app.pages.fair.evidence import Evidence, Scores
from theodolite.app.pages.fair.points import (
    CLASSIFIERS,
    LOGISTIC,
    MLP,
    Dots,
    Exhibit,
    Grid,
    MissingRuns,
    Point,
    Verdict,
    few,
    mean_of,
    missing_runs,
    over,
)
from theodolite.engine.encoders.variants import baseline
from theodolite.engine.stats.agreement import (
    MIN_ENCODERS,
    LeaveOneOut,
    complete,
    correlations,
    means,
    overlapping,
    shared,
)
from theodolite.engine.stats.spread import Spread, spreads
from theodolite.engine.tasks import PROBING, STARTER, TRANSFER

BASELINES = {"random": "random:256", "bag-of-words": "wordllama"}
"""Kind -> the encoder to add if none of this kind is present."""
SEEDS = 5
TESTED = "Compare tests whether a difference could be due to the choice of examples."


def baselines(evidence: Evidence) -> Point:
    """Whether random vectors and a bag of words are present, and below the other encoders."""
    key, title = "baselines", "Baselines"
    kinds = {name: baseline(name) for name in evidence.encoders}
    add = tuple(spec for kind, spec in BASELINES.items() if kind not in kinds.values())
    simple = [name for name, kind in kinds.items() if kind]
    tasks = size.tasks(evidence)
    scores = evidence.scores(tasks)
    runs = missing_runs(simple, tasks, scores, None)
    words, verdict, exhibits = _beaten(evidence, kinds, scores)
    if add:
        absent = " and no ".join(kind for kind in BASELINES if BASELINES[kind] in add)
        text = f"There is no {absent} encoder, so nothing shows what shared words alone achieve."
        return Point(key, title, "missing", (text, *words), runs, add, exhibits)
    there = f"{few(simple)} {'is' if len(simple) == 1 else 'are'} among them."
    return Point(key, title, verdict, (there, *words), runs, exhibits=exhibits)


def _beaten(
    evidence: Evidence, kinds: Mapping[str, str], scores: Scores
) -> tuple[tuple[str, ...], Verdict, tuple[Exhibit, ...]]:
    """How far the other encoders are above the best baseline, on tasks that all share."""
    names, common = shared(scores, scores)
    mean = means(scores, names, common)
    floor = {name: score for name, score in mean.items() if kinds[name]}
    others = {name: score for name, score in mean.items() if not kinds[name]}
    if not floor or not others:
        absent = "No baseline shares a task with the others yet."
        only = "All evaluated encoders are baselines."
        text = absent if others or not floor else only
        return (text,), "missing", ()
    best = max(floor, key=lambda name: floor[name])
    below = [name for name, score in others.items() if score <= floor[best]]
    margin = min(others.values()) - floor[best]
    if below:
        below_text = (
            f"{few(below)} {'does' if len(below) == 1 else 'do'} not reach {best} {over(common)}"
        )
        words = f"{below_text} ({formats.signed(margin)} points)."
    else:
        words = (
            f"All others are above {best}, the best baseline, {over(common)}, by "
            f"{formats.score(margin)} points or more."
        )
    groups = {"baselines": floor, "other encoders": others}
    rows = tuple(
        (
            task,
            name,
            kinds[name] or "other",
            scores[name][task],
            scores[name][task] - max(scores[n][task] for n in floor),
        )
        for task in common
        for name in names
    )
    exhibit = Exhibit(
        "theodolite-baselines",
        f"Scores of baselines and of the other encoders {over(common)}.",
        Dots(tuple(groups.items()), mean_of(common)),
        ("task", "encoder", "kind", "score", "above the best baseline"),
        rows,
    )
    return (words,), "look" if below else "fine", (exhibit,)


def relations(evidence: Evidence, protocol: str = LOGISTIC) -> Point:
    """Correlations of probing with transfer tasks, and their stability."""
    key, title = "transfer-probing", "Transfer and probing"
    transfer = evidence.of_type("transfer", TRANSFER, (LOGISTIC, MLP))
    probing = evidence.of_type("probing", PROBING, (LOGISTIC, MLP))
    if not transfer or not probing:
        lacking = "transfer" if not transfer else "probing"
        text = (
            "Which properties of a sentence help which application is inferred from "
            "correlations between probing and transfer tasks, which need many encoders."
        )
        return Point(key, title, "missing", (text, evidence.lacking(lacking)))
    count = len(evidence.encoders)
    if count < MIN_ENCODERS:
        text = (
            f"A correlation over {formats.plural(count, 'encoder')} means nothing, so none is "
            f"shown. Choose at least {MIN_ENCODERS}."
        )
        return Point(key, title, "missing", (text,))
    tasks = [*transfer, *probing]
    scores = {name: evidence.scores(tasks, name) for name in CLASSIFIERS}
    runs = [
        run
        for name in CLASSIFIERS
        for run in missing_runs(evidence.encoders, tasks, scores[name], name)
    ]
    tables = {name: _table(scores[name], transfer, probing) for name in CLASSIFIERS}
    if not any(tables.values()):
        most = max(_having_all(found, tasks) for found in scores.values())
        text = (
            f"{formats.plural(most, 'encoder')} of {count} {'has' if most == 1 else 'have'} all of "
            f"{len(transfer)} transfer and {len(probing)} probing tasks. Below {MIN_ENCODERS} a "
            "correlation means nothing, so none is shown."
        )
        return Point(key, title, "missing", (text,), tuple(runs))
    cells = [cell for found in tables.values() for cell in found.values()]
    turning = sum(cell.turns for cell in cells)
    shown = protocol if tables[protocol] else next(name for name in tables if tables[name])
    words = (_firm(cells, turning), _strongest(tables[shown], shown))
    exhibit = _grid(shown, tables[shown])
    verdict: Verdict = "look" if turning else "fine"
    return Point(key, title, verdict, words, tuple(runs), (), (exhibit,))


def _having_all(scores: Scores, tasks: Sequence[str]) -> int:
    return sum(all(task in found for task in tasks) for found in scores.values())


def _table(
    scores: Scores, transfer: Sequence[str], probing: Sequence[str]
) -> dict[tuple[str, str], LeaveOneOut]:
    names, tasks = complete(scores, [*transfer, *probing])
    rows, columns = ([t for t in group if t in tasks] for group in (probing, transfer))
    if not rows or not columns:
        return {}
    return correlations({name: scores[name] for name in names}, columns, rows)


def _firm(cells: Sequence[LeaveOneOut], turning: int) -> str:
    count = {cell.n for cell in cells}
    n = f"{min(count)}" if len(count) == 1 else f"{min(count)} to {max(count)}"
    if turning:
        return (
            f"Over {n} encoders, {turning} of {formats.plural(len(cells), 'correlation')} "
            "change sign when a single encoder is left out: another choice of encoders would "
            "lead to another conclusion."
        )
    return (
        f"Over {n} encoders, none of {formats.plural(len(cells), 'correlation')} changes sign "
        "when a single encoder is left out."
    )


def _strongest(table: Mapping[tuple[str, str], LeaveOneOut], protocol: str) -> str:
    (task, probe), cell = max(table.items(), key=lambda item: abs(item[1].value))
    bounds = " to ".join(formats.score(bound) for bound in (cell.lowest, cell.highest))
    return (
        f"By {CLASSIFIERS[protocol]} the strongest is {task} with {probe}, "
        f"{formats.score(cell.value)} ({bounds} with one encoder left out)."
    )


def _grid(protocol: str, table: Mapping[tuple[str, str], LeaveOneOut]) -> Exhibit:
    columns = tuple(dict.fromkeys(task for task, _ in table))
    rows = tuple(dict.fromkeys(probe for _, probe in table))
    n = next(iter(table.values())).n
    return Exhibit(
        f"theodolite-transfer-probing-{protocol}",
        f"Spearman of transfer with probing tasks over {n} encoders, by "
        f"{CLASSIFIERS[protocol]}. A bordered cell changes sign when one encoder is left out.",
        Grid(rows, columns, table),
        (
            "classifier",
            "transfer",
            "probing",
            "encoders",
            "Spearman",
            "lowest",
            "without",
            "highest",
            "without it",
            "sign turns",
        ),
        tuple(
            (
                CLASSIFIERS[protocol],
                task,
                probe,
                cell.n,
                cell.value,
                cell.lowest,
                cell.without_lowest,
                cell.highest,
                cell.without_highest,
                "yes" if cell.turns else "no",
            )
            for (task, probe), cell in table.items()
        ),
    )


def seeds(evidence: Evidence) -> Point:
    """Whether differences exceed the variation between seeds."""
    key, title = "seeds", "Seeds and significance"
    groups: dict[tuple[str, str], dict[str, Spread]] = {}
    for (name, task, protocol), spread in spreads(evidence.seeds).items():
        groups.setdefault((task, protocol), {})[name] = spread
    groups = {where: found for where, found in groups.items() if len(found) > 1}
    runs = _seed_runs(evidence, {task for task, _ in groups})
    if not groups:
        text = (
            "Every score comes from a single seed, so its variation between seeds is unknown."
            if runs
            else "Nothing that was evaluated is random, so seeds have no effect."
        )
        return Point(key, title, "missing" if runs else "fine", (text,), runs, see=TESTED)
    meeting = {
        where: overlapping({n: (s.lowest, s.highest) for n, s in found.items()})
        for where, found in groups.items()
    }
    pairs = sum(len(found) * (len(found) - 1) // 2 for found in groups.values())
    count = sum(map(len, meeting.values()))
    widest = max((s.highest - s.lowest, n, t) for (t, _), f in groups.items() for n, s in f.items())
    number = {spread.seeds for found in groups.values() for spread in found.values()}
    least = f"{min(number)}" if len(number) == 1 else f"{min(number)} to {max(number)}"
    lead = (
        f"With {least} seeds a score varies by up to {formats.score(widest[0])} points "
        f"({widest[1]} on {widest[2]})."
    )
    seeds_text = f"None of {formats.plural(pairs, 'difference')} is within that spread."
    if count:
        (task, _), found = next((where, found) for where, found in meeting.items() if found)
        seeds_text = (
            f"{count} of {formats.plural(pairs, 'difference')} {'is' if count == 1 else 'are'} "
            f"within that spread, such as {found[0][0]} and {found[0][1]} on {task}."
        )
    verdict: Verdict = "look" if count else "fine"
    return Point(
        key, title, verdict, (lead, seeds_text), runs, (), _spread_exhibits(groups), TESTED
    )


def _seed_runs(evidence: Evidence, done: set[str]) -> tuple[MissingRuns, ...]:
    """A run of all encoders with several seeds on tasks with randomness that lack them."""
    drawing = ("transfer", "probing", "classification", "relatedness")
    evaluated = {
        t for p, t, n in evidence.rows if n in evidence.encoders and p == evidence.tasks[t].protocol
    }
    names = evidence.chosen or [
        name for name in evidence.tasks if name in evaluated or name in (*STARTER, *TRANSFER)
    ]
    tasks = tuple(
        name
        for name in names
        if evidence.tasks[name].type in drawing
        and (evidence.chosen or evidence.tasks[name].type != "probing")
        and name not in done
        and (name in evidence.here or name in evaluated)
    )
    if not tasks:
        return ()
    there = sum(
        row["encoder"] in evidence.encoders
        and row["task"] in tasks
        and row["protocol"] == evidence.tasks[row["task"]].protocol
        for row in evidence.seeds
    )
    count = max(1, len(evidence.encoders) * len(tasks) * SEEDS - there)
    return (MissingRuns(evidence.encoders, tasks, None, count, seeds=SEEDS),)


def _spread_exhibits(
    groups: Mapping[tuple[str, str], Mapping[str, Spread]],
) -> tuple[Exhibit, ...]:
    """The task with the most encoders as a chart, all tasks as a table."""
    task, protocol = max(groups, key=lambda where: len(groups[where]))
    drawn = groups[task, protocol]
    rows: tuple[tuple[Any, ...], ...] = tuple(
        (where[0], where[1], name, s.seeds, s.mean, s.deviation, s.lowest, s.highest)
        for where, found in groups.items()
        for name, s in found.items()
    )
    return (
        Exhibit(
            "theodolite-seeds",
            f"Mean, lowest and highest score over seeds on {task} ({protocol}).",
            Dots(
                (("mean over seeds", {name: s.mean for name, s in drawn.items()}),),
                f"score on {task}",
                {name: (s.lowest, s.highest) for name, s in drawn.items()},
            ),
            ("task", "protocol", "encoder", "seeds", "mean", "deviation", "lowest", "highest"),
            rows,
        ),
    )
