"""Probing: which surface, syntactic and semantic properties can be predicted from a vector?

The ten tasks of Conneau et al. 2018 (SentEval), and labelled sentences with their own train, dev
and test splits. Measured like transfer tasks.
"""

from __future__ import annotations

from theodolite.engine.tasks import transfer
from theodolite.engine.tasks.task import Task, TaskType


def of_data(name: str, dataset: str, description: str) -> Task:
    """Build the task on a data set of labelled sentences."""
    return Task(name, "probing", dataset, "labels", "senteval", "accuracy", description)


def _task(name: str, description: str) -> Task:
    return of_data(name, name, f"Probing: {description}")


TYPE = TaskType(
    "probing",
    measure=transfer.measured,
    work=transfer.work,
    trains=True,
    examples=transfer.examples,
    tasks=(
        _task("Length", "how long the sentence is, in six bins."),
        _task("WordContent", "which of a thousand words it holds."),
        _task("Depth", "how deep its parse tree is."),
        _task("TopConstituents", "its top constituents."),
        _task("BigramShift", "whether two words were swapped."),
        _task("Tense", "the tense of the main verb."),
        _task("SubjNumber", "the number of the subject."),
        _task("ObjNumber", "the number of the object."),
        _task("OddManOut", "whether a word was replaced."),
        _task("CoordinationInversion", "whether clauses swapped."),
    ),
)
