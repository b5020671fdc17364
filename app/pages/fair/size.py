"""Point 1: vectors of different sizes are not comparable (Pitfalls, section 3.1 and figure 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from theodolite.app import formats
from theodolite.app.pages.fair.evidence import Evidence, Scores
from theodolite.app.pages.fair.points import (
    PROJECTIONS,
    DimensionCurves,
    Dots,
    Exhibit,
    MissingRuns,
    Point,
    Projection,
    Verdict,
    few,
    mean_of,
    missing_runs,
    over,
    ranks,
    swaps,
)
from theodolite.engine.encoders.variants import at_size, ladder
from theodolite.engine.stats.agreement import Agreement, agreement, means, shared
from theodolite.engine.tasks import SEVEN, STARTER

KEY, TITLE = "size", "Size"
TENDENCY = "larger vectors tend to score higher for their size alone"


def tasks(evidence: Evidence) -> list[str]:
    """Tasks on which sizes are compared.

    The chosen ones; else, except probing, those on which two of the encoders were evaluated under
    the task's own protocol; else one available similarity task.
    """
    if evidence.chosen:
        return list(evidence.chosen)
    names = [name for name, task in evidence.tasks.items() if task.type != "probing"]
    scores = evidence.scores(names)
    evaluated = [t for t in names if sum(t in found for found in scores.values()) > 1]
    here = [name for name in (STARTER[0], *SEVEN) if name in evidence.here]
    return evaluated or here[-1:]


def curve_task(evidence: Evidence, task: str = "") -> str:
    """The task of the curve: the requested one, else the first similarity task, which is quick."""
    if task in evidence.tasks:
        return task
    offered = tasks(evidence)
    similar = [name for name in offered if evidence.tasks[name].type == "sts"]
    return next(iter(similar or offered), "")


def point(evidence: Evidence, projection: Projection = "pca", curve: str = "") -> Point:
    """The sizes, the scores at one size, and the curve of score against size."""
    dims = evidence.dims
    if len(dims) < 2:
        text = "The size of fewer than two encoders is known: evaluate them first."
        return Point(KEY, TITLE, "missing", (text,))
    names, similarity = list(dims), tasks(evidence)
    smallest, largest = min(dims.values()), max(dims.values())
    variants = {name: at_size(name, dims[name], smallest, projection) for name in names}
    line, wanted_line = _curve(evidence, projection, curve_task(evidence, curve), variants)
    if smallest == largest:
        text = f"All {len(dims)} encoders have {formats.count(largest)} dimensions."
        return Point(KEY, TITLE, "fine", (text, *_unknown(evidence)), wanted_line, exhibits=line)
    before = evidence.scores(similarity, names=names)
    found = evidence.scores(similarity, names=list(variants.values()))
    after = {name: found[variants[name]] for name in names}
    both, common = shared(before, after)
    sizes = f"{formats.count(smallest)} to {formats.count(largest)} dimensions"
    lead = f"The encoders have {sizes}, and {TENDENCY}."
    runs = (
        *missing_runs(names, similarity, before, None),
        *missing_runs(
            [v for v in variants.values() if v not in names], similarity, found, None, listed=False
        ),
        *wanted_line,
    )
    if len(both) < 2:
        text = (
            f"None of them was evaluated at {smallest} dimensions yet, the largest size that "
            "all can have."
        )
        return Point(KEY, TITLE, "missing", (lead, text, *_unknown(evidence)), runs, (), line)
    old, new = (means(scores, both, common) for scores in (before, after))
    order = agreement(old, new)
    words = (lead, _verdict(order, smallest, PROJECTIONS[projection], common), *_unknown(evidence))
    picture = _matched(evidence, before, after, both, common, projection)
    verdict: Verdict = "look" if order.swapped else "fine"
    return Point(KEY, TITLE, verdict, words, runs, (), (picture, *line))


def _unknown(evidence: Evidence) -> tuple[str, ...]:
    lacking = [name for name in evidence.encoders if name not in evidence.dims]
    return (f"The size of {few(lacking)} is not known before a first result.",) if lacking else ()


def _verdict(order: Agreement, size: int, by: str, common: Sequence[str]) -> str:
    head = f"Reduced to {size} dimensions by {by}, the order of {order.n} encoders {over(common)}"
    if not order.swapped:
        return f"{head} stays the same ({ranks(order)})."
    return f"{head} changes: {swaps(order)} ({ranks(order)})."


def _matched(
    evidence: Evidence,
    before: Scores,
    after: Scores,
    names: Sequence[str],
    common: Sequence[str],
    projection: Projection,
) -> Exhibit:
    """Mean scores at full and at one size, one row per encoder; the table has every task."""
    size = min(evidence.dims.values())
    old, new = (means(scores, names, common) for scores in (before, after))
    rows = tuple(
        (
            task,
            name,
            evidence.dims[name],
            before[name][task],
            size,
            after[name][task],
            after[name][task] - before[name][task],
        )
        for name in evidence.dims
        for task in before[name]
        if task in after[name]
    )
    at = f"at {size}, by {PROJECTIONS[projection]}"
    return Exhibit(
        f"theodolite-size-matched-{projection}",
        f"Scores in full size and {at} {over(common)}.",
        Dots((("full size", old), (at, new)), mean_of(common)),
        ("task", "encoder", "dimensions", "score", "brought to", f"score {at}", "difference"),
        rows,
    )


def _curve(
    evidence: Evidence, projection: Projection, task: str, matched: Mapping[str, str]
) -> tuple[tuple[Exhibit, ...], tuple[MissingRuns, ...]]:
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
    lines = {
        name: [(k, found[spec][task]) for k, spec in steps.items() if task in found[spec]]
        for name, steps in sizes.items()
    }
    queued = matched.values() if task in tasks(evidence) else ()  # the other run has them
    smaller = [spec for spec in specs if spec not in dims and spec not in queued]
    runs = missing_runs(smaller, [task], found, None, listed=False)
    drawn = {name: line for name, line in lines.items() if len(line) > 1}
    if not drawn:
        return (), runs
    rows = tuple((name, k, score) for name, line in drawn.items() for k, score in line)
    exhibit = Exhibit(
        f"theodolite-size-curve-{projection}",
        f"Score on {task} over the number of dimensions kept by {PROJECTIONS[projection]}."
        f"{_leads(drawn)}",
        DimensionCurves(drawn, f"score on {task}"),
        ("encoder", "dimensions", f"score on {task}"),
        rows,
    )
    return (exhibit,), runs


def _leads(lines: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """The leading encoders from small to large sizes, for those who cannot see the chart."""
    at: dict[int, dict[str, float]] = {}
    for name, line in lines.items():
        for k, score in line:
            at.setdefault(k, {})[name] = score
    leads = {k: max(s, key=lambda n: s[n]) for k, s in sorted(at.items()) if len(s) > 1}
    firsts = list(dict.fromkeys(leads.values()))
    if not firsts:
        return ""
    return f" In the lead, from small to large: {few(firsts)}."
