"""Seven ways in which comparisons of encoders mislead, each checked on stored results.

After Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings, sections 3.1
(size, baselines), 3.2 (similarity, table 2), 3.3 (normalisation), 3.4 (classifier) and 4 (transfer
against probing, figure 3); on seeds Reimers and Gurevych 2017, whom it follows.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple

from theodolite.app import formats
from theodolite.app.components.chart import drawing
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.fair import figures
from theodolite.app.pages.fair.evidence import CLASSIFIERS, LOGISTIC, MLP, Evidence
from theodolite.app.results import Row
from theodolite.engine.encoders import parse
from theodolite.engine.encoders.variants import at_size, baseline, ladder
from theodolite.engine.stats.agreement import (
    MIN_ENCODERS,
    Agreement,
    LeaveOneOut,
    Scores,
    agreement,
    complete,
    correlations,
    means,
    overlapping,
    shared,
)
from theodolite.engine.stats.ranks import ranked
from theodolite.engine.stats.spread import Spread, spreads
from theodolite.engine.tasks import PROBING, STARTER, TRANSFER

Verdict = Literal["fine", "look", "missing"]
Projection = Literal["pca", "random"]
PROJECTIONS: dict[Projection, str] = {"pca": "PCA", "random": "random projection"}
"""How encoders are brought to one size."""
BASELINES = {"random": "random:256", "bag-of-words": "wordllama"}
"""Kind -> the encoder to add if none of this kind is present."""
SEEDS = 5
FEW = 3
NARROW = 40
"""Longer names of encoders are shortened in sentences; the evidence has them in full."""
TESTED = "Compare tests whether a difference could be due to the choice of examples."
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
    "learned, squared error": "learned_mse",
}
_METHODS = {"pca": "PCA", "random": "projection"}


@dataclass(frozen=True)
class MissingRuns:
    """Results that are missing, as one run.

    Attributes:
        job: every encoder on every task; stored results are not computed again.
        results: number of missing results.
        listed: whether the encoders are added to the list. Size variants are not.
    """

    job: EvaluateJob
    results: int
    listed: bool = True

    @property
    def command(self) -> str:
        """The equivalent command."""
        return shlex.join(self.job.command(listed=self.listed))


@dataclass(frozen=True, eq=False)
class Check:
    """One check.

    Attributes:
        key: one word, such as `size`.
        title: the same for people.
        verdict: `fine`, `look`, or `missing` for lack of results.
        words: sentences made from the numbers.
        runs: would compute missing results.
        add: encoders that ought to be among those compared.
        charts: the evidence, as `components.chart.drawing` makes it, with its numbers.
    """

    key: str
    title: str
    verdict: Verdict
    words: tuple[str, ...]
    runs: tuple[MissingRuns, ...] = ()
    add: tuple[str, ...] = ()
    charts: tuple[dict[str, Any], ...] = ()

    @property
    def missing(self) -> int:
        """Number of missing results."""
        return sum(run.results for run in self.runs)

    @property
    def evidence(self) -> dict[str, list[dict[str, Any]]]:
        """The numbers of each chart, by its name."""
        tables = {chart["name"]: json.loads(chart["table"]) for chart in self.charts}
        return {
            name: [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
            for name, table in tables.items()
        }


class Pair(NamedTuple):
    """Two measurements of the same encoders, over the tasks that both have of all of them."""

    tasks: list[str]
    old: dict[str, float]
    new: dict[str, float]
    order: Agreement


def _pair(before: Scores, after: Scores) -> Pair:
    names, tasks = shared(before, after)
    old, new = (means(scores, names, tasks) for scores in (before, after))
    return Pair(tasks, old, new, agreement(old, new))


def size(evidence: Evidence, projection: Projection = "pca", curve: str = "") -> Check:
    """The sizes, the scores at one size, and the curve of score against size."""
    check, dims = partial(Check, "size", "Size"), evidence.dims
    if len(dims) < 2:
        return check(
            "missing", ("The size of fewer than two encoders is known: evaluate them first.",)
        )
    names, tasks, by = list(dims), evidence.own, PROJECTIONS[projection]
    smallest, largest = min(dims.values()), max(dims.values())
    variants = {name: at_size(name, dims[name], smallest, projection) for name in names}
    line, runs = _curve(evidence, projection, curve_task(evidence, curve), variants)
    lacking = [name for name in evidence.encoders if name not in dims]
    known = (f"The size of {few(lacking)} is not known before a first result.",) if lacking else ()
    turned, orders = _turns("size", _sizes(evidence, names, tasks))
    if smallest == largest:
        text = f"All {len(dims)} encoders have {formats.count(largest)} dimensions."
        return check(_verdict(turned), (text, *known, *turned), runs, charts=(*line, *orders))
    before = evidence.scores(tasks, names=names)
    found = evidence.scores(tasks, names=list(variants.values()))
    after = {name: found[variants[name]] for name in names}
    pair = _pair(before, after)
    lead = (
        f"The encoders have {formats.count(smallest)} to {formats.count(largest)} dimensions, and "
        "larger vectors tend to score higher for their size alone."
    )
    other = [variant for variant in variants.values() if variant not in names]
    runs = (
        *missing_runs(names, tasks, before, None),
        *missing_runs(other, tasks, found, None, listed=False),
        *runs,
    )
    if len(pair.old) < 2:
        text = (
            f"None of them was evaluated at {smallest} dimensions yet, the largest size that "
            "all can have."
        )
        return check("missing", (lead, text, *known, *turned), runs, (), (*line, *orders))
    text = (
        f"Reduced to {smallest} dimensions by {by}, the order of {pair.order.n} encoders "
        f"{over(pair.tasks)} {_same_or_not(pair.order)}."
    )
    at = f"at {smallest}, by {by}"
    rows = [
        (task, name, dims[name], score, smallest, after[name][task], after[name][task] - score)
        for name in dims
        for task, score in before[name].items()
        if task in after[name]
    ]
    chart = drawing(
        figures.dots((("full size", pair.old), (at, pair.new)), mean_of(pair.tasks)),
        f"Scores in full size and {at} {over(pair.tasks)}.",
        name=f"theodolite-size-matched-{projection}",
        columns=(
            *("task", "encoder", "dimensions", "score", "brought to", f"score {at}"),
            "difference",
        ),
        rows=rows,
    )
    return check(
        _verdict(pair.order.swapped or turned),
        (lead, text, *known, *turned),
        runs,
        (),
        (chart, *line, *orders),
    )


def curve_task(evidence: Evidence, task: str = "") -> str:
    """The task of the curve: the requested one, else the first similarity task, which is quick."""
    if task in evidence.tasks:
        return task
    similar = [name for name in evidence.own if evidence.tasks[name].type == "sts"]
    return next(iter(similar or evidence.own), "")


def _curve(
    evidence: Evidence, projection: Projection, task: str, matched: Mapping[str, str]
) -> tuple[tuple[dict[str, Any], ...], tuple[MissingRuns, ...]]:
    """Score over dimensions, as in the paper's figure 1, and the runs it lacks."""
    if not task:
        return (), ()
    dims = evidence.dims
    sizes = {
        name: {k: at_size(name, dims[name], k, projection) for k in ladder(dims[name])}
        for name in dims
    }
    specs = list(dict.fromkeys(spec for steps in sizes.values() for spec in steps.values()))
    found = evidence.scores([task], names=specs)
    queued = matched.values() if task in evidence.own else ()  # the other run has them
    smaller = [spec for spec in specs if spec not in dims and spec not in queued]
    runs = missing_runs(smaller, [task], found, None, listed=False)
    lines = {
        name: [(k, found[spec][task]) for k, spec in steps.items() if task in found[spec]]
        for name, steps in sizes.items()
    }
    lines = {name: line for name, line in lines.items() if len(line) > 1}
    if not lines:
        return (), runs
    at: dict[int, dict[str, float]] = {}
    for name, line in lines.items():
        for k, score in line:
            at.setdefault(k, {})[name] = score
    leads = dict.fromkeys(max(s, key=s.__getitem__) for _, s in sorted(at.items()) if len(s) > 1)
    first = f" In the lead, from small to large: {few(leads)}." if leads else ""
    chart = drawing(
        figures.curves(lines, f"score on {task}"),
        f"Score on {task} over the number of dimensions kept by {PROJECTIONS[projection]}.{first}",
        name=f"theodolite-size-curve-{projection}",
        columns=("encoder", "dimensions", f"score on {task}"),
        rows=[(name, k, score) for name, line in lines.items() for k, score in line],
    )
    return (chart,), runs


