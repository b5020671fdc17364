"""Cards of weights as pieces of a page: whoever wrote them."""

from theodolite.app.components.card import card


def test_headings_and_tables_are_those_of_a_page() -> None:
    """The page has the only heading of the first rank; a table scrolls by key."""
    shown = card("# A decoder\n\n## Text\n\n###### Deep\n\n| a | b |\n| --- | --- |\n| `w` | 1 |\n")
    for element in (
        "<h2>A decoder</h2>",
        "<h3>Text</h3>",
        "<h6>Deep</h6>",
        '<table class="t-table" tabindex="0">',
        "<td><code>w</code></td>",
    ):
        assert element in shown
    assert "<h1" not in shown


def test_markup_stays_text_and_nothing_is_fetched() -> None:
    """No element of its own, no picture from elsewhere, no link that runs something."""
    shown = card(
        "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n"
        "![a picture](https://example.org/seen.png)\n\n[press](javascript:alert(1))\n"
    )
    assert "&lt;script&gt;" in shown
    for wrong in ("<script", "<img", 'href="javascript'):
        assert wrong not in shown
