"""Names and files to examples."""

from engine.datasets.catalog import Catalog, Upload, UploadSource
from engine.datasets.types import (
    Dataset,
    DatasetInfo,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    ScoredPairs,
    Sentences,
    Triplets,
)

__all__ = [
    "Catalog",
    "Dataset",
    "DatasetInfo",
    "LabelledPairs",
    "LabelledSentences",
    "PairPart",
    "ScoredPairs",
    "Sentences",
    "Triplets",
    "Upload",
    "UploadSource",
]
