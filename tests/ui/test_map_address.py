"""The address of a map: whoever opens it sees the same; and what is said before a map is there."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of, gone_from_address
from tests.ui.maps import ENCODER, QUERY, drawn, over, said
from theodolite.app.pages.map.job import MapJob
from theodolite.app.web import background_call as working


@pytest.fixture(scope="module", autouse=True)
def made(workspace):
    """The map of the starter topics."""
    return MapJob.of(ENCODER, "starter-topics", method="pca").make(workspace)


def test_a_copied_address_shows_what_was_seen(visitor, site):
    """Place, filter, pattern, size, names, a short selection: the same in another tab."""
    first = visitor(site)
    page = drawn(first)
    page.locator(".t-map-label", has_text="astronomy").click()
    page.locator(".t-map-label", has_text="sea").click(modifiers=["Shift"])
    page.get_by_label("Points", exact=True).select_option("large")
    page.get_by_label("Names").uncheck()
    page.get_by_label("Regular expression").check()
    page.get_by_label("Find", exact=True).fill("^the .*[.]$")
    page.get_by_label("Find", exact=True).press("Enter")
    expect(said(page)).to_contain_text("found")
    over(page).focus()
    for key in ("+", "ArrowLeft", "n"):
        page.keyboard.press(key)
    expect(said(page)).to_contain_text("Label:")  # where the walk has come to
    page.keyboard.press(" ")
    expect(said(page)).to_contain_text("1 selected")
    copied = address_of(page, "&view=", "ids=")
    again = drawn(visitor(site), copied)
    expect(said(again)).to_have_text(said(page).inner_text())
    expect(again.get_by_label("Regular expression")).to_be_checked()
    expect(again.get_by_label("Names")).not_to_be_checked()
    expect(again.get_by_label("Points", exact=True)).to_have_value("large")
    assert address_of(again) == address_of(page) == copied


def test_a_range_stands_in_the_address(visitor, site):
    """Of a column of numbers, with the colour it is seen by."""
    page = drawn(visitor(site), f"{QUERY}&colour=length")
    page.get_by_label("Lowest value shown").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(said(page)).to_contain_text("filtered away")
    again = drawn(visitor(site), address_of(page, "filter="))
    expect(said(again)).to_have_text(said(page).inner_text())


def test_what_is_too_long_is_said(visit):
    """A selection of all of it is not in the address."""
    page = drawn(visit)
    over(page).focus()
    page.keyboard.press("v")
    expect(said(page)).to_contain_text("the selection too long to stand in the page's address")
    gone_from_address(page, "ids=")
    page.keyboard.press("Escape")
    expect(said(page)).to_have_text("2,040 points.")


def test_an_old_address_leaves_out_what_is_gone(visit):
    """Filters of columns and labels that are not there, numbers beyond the points, a wild view."""
    page = drawn(
        visit,
        f"{QUERY}&filter=gone:1&filter=label:none&filter=length:a~b&ids=99999,x"
        "&view=a,b,c&size=huge",
    )
    expect(said(page)).to_have_text("2,040 points.")


def test_a_pattern_that_would_hang_is_stopped(visit, monkeypatch):
    """With a bar meanwhile and a sentence after it; the map answers all the time."""
    page = drawn(visit)
    page.get_by_label("Regular expression").check()
    with monkeypatch.context() as impatient:
        impatient.setattr("theodolite.engine.search.regex.SECONDS", 2.0)
        page.get_by_label("Find", exact=True).fill("(.*.*.*)*~")
        page.get_by_label("Find", exact=True).press("Enter")
        expect(said(page).get_by_role("progressbar")).to_be_visible()
        over(page).focus()
        page.keyboard.press("+")
        expect(said(page)).to_contain_text("was stopped")
    page.get_by_label("Find", exact=True).fill("sea[.]$")
    page.get_by_label("Find", exact=True).press("Enter")
    expect(said(page)).to_contain_text("found")


def test_progress_before_the_map(visit, monkeypatch):
    """What is done is said at once, with a bar, until the map is there."""
    encode = working.encode

    def slowly(workspace, encoder, dataset, say):
        say("Encoding 2,040 sentences", 0.25, 30.0)
        time.sleep(3)
        encode(workspace, encoder, dataset, say)

    monkeypatch.setattr(working, "encode", slowly)
    page = visit.open("map?encoder=random:23&method=pca")
    bar = page.locator("#trust").get_by_role("progressbar")
    expect(bar).to_have_attribute("aria-valuenow", "25")
    expect(page.locator("#trust")).to_contain_text("about 30 s left")
    expect(said(page)).to_contain_text("2,040 points", timeout=20_000)


def test_what_takes_too_long_says_how_long(visit, monkeypatch):
    """And leaves it to a run."""

    def never(workspace, encoder, dataset, say):
        raise working.TooSlow(240.0)

    monkeypatch.setattr(working, "encode", never)
    page = visit.open("map?encoder=random:25&method=pca")
    expect(page.locator("#trust")).to_contain_text("That takes about 4 min")
    expect(page.locator("#trust")).to_contain_text("Press Compute map")
