"""How alike data sets are: which collections there are, what is drawn, and their order."""

import numpy as np
import pytest

from tests.errors import refused
from theodolite.engine.datasets.types import (
    DatasetInfo,
    Kind,
    LabelledSentences,
    Parallel,
    ParallelPart,
    Sentences,
)
from theodolite.engine.space.dataset_similarity import (
    Collection,
    by_label,
    by_language,
    everything,
    families,
    mean,
    order,
    similarity,
)


def info(name: str, kind: Kind, *languages: str) -> DatasetInfo:
    """As a catalog lists one."""
    return DatasetInfo(name, kind, "folder", "", languages=languages)


LISTED = [
    info("STS12", "pairs", "eng"),
    info("xnli/de", "labelled-pairs", "deu"),
    info("xnli/en", "labelled-pairs", "eng"),
    info("tatoeba/afr-eng", "parallel", "afr", "eng"),
    info("tatoeba/ara-eng", "parallel", "ara", "eng"),
    info("plain/abc", "sentences"),
    info("plain/brown", "sentences"),
]


def test_a_family_in_several_languages_is_one_row() -> None:
    """The English one, or the first; what is in one language stands for itself."""
    assert list(families(LISTED)) == ["xnli", "tatoeba"]
    assert [(row.name, row.group) for row in everything(LISTED)] == [
        ("STS12", "STS"),
        ("xnli/en", "PairClassification"),
        ("tatoeba/afr-eng", "BitextMining"),
        ("plain/abc", "No task"),
        ("plain/brown", "No task"),
    ]
    # Of parallel sentences each side is a language of its own.
    assert by_language(families(LISTED)["tatoeba"]) == [
        Collection("afr", "tatoeba/afr-eng", "left"),
        Collection("eng", "tatoeba/afr-eng", "right"),
        Collection("ara", "tatoeba/ara-eng", "left"),
    ]


def test_what_is_drawn() -> None:
    """Distinct sentences of the part, the same ones every time, in their order."""
    labelled = LabelledSentences("l", ["a", "b", "a", " ", "c"], ["x", "y", "x", "x", "x"])
    assert Collection("x", "l", "x").sample(labelled) == ["a", "c"]
    assert [row.part for row in by_label(labelled)] == ["x", "y"]
    both = Parallel("p", {"test": ParallelPart.aligned(["eins"], ["one"])}, ("deu", "eng"))
    assert Collection("eng", "p", "right").sample(both) == ["one"]
    many = Sentences("m", [f"{i:03}" for i in range(500)])
    drawn, again, other = (Collection("m", "m").sample(many, 50, seed=seed) for seed in (0, 0, 1))
    assert drawn == sorted(set(drawn)) == again != other
    assert len(drawn) == 50
    with refused("missing", "z"):
        Collection("z", "l", "z").sample(labelled)
    with refused("wrong-kind", "m"):
        by_label(many)


def test_cosines_of_means_by_hand() -> None:
    """Length counts nothing: two of one direction and one of another lie at 26.6 degrees."""
    first = mean(np.array([[2.0, 0.0], [5.0, 0.0], [0.0, 1.0]]))
    assert first == pytest.approx([2 / 3, 1 / 3])
    found = similarity(np.array([first, [1.0, 0.0], [-3.0, 0.0]]))
    assert found == pytest.approx(
        np.array([[1, 2 / 5**0.5, -2 / 5**0.5], [2 / 5**0.5, 1, -1], [-2 / 5**0.5, -1, 1]])
    )


def test_the_alike_stand_together() -> None:
    """Whatever the order they come in; within groups where there are some."""
    angles = np.radians([0, 90, 5, 95, 10, 100])
    found = similarity(np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert sorted(map(sorted, order(found).reshape(2, 3).tolist())) == [[0, 2, 4], [1, 3, 5]]
    grouped = order(found, ["a", "a", "b", "b", "a", "a"]).tolist()
    assert sorted(grouped) == [*range(6)] and set(grouped[:2]) | set(grouped[-2:]) >= {2, 3}
    assert order(np.ones((2, 2))).tolist() == [0, 1]
