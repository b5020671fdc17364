"""Recall, precision and IoU of passages, against sets of characters."""

import random

import pytest

from theodolite.engine.stats.ranking import Span, of_passages


def characters(spans: list[Span]) -> list[tuple[str, int]]:
    return [(document, i) for document, start, stop in spans for i in range(start, stop)]


@pytest.mark.parametrize("seed", range(40))
def test_passages_are_compared_as_sets_of_characters(seed: int) -> None:
    rng = random.Random(seed)

    def draw(n: int) -> list[Span]:
        starts = [(rng.choice("ab"), rng.randrange(30)) for _ in range(n)]
        return [(document, start, start + rng.randrange(1, 12)) for document, start in starts]

    chunks, answers = draw(rng.randrange(5)), draw(rng.randrange(1, 4))
    wanted, both = set(characters(answers)), set(characters(answers)) & set(characters(chunks))
    retrieved = len(characters(chunks))  # what overlapping chunks share counts each time
    assert of_passages(chunks, answers) == pytest.approx(
        (
            len(both) / len(wanted),
            len(both) / max(retrieved, 1),
            len(both) / (retrieved + len(wanted) - len(both)),
        )
    )


def test_an_example_of_chroma_s() -> None:
    """One chunk holds half of the answer, of two chunks that overlap by ten characters."""
    chunks = [("a", 0, 40), ("a", 30, 70)]
    assert of_passages(chunks, [("a", 50, 90)]) == (20 / 40, 20 / 80, 20 / 100)
