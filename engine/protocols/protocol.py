"""The `Protocol` data class and its card. Knows no particular protocol."""

import hashlib
import json
from dataclasses import dataclass

FITTED_ON = "on every sentence of their data, counted as often as the data has it"
"""How steps after pooling, and word weights, count the sentences they are fitted on.

The encoder's spec names the data, not the protocol: an encoder's fingerprint includes the hash of
these sentences.
"""
Choices = tuple[tuple[str, str], ...]
"""Rows of (setting, value)."""


@dataclass(frozen=True)
class Protocol:
    """A named set of the settings that affect a score.

    Attributes:
        name: the name stored with results.
        types: the task types that the protocol scores.
        seed: the default seed.
        choices: in the order of the card.
        sources: papers and code that the choices come from.
        context: what others choose, quoted for comparison; does not affect scores.
    """

    name: str
    description: str
    types: tuple[str, ...]
    seed: int
    choices: Choices
    sources: tuple[str, ...] = ()
    context: Choices = ()

    @property
    def hash(self) -> str:
        """Hash of everything that affects a score; a test pins it, so that no choice drifts."""
        content = json.dumps([self.name, self.types, self.seed, self.choices])
        return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()

    def card(self) -> list[tuple[str, str]]:
        """Return rows of (setting, value) to show, with seed, hash, sources and context."""
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
