"""Seven ways in which comparisons of encoders mislead, each checked on stored results.

After Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings, sections 3.1
(size, baselines), 3.2 (similarity, table 2), 3.3 (normalisation), 3.4 (classifier) and 4 (transfer
against probing, figure 3); on seeds Reimers and Gurevych 2017, whom it follows.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from theodolite.app import formats
from theodolite.app.blocks import Chart, Table
from theodolite.app.pages.compare import figures
from theodolite.app.pages.compare.evidence import (
    CLASSIFIERS,
    LOGISTIC,
    PROJECTIONS,
    Check,
    Evidence,
    MissingRun,
)
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.engine.encoders.variants import at_size, baseline, ladder
from theodolite.engine.stats.agreement import (
    MIN_ENCODERS,
    Scores,
    agreement,
    complete,
    correlations,
    means,
    overlapping,
    shared,
)
from theodolite.engine.stats.spread import Spread, spreads
from theodolite.engine.tasks import PROBING, SEVEN, STARTER, TRANSFER

OTHER_CLASSIFIERS = (
    "senteval",
    "senteval-exact",
    "senteval-mlp",
    "senteval-fast",
    "senteval-sklearn",
    *CLASSIFIERS,
)
"""Protocols that differ in what classifies."""
SIMILARITIES = {
    "cosine, Pearson": "pearson",
    "cosine, Spearman": "spearman",
    "z-normalised cosine, Pearson": "znorm_pearson",
    "z-normalised cosine, Spearman": "znorm_spearman",
    "learned, Pearson": "learned_pearson",
    "learned, Spearman": "learned_spearman",
}
BASELINES = {"random": "random:256", "bag-of-words": "wordllama"}
"""Kind -> the encoder to add if none of this kind is present."""
SEEDS = 5
FEW = 3
MAX_PAIRS = 6
"""Most pairs whose swaps of ranks are told; of more, the number."""
NARROW = 40
"""Longer names of encoders are shortened in sentences; the evidence has them in full."""


def over(tasks: Sequence[str]) -> str:
    """`on MR`, `on average over 7 tasks`."""
    return f"on {tasks[0]}" if len(tasks) == 1 else f"on average over {len(tasks)} tasks"


def contrast(
    what: str,
    conditions: Mapping[str, Scores],
    also: Mapping[str, Mapping[Any, Any]] | None = None,
    lead: Sequence[str] = (),
    runs: Sequence[MissingRun] = (),
) -> Check:
    """Compare the order of the encoders between each two conditions, task by task and on average.

    The conditions have nothing to do with the encoders, so the comparison misleads if an order
    turns with them. Nothing is known where no two encoders have two conditions in common.

    Args:
        what: what the conditions differ in.
        conditions: name -> scores.
        also: further columns of the table of scores: name -> (encoder, task) -> value.
        lead: sentences before those on the pairs whose order turns, the most frequent first.
        runs: would compute missing results.
    """
    orders, swaps = [], dict[frozenset[str], dict[str, tuple[str, str, str, str]]]()
    for a, b in combinations(conditions, 2):
        names, tasks = shared(conditions[a], conditions[b])
        sides = [{name: conditions[c][name] for name in names} for c in (a, b)]
        places = {task: [{n: s[n][task] for n in names} for s in sides] for task in tasks}
        if len(tasks) > 1:
            places[f"the average of {len(tasks)} tasks"] = [means(s, names, tasks) for s in sides]
        for place, (first, second) in places.items() if len(names) > 1 else ():
            order = agreement(first, second)
            pairs = [f"{behind} overtakes {ahead}" for ahead, behind in order.swapped]
            known = (None if math.isnan(rho) else rho for rho in (order.spearman, order.kendall))
            orders.append((a, b, place, order.n, *known, formats.listed(pairs, MAX_PAIRS)))
            for ahead, behind in order.swapped:
                where = swaps.setdefault(frozenset((ahead, behind)), {})
                where.setdefault(place, (ahead, a, behind, b))
    if not orders:
        return Check(lead, None, runs)
    full = sorted(conditions, key=lambda c: -sum(map(len, conditions[c].values())))
    names, tasks = shared(*(conditions[c] for c in full[:2]))
    curves = {
        condition: means(scores, names, tasks)
        for condition, scores in conditions.items()
        if all(task in scores.get(name, ()) for name in names for task in tasks)
    }
    scores_of = {name: [mean[name] for mean in curves.values()] for name in names}
    moves = {name: max(of) - min(of) for name, of in scores_of.items()}
    most = max(moves, key=moves.__getitem__)
    words = [
        *lead,
        f"The {what} moves the score {over(tasks)} by up to {formats.score(moves[most])} points "
        f"({formats.shorten(most, NARROW)}).",
    ]
    for where in sorted(swaps.values(), key=lambda where: -len(where))[:MAX_PAIRS]:
        ahead, a, behind, b = next(iter(where.values()))
        words.append(
            f"The order of {formats.shorten(ahead, NARROW)} and {formats.shorten(behind, NARROW)} "
            f"changes with it on {formats.listed(where, FEW)}: the first leads under {a}, the "
            f"second under {b}."
        )
    if len(swaps) > MAX_PAIRS:
        words.append(f"{len(swaps) - MAX_PAIRS} more pairs change, too: see the evidence.")
    if not swaps:
        words.append("No two encoders change their order with it.")
    more = also or {}
    chart = Chart(
        figures.slopes(curves, f"score {over(tasks)}"),
        f"Scores of {len(names)} encoders by {what} {over(tasks)}. Crossing lines are encoders "
        "that swap ranks.",
        name=f"theodolite-{what}",
        columns=("task", "encoder", *conditions, *more),
        rows=[
            (
                *(task, name),
                *(scores.get(name, {}).get(task) for scores in conditions.values()),
                *(column.get((name, task)) for column in more.values()),
            )
            for task in dict.fromkeys(
                t for s in conditions.values() for of in s.values() for t in of
            )
            for name in dict.fromkeys(name for scores in conditions.values() for name in scores)
            if sum(task in scores.get(name, ()) for scores in conditions.values()) > 1
        ],
    )
    heads = ("first", "second", "on", "encoders", "Spearman", "Kendall", "pairs that swap")
    table = Table(
        f"theodolite-{what}-orders",
        heads,
        orders,
        shown=10,
        note="How far each two agree on the order of the encoders, task by task.",
    )
    return Check(words, bool(swaps), runs, [chart, table])


def size(evidence: Evidence) -> Check:
    """The scores of the encoders at one size, and the curve of score against size."""
    dims, tasks = evidence.dims, evidence.own
    projection: Any = evidence.spec.projection
    if len(dims) < 2:
        return Check(["The size of fewer than two encoders is known: evaluate them first."])
    smallest, largest = min(dims.values()), max(dims.values())
    variants = {name: at_size(name, dims[name], smallest, projection) for name in dims}
    other = [variant for variant in variants.values() if variant not in dims]
    whole = evidence.scores(tasks, names=dims)
    reduced = evidence.scores(tasks, names=variants.values())
    both, _ = shared(whole, {name: reduced[variants[name]] for name in dims})
    lines, runs = _curve(evidence, variants.values() if evidence.curve in tasks else ())
    words = [f"All {len(dims)} encoders have {largest:,} dimensions."]
    if other:
        words = [
            f"The encoders have {smallest:,} to {largest:,} dimensions, and larger vectors tend to "
            "score higher for their size alone."
        ]
        runs = [
            *evidence.missing(tasks, encoders=dims),
            *evidence.missing(tasks, encoders=other, listed=False),
            *runs,
        ]
    if unknown := [name for name in evidence.encoders if name not in dims]:
        words.append(f"Not known before a first result: {formats.listed(unknown, FEW)}.")
    known = not other or (len(both) > 1 and any(variants[name] in other for name in both))
    if not known:
        words.append(
            f"None of the larger ones was evaluated at {smallest} dimensions by "
            f"{PROJECTIONS[projection]} yet, the largest size that all can have."
        )
    check = contrast("size", _sizes(evidence, tasks), None, words, runs)
    return replace(
        check, look=bool(check.look) if known else None, evidence=[*check.evidence, *lines]
    )


def _curve(evidence: Evidence, queued: Iterable[str]) -> tuple[list[Chart], list[MissingRun]]:
    """Score over dimensions, as in the paper's figure 1, and the runs it lacks but for `queued`."""
    task = evidence.curve
    if not task:
        return [], []
    projection: Any = evidence.spec.projection
    sizes = [
        (name, k, at_size(name, dim, k, projection))
        for name, dim in evidence.dims.items()
        for k in ladder(dim)
    ]
    scores = evidence.scores([task], names=[spec for _, _, spec in sizes])
    smaller = [spec for spec in scores if spec not in evidence.dims and spec not in queued]
    rows = [(name, k, scores[spec][task]) for name, k, spec in sizes if task in scores[spec]]
    points = Counter(name for name, _, _ in rows)
    rows = [row for row in rows if points[row[0]] > 1]
    chart = Chart(
        figures.curves(rows, f"score on {task}"),
        f"Score on {task} over the number of dimensions kept by {PROJECTIONS[projection]}.",
        name=f"theodolite-size-curve-{projection}",
        columns=("encoder", "dimensions", f"score on {task}"),
        rows=rows,
    )
    runs = evidence.missing([task], encoders=smaller, listed=False) if smaller else []
    return [chart] if rows else [], runs


