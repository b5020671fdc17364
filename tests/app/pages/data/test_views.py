"""The page Data shows every kind of data set there is."""

from __future__ import annotations

from typing import get_args

import numpy as np

from app.pages.data import views as data_views
from engine.datasets import CaptionPart, Captions, LabelledPairs
from engine.datasets.types import Kind


def test_every_kind_has_words() -> None:
    """A list of a folder with pairs and captions must not fail."""
    assert set(data_views.KINDS) == set(get_args(Kind))


def test_labelled_pairs_show_both_sides() -> None:
    """Sentences are kept once; the rows have them where they belong."""
    data = LabelledPairs.of("mine", ["a <b>", "c"], ["c", "d"], ["yes", "no"], ["train", "test"])
    heads, rows = data_views._rows(data)
    assert heads == ("Row", "Label", "Left", "Right")
    assert [cell.replace('<span dir="auto">', "").replace("</span>", "") for cell in rows[0]] == [
        "1", "yes", "a &lt;b&gt;", "c",
    ]  # fmt: skip
    assert ("pairs", "2") in data_views._facts(data, None)


def test_captions_count_their_images() -> None:
    """Of every split."""
    part = CaptionPart(("a", "b", "c", "d", "e"), np.zeros((1, 3), np.float32))
    facts = data_views._facts(Captions("COCO", {"train": part, "dev": part}), None)
    assert ("images", "train 1, dev 1") in facts
