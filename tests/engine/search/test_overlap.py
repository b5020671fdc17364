"""Texts of a test in a training set: all pairs that a plain comparison of sets finds."""

import re

import numpy as np
import pytest

from theodolite.engine.search import overlap as module
from theodolite.engine.search.curation import plain_text
from theodolite.engine.search.overlap import overlap

TRAINED = [
    "A man is playing a guitar on the stage.",
    "Two dogs run through the high grass near the river",
    "Zwei Hunde rennen am Fluss durch das hohe Gras.",
    "两只狗在河边的高草丛中奔跑",
    "no",
    "",
]


def sets(text: str) -> set[str]:
    """The 5-grams of a text, the plain way."""
    letters = re.sub(r"[\W_]+", "", plain_text(text))
    return {letters[i : i + 5] for i in range(len(letters) - 4)}


def test_word_for_word_but_for_case_spaces_and_end_marks() -> None:
    """They come first."""
    found = overlap(["a man  is playing a guitar on the Stage", "something else", "NO!"], TRAINED)
    assert found.ids.tolist() == [0, 2] and found.twins.tolist() == [0, 4]
    assert found.exact.all() and (found.resemblance == 1).all()
    assert (found.tested, found.trained) == (3, 6)
    # As tokenised copies of data sets have them.
    found = overlap(["it 's , in a word , fine ."], ["It's, in a word, fine"])
    assert found.resemblance.tolist() == [1.0] and not found.exact[0]
    for tested, trained in (([], TRAINED), (TRAINED, []), (["hi"], ["ho"])):  # no texts, no grams
        assert not len(overlap(tested, trained).ids)
    progress: list[tuple[int, int]] = []
    overlap(["new sentence"], TRAINED, progress=lambda *at: progress.append(at))
    assert progress == [(6, 6)]


def test_nearly_the_same_with_the_nearest_of_them() -> None:
    """In any script; the twin is the most similar one."""
    tested = [
        "Two dogs run through the high grass near the rivers",
        "两只狗在河边的高草丛中奔跑着",
        "Two cats sleep",
        "it 's a man is playing a guitar on the stage",
    ]
    found = overlap(tested, [*TRAINED, "Two dogs run through the high grass"], 0.7)
    assert found.ids.tolist() == [0, 1, 3] and found.twins.tolist() == [1, 3, 0]
    assert not found.exact.any() and (np.diff(found.resemblance) <= 0).all()
    pair = sets(tested[0]), sets(TRAINED[1])
    assert found.resemblance[0] == pytest.approx(len(pair[0] & pair[1]) / len(pair[0] | pair[1]))


@pytest.mark.parametrize("least", [0.3, 0.5, 0.8, 1.0])
def test_none_is_missed(least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against the sets of all pairs, whatever the threshold."""
    monkeypatch.setattr(module, "_CHARACTERS", 400)  # several blocks
    monkeypatch.setattr(module, "_TESTED", 300)
    monkeypatch.setattr(module, "_PAIRS", 7)
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcd"), 3)) for _ in range(12)]
    draw = [" ".join(rng.choice(words, rng.integers(1, 9))) for _ in range(160)]
    tested, trained = draw[:60], draw[60:]
    grams = [sets(text) for text in trained]
    found = overlap(tested, trained, least)
    expected = {}
    for i, mine in enumerate(map(sets, tested)):
        alike = [len(mine & g) / len(mine | g) if mine | g else 0.0 for g in grams]
        if plain_text(tested[i]) in map(plain_text, trained):
            expected[i] = 1.0
        elif max(alike) >= least:
            expected[i] = max(alike)
            assert found.twins[found.ids == i] == np.argmax(alike)
    assert len(expected) > 3
    resemblance = dict(zip(found.ids.tolist(), found.resemblance.tolist(), strict=True))
    assert resemblance == pytest.approx(expected)