def _sizes(evidence: Evidence, tasks: Sequence[str]) -> dict[str, Scores]:
    """Size -> scores of the encoders reduced to it, in the order of sizes."""
    specs: dict[tuple[str, int], dict[str, str]] = {("", 0): {name: name for name in evidence.dims}}
    for _, _, spec in evidence.rows:
        whole, _, step = spec.rpartition(" | ")
        if whole in evidence.dims and step.startswith("dims:"):
            number, *how = step.removeprefix("dims:").split(",")
            method = {"pca": "PCA", "random": "projection"}.get(how[0] if how else "", "first")
            specs.setdefault((method, int(number)), {})[whole] = spec
    scores = evidence.scores(tasks, names=[one for of in specs.values() for one in of.values()])
    return {
        f"{k}, {method}" if k else "full size": {
            name: scores[spec] for name, spec in specs[method, k].items()
        }
        for method, k in sorted(specs)
    }


def normalisation(evidence: Evidence) -> Check:
    """Plain against z-normalised vectors, and the effect of tuning the choice."""
    lead = (
        "Whether each dimension is centred and scaled before the classifier can decide which "
        "encoder wins."
    )
    tasks = evidence.trained
    if not tasks:
        return Check([lead, evidence.why_none("transfer")])
    tuned = evidence.scores(tasks, LOGISTIC)
    conditions = {
        "plain": evidence.part(tasks, "accuracy", "plain"),
        "z-normalised": evidence.part(tasks, "accuracy", "z-normalised"),
        "tuned": tuned,
    }
    settings = {
        (name, task): evidence.full[evidence.rows[LOGISTIC, task, name]["id"]]["details"].get(
            "znorm"
        )
        for name, of in conditions["z-normalised"].items()
        for task in of
    }
    tuning = (
        f"Tuned on dev, z-normalisation is chosen in {sum(map(bool, settings.values()))} of "
        f"{formats.plural(len(settings), 'case')}."
    )
    return contrast(
        "normalisation",
        conditions,
        {"z-normalised on dev": settings},
        [tuning if settings else lead],
        evidence.missing(tasks, LOGISTIC),
    )


