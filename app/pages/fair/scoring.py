"""Points 2 to 4: the effect of normalisation, classifier and similarity on the ranking.

Pitfalls, sections 3.2 (similarity, table 2), 3.3 (normalisation) and 3.4 (classifier).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from theodolite.app import formats
from theodolite.app.pages.fair.evidence import Evidence, Row, Scores
from theodolite.app.pages.fair.points import (
    LOGISTIC,
    MLP,
    Dots,
    Exhibit,
    Point,
    Verdict,
    few,
    mean_of,
    missing_runs,
    over,
    ranks,
    swaps,
)
from theodolite.engine.stats.agreement import agreement, means, shared
from theodolite.engine.tasks import PROBING, SEVEN, STARTER, TRANSFER

SIMILARITIES = {
    "cosine, Pearson": "pearson",
    "cosine, Spearman": "spearman",
    "z-normalised cosine, Pearson": "znorm_pearson",
    "z-normalised cosine, Spearman": "znorm_spearman",
    "learned, Pearson": "learned_pearson",
    "learned, Spearman": "learned_spearman",
    "learned, squared error": "learned_mse",
}
CENTRED = (
    "Whether each dimension is centred and scaled before the classifier can decide which "
    "encoder wins."
)
ALONE = "Logistic regression alone may not be what a user would train."


def trained_tasks(evidence: Evidence) -> list[str]:
    """Tasks that train a classifier: transfer tasks, or probing tasks if there are none."""
    transfer = evidence.of_type("transfer", TRANSFER, (LOGISTIC, MLP))
    return transfer or evidence.of_type("probing", PROBING, (LOGISTIC, MLP))


def similarity_tasks(evidence: Evidence) -> list[str]:
    """Scored pairs: the available ones of SimCSE's seven, else the starter set's."""
    found = evidence.of_type("sts", SEVEN, (LOGISTIC,))
    return found or evidence.of_type("sts", STARTER, (LOGISTIC,))


def normalisation(evidence: Evidence) -> Point:
    """Plain against z-normalised vectors, and the effect of tuning the choice."""
    key, title = "normalisation", "Normalisation"
    tasks = trained_tasks(evidence)
    if not tasks:
        return Point(key, title, "missing", (CENTRED, evidence.lacking("transfer")))

    def test(row: Row, aggregation: str) -> float | None:
        return evidence.part(row, row["metric"], aggregation)

    plain = evidence.numbers(tasks, LOGISTIC, lambda row: test(row, "plain"))
    normed = evidence.numbers(tasks, LOGISTIC, lambda row: test(row, "z-normalised"))
    tuned = evidence.scores(tasks, LOGISTIC)
    runs = missing_runs(evidence.encoders, tasks, tuned, LOGISTIC)
    names, common = shared(plain, normed)
    if not names:
        return Point(
            key, title, "missing", (CENTRED, "It was not evaluated with and without."), runs
        )
    old, new, best = (means(scores, names, common) for scores in (plain, normed, tuned))
    rows = _normed_rows(evidence, tasks, plain, normed, tuned)
    words = (_moves(old, new, common), _chosen(rows), _tuned(old, best))
    exhibit = Exhibit(
        "theodolite-normalisation",
        f"Accuracy with plain and with z-normalised vectors {over(common)}.",
        Dots((("plain", old), ("z-normalised", new)), mean_of(common)),
        ("task", "encoder", "plain", "z-normalised", "difference", "tuned", "chosen by dev"),
        tuple(rows),
    )
    verdict: Verdict = "look" if agreement(old, best).swapped else "fine"
    return Point(key, title, verdict, words, runs, exhibits=(exhibit,))


def _normed_rows(
    evidence: Evidence, tasks: Sequence[str], plain: Scores, normed: Scores, tuned: Scores
) -> list[tuple[Any, ...]]:
    rows = []
    for task in tasks:
        for name in evidence.encoders:
            if task in plain[name] and task in normed[name]:
                row = evidence.rows[LOGISTIC, task, name]
                chosen = evidence.full[row["id"]]["details"].get("znorm")
                text = "not recorded" if chosen is None else "z-normalised" if chosen else "plain"
                a, b = plain[name][task], normed[name][task]
                rows.append((task, name, a, b, b - a, tuned[name].get(task), text))
    return rows


def _moves(old: Mapping[str, float], new: Mapping[str, float], common: Sequence[str]) -> str:
    moved = {name: new[name] - old[name] for name in old}
    low, high = min(moved, key=lambda n: moved[n]), max(moved, key=lambda n: moved[n])
    if low == high:
        return f"z-normalisation moves {low} by {formats.signed(moved[low])} points {over(common)}."
    return (
        f"z-normalisation moves the encoders by {formats.signed(moved[low])} ({low}) to "
        f"{formats.signed(moved[high])} points ({high}) {over(common)}."
    )


def _chosen(rows: Sequence[Sequence[Any]]) -> str:
    always: dict[str, list[bool]] = {}
    for row in rows:
        always.setdefault(row[1], []).append(row[-1] == "z-normalised")
    count = sum(row[-1] == "z-normalised" for row in rows)
    everywhere = [name for name, found in always.items() if all(found)]
    text = f"Tuned on dev, it is chosen in {count} of {formats.plural(len(rows), 'case')}"
    return f"{text}, always for {few(everywhere)}." if everywhere else f"{text}."


def _tuned(old: Mapping[str, float], best: Mapping[str, float]) -> str:
    order = agreement(old, best)
    if not order.swapped:
        return f"The tuned order is that of the plain vectors ({ranks(order)})."
    return f"Tuning changes the order: {swaps(order)} ({ranks(order)})."


def classifier(evidence: Evidence) -> Point:
    """Logistic regression against a classifier with a hidden layer."""
    key, title = "classifier", "Classifier"
    tasks = trained_tasks(evidence)
    if not tasks:
        return Point(key, title, "missing", (ALONE, evidence.lacking("transfer")))
    linear, hidden = (evidence.scores(tasks, protocol) for protocol in (LOGISTIC, MLP))
    runs = (
        *missing_runs(evidence.encoders, tasks, linear, LOGISTIC),
        *missing_runs(evidence.encoders, tasks, hidden, MLP),
    )
    names, common = shared(linear, hidden)
    if len(names) < 2:
        text = "No two encoders were evaluated with it and with a hidden layer on the same task."
        return Point(key, title, "missing", (ALONE, text), runs)
    old, new = (means(scores, names, common) for scores in (linear, hidden))
    order = agreement(old, new)
    by_task = _orders(tasks, linear, hidden)
    changed = [row[0] for row in by_task if row[-1]]
    words = [
        f"With a hidden layer instead of logistic regression the order of {order.n} encoders "
        + (
            f"changes {over(common)}: {swaps(order)}"
            if order.swapped
            else f"stays the same {over(common)}"
        )
        + f" ({ranks(order)})."
    ]
    if changed:
        words.append(
            f"On individual tasks it changes on {len(changed)} of {len(by_task)}: {few(changed)}."
        )
    exhibits = (_side_by_side(evidence, tasks, linear, hidden, old, new, common), _ranked(by_task))
    verdict: Verdict = "look" if order.swapped or changed else "fine"
    return Point(key, title, verdict, tuple(words), runs, exhibits=exhibits)


def _orders(
    tasks: Sequence[str], linear: Scores, hidden: Scores
) -> list[tuple[str, int, float, float, str]]:
    rows = []
    for task in tasks:
        first, second = (
            {name: found[task] for name, found in scores.items() if task in found}
            for scores in (linear, hidden)
        )
        order = agreement(first, second)
        if order.n > 1:
            rows.append(
                (
                    task,
                    order.n,
                    order.spearman,
                    order.kendall,
                    ", ".join(f"{b} overtakes {a}" for a, b in order.swapped),
                )
            )
    return rows


def _side_by_side(
    evidence: Evidence,
    tasks: Sequence[str],
    linear: Scores,
    hidden: Scores,
    old: Mapping[str, float],
    new: Mapping[str, float],
    common: Sequence[str],
) -> Exhibit:
    rows = tuple(
        (
            task,
            name,
            linear[name][task],
            hidden[name][task],
            hidden[name][task] - linear[name][task],
        )
        for task in tasks
        for name in evidence.encoders
        if task in linear[name] and task in hidden[name]
    )
    return Exhibit(
        "theodolite-classifier",
        f"Accuracy by logistic regression and by an MLP {over(common)}.",
        Dots((("logistic regression", old), ("MLP", new)), mean_of(common)),
        ("task", "encoder", "logistic regression", "MLP", "difference"),
        rows,
    )


def _ranked(by_task: Sequence[tuple[str, int, float, float, str]]) -> Exhibit:
    known = [row for row in by_task if row[2] == row[2]]
    return Exhibit(
        "theodolite-classifier-orders",
        "Rank correlation between the two orders of encoders, task by task.",
        Dots(
            (
                ("Spearman", {row[0]: row[2] for row in known}),
                ("Kendall", {row[0]: row[3] for row in known}),
            ),
            "rank correlation of the two orders",
            limits=(-1.0, 1.0),
        ),
        ("task", "encoders", "Spearman", "Kendall", "pairs that swap"),
        tuple((*row[:2], *(v if v == v else None for v in row[2:4]), row[4]) for row in by_task),
    )


def similarity(evidence: Evidence) -> Point:
    """Cosine with and without z-normalisation, two correlations, and a learned similarity."""
    key, title = "similarity", "Similarity"
    tasks = similarity_tasks(evidence)
    if not tasks:
        return Point(key, title, "missing", (evidence.lacking("similarity"),))
    columns = {
        label: evidence.numbers(tasks, LOGISTIC, partial(_similar, evidence, metric))
        for label, metric in SIMILARITIES.items()
    }
    runs = missing_runs(evidence.encoders, tasks, evidence.scores(tasks, LOGISTIC), LOGISTIC)
    plain, normed = columns["cosine, Spearman"], columns["z-normalised cosine, Spearman"]
    names, common = shared(plain, normed)
    if not names:
        text = (
            "Cosine favours vectors that happen to be centred. It was not evaluated with and "
            "without z-normalisation, nor beside a learned similarity."
        )
        return Point(key, title, "missing", (text,), runs)
    words, changed = _similar_words(columns, names, common)
    rows = tuple(
        (task, name, *(column[name].get(task) for column in columns.values()))
        for task in tasks
        for name in evidence.encoders
        if any(task in column[name] for column in columns.values())
    )
    series = []
    for label in ("cosine, Spearman", "z-normalised cosine, Spearman", "learned, Spearman"):
        having = [n for n in names if all(task in columns[label][n] for task in common)]
        if having:
            series.append((label, means(columns[label], having, common)))
    exhibit = Exhibit(
        "theodolite-similarity",
        f"Spearman of three similarities with people's grades {over(common)}.",
        Dots(tuple(series), mean_of(common)),
        ("task", "encoder", *columns),
        rows,
    )
    verdict: Verdict = "look" if changed else "fine"
    return Point(key, title, verdict, words, runs, exhibits=(exhibit,))


def _similar(evidence: Evidence, metric: str, row: Row) -> float | None:
    """The number aggregated as the main score if there is one, else the plain one."""
    found = evidence.part(row, metric, row["aggregation"])
    return evidence.part(row, metric) if found is None else found


def _similar_words(
    columns: Mapping[str, Scores], names: Sequence[str], common: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    plain, normed = (
        means(columns[label], names, common)
        for label in ("cosine, Spearman", "z-normalised cosine, Spearman")
    )
    gap = [max(scores.values()) - min(scores.values()) for scores in (plain, normed)]
    words = [
        f"Between the best and the worst of {len(names)} encoders lie {formats.score(gap[0])} "
        f"points of Spearman {over(common)}, with z-normalised vectors {formats.score(gap[1])}."
    ]
    orders = {"z-normalisation": agreement(plain, normed)}
    for label, column in (
        ("Pearson instead of Spearman", "cosine, Pearson"),
        ("a learned similarity", "learned, Spearman"),
    ):
        both, tasks = shared(
            {name: columns["cosine, Spearman"][name] for name in names}, columns[column]
        )
        if len(both) > 1:
            orders[label] = agreement(
                means(columns["cosine, Spearman"], both, tasks), means(columns[column], both, tasks)
            )
    changed = {label: order for label, order in orders.items() if order.swapped}
    if changed:
        label, order = next(iter(changed.items()))
        words.append(f"The order changes with {few(changed)}: with {label} {swaps(order)}.")
    elif len(names) > 1:
        words.append(f"The order stays the same with {few(orders)}.")
    return tuple(words), bool(changed)
