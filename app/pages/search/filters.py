"""The labels, splits and parts by which sentences of a collection can be filtered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from theodolite.app.recent import Recent
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace


MAX_LABELS = 200
"""More distinct labels are names of examples, which say nothing beside a sentence."""


def properties(workspace: Workspace, collection: str) -> dict[str, dict[str, np.ndarray]]:
    """Properties to filter a collection's sentences by: property -> value -> positions.

    A sentence that occurs with several labels is listed under each.
    """
    import numpy as np

    from theodolite.engine.datasets.types import LabelledPairs, LabelledSentences, ScoredPairs

    data = workspace.catalog.load(collection)
    columns: dict[str, Sequence[str]] = {}
    if isinstance(data, LabelledSentences):
        columns["label"] = data.labels
        if data.splits:
            columns["split"] = data.splits
        texts = data.sentences
    elif isinstance(data, ScoredPairs):
        columns["part"] = [n for n, part in data.parts.items() for _ in range(2 * len(part.left))]
        texts = data.sentences
    elif isinstance(data, LabelledPairs):
        texts = [data.sentences[i] for side in (data.left, data.right) for i in side]
        columns = {"label": [*data.labels, *data.labels], "split": [*data.splits, *data.splits]}
    if not columns:
        return {}
    sentences, _ = workspace.catalog.sentences(collection)
    place = {sentence: i for i, sentence in enumerate(sentences)}
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, values in columns.items():
        held: dict[str, set[int]] = {}
        for text, value in zip(texts, values, strict=True):
            held.setdefault(str(value), set()).add(place[text])
        if len(held) > 1:
            found[name] = {v: np.array(sorted(ids), np.int64) for v, ids in held.items()}
    return found


def offered(workspace: Workspace, collection: str, most: int = 500) -> list[str]:
    """Filters such as `label: sport`; the `most` commonest if there are more."""
    held = [
        (len(ids), f"{name}: {value}")
        for name, values in properties(workspace, collection).items()
        for value, ids in values.items()
    ]
    if len(held) > most:
        held = sorted(held, key=lambda item: -item[0])[:most]
    return [text for _, text in held]


def among(workspace: Workspace, collection: str, only: Sequence[str]) -> np.ndarray | None:
    """Positions of the sentences that pass the filters; None for all sentences.

    Values of one property are alternatives; different properties must all match.
    """
    import numpy as np

    held = properties(workspace, collection) if only else {}
    wanted: dict[str, list[np.ndarray]] = {}
    for text in only:
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        if value not in held.get(name, {}):
            raise UserError(
                f"No sentence of {collection} has {text[:80]!r}.",
                f"Available: {'; '.join(offered(workspace, collection)[:10]) or 'no filter'}.",
                code="unknown",
            )
        wanted.setdefault(name, []).append(held[name][value])
    found: np.ndarray | None = None
    for arrays in wanted.values():
        either = np.unique(np.concatenate(arrays))
        found = either if found is None else np.intersect1d(found, either)
    return found


_labels: Recent[tuple[str, str], Mapping[int, str]] = Recent(4)


def labels(workspace: Workspace, collection: str) -> Mapping[int, str]:
    """Position of a sentence -> its labels, with commas; empty where nearly all labels differ."""

    def read() -> dict[int, str]:
        held = properties(workspace, collection).get("label", {})
        every: dict[int, str] = {}
        for value, ids in held.items() if len(held) <= MAX_LABELS else ():
            for position in ids.tolist():
                every[position] = f"{every[position]}, {value}" if position in every else value
        return every

    return _labels.get((collection, workspace.catalog.load(collection).hash), read)