def classifier(evidence: Evidence) -> Check:
    """Logistic regression against a classifier with a hidden layer, and against others."""
    every = [t for t, task in evidence.tasks.items() if task.type in ("transfer", "probing")]
    every = [task for task in evidence.chosen or every if task in every]
    runs = [run for name in CLASSIFIERS for run in evidence.missing(evidence.trained, name)]
    conditions = {name: evidence.scores(every, name) for name in OTHER_CLASSIFIERS}
    lead = ["Logistic regression alone may not be what a user would train."]
    check = contrast("classifier", conditions, None, lead, runs)
    if evidence.trained or check.evidence:
        return check
    return replace(check, words=[*lead, evidence.why_none("transfer")])


def similarity(evidence: Evidence) -> Check:
    """Cosine with and without z-normalisation, two correlations, and a learned similarity."""
    tasks = evidence.of_type("sts", SEVEN) or evidence.of_type("sts", STARTER)
    if not tasks:
        return Check([evidence.why_none("similarity")])
    lead = ["Cosine favours vectors that happen to be centred."]
    conditions = {label: evidence.part(tasks, metric) for label, metric in SIMILARITIES.items()}
    errors = evidence.part(tasks, "learned_mse")
    also = {(name, task): value for name, of in errors.items() for task, value in of.items()}
    runs = evidence.missing(tasks, LOGISTIC)
    return contrast("similarity", conditions, {"learned, squared error": also}, lead, runs)


