"""The card of a result says what its intervals and tests draw."""

from __future__ import annotations

from typing import Any

import pytest

from theodolite.app.components import protocol_card

FACTS = {"by": "document", "n": 240, "largest": 17, "ways": 1}


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        (FACTS, "240 clusters, the largest of 17 examples: those that share a document"),
        (FACTS | {"by": "column"}, "240 clusters, named by a column, the largest of 17 examples"),
        (FACTS | {"by": "text", "ways": 2}, "the 240 texts of the pairs, each in up to 17"),
    ],
)
def test_what_is_drawn_is_said(facts: dict[str, Any], said: str) -> None:
    """Clusters, and by what; nothing where every example is independent."""
    ((_, text),) = protocol_card.drawn(facts)
    assert text.startswith(said)
    assert protocol_card.drawn(None) == []
