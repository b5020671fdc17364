"""Data sets by name: catalog, readers and types."""

from theodolite.engine.datasets.catalog import Catalog, Upload, UploadSource
from theodolite.engine.datasets.types import (
    CaptionPart,
    Captions,
    Dataset,
    DatasetInfo,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Parallel,
    ParallelPart,
    Retrieval,
    ScoredPairs,
    Sentences,
    Summaries,
    TaskType,
    Triplets,
)

__all__ = [
    "CaptionPart",
    "Captions",
    "Catalog",
    "Dataset",
    "DatasetInfo",
    "LabelledPairs",
    "LabelledSentences",
    "PairPart",
    "Parallel",
    "ParallelPart",
    "Retrieval",
    "ScoredPairs",
    "Sentences",
    "Summaries",
    "TaskType",
    "Triplets",
    "Upload",
    "UploadSource",
]
