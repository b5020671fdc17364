"""The page Data shows every kind of data set there is."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from theodolite.app.pages.data import samples
from theodolite.app.pages.data import views as data_views
from theodolite.engine.datasets import CaptionPart, Captions, LabelledPairs
from theodolite.engine.datasets.types import DatasetInfo, Kind


def test_every_kind_has_words() -> None:
    """A list of a folder with pairs and captions must not fail."""
    assert set(data_views.KINDS) == set(get_args(Kind))


def test_labelled_pairs_show_both_sides() -> None:
    """Sentences are kept once; the rows have them where they belong."""
    data = LabelledPairs.of("mine", ["a <b>", "c"], ["c", "d"], ["yes", "no"], ["train", "test"])
    heads, rows = samples.rows(data)
    assert heads == ("Row", "Label", "Left", "Right")
    cells = [cell.replace('<span dir="auto">', "").replace("</span>", "") for cell in rows[0]]
    assert cells == ["1", "yes", "a &lt;b&gt;", "c"]
    assert ("pairs", "2") in samples.facts(data, None)


def test_captions_count_their_images() -> None:
    """Of every split."""
    part = CaptionPart(("a", "b", "c", "d", "e"), np.zeros((1, 3), np.float32))
    facts = samples.facts(Captions("COCO", {"train": part, "dev": part}), None)
    assert ("images", "train 1, dev 1") in facts


def test_sets_of_one_benchmark_are_one_line() -> None:
    """From three on; their names and what differs stay to be found and chosen."""
    codes = ("de", "fr", "ja")
    infos = {
        name: DatasetInfo(name, "pairs", "folder", f"Pairs in {name}, graded.", task=name)
        for name in (
            *(f"bench/{code}" for code in codes),
            *("other/de", "other/fr", "STS12"),
            *("photo-set", "photo-set-dev", "photo-set-de-dev"),
            *("tweets_irony", "tweets_anger", "tweets_joy", "bbc_news", "search_snippets"),
        )
    }
    assert list(data_views._families(list(infos.values()))) == [
        *("bench", "other/de", "other/fr", "STS12"),
        *("photo-set", "tweets", "bbc_news", "search_snippets"),
    ]
    languages = [infos[f"bench/{code}"] for code in codes]
    line = data_views._folded("bench", languages, {}, "bench/fr")
    assert line.count("<li") == 1 and "3 sets" in line and "Pairs in … graded." in line
    assert 'aria-label="Preview bench/ja"' in line and line.count('class="t-open"') == 1
    assert 'data-text="bench/ja pairs' in line


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        (["Same.", "Same."], "Same."),
        (["By voice (probing).", "By the tense (probing)."], "By … (probing)."),
        (["a b", "a b c"], "a b …"),
        (["x", "y"], "…"),
    ],
)
def test_descriptions_are_told_once(texts: list[str], told: str) -> None:
    """What is alike at both ends, and an ellipsis between; of one, itself."""
    assert data_views._alike(texts) == told
