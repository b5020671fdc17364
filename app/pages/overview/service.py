"""Results: the one that counts per encoder and task, names of metrics, and removal."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from theodolite.app.jobs.kinds import spec_of
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.diagnosis import NAMES
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import main_sample, resample_all
from theodolite.engine.tasks import defaults
from theodolite.store import StoreError
from theodolite.store.run_rows import LIVE

_RANKING = {
    f"{name}_at_{k}": f"{label} at {k:,}"
    for name, label in (
        ("ndcg", "nDCG"),
        ("map", "MAP"),
        ("mrr", "MRR"),
        ("recall", "Recall"),
        ("precision", "Precision"),
        ("hit_rate", "Hit rate"),
    )
    for k in (1, 3, 5, 10, 20, 100, 1000)
}
_SIMILARITIES = {
    f"{name}_{metric}": f"{said}, {label}"
    for name, label in (
        ("max", "best similarity"),
        ("cosine", "cosine"),
        ("dot", "dot product"),
        ("manhattan", "Manhattan distance"),
        ("euclidean", "Euclidean distance"),
    )
    for metric, said in (
        ("ap", "Average precision"),
        ("f1", "Best F1"),
        ("accuracy", "Best accuracy"),
        ("precision", "Precision at best F1"),
        ("recall", "Recall at best F1"),
        ("spearman", "Spearman"),
        ("pearson", "Pearson"),
    )
}
METRICS = {
    **NAMES,
    "spearman": "Spearman",
    "pearson": "Pearson",
    "accuracy": "Accuracy",
    "precision_at_10": "Precision at 10",
    "macro_f1": "Macro F1",
    "random_cosine": "Cosine of random pairs",
    "alignment": "Alignment",
    "uniformity": "Uniformity",
    "f1": "F1",
    "mse": "Mean squared error",
    **{
        f"{prefix}_{name}": f"{words}{label}"
        for prefix, words in (("znorm", "z-normalised: "), ("learned", "Trained regressor: "))
        for name, label in (
            ("spearman", "Spearman"),
            ("pearson", "Pearson"),
            ("mse", "mean squared error"),
        )
    },
    **_RANKING,
    **_SIMILARITIES,
    "v_measure": "V-measure",
    "ami": "Adjusted mutual information",
    "f1_weighted": "F1, weighted",
    "precision": "Precision",
    "precision_weighted": "Precision, weighted",
    "recall": "Recall",
    "recall_weighted": "Recall, weighted",
    "ap": "Average precision",
    "ap_weighted": "Average precision, weighted",
    "mean_recall": "Mean recall at 1, 5 and 10",
    **{
        f"{side}_{what}": f"{words}: {label}"
        for side, words in (
            ("image_to_text", "Captions of an image"),
            ("text_to_image", "Image of a caption"),
        )
        for what, label in (
            *((f"recall_at_{k}", f"recall at {k}") for k in (1, 5, 10)),
            ("median_rank", "median rank"),
        )
    },
}
AGGREGATIONS = {
    "all": "all subsets together",
    "mean": "mean of subsets",
    "wmean": "weighted mean",
    "plain": "plain",
    "z-normalised": "z-normalised",
}
RESAMPLES = 500


def stored(
    workspace: Workspace,
    encoders: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    ids: Collection[int] | None = None,
) -> list[dict[str, Any]]:
    """All results that match the filters, older versions included."""
    from theodolite.engine.encoders import parse

    names = [str(parse(spec)) for spec in encoders] if encoders else None
    rows = workspace.store.results.table(
        encoders=names, tasks=tasks or None, protocols=protocols or None, all_versions=True
    )
    if not ids:
        return rows
    if unknown := sorted(set(ids) - {row["id"] for row in rows}):
        raise UserError(
            f"There is no such result: {unknown[0]}.", "`results list` shows all.", code="unknown"
        )
    return [row for row in rows if row["id"] in ids]


def remove(workspace: Workspace, rows: Sequence[dict[str, Any]]) -> int:
    """Remove results permanently; return the bytes of their values per example."""
    workspace.refuse_visitors()
    size = sum(workspace.store.results.sizes(rows).values())
    workspace.store.results.remove([row["id"] for row in rows])
    return size


def chosen(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """The result in the cell of each encoder and task: default protocol and seed.

    Results under other protocols are not comparable, so they are left out; another seed counts
    only if the default seed was not run.
    """
    from theodolite.engine import protocols, tasks

    cells: dict[tuple[str, str], tuple[tuple[int, bool], dict[str, Any]]] = {}
    for row in rows:
        own, protocol = tasks.defaults(row["task"]), row["protocol"]
        if protocol in own:
            rank = own.index(protocol)
        elif len(own) == 1:
            continue
        else:  # the task's type is unknown by name: a result under any other protocol ranks last
            rank = len(own)
        key = (row["encoder"], row["task"])
        order = (rank, row["seed"] != protocols.get(protocol).seed)
        if key not in cells or order <= cells[key][0]:
            cells[key] = (order, row)
    return {key: row for key, (_, row) in cells.items()}


def live(workspace: Workspace) -> list[Any]:
    """Queued and running runs."""
    return list(workspace.store.runs.list(LIVE))


def waiting(workspace: Workspace) -> set[tuple[str, str]]:
    """(encoder, task) of the results that queued or running evaluations will produce."""
    specs = [spec_of(run) for run in workspace.store.runs.list(LIVE, kinds=["evaluate"])]
    return {
        (encoder, task)
        for spec in specs
        for encoder in spec["encoders"]
        for task in spec["tasks"]
        if spec["protocol"] in (None, *defaults(task))
    }


def metric(score: dict[str, Any]) -> str:
    """The display name of a score: `Spearman, test split`, `Trained regressor: Pearson, …`.

    STS-B and SICK-R use the cosine under one protocol and a trained regressor under another.
    """
    words = [METRICS.get(score["metric"], score["metric"])]
    if _is_trained_relatedness(score):
        words[0] = f"Trained regressor: {words[0]}"
    if score.get("split") and score["split"] != "all":
        words.append(f"{score['split']} split")
    if score.get("aggregation"):
        words.append(AGGREGATIONS.get(score["aggregation"], score["aggregation"]))
    return ", ".join(words)


def _is_trained_relatedness(score: dict[str, Any]) -> bool:
    from theodolite.engine import protocols, tasks

    task = tasks.TASKS.get(score.get("task", ""))
    if task is None or score.get("protocol") not in protocols.PROTOCOLS:
        return False
    return task.type_under(protocols.PROTOCOLS[score["protocol"]].types) == "relatedness"


@lru_cache(maxsize=4096)
def _interval(workspace: Workspace, result_id: int) -> tuple[float, float] | None:
    from theodolite.engine.stats.intervals import interval

    details = workspace.store.results.by_id(result_id)["details"]
    examples = workspace.store.results.examples(result_id)
    try:
        sample = main_sample(examples, details)
    except (ValueError, LookupError):
        return None
    (drawn,) = resample_all([sample], RESAMPLES)
    low, high = interval(drawn.draws[None], [drawn.units])
    return float(low[0]), float(high[0])


def interval(workspace: Workspace, result_id: int) -> list[float] | None:
    """95 % bootstrap interval of a main score, in points; cached, since results never change.

    None if there is none, or its values cannot be read; the latter is not cached, as they may be
    restored.
    """
    try:
        found = _interval(workspace, int(result_id))
    except StoreError:
        return None
    return None if found is None else list(found)