def baselines(evidence: Evidence) -> Check:
    """Whether random vectors and a bag of words are present, and below the other encoders."""
    kinds: dict[str, str] = {name: baseline(name) for name in evidence.encoders}
    add = [spec for kind, spec in BASELINES.items() if kind not in kinds.values()]
    simple = [name for name, kind in kinds.items() if kind]
    scores = evidence.scores(evidence.own)
    runs = evidence.missing(evidence.own, encoders=simple) if simple else []
    lead = f"Baselines among them: {formats.listed(simple, FEW)}."
    if add:
        absent = " and no ".join(kind for kind, spec in BASELINES.items() if spec in add)
        lead = f"There is no {absent} encoder, so nothing shows what shared words alone achieve."
    names, tasks = shared(scores, scores)
    mean = means(scores, names, tasks)
    floor = {name: score for name, score in mean.items() if kinds[name]}
    others = {name: score for name, score in mean.items() if not kinds[name]}
    if not floor or not others:
        return Check(
            [lead, "No baseline shares a task with another encoder yet."], None, runs, (), add
        )
    best = max(floor, key=floor.__getitem__)
    below = [name for name, score in others.items() if score <= floor[best]]
    text = (
        f"At or below {best}, the best baseline, {over(tasks)}: "
        f"{formats.listed(below, FEW) or 'none of the others'}. The lowest of these is "
        f"{formats.signed(min(others.values()) - floor[best])} points from it."
    )
    tops = {task: max(scores[name][task] for name in floor) for task in tasks}
    chart = Chart(
        figures.dots((("baselines", floor), ("other encoders", others)), f"score {over(tasks)}"),
        f"Scores of baselines and of the other encoders {over(tasks)}.",
        name="theodolite-baselines",
        columns=("task", "encoder", "kind", "score", "above the best baseline"),
        rows=[
            (task, name, kinds[name] or "other", scores[name][task], scores[name][task] - top)
            for task, top in tops.items()
            for name in names
        ],
    )
    return Check([lead, text], None if add else bool(below), runs, [chart], add)


def relations(evidence: Evidence) -> Check:
    """Correlations of probing with transfer tasks, and their stability."""
    transfer = evidence.of_type("transfer", TRANSFER)
    probing = evidence.of_type("probing", PROBING)
    count, tasks = len(evidence.encoders), [*transfer, *probing]
    lead = (
        "Which properties of a sentence help which application is inferred from correlations "
        f"between probing and transfer tasks: over fewer than {MIN_ENCODERS} encoders they mean "
        "nothing, so none is shown."
    )
    if not transfer or not probing:
        return Check([lead, evidence.why_none("probing" if transfer else "transfer")])
    if count < MIN_ENCODERS:
        return Check([lead, f"Choose at least {MIN_ENCODERS}, not {count}."])
    scores = {name: evidence.scores(tasks, name) for name in CLASSIFIERS}
    runs = [run for name in CLASSIFIERS for run in evidence.missing(tasks, name)]
    tables = {}
    for name, of in scores.items():
        names, both = complete(of, tasks)
        sides = [[task for task in side if task in both] for side in (transfer, probing)]
        if all(sides):
            tables[name] = correlations({encoder: of[encoder] for encoder in names}, *sides)
    tables = {name: table for name, table in tables.items() if table}
    if not tables:
        most = max(sum(all(t in s for t in tasks) for s in of.values()) for of in scores.values())
        text = (
            f"Of {count} encoders {most} have all of {len(transfer)} transfer and {len(probing)} "
            "probing tasks."
        )
        return Check([lead, text], None, runs)
    cells = [cell for table in tables.values() for cell in table.values()]
    turning = sum(cell.turns for cell in cells)
    classifier = (
        evidence.spec.classifier if evidence.spec.classifier in tables else next(iter(tables))
    )
    by, table = CLASSIFIERS[classifier], tables[classifier]
    (task, probe), cell = max(table.items(), key=lambda item: abs(item[1].value))
    words = [
        f"Over {_span(cell.n for cell in cells)} encoders, {turning} of "
        f"{formats.plural(len(cells), 'correlation')} change sign when a single encoder is left "
        "out: for these, another choice of encoders would lead to another conclusion.",
        f"By {by} the strongest is {task} with {probe}, {formats.score(cell.value)} "
        f"({formats.score(cell.lowest)} to {formats.score(cell.highest)} with one encoder left "
        "out).",
    ]
    chart = Chart(
        figures.grid(table),
        f"Spearman of transfer with probing tasks over {cell.n} encoders, "
        f"by {by}. A bordered cell changes sign when one encoder is left out.",
        name=f"theodolite-transfer-probing-{classifier}",
        columns=(
            *("classifier", "transfer", "probing", "encoders", "Spearman"),
            *("lowest", "without", "highest", "without it", "sign turns"),
        ),
        rows=[
            (
                *(by, *pair, c.n, c.value, c.lowest, c.without_lowest, c.highest),
                *(c.without_highest, "yes" if c.turns else "no"),
            )
            for pair, c in table.items()
        ],
    )
    return Check(words, turning > 0, runs, [chart])