def _sizes(evidence: Evidence, names: Sequence[str], tasks: Sequence[str]) -> dict[str, Scores]:
    """Size -> scores of the encoders reduced to it, in the order of sizes."""
    found: dict[tuple[str, int], dict[str, str]] = {("", 0): {name: name for name in names}}
    for _, _, spec in evidence.rows:
        parsed = parse(spec)
        whole, _, last = spec.rpartition(" | ")
        if whole in names and parsed.steps and parsed.steps[-1].name == "dims":
            size, _, method = last.removeprefix("dims:").partition(",")
            how = _METHODS.get(method.partition(",")[0], "first")
            found.setdefault((how, int(size)), {})[whole] = spec
    labels = {key: f"{key[1]}, {key[0]}" if key[0] else "full size" for key in sorted(found)}
    every = evidence.scores(tasks, names=[s for specs in found.values() for s in specs.values()])
    return {
        label: {name: every[spec] for name, spec in found[key].items()}
        for key, label in labels.items()
    }


def normalisation(evidence: Evidence) -> Check:
    """Plain against z-normalised vectors, and the effect of tuning the choice."""
    check = partial(Check, "normalisation", "Normalisation")
    lead = (
        "Whether each dimension is centred and scaled before the classifier can decide which "
        "encoder wins."
    )
    tasks = evidence.trained
    if not tasks:
        return check("missing", (lead, evidence.lacking("transfer")))

    def either(aggregation: str) -> dict[str, dict[str, float]]:
        return evidence.scores(
            tasks, LOGISTIC, pick=lambda row: evidence.part(row, row["metric"], aggregation)
        )

    plain, normed, tuned = either("plain"), either("z-normalised"), evidence.scores(tasks, LOGISTIC)
    runs = missing_runs(evidence.encoders, tasks, tuned, LOGISTIC)
    pair = _pair(plain, normed)
    if not pair.old:
        return check("missing", (lead, "It was not evaluated with and without."), runs)
    best = agreement(pair.old, means(tuned, list(pair.old), pair.tasks))
    rows = [
        (task, name, a, b, b - a, tuned[name].get(task), _chosen(evidence, task, name))
        for task, name, a, b in _beside(evidence, tasks, plain, normed)
    ]
    moved = {name: pair.new[name] - pair.old[name] for name in pair.old}
    low, high = min(moved, key=moved.__getitem__), max(moved, key=moved.__getitem__)
    words = (
        f"z-normalisation moves {low} by {formats.signed(moved[low])} points {over(pair.tasks)}."
    )
    if low != high:
        words = (
            f"z-normalisation moves the encoders by {formats.signed(moved[low])} ({low}) to "
            f"{formats.signed(moved[high])} points ({high}) {over(pair.tasks)}."
        )
    always = dict.fromkeys(row[1] for row in rows)
    for row in rows:
        if row[-1] != "z-normalised":
            always.pop(row[1], None)
    count = sum(row[-1] == "z-normalised" for row in rows)
    tuning = f"Tuned on dev, it is chosen in {count} of {formats.plural(len(rows), 'case')}"
    if always:
        tuning += f", always for {few(always)}"
    order = f"The tuned order is that of the plain vectors ({ranks(best)})."
    if best.swapped:
        order = f"Tuning changes the order: {swaps(best)} ({ranks(best)})."
    turned, orders = _turns("normalisation", {"plain": plain, "z-normalised": normed})
    chart = drawing(
        figures.dots((("plain", pair.old), ("z-normalised", pair.new)), mean_of(pair.tasks)),
        f"Accuracy with plain and with z-normalised vectors {over(pair.tasks)}.",
        name="theodolite-normalisation",
        columns=(
            "task",
            "encoder",
            "plain",
            "z-normalised",
            "difference",
            "tuned",
            "chosen by dev",
        ),
        rows=rows,
    )
    words_of = (words, f"{tuning}.", order, *turned)
    return check(_verdict(best.swapped), words_of, runs, charts=(chart, *orders))


