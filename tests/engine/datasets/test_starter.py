"""The starter set: large enough, varied, without doubles, and part of the package."""

import tomllib
from collections import Counter
from pathlib import Path

from theodolite.engine.datasets.starter import read_pairs, read_topics

REPOSITORY = Path(__file__).parents[3]


def test_pairs_are_graded_and_without_doubles() -> None:
    """On the scale 0 to 5 in steps that the rubric knows, every grade used."""
    part = read_pairs().parts["all"]
    sides = [frozenset(pair) for pair in zip(part.left, part.right, strict=True)]
    assert set(range(6)) <= set(part.gold.tolist()) <= {i / 2 for i in range(11)}
    assert min(Counter(int(gold) for gold in part.gold).values()) >= 20
    assert len(set(sides)) == len(sides) >= 400, "no pair twice, whichever way round"
    assert all(len(pair) == 2 for pair in sides)
    assert all(sentence == " ".join(sentence.split()) for pair in sides for sentence in pair)


def test_topics_are_balanced_and_without_doubles() -> None:
    topics = read_topics()
    n, counts = len(topics.sentences), Counter(topics.labels)
    assert len({s.casefold() for s in topics.sentences}) == n >= 2000
    assert len(counts) >= 15 and min(counts.values()) >= 0.5 * n / len(counts)


def test_sentences_are_not_from_templates() -> None:
    """No 4-word opening in more than 1 % of the sentences, pairs and topics each."""
    for sentences in (read_topics().sentences, read_pairs().sentences):
        openings = Counter(" ".join(s.casefold().split()[:4]) for s in sentences)
        opening, count = openings.most_common(1)[0]
        assert count <= 0.01 * len(sentences), (opening, count)


def test_its_files_are_in_the_package() -> None:
    """Every file of the starter set matches a pattern of the package data."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    patterns = project["tool"]["setuptools"]["package-data"]["theodolite.engine"]
    engine = REPOSITORY / "engine"
    shipped = {path for pattern in patterns for path in engine.glob(pattern)}
    files = {p for p in (engine / "datasets" / "starter").rglob("*") if p.is_file()}
    assert files <= shipped and len(files) >= 17
