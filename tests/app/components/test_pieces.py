"""Pieces of a page: what became of the words, cards of weights, the value of a heatmap."""

import json

import numpy as np
import pytest

from theodolite.app.blocks import WordDiffs
from theodolite.app.components import word_diff
from theodolite.app.components.card import card
from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow, grid
from theodolite.app.pages.decode.answer import word_diff_of
from theodolite.app.pages.decode.service import DecodeResult
from theodolite.app.surfaces import document
from theodolite.engine.decoding.differing import differing


@pytest.mark.parametrize(
    ("before", "after", "html"),
    [
        ("the old dog", "the dog", "the <del>old</del> dog"),
        ("the dog", "the dog slept well", "the dog <ins>slept well</ins>"),
        ("Who does it?", "does it?", "<del>Who</del> does it?"),
        ("a <b> c", "a c", "a <del>&lt;b&gt;</del> c"),
        ("It is.", "It is!", "It is<del>.</del><ins>!</ins>"),
    ],
)
def test_words_are_marked_at_their_places(before, after, html):
    """Spaces stand where they stood, markup is text."""
    assert word_diff.mark(differing(before, after)) == html


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("the old dog", "the old dog", "All of it came back, 3 words."),
        ("the old dog!", "the old dog", "All 3 words kept; the marks between them differ."),
        ("the old dog", "the dog sleeps", "2 of 3 words kept in place. Lost: old. New: sleeps."),
        ("a b", "b a", "1 of 2 words kept in place. Moved: "),
        ("😀 🚀", "the dog", "The sentence has no words. New: the, dog."),
    ],
)
def test_it_is_said_in_words_too(before, after, said):
    """For those who do not see the marks."""
    assert word_diff.tally(differing(before, after)).startswith(said)


def test_a_card_escapes_what_comes_from_outside():
    """Names, sentences, candidates."""
    probe = "<xss>"
    decoded = DecodeResult(
        probe, probe, probe, 0.5, ((probe, -0.25),), differing(probe, f"{probe} x"), unseen=(probe,)
    )
    (html,) = document.pieces([WordDiffs(probe, [word_diff_of(decoded)])])
    assert probe not in html and "−0.250" in html


@pytest.mark.parametrize(
    ("written", "shown", "never"),
    [
        (
            "# A decoder\n\n## Text\n\n###### Deep\n\n| a | b |\n| --- | --- |\n| `w` | 1 |\n",
            [
                "<h2>A decoder</h2>",
                "<h3>Text</h3>",
                "<h6>Deep</h6>",
                '<table class="t-table" tabindex="0">',
                "<td><code>w</code></td>",
            ],
            ["<h1"],
        ),
        (
            "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n"
            "![a picture](https://example.org/seen.png)\n\n[press](javascript:alert(1))\n",
            ["&lt;script&gt;"],
            ["<script", "<img", 'href="javascript'],
        ),
    ],
    ids=["headings and tables", "hostile"],
)
def test_the_card_of_some_weights(written, shown, never):
    """The page has the only heading of the first rank; a table scrolls by key.

    Markup stays text: no picture from elsewhere, no link that runs something.
    """
    html = card(written)
    assert [text for text in (*shown, *never) if text in html] == shown


@pytest.mark.parametrize(("score", "read"), [(float("nan"), None), (np.float64(1.5), 1.5)])
def test_it_is_one_text_of_json(score: float, read: float | None) -> None:
    """Of an object, the browser would copy every number; one NaN would take all with it."""
    cells = {"a": Cell(score, 3, (("protocol", "simcse"),)), "b": Cell(state="waiting")}
    made = json.loads(grid([HeatmapColumn("a", "A")], [HeatmapRow("minilm", cells)]))
    first, second = made["rows"][0]["cells"].values()
    assert (first["score"], first["facts"]) == (read, [["protocol", "simcse"]])
    assert second["state"] == "waiting"
