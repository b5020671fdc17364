"""NLI pairs turned into triplets: a premise, an entailment, a contradiction.

Gao et al. 2021, section 4: the entailment pair is the positive, the contradiction of the same
premise its hard negative. Premises that lack either give no triplet.
"""

from __future__ import annotations

import hashlib

from theodolite.engine.errors import UserError

_CLASSES = {
    "entailment": "e",
    "e": "e",
    "0": "e",
    "neutral": "n",
    "n": "n",
    "1": "n",
    "contradiction": "c",
    "c": "c",
    "2": "c",
    "-": "",
    "": "",
    "-1": "",
    "x": "",
}


def class_of(label: str, place: str) -> str:
    """Return `e`, `n` or `c`; empty where the annotators found no majority (`-`, -1, empty).

    Numbers are read as in GLUE: 0 entailment, 1 neutral, 2 contradiction.
    """
    found = _CLASSES.get(label.strip().casefold())
    if found is None:
        raise UserError(
            f"{place}: the label {label!r} is not one of inference pairs.",
            "Expected entailment, neutral or contradiction, or e, n, c, or 0, 1, 2.",
        )
    return found


def is_inference(labels: set[str]) -> bool:
    """Return whether these labels are those of NLI, with both entailments and contradictions."""
    found = {_CLASSES.get(label.strip().casefold()) for label in labels}
    return None not in found and {"e", "c"} <= found


class Premises:
    """Rows grouped by premise; keeps a digest for each premise, a number for each row."""

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[list[int], list[int]]] = {}

    def add(self, premise: str, label: str, row: int) -> None:
        """Add a row of class `e` or `c`; any other is left out."""
        if label in ("e", "c"):
            key = hashlib.blake2b(premise.encode(), digest_size=16).digest()
            self._rows.setdefault(key, ([], []))["ec".index(label)].append(row)

    def pairs(self) -> list[int]:
        """Return every row of class `e`, in their order."""
        return sorted(row for follows, _ in self._rows.values() for row in follows)

    def triplets(self) -> list[tuple[int, int]]:
        """Return (row of the entailment, row of its contradiction) in the order of the first.

        Each entailment is used once. Several contradictions of a premise are used in turn: the
        paper takes one of them at random and found no benefit in taking more.
        """
        return sorted(
            (row, against[i % len(against)])
            for follows, against in self._rows.values()
            if against
            for i, row in enumerate(follows)
        )
