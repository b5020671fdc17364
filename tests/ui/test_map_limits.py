"""The map where something is missing: WebGL, its context, a window, width; and its files."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.ui.conftest import NARROW, PHONES
from tests.ui.maps import ENCODER, QUERY, drawn, over, said, table
from theodolite.app.pages.map.job import MapJob


@pytest.fixture(scope="module")
def made(workspace):
    """The map of the starter topics that most tests look at."""
    return MapJob.of(ENCODER, "starter-topics", method="pca").make(workspace)


def test_without_webgl_a_canvas_draws(browser, site, made):
    """Where the browser has none; what is selected is the same."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script("""
        const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
            return kind.startsWith("webgl") ? null : get.call(this, kind, ...rest);
        };""")
    page = context.new_page()
    page.goto(f"{site}/{QUERY}")
    expect(said(page)).to_contain_text("2,040 points")
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "canvas")
    over(page).focus()
    page.keyboard.press("v")
    expect(said(page)).to_contain_text("2,040 selected")
    context.close()


def test_a_lost_context_falls_back_and_comes_again(visit, made):
    """The browser may take the drawing away at any time; nothing is lost but a moment."""
    page = drawn(visit)
    over(page).focus()
    page.keyboard.press("v")
    page.evaluate("""() => document.querySelector(".t-map-cloud").getContext("webgl")
        .getExtension("WEBGL_lose_context").loseContext()""")
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "canvas")
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "webgl", timeout=10_000)
    expect(said(page)).to_contain_text("2,040 selected")


def test_a_window_of_nothing_is_no_trouble(visit, made):
    """Resized away and back, in another theme."""
    page = drawn(visit)
    page.evaluate("document.querySelector('.t-map-stage').style.height = '0px'")
    page.set_viewport_size({"width": 320, "height": 1})
    page.wait_for_timeout(200)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.evaluate("document.querySelector('.t-map-stage').style.height = ''")
    page.evaluate("theodolite.toggleTheme()")
    over(page).focus()
    page.keyboard.press("v")
    expect(said(page)).to_contain_text("2,040 selected")


def test_pictures_can_be_saved(visit, made):
    """PNG, SVG with a circle for each point in view, Parquet with every row."""
    page = drawn(visit)
    assert table(page, "PNG").startswith(b"\x89PNG")
    svg = table(page, "SVG").decode()
    assert svg.count("<circle") == 2040
    assert svg.count("<text") > 3
    ElementTree.fromstring(svg)  # noqa: S314 - ours
    assert len(pd.read_parquet(io.BytesIO(table(page, "Parquet")))) == 2040


@pytest.mark.parametrize("dark", PHONES)
def test_on_a_phone(visitor, site, made, dark):
    """Nothing is wider than the window."""
    visit = visitor(site, dark=dark, size=NARROW)
    drawn(visit)
    assert not visit.scrolls_sideways()
    visit.picture(f"map-phone-{'dark' if dark else 'light'}")
