"""The names of metrics and aggregations, as people read them."""

from collections.abc import Mapping
from typing import Any

from theodolite.engine.decoding.diagnosis import NAMES
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.tasks import TASKS

_RANKING = {
    f"{name}_at_{k}": f"{label} at {k:,}"
    for name, label in (
        ("ndcg", "nDCG"),
        ("map", "MAP"),
        ("mrr", "MRR"),
        ("recall", "Recall"),
        ("precision", "Precision"),
        ("hit_rate", "Hit rate"),
        ("passage_recall", "Recall of passages"),
        ("passage_precision", "Precision of passages"),
        ("passage_iou", "IoU of passages"),
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


def metric(score: Mapping[str, Any]) -> str:
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


def _is_trained_relatedness(score: Mapping[str, Any]) -> bool:
    task, protocol = TASKS.get(score.get("task", "")), PROTOCOLS.get(score.get("protocol", ""))
    return bool(task and protocol and task.type_under(protocol.types) == "relatedness")
