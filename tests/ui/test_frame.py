"""Every page stands in the same frame, at every width and in both colours."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from app.ui import PAGES
from tests.ui.conftest import LOOKS


@pytest.mark.parametrize("module", PAGES, ids=[page.PATH for page in PAGES])
@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_a_page_opens_without_a_complaint_and_fits(visitor, site, module, size, dark):
    """No error, no request elsewhere, no sideways scrolling, its link marked, one heading.

    A picture is kept.
    """
    visit, path = visitor(site, dark=dark, size=size), module.PATH
    page = visit.open(path)
    expect(page.locator("nav a[aria-current=page]")).to_have_text(module.TITLE)
    expect(page.locator("h1")).to_have_count(1)
    page.wait_for_function("document.fonts.status === 'loaded'")
    page.wait_for_timeout(600)  # a picture of the page as filled; the assertions need no wait
    visit.picture(f"{path or 'overview'}-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()


def test_the_bar_leads_to_every_page(visit):
    """A click on a link of the bar opens its page."""
    page = visit.open()
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.locator("h1")).to_have_text("Jobs")


def test_light_and_dark_is_remembered(visit):
    """The button switches the colours, and the next page keeps them."""
    page = visit.open()
    assert not page.evaluate("document.body.classList.contains('dark')")
    page.get_by_role("button", name="Light or dark").click()
    visit.open("jobs")
    assert page.evaluate("document.body.classList.contains('dark')")


def test_the_keyboard_reaches_the_content_first(visit):
    """The first stop of Tab is a link that skips the bar, and stays on the page."""
    page = visit.open("jobs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "t-skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "t-main"
    expect(page.locator("h1")).to_have_text("Jobs")


TICKED = ("compare?encoder=random:64&", "fair-play?", "geometry?data=starter-pairs&",
          "decode?q=Rain.&", "search?q=rain&", "arithmetic?x=a&let=a%3DRain.&")  # fmt: skip
PICKED = ("map?", "spaces?encoder=random:64&", "curate?", "interpolate?a=Rain.&b=Snow.&")


@pytest.mark.parametrize("path", [*TICKED, *PICKED])
def test_an_encoder_that_cannot_be_read_is_one_to_choose_again(visit, path):
    """A link with a slip in it: what is wrong is said, and the form stands there to be mended."""
    page = visit.open(f"{path}encoder=nonsense")
    told = page.get_by_role("alert").filter(has_text="Unknown source 'nonsense'")
    expect(told.first).to_be_visible()
    if path in TICKED:
        expect(page.locator("#encoders").get_by_label("nonsense")).to_be_checked()
        expect(page.locator("#encoders").get_by_label("random:256")).to_be_visible()
    else:
        chosen = "[...document.querySelectorAll('input')].some(box => box.value === 'nonsense')"
        page.wait_for_function(chosen)
