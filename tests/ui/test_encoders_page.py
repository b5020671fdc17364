"""The encoders page: write a spec, have it checked, keep it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect


@pytest.fixture
def page(visit):
    """The page with its list."""
    page = visit.open("encoders")
    page.wait_for_selector(".t-encoders li")
    return page


def spec(page):
    """The text box of the spec."""
    return page.get_by_label("Spec", exact=True)


def test_a_wrong_spec_is_explained_while_it_is_written(page):
    """The message names what is wrong; it is text, whatever is in it."""
    spec(page).fill("rando:12<script>alert(1)</script>")
    expect(page.locator("#verdict")).to_contain_text("rando")
    assert page.locator("#verdict script").count() == 0


def test_a_good_spec_shows_its_canonical_form_and_is_added(page, workspace):
    """Spaces do not matter; the list has the canonical text."""
    spec(page).fill("random:32|normalise")
    expect(page.locator("#verdict")).to_contain_text("random:32 | normalise")
    page.get_by_role("button", name="Add encoder").click()
    expect(page.locator(".t-encoders")).to_contain_text("random:32 | normalise")
    assert workspace.store.encoders.get("random:32 | normalise") is not None
    page.get_by_role("button", name="Remove random:32 | normalise").click()
    expect(page.locator(".t-encoders")).not_to_contain_text("random:32 | normalise")


def test_the_choices_write_the_spec(page):
    """Source, value and steps become the text one could have typed."""
    page.get_by_label("Random words").check()
    page.get_by_label("Dimensions").fill("48")
    page.get_by_label("Centre: subtract the mean").check()
    page.get_by_label("Normalise: length 1").check()
    expect(spec(page)).to_have_value("random:48 | center:@task | normalise")
    expect(page.locator("#verdict")).to_contain_text("48 dimensions")


def test_the_spec_is_in_the_address(page):
    """A link can bring a spec along."""
    spec(page).fill("random:16")
    page.wait_for_function("location.search.includes('random%3A16')")
    page.goto(page.url)
    expect(spec(page)).to_have_value("random:16")
