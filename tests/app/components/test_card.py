"""Cards of weights as pieces of a page: whoever wrote them."""

from __future__ import annotations

from theodolite.app.components.card import card


def test_headings_stand_below_the_page_s_own() -> None:
    """The page has the only heading of the first rank."""
    shown = card("# A decoder\n\n## Training text\n\n###### Deep\n")
    assert "<h2>A decoder</h2>" in shown
    assert "<h3>Training text</h3>" in shown
    assert "<h6>Deep</h6>" in shown
    assert "<h1" not in shown


def test_a_table_is_one_of_ours() -> None:
    """It looks like the others and scrolls by key."""
    shown = card("| setting | value |\n| --- | --- |\n| `words` | 14 |\n")
    assert '<table class="t-table" tabindex="0">' in shown
    assert "<td><code>words</code></td>" in shown


def test_markup_stays_text_and_nothing_is_fetched() -> None:
    """No element of its own, no picture from elsewhere, no link that runs something."""
    shown = card(
        "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n"
        "![a picture](https://example.org/seen.png)\n\n[press](javascript:alert(1))\n"
    )
    assert "<script" not in shown
    assert "<img" not in shown
    assert "&lt;script&gt;" in shown
    assert 'href="javascript' not in shown