def _beside(
    evidence: Evidence, tasks: Sequence[str], before: Scores, after: Scores
) -> list[tuple[str, str, float, float]]:
    """Task, encoder and both of its scores."""
    return [
        (task, name, before[name][task], after[name][task])
        for task in tasks
        for name in evidence.encoders
        if task in before[name] and task in after[name]
    ]


def _chosen(evidence: Evidence, task: str, name: str) -> str:
    row = evidence.rows[LOGISTIC, task, name]
    chosen = evidence.full[row["id"]]["details"].get("znorm")
    return "not recorded" if chosen is None else "z-normalised" if chosen else "plain"


def classifier(evidence: Evidence) -> Check:
    """Logistic regression against a classifier with a hidden layer, and against others."""
    check = partial(Check, "classifier", "Classifier")
    lead = "Logistic regression alone may not be what a user would train."
    every = [t for t, task in evidence.tasks.items() if task.type in ("transfer", "probing")]
    every = [t for t in evidence.chosen or every if t in every]
    turned, orders = _turns(
        "classifier", {name: evidence.scores(every, name) for name in OTHER_CLASSIFIERS}
    )
    tasks, verdict = evidence.trained, _verdict(turned) if turned else "missing"
    if not tasks:
        return check(verdict, turned or (lead, evidence.lacking("transfer")), charts=orders)
    linear, hidden = (evidence.scores(tasks, protocol) for protocol in CLASSIFIERS)
    runs = (
        *missing_runs(evidence.encoders, tasks, linear, LOGISTIC),
        *missing_runs(evidence.encoders, tasks, hidden, MLP),
    )
    pair = _pair(linear, hidden)
    if len(pair.old) < 2:
        text = "No two encoders were evaluated with it and with a hidden layer on the same task."
        return check(verdict, turned or (lead, text), runs, charts=orders)
    by_task = []
    for task in tasks:
        one, other = (
            {name: found[task] for name, found in scores.items() if task in found}
            for scores in (linear, hidden)
        )
        order = agreement(one, other)
        if order.n > 1:
            swapped = ", ".join(f"{b} overtakes {a}" for a, b in order.swapped)
            by_task.append((task, order.n, order.spearman, order.kendall, swapped))
    changed = [row[0] for row in by_task if row[-1]]
    order = pair.order
    how = f"changes {over(pair.tasks)}: {swaps(order)}" if order.swapped else ""
    words = [
        f"With a hidden layer instead of logistic regression the order of {order.n} encoders "
        f"{how or f'stays the same {over(pair.tasks)}'} ({ranks(order)})."
    ]
    if changed:
        words.append(
            f"On individual tasks it changes on {len(changed)} of {len(by_task)}: {few(changed)}."
        )
    known = [row for row in by_task if row[2] == row[2]]
    charts = (
        drawing(
            figures.dots(
                (("logistic regression", pair.old), ("MLP", pair.new)), mean_of(pair.tasks)
            ),
            f"Accuracy by logistic regression and by an MLP {over(pair.tasks)}.",
            name="theodolite-classifier",
            columns=("task", "encoder", "logistic regression", "MLP", "difference"),
            rows=[(*row, row[3] - row[2]) for row in _beside(evidence, tasks, linear, hidden)],
        ),
        drawing(
            figures.dots(
                (
                    ("Spearman", {row[0]: row[2] for row in known}),
                    ("Kendall", {row[0]: row[3] for row in known}),
                ),
                "rank correlation of the two orders",
                limits=(-1.0, 1.0),
            ),
            "Rank correlation between the two orders of encoders, task by task.",
            name="theodolite-classifier-orders",
            columns=("task", "encoders", "Spearman", "Kendall", "pairs that swap"),
            rows=by_task,
        ),
    )
    look = order.swapped or changed or turned
    return check(_verdict(look), (*words, *turned), runs, charts=(*charts, *orders))


