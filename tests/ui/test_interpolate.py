"""The page Interpolate: the strip, the slider that needs no Python, the chart with its numbers."""

from __future__ import annotations

import io
from urllib.parse import quote

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from tests.ui.conftest import NARROW, PHONES
from tests.ui.decoding import ENCODER, FIRST, HOSTILE, SECOND, WITHOUT, obeyed, registered

HERE = f"interpolate?encoder={ENCODER}&in=starter-pairs"
WALKED = f"{HERE}&a={quote(FIRST)}&b={quote(SECOND)}"


@pytest.fixture(scope="module", autouse=True)
def decoder(workspace, decoder_folder):
    """One encoder has a decoder, the other has none."""
    return registered(workspace, decoder_folder)


def box(page, which):
    """Where a sentence is written."""
    return page.locator(f"#{which} textarea, #{which} input").first


def steps(page):
    """Rows of the strip."""
    return page.locator(".t-steps > li")


def slider(page):
    """The share of the way."""
    return page.get_by_role("slider", name="Share of the way")


def where(page):
    """How far the slider is, in words."""
    return page.locator(".t-ends output")


def test_a_way_is_walked_by_mouse(visit):
    """Eleven steps from one sentence to the other, three real ones beneath each."""
    page = visit.open(HERE)
    expect(steps(page)).to_have_count(11)
    box(page, "first").fill(FIRST)
    box(page, "second").fill(SECOND)
    page.locator("#walk-button").click()
    expect(steps(page)).to_have_count(11)
    expect(steps(page).first.locator(".t-stop")).to_have_text(FIRST)
    expect(steps(page).last.locator(".t-stop")).to_have_text(SECOND)
    expect(steps(page).nth(4).locator(".t-near li")).to_have_count(3)
    expect(page.locator("#told")).to_contain_text("11 steps give")
    address_of(page, "a=", "b=")


def test_the_slider_moves_in_the_browser_alone(visit):
    """By keys: another step at once, in the address too, and nothing is asked of the server."""
    page = visit.open(WALKED)
    expect(where(page)).to_have_text("50 % of the way")
    expect(page.locator("#way .js-plotly-plot")).to_be_visible()
    requests = []
    visit.listen("request", lambda request: requests.append(request.url))
    slider(page).focus()
    page.keyboard.press("End")
    expect(where(page)).to_have_text("100 % of the way")
    expect(page.locator(".t-stage .t-sentence")).to_have_text(SECOND)
    page.keyboard.press("ArrowLeft")
    expect(where(page)).to_have_text("90 % of the way")
    expect(steps(page).nth(9)).to_have_class("t-now")
    steps(page).first.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(where(page)).to_have_text("0 % of the way")
    expect(page.locator(".t-stage .t-sentence")).to_have_text(FIRST)
    address_of(page, "at=0")
    page.wait_for_timeout(500)
    # Scripts and styles that Gradio still loads, and the icon that Chromium asks for, are no call.
    assert [url for url in requests if "/assets/" not in url and "mark.svg" not in url] == []


def test_a_link_opens_the_same_step(visit):
    """Path, number of steps and place of the slider."""
    page = visit.open(f"{WALKED}&path=spherical&steps=5&at=3")
    expect(steps(page)).to_have_count(5)
    expect(where(page)).to_have_text("75 % of the way")
    page.get_by_role("button", name="More controls").click()
    expect(page.get_by_role("radio", name="Great circle")).to_be_checked()
    page.get_by_role("radio", name="Straight line").check()
    expect(where(page)).to_have_text("50 % of the way")


def test_the_chart_has_its_numbers(visit):
    """A row a step; the ends are the sentences themselves."""
    page = visit.open(WALKED)
    expect(page.locator("#way .js-plotly-plot")).to_be_visible()
    page.locator("#way summary").click()
    with page.expect_download() as waiting:
        page.locator("#way").get_by_role("button", name="Download CSV").click()
    rows = pd.read_csv(io.BytesIO(open(waiting.value.path(), "rb").read()))  # noqa: PTH123
    assert rows["share"].tolist() == pytest.approx([k / 10 for k in range(11)])
    assert rows["decoded"].iloc[0] == FIRST
    assert rows["to the first"].iloc[0] == pytest.approx(1, abs=1e-4)
    assert rows["to the second"].iloc[-1] == pytest.approx(1, abs=1e-4)


def test_by_keyboard_alone(visit):
    """Both sentences, Enter in the second, and on to the slider."""
    page = visit.open(HERE)
    expect(steps(page)).to_have_count(11)
    box(page, "first").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(FIRST)
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(SECOND)
    page.keyboard.press("Enter")
    expect(page.locator(".t-ends span").last).to_have_text(SECOND)
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "range":
            break
    page.keyboard.press("ArrowRight")
    expect(where(page)).to_have_text("60 % of the way")


def test_a_missing_end_is_told_calmly(visit):
    """Which one."""
    page = visit.open(f"{HERE}&a={quote(FIRST)}")
    expect(steps(page)).to_have_count(11)
    box(page, "second").fill("")
    page.locator("#walk-button").click()
    expect(page.get_by_role("alert")).to_contain_text("The second sentence is empty")


def test_an_encoder_without_a_decoder_has_the_way_to_one(visit):
    """And no strip."""
    page = visit.open(f"interpolate?encoder={WITHOUT}&a=one&b=two")
    expect(page.locator(".t-lacking")).to_contain_text("No decoder")
    expect(steps(page)).to_have_count(0)


def test_a_collection_that_is_not_encoded_yet_is_no_obstacle(visit, workspace, tmp_path):
    """The way is shown, and how to come to the real sentences."""
    from theodolite.app.pages.data.service import keep
    from theodolite.engine.datasets.tables import preview

    file = tmp_path / "lines.txt"
    file.write_text("".join(f"line {i} of many\n" for i in range(600)), encoding="utf-8")
    keep(workspace, file, file.name, "lines", preview(file, file.name).mapping)
    page = visit.open(WALKED.replace("starter-pairs", "upload:lines"))
    expect(steps(page)).to_have_count(11)
    expect(page.locator("#told")).to_contain_text("600 sentences of upload:lines are not yet")
    expect(page.locator("#told").get_by_role("link", name="Search")).to_be_visible()
    workspace.store.uploads.remove("lines")


def test_hostile_text_stays_text(visit):
    """At the ends of the slider and in the strip."""
    page = visit.open(f"{HERE}&a={quote(HOSTILE)}&b={quote(HOSTILE)}")
    expect(page.locator(".t-ends")).to_contain_text("onerror")
    assert not obeyed(page)


@pytest.mark.parametrize("dark", PHONES)
def test_on_a_phone(visitor, site, dark):
    """Nothing is wider than the window."""
    visit = visitor(site, dark=dark, size=NARROW)
    page = visit.open(WALKED)
    expect(steps(page)).to_have_count(11)
    expect(page.locator("#way .js-plotly-plot")).to_be_visible()
    assert not visit.scrolls_sideways()
    visit.picture(f"interpolate-phone-{'dark' if dark else 'light'}")
