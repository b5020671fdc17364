"""Radio buttons on every page: one group, one stop of the Tab key, moved by the arrow keys."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of

CHECKED = "input:checked"


@pytest.mark.parametrize(
    ("path", "radios", "words", "after"),
    [
        (
            "search?encoder=random:64&mode=pattern",
            "#mode",
            "Search by",
            ("pattern", "meaning", "examples", "words"),
        ),
        ("curate?job=near", "#job", "Look for", ("near", "outliers", "typical")),
        (
            "geometry?encoder=random:64&data=starter-pairs",
            "#rule",
            "Alignment: positive pairs",
            ("over", "from"),
        ),
        (
            "spaces?encoder=random:64&encoder=random:256&groups=hdbscan",
            "#groups",
            "Clusters",
            ("hdbscan", "k-means", "hdbscan"),
        ),
    ],
)
def test_arrow_keys_move_the_choice(visit, path, radios, words, after):
    """To the next one and back, with what the page does about it; Tab leaves the group.

    The first is one that the address alone has chosen: it stands there when the page is filled.
    """
    page = visit.open(path)
    group = page.locator(radios)
    page.locator("[aria-controls=more]").click()
    expect(group.locator(f"[value='{after[0]}']")).to_be_checked(timeout=20_000)
    expect(group).to_have_attribute("role", "radiogroup")
    assert words in group.get_attribute("aria-label")
    group.locator(CHECKED).focus()
    for value in after[1:]:
        page.keyboard.press("ArrowRight")
        expect(group.locator(f"[value='{value}']")).to_be_checked()
        expect(group.locator(f"[value='{value}']")).to_be_focused()
    address_of(page, f"={after[-1]}")
    page.keyboard.press("ArrowLeft")
    expect(group.locator(f"[value='{after[-2]}']")).to_be_checked()
    page.keyboard.press("Tab")
    expect(group.locator("input:focus")).to_have_count(0)