def similarity(evidence: Evidence) -> Check:
    """Cosine with and without z-normalisation, two correlations, and a learned similarity."""
    check = partial(Check, "similarity", "Similarity")
    tasks = evidence.similar
    if not tasks:
        return check("missing", (evidence.lacking("similarity"),))

    def number(metric: str, row: Row) -> float | None:
        """Aggregated as the main score if there is such a number, else plain."""
        found = evidence.part(row, metric, row["aggregation"])
        return evidence.part(row, metric) if found is None else found

    columns = {
        label: evidence.scores(tasks, LOGISTIC, pick=partial(number, metric))
        for label, metric in SIMILARITIES.items()
    }
    runs = missing_runs(evidence.encoders, tasks, evidence.scores(tasks, LOGISTIC), LOGISTIC)
    plain, normed = columns["cosine, Spearman"], columns["z-normalised cosine, Spearman"]
    pair = _pair(plain, normed)
    if not pair.old:
        text = (
            "Cosine favours vectors that happen to be centred. It was not evaluated with and "
            "without z-normalisation, nor beside a learned similarity."
        )
        return check("missing", (text,), runs)
    first, second = (max(s.values()) - min(s.values()) for s in (pair.old, pair.new))
    words = [
        f"Between the best and the worst of {len(pair.old)} encoders lie {formats.score(first)} "
        f"points of Spearman {over(pair.tasks)}, with z-normalised vectors {formats.score(second)}."
    ]
    mine = {name: plain[name] for name in pair.old}
    others = {
        "z-normalisation": normed,
        "Pearson instead of Spearman": columns["cosine, Pearson"],
        "a learned similarity": columns["learned, Spearman"],
    }
    orders = {label: _pair(mine, column).order for label, column in others.items()}
    orders = {label: order for label, order in orders.items() if order.n > 1}
    changed = {label: order for label, order in orders.items() if order.swapped}
    if changed:
        label, order = next(iter(changed.items()))
        words.append(f"The order changes with {few(changed)}: with {label} {swaps(order)}.")
    elif orders:
        words.append(f"The order stays the same with {few(orders)}.")
    series = []
    for label in ("cosine, Spearman", "z-normalised cosine, Spearman", "learned, Spearman"):
        having = [n for n in pair.old if all(task in columns[label][n] for task in pair.tasks)]
        if having:
            series.append((label, means(columns[label], having, pair.tasks)))
    chart = drawing(
        figures.dots(series, mean_of(pair.tasks)),
        f"Spearman of three similarities with people's grades {over(pair.tasks)}.",
        name="theodolite-similarity",
        columns=("task", "encoder", *columns),
        rows=[
            (task, name, *(column[name].get(task) for column in columns.values()))
            for task in tasks
            for name in evidence.encoders
            if any(task in column[name] for column in columns.values())
        ],
    )
    return check(_verdict(changed), tuple(words), runs, charts=(chart,))


