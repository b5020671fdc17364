"""The similarity of data sets to an encoder: cosines between the means of their sentences.

As in MTEB's figure 2 (Muennighoff et al. 2023): a bounded number of sentences of each, drawn with a
fixed seed. Knows data sets and vectors; neither encoders nor files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.engine.datasets.types import Dataset, DatasetInfo, LabelledSentences, Parallel
from theodolite.engine.errors import UserError
from theodolite.engine.search.index import unit_rows
from theodolite.engine.space import geometry

SENTENCES = 100
"""Most sentences of each collection, as in MTEB's figure."""
SEED = 0
ENGLISH = "eng"


@dataclass(frozen=True)
class Collection:
    """The sentences behind one row of the matrix.

    Attributes:
        name: of the row.
        dataset: the data set that the sentences are from.
        part: `left` or `right` of parallel sentences, a label of labelled ones, or empty for all.
        group: by which rows are sorted, such as a type of task.
    """

    name: str
    dataset: str
    part: str = ""
    group: str = ""

    def sample(self, data: Dataset, most: int = SENTENCES, seed: int = SEED) -> list[str]:
        """Draw some of its distinct sentences that are not blank."""
        texts = list(dict.fromkeys(text for text in _texts(data, self.part) if text.strip()))
        if not texts:
            raise UserError(
                f"{self.name} has no sentence.", "Choose another data set.", code="missing"
            )
        return [texts[i] for i in geometry.sample(len(texts), most, seed)]


def _texts(data: Dataset, part: str) -> Sequence[str]:
    if part and isinstance(data, Parallel):
        return [text for one in data.parts.values() for text in getattr(one, part)]
    if part and isinstance(data, LabelledSentences):
        rows = zip(data.sentences, data.labels, strict=True)
        return [text for text, label in rows if label == part]
    return data.sentences


def families(infos: Sequence[DatasetInfo]) -> dict[str, list[DatasetInfo]]:
    """Find families of data sets in several languages, such as `xnli` of `xnli/de`."""
    groups: dict[str, list[DatasetInfo]] = {}
    for info in infos:
        if "/" in info.name and info.languages:
            groups.setdefault(info.name.partition("/")[0], []).append(info)
    return {
        name: members
        for name, members in groups.items()
        if len({language for info in members for language in info.languages}) > 1
    }


def all_collections(infos: Sequence[DatasetInfo]) -> list[Collection]:
    """Every data set; of a family in several languages the English member or the first."""
    chosen = {name: _first(members) for name, members in families(infos).items()}
    collections = [
        info for info in infos if chosen.get(info.name.partition("/")[0], info.name) == info.name
    ]
    return [Collection(info.name, info.name, group=info.type or "No task") for info in collections]


def by_language(members: Sequence[DatasetInfo]) -> list[Collection]:
    """Each language of a family once; of parallel sentences the side that is not English."""
    collections: dict[str, Collection] = {}
    for info in members:
        sides = ("left", "right") if info.kind == "parallel" else ("",)
        for language, side in zip(info.languages, sides, strict=False):
            collections.setdefault(language, Collection(language, info.name, side))
    return list(collections.values())


def by_label(data: Dataset) -> list[Collection]:
    """Each label of labelled sentences."""
    if not isinstance(data, LabelledSentences) or len(labels := set(data.labels) - {""}) < 2:
        raise UserError(
            f"{data.name} has neither languages nor labels to be compared.",
            "Name a family of data sets in several languages, or labelled sentences.",
            code="wrong-kind",
        )
    return [Collection(label, data.name, label) for label in sorted(labels)]


def _first(members: Sequence[DatasetInfo]) -> str:
    english = (info.name for info in members if info.languages == (ENGLISH,))
    return next(english, members[0].name)


def mean(vectors: np.ndarray) -> np.ndarray:
    """The mean of the unit rows, float64 (dim,): every sentence weighs the same."""
    centre: np.ndarray = unit_rows(vectors, np.float64).mean(axis=0)
    return centre


def similarity(means: np.ndarray) -> np.ndarray:
    """Cosines between means, float64 (n, n), symmetric, 1 on the diagonal."""
    rows = unit_rows(means, np.float64)
    cosines = np.clip(rows @ rows.T, -1.0, 1.0)
    np.fill_diagonal(cosines, 1.0)
    return (cosines + cosines.T) / 2


def order(cosines: np.ndarray, groups: Sequence[str] = ()) -> np.ndarray:
    """Order rows so that similar ones are adjacent: leaves of an average-linkage tree, optimal.

    Args:
        cosines: (n, n), from `similarity`.
        groups: of each row; rows of a group are adjacent, groups in the order of the tree.

    Returns:
        int64 (n,), positions.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    n = len(cosines)
    if n < 3:
        leaves = np.arange(n)
    else:
        apart = squareform(np.clip(1.0 - cosines, 0.0, None), checks=False)
        leaves = leaves_list(linkage(apart, "average", optimal_ordering=True)).astype(np.int64)
    if not groups:
        return leaves
    place = {name: at for at, name in enumerate(dict.fromkeys(groups[i] for i in leaves.tolist()))}
    return np.array(sorted(leaves.tolist(), key=lambda i: place[groups[i]]), np.int64)