def _span(numbers: Iterable[int]) -> str:
    """`5`, `3 to 5`."""
    several = set(numbers)
    return " to ".join(map(str, sorted({min(several), max(several)})))


def seeds(evidence: Evidence) -> Check:
    """Whether differences exceed the variation between seeds."""
    tested = "Compare tests whether a difference could be due to the choice of examples."
    groups: dict[tuple[str, str], dict[str, Spread]] = {}
    for (name, task, protocol), spread in spreads(evidence.seeds).items():
        groups.setdefault((task, protocol), {})[name] = spread
    groups = {where: of for where, of in groups.items() if len(of) > 1}
    runs = _seed_runs(evidence, {task for task, _ in groups})
    if not groups:
        text = "Nothing that was evaluated is random, so seeds have no effect."
        if runs:
            text = "Every score comes from a single seed: its variation between seeds is unknown."
        return Check([text, tested], None if runs else False, runs)
    meeting = [
        (*pair, task)
        for (task, _), of in groups.items()
        for pair in overlapping({name: (s.lowest, s.highest) for name, s in of.items()})
    ]
    pairs = sum(math.comb(len(of), 2) for of in groups.values())
    number = _span(spread.seeds for of in groups.values() for spread in of.values())
    width, name, task = max(
        (s.highest - s.lowest, name, task)
        for (task, _), of in groups.items()
        for name, s in of.items()
    )
    text = f"Within that spread lie {len(meeting)} of {formats.plural(pairs, 'difference')}"
    if meeting:
        text += ", such as that of {} and {} on {}".format(*meeting[0])
    by_seed: dict[str, dict[str, dict[str, float]]] = {}
    for row in sorted(evidence.seeds, key=lambda row: row["seed"]):
        if row["protocol"] == evidence.tasks[row["task"]].protocol:
            scores = by_seed.setdefault(f"seed {row['seed']}", {})
            scores.setdefault(row["encoder"], {})[row["task"]] = row["score"]
    words = [
        f"With {number} seeds a score varies by up to {formats.score(width)} points ({name} on "
        f"{task}).",
        f"{text}.",
    ]
    check = contrast("seed", by_seed, None, words, runs)
    largest, protocol = max(groups, key=lambda where: len(groups[where]))
    group = groups[largest, protocol]
    chart = Chart(
        figures.dots(
            (("mean over seeds", {name: s.mean for name, s in group.items()}),),
            f"score on {largest}",
            {name: (s.lowest, s.highest) for name, s in group.items()},
        ),
        f"Mean, lowest and highest score over seeds on {largest} ({protocol}).",
        name="theodolite-seeds",
        columns=("task", "protocol", "encoder", "seeds", "mean", "deviation", "lowest", "highest"),
        rows=[
            (*where, name, s.seeds, s.mean, s.deviation, s.lowest, s.highest)
            for where, of in groups.items()
            for name, s in of.items()
        ],
    )
    return replace(
        check,
        words=[*check.words, tested],
        look=bool(meeting),
        evidence=[chart, *check.evidence],
    )


def _seed_runs(evidence: Evidence, done: set[str]) -> list[MissingRun]:
    """A run of all encoders with several seeds on tasks with randomness that lack them."""
    drawing_types = ("transfer", "probing", "classification", "relatedness")
    own = {name: task.protocol for name, task in evidence.tasks.items()}
    evaluated = {t for p, t, n in evidence.rows if n in evidence.encoders and p == own[t]}
    names = evidence.chosen or [
        name
        for name, task in evidence.tasks.items()
        if task.type != "probing" and (name in evaluated or name in (*STARTER, *TRANSFER))
    ]
    tasks = tuple(
        name
        for name in names
        if evidence.tasks[name].type in drawing_types
        and name not in done
        and (name in evidence.here or name in evaluated)
    )
    there = sum(r["task"] in tasks and r["protocol"] == own[r["task"]] for r in evidence.seeds)
    count = max(1, len(evidence.encoders) * len(tasks) * SEEDS - there)
    job = EvaluateJob(evidence.encoders, tasks, seeds=SEEDS)
    return [MissingRun(job, count)] if tasks else []


CHECKS: Mapping[str, tuple[str, Callable[[Evidence], Check]]] = {
    "size": ("Size", size),
    "normalisation": ("Normalisation", normalisation),
    "classifier": ("Classifier", classifier),
    "similarity": ("Similarity", similarity),
    "baselines": ("Baselines", baselines),
    "transfer-probing": ("Transfer and probing", relations),
    "seeds": ("Seeds and significance", seeds),
}
"""Key -> title and function."""