def baselines(evidence: Evidence) -> Check:
    """Whether random vectors and a bag of words are present, and below the other encoders."""
    check = partial(Check, "baselines", "Baselines")
    kinds = {name: baseline(name) for name in evidence.encoders}
    add = tuple(spec for kind, spec in BASELINES.items() if kind not in kinds.values())
    simple = [name for name, kind in kinds.items() if kind]
    scores = evidence.scores(evidence.own)
    runs = missing_runs(simple, evidence.own, scores, None)
    text, verdict, charts = _beaten(kinds, scores)
    if add:
        absent = " and no ".join(kind for kind in BASELINES if BASELINES[kind] in add)
        none = f"There is no {absent} encoder, so nothing shows what shared words alone achieve."
        return check("missing", (none, text), runs, add, charts)
    there = f"{few(simple)} {'is' if len(simple) == 1 else 'are'} among them."
    return check(verdict, (there, text), runs, charts=charts)


def _beaten(
    kinds: Mapping[str, str], scores: Scores
) -> tuple[str, Verdict, tuple[dict[str, Any], ...]]:
    """How far the other encoders are above the best baseline, on tasks that all share."""
    names, tasks = shared(scores, scores)
    mean = means(scores, names, tasks)
    floor = {name: score for name, score in mean.items() if kinds[name]}
    others = {name: score for name, score in mean.items() if not kinds[name]}
    if floor and not others:
        return "All evaluated encoders are baselines.", "missing", ()
    if not floor:
        return "No baseline shares a task with the others yet.", "missing", ()
    best = max(floor, key=floor.__getitem__)
    below = [name for name, score in others.items() if score <= floor[best]]
    margin = min(others.values()) - floor[best]
    text = (
        f"All others are above {best}, the best baseline, {over(tasks)}, by "
        f"{formats.score(margin)} points or more."
    )
    if below:
        text = (
            f"{few(below)} {'does' if len(below) == 1 else 'do'} not reach {best} {over(tasks)} "
            f"({formats.signed(margin)} points)."
        )
    rows = []
    for task in tasks:
        top = max(scores[name][task] for name in floor)
        for name in names:
            score = scores[name][task]
            rows.append((task, name, kinds[name] or "other", score, score - top))
    chart = drawing(
        figures.dots((("baselines", floor), ("other encoders", others)), mean_of(tasks)),
        f"Scores of baselines and of the other encoders {over(tasks)}.",
        name="theodolite-baselines",
        columns=("task", "encoder", "kind", "score", "above the best baseline"),
        rows=rows,
    )
    return text, _verdict(below), (chart,)


