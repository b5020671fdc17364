"""The card of a protocol. Knows no particular protocol."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

FITTED_ON = "on every sentence of their data, counted as often as the data has it"
"""Of the steps after pooling, and of word weights, whose data an encoder's spec names.

No choice of a protocol's: the fingerprint of an encoder has the hash of these sentences.
"""


@dataclass(frozen=True)
class Protocol:
    """One set of choices.

    Attributes:
        name: as results carry it.
        description: one sentence for people.
        types: the task types it says how to score.
        seed: the default seed.
        choices: (what is chosen, the choice), in the order of the card.
        sources: where the choices come from.
        context: what others choose, quoted for comparison; decides nothing.
    """

    name: str
    description: str
    types: tuple[str, ...]
    seed: int
    choices: tuple[tuple[str, str], ...]
    sources: tuple[str, ...] = ()
    context: tuple[tuple[str, str], ...] = ()

    @property
    def hash(self) -> str:
        """Over everything that decides a score; a test pins it, so that no choice drifts."""
        content = json.dumps([self.name, self.types, self.seed, self.choices])
        return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()

    def card(self) -> list[tuple[str, str]]:
        """Rows of (what, choice) to print or show, with seed, hash, sources and context."""
        sources = [("source", source) for source in self.sources]
        fitted = ("steps that are fitted, of an encoder", FITTED_ON)
        return [
            ("protocol", f"{self.name} ({self.hash})"),
            *self.choices,
            ("default seed", str(self.seed)),
            fitted,
            *sources,
            *self.context,
        ]