def relations(evidence: Evidence, protocol: str = LOGISTIC) -> Check:
    """Correlations of probing with transfer tasks, and their stability."""
    check = partial(Check, "transfer-probing", "Transfer and probing")
    transfer = evidence.of_type("transfer", TRANSFER)
    probing = evidence.of_type("probing", PROBING)
    count, tasks = len(evidence.encoders), [*transfer, *probing]
    if not transfer or not probing:
        text = (
            "Which properties of a sentence help which application is inferred from "
            "correlations between probing and transfer tasks, which need many encoders."
        )
        lacking = evidence.lacking("probing" if transfer else "transfer")
        return check("missing", (text, lacking))
    if count < MIN_ENCODERS:
        text = (
            f"A correlation over {formats.plural(count, 'encoder')} means nothing, so none is "
            f"shown. Choose at least {MIN_ENCODERS}."
        )
        return check("missing", (text,))
    scores = {name: evidence.scores(tasks, name) for name in CLASSIFIERS}
    runs = tuple(
        run
        for name in CLASSIFIERS
        for run in missing_runs(evidence.encoders, tasks, scores[name], name)
    )
    tables = {name: _correlations(scores[name], transfer, probing) for name in CLASSIFIERS}
    if not any(tables.values()):
        having = (sum(all(t in s for t in tasks) for s in of.values()) for of in scores.values())
        most = max(having)
        text = (
            f"{formats.plural(most, 'encoder')} of {count} {'has' if most == 1 else 'have'} all of "
            f"{len(transfer)} transfer and {len(probing)} probing tasks. Below {MIN_ENCODERS} a "
            "correlation means nothing, so none is shown."
        )
        return check("missing", (text,), runs)
    cells = [cell for table in tables.values() for cell in table.values()]
    turning = sum(cell.turns for cell in cells)
    shown = protocol if tables[protocol] else next(name for name in tables if tables[name])
    by, table = CLASSIFIERS[shown], tables[shown]
    (task, probe), cell = max(table.items(), key=lambda item: abs(item[1].value))
    bounds = " to ".join(formats.score(bound) for bound in (cell.lowest, cell.highest))
    words = (
        _firm(_span(cell.n for cell in cells), len(cells), turning),
        f"By {by} the strongest is {task} with {probe}, {formats.score(cell.value)} ({bounds} with "
        "one encoder left out).",
    )
    chart = drawing(
        figures.grid(table),
        f"Spearman of transfer with probing tasks over {next(iter(table.values())).n} encoders, "
        f"by {by}. A bordered cell changes sign when one encoder is left out.",
        name=f"theodolite-transfer-probing-{shown}",
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
    return check(_verdict(turning), words, runs, charts=(chart,))


def _correlations(
    scores: Scores, transfer: Sequence[str], probing: Sequence[str]
) -> dict[tuple[str, str], LeaveOneOut]:
    names, tasks = complete(scores, [*transfer, *probing])
    columns, rows = ([t for t in group if t in tasks] for group in (transfer, probing))
    if not rows or not columns:
        return {}
    return correlations({name: scores[name] for name in names}, columns, rows)


def _firm(n: str, cells: int, turning: int) -> str:
    many = formats.plural(cells, "correlation")
    if turning:
        return (
            f"Over {n} encoders, {turning} of {many} change sign when a single encoder is left "
            "out: another choice of encoders would lead to another conclusion."
        )
    return f"Over {n} encoders, none of {many} changes sign when a single encoder is left out."


def seeds(evidence: Evidence) -> Check:
    """Whether differences exceed the variation between seeds."""
    check = partial(Check, "seeds", "Seeds and significance")
    groups: dict[tuple[str, str], dict[str, Spread]] = {}
    for (name, task, protocol), spread in spreads(evidence.seeds).items():
        groups.setdefault((task, protocol), {})[name] = spread
    groups = {where: found for where, found in groups.items() if len(found) > 1}
    runs = _seed_runs(evidence, {task for task, _ in groups})
    if not groups:
        text = "Nothing that was evaluated is random, so seeds have no effect."
        if runs:
            text = (
                "Every score comes from a single seed, so its variation between seeds is unknown."
            )
        return check("missing" if runs else "fine", (text, TESTED), runs)
    meeting = [
        (*pair, task)
        for (task, _), found in groups.items()
        for pair in overlapping({n: (s.lowest, s.highest) for n, s in found.items()})
    ]
    pairs = sum(len(found) * (len(found) - 1) // 2 for found in groups.values())
    many, count = formats.plural(pairs, "difference"), len(meeting)
    widest = max((s.highest - s.lowest, n, t) for (t, _), f in groups.items() for n, s in f.items())
    numbers = _span(spread.seeds for found in groups.values() for spread in found.values())
    lead = (
        f"With {numbers} seeds a score varies by up to {formats.score(widest[0])} points "
        f"({widest[1]} on {widest[2]})."
    )
    text = f"None of {many} is within that spread."
    if meeting:
        first, second, task = meeting[0]
        text = (
            f"{count} of {many} {'is' if count == 1 else 'are'} within that spread, such as "
            f"{first} and {second} on {task}."
        )
    by_seed: dict[str, dict[str, dict[str, float]]] = {}
    for row in sorted(evidence.seeds, key=lambda row: row["seed"]):
        if row["protocol"] == evidence.tasks[row["task"]].protocol:
            scores = by_seed.setdefault(f"seed {row['seed']}", {})
            scores.setdefault(row["encoder"], {})[row["task"]] = row["score"]
    turned, orders = _turns("seed", by_seed)
    words = (lead, text, *turned, TESTED)
    return check(_verdict(meeting), words, runs, (), (_spread_chart(groups), *orders))


def _seed_runs(evidence: Evidence, done: set[str]) -> tuple[MissingRuns, ...]:
    """A run of all encoders with several seeds on tasks with randomness that lack them."""
    drawing_types = ("transfer", "probing", "classification", "relatedness")
    evaluated = {
        t for p, t, n in evidence.rows if n in evidence.encoders and p == evidence.tasks[t].protocol
    }
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
    if not tasks:
        return ()
    there = sum(
        row["task"] in tasks and row["protocol"] == evidence.tasks[row["task"]].protocol
        for row in evidence.seeds
    )
    count = max(1, len(evidence.encoders) * len(tasks) * SEEDS - there)
    return (MissingRuns(EvaluateJob(evidence.encoders, tasks, seeds=SEEDS), count),)


def _spread_chart(groups: Mapping[tuple[str, str], Mapping[str, Spread]]) -> dict[str, Any]:
    """The task with the most encoders as a chart, all tasks as a table."""
    task, protocol = max(groups, key=lambda where: len(groups[where]))
    drawn = groups[task, protocol]
    return drawing(
        figures.dots(
            (("mean over seeds", {name: s.mean for name, s in drawn.items()}),),
            f"score on {task}",
            {name: (s.lowest, s.highest) for name, s in drawn.items()},
        ),
        f"Mean, lowest and highest score over seeds on {task} ({protocol}).",
        name="theodolite-seeds",
        columns=("task", "protocol", "encoder", "seeds", "mean", "deviation", "lowest", "highest"),
        rows=[
            (*where, name, s.seeds, s.mean, s.deviation, s.lowest, s.highest)
            for where, found in groups.items()
            for name, s in found.items()
        ],
    )


def _turns(
    what: str, conditions: Mapping[str, Scores], most: int = 6
) -> tuple[tuple[str, ...], tuple[dict[str, Any], ...]]:
    """How the order of the encoders turns between conditions that have nothing to do with them.

    The two conditions with the most results decide which encoders and tasks take part; others take
    part where they have all encoders on a task.

    Returns:
        Sentences on the pairs that swap ranks, and a chart of the ranks with the agreements.
    """
    full = sorted(conditions, key=lambda c: -sum(map(len, conditions[c].values())))
    names, tasks = shared(*(conditions[c] for c in full[:2])) if len(full) > 1 else ([], [])
    kept = full[:2]
    for condition in full[2:]:
        scores = conditions[condition]
        common = [t for t in tasks if all(t in scores.get(name, ()) for name in names)]
        if common:
            kept.append(condition)
            tasks = common
    kept = [condition for condition in conditions if condition in kept]
    if len(names) < 2:
        return (), ()
    averages = {condition: means(conditions[condition], names, tasks) for condition in kept}
    agreements = {(a, b): agreement(averages[a], averages[b]) for a, b in combinations(kept, 2)}
    swapped: dict[tuple[str, str], dict[str, tuple[str, str, str]]] = {}
    for a, b in agreements:
        for task in tasks:
            one, other = ({n: conditions[c][n][task] for n in names} for c in (a, b))
            for ahead, behind in agreement(one, other).swapped:
                where = swapped.setdefault(tuple(sorted((ahead, behind))), {})  # type: ignore[arg-type]
                where.setdefault(task, (ahead, a, b))
    words = []
    means_turn = {pair: at for at, one in reversed(agreements.items()) for pair in one.swapped}
    if means_turn and len(tasks) > 1:
        turns = [
            f"{ahead} leads {behind} under {first} and trails under {second}"
            for (ahead, behind), (first, second) in list(means_turn.items())[:FEW]
        ]
        words.append(f"By the mean over {len(tasks)} tasks, {'; '.join(turns)}.")
    for pair, where in sorted(swapped.items(), key=lambda item: -len(item[1]))[:most]:
        ahead, first, second = next(iter(where.values()))
        behind = pair[pair[0] == ahead]
        words.append(
            f"The order of {ahead} and {behind} turns with the {what} on {few(where)}: {ahead} "
            f"leads under {first}, {behind} under {second}."
        )
    if len(swapped) > most:
        words.append(f"So do {len(swapped) - most} more pairs: see the numbers.")
    numbers = {condition: ranked(mean) for condition, mean in averages.items()}
    alike = "; ".join(f"{a} and {b}: {ranks(one)}" for (a, b), one in agreements.items())
    chart = drawing(
        figures.bump(numbers, averages),
        f"Ranks of {len(names)} encoders by {what} {over(tasks)}. Crossing lines are encoders that "
        f"swap ranks. {alike}.",
        name=f"theodolite-ranks-by-{what}",
        columns=(what, "encoder", "rank", "mean"),
        rows=[(c, name, numbers[c][name], averages[c][name]) for c in kept for name in names],
    )
    return tuple(words), (chart,)


def missing_runs(
    encoders: Sequence[str],
    tasks: Sequence[str],
    have: Mapping[str, Mapping[str, Any]],
    protocol: str | None,
    *,
    listed: bool = True,
) -> tuple[MissingRuns, ...]:
    """The run that evaluates missing pairs of encoder and task; empty if none is missing."""
    gaps = [(name, task) for name in encoders for task in tasks if task not in have.get(name, ())]
    if not gaps:
        return ()
    names = tuple(dict.fromkeys(name for name, _ in gaps))
    lacking = tuple(task for task in tasks if any(task == gap for _, gap in gaps))
    return (MissingRuns(EvaluateJob(names, lacking, protocol), len(gaps), listed),)


def _verdict(look: Any) -> Verdict:
    return "look" if look else "fine"


def _span(numbers: Iterable[int]) -> str:
    """`5`, `3 to 5`."""
    several = set(numbers)
    return " to ".join(map(str, sorted({min(several), max(several)})))


def few(items: Iterable[str], most: int = FEW) -> str:
    """`a, b and c`, or `a, b, c and 4 more`."""
    return formats.listed(items, most)


def swaps(found: Agreement, most: int = 2) -> str:
    """How many pairs swap ranks, and which."""
    pairs = [
        f"{formats.shorten(b, NARROW)} overtakes {formats.shorten(a, NARROW)}"
        for a, b in found.swapped
    ]
    of = formats.plural(found.n * (found.n - 1) // 2, "pair")
    return (
        f"{len(pairs)} of {of} {'swaps' if len(pairs) == 1 else 'swap'} ranks: {few(pairs, most)}"
    )


def _same_or_not(found: Agreement) -> str:
    how = f"changes: {swaps(found)}" if found.swapped else "stays the same"
    return f"{how} ({ranks(found)})"


def ranks(found: Agreement) -> str:
    """Both rank correlations, or why there are none."""
    if math.isnan(found.spearman):
        return "no rank correlation: too few encoders, or all tied"
    return f"Spearman {formats.score(found.spearman)}, Kendall {formats.score(found.kendall)}"


def over(tasks: Sequence[str]) -> str:
    """`on MR`, `on average over 7 tasks`."""
    return f"on {tasks[0]}" if len(tasks) == 1 else f"on average over {len(tasks)} tasks"


def mean_of(tasks: Sequence[str]) -> str:
    """The axis title of a chart of means."""
    return f"score on {tasks[0]}" if len(tasks) == 1 else f"mean score over {len(tasks)} tasks"
