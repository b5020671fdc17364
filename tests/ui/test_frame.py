"""The frame around every page: the rail, its tabs, light and dark."""

from __future__ import annotations

import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import NARROW


def test_the_rail_leads_to_every_page_and_tabs_to_the_rest(visit):
    """A click on a line opens its first page, one on a tab another."""
    page = visit.open()
    rail = page.get_by_role("navigation", name="Pages")
    rail.get_by_role("link", name="Decode", exact=True).click()
    tabs = page.get_by_role("navigation", name="Decode")
    tabs.get_by_role("link", name="Arithmetic").click()
    expect(page.locator("h1")).to_have_text("Arithmetic")
    expect(rail.get_by_role("link", name="Decode")).to_have_attribute("aria-current", "true")


def test_the_rail_is_there_before_the_page_and_nothing_moves(visitor, site):
    """It waits for no script of Gradio's, and no shift of the layout comes after it."""
    page = visitor(site).page
    page.route("**/assets/*.js", lambda route: None)  # no answer ever comes
    page.goto(f"{site}/jobs", wait_until="commit")
    expect(page.get_by_role("link", name="Jobs")).to_have_attribute("aria-current", "true")
    page.unroute_all(behavior="ignoreErrors")
    page.add_init_script(
        "window.shifts = [];"
        "new PerformanceObserver((list) => shifts.push(...list.getEntries().flatMap("
        "(shift) => shift.sources.map(({ node }) => node?.closest?.('#t-rail, .t-head')))))"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    page.goto(f"{site}/jobs")
    page.wait_for_selector(".t-header")
    assert page.locator("#t-rail").bounding_box() == {"x": 0, "y": 0, "width": 176, "height": 900}
    assert page.locator("#t-main").bounding_box()["x"] == 176
    assert page.evaluate("shifts.filter(Boolean).length") == 0
    page.close()  # its script would stay with it


def test_the_rail_is_folded_to_icons_and_remembers_it(visitor, site):
    """On demand, with its words left to screen readers; on a narrow window of itself."""
    page = visitor(site).open("jobs")
    page.get_by_role("button", name="Fold the list of pages to icons").click()
    assert page.locator("#t-rail").bounding_box()["width"] == 56
    page.reload()
    page.wait_for_selector(".t-header")
    assert page.locator("#t-rail").bounding_box()["width"] == 56
    page.locator("#t-rail").get_by_role("link", name="Search").click()
    expect(page.locator("h1")).to_have_text("Search")
    page.get_by_role("button", name="Unfold the list of pages").click()
    assert page.locator("#t-rail").bounding_box()["width"] == 176
    narrower = visitor(site, size=(1024, 768)).open("jobs")
    assert narrower.locator("#t-rail").bounding_box()["width"] == 56


def test_on_a_phone_the_rail_is_a_sheet(visitor, site):
    """A button opens it on the page's line; Escape closes it and gives the focus back."""
    page = visitor(site, size=NARROW).open("jobs")
    rail, button = page.locator("#t-rail"), page.get_by_role("button", name="Pages")
    expect(rail).to_be_hidden()
    button.click()
    expect(rail.get_by_role("link", name="Jobs")).to_be_focused()
    page.keyboard.press("Escape")
    expect(rail).to_be_hidden()
    expect(button).to_be_focused()
    button.click()
    rail.get_by_role("link", name="Encoders").click()
    expect(page.locator("h1")).to_have_text("Encoders")


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


CHIPS = ("compare?encoder=random:64&", "fair-play?")
TICKED = (
    "geometry?data=starter-pairs&",
    "decode?q=Rain.&",
    "search?q=rain&",
    "arithmetic?x=a&let=a%3DRain.&",
)
PICKED = ("map?", "spaces?encoder=random:64&", "curate?", "interpolate?a=Rain.&b=Snow.&")


@pytest.mark.parametrize("path", [*CHIPS, *TICKED, *PICKED])
def test_an_encoder_that_cannot_be_read_is_one_to_choose_again(visit, path):
    """A link with a slip in it: what is wrong is said, and the form stands there to be mended."""
    page = visit.open(f"{path}encoder=nonsense")
    message = page.get_by_role("alert").filter(has_text="Unknown source 'nonsense'")
    expect(message.first).to_be_visible()
    if path in CHIPS:
        expect(page.locator("#encoders .token", has_text="nonsense")).to_be_visible()
    elif path in TICKED:
        page.get_by_role("button", name="More controls").click()
        expect(page.locator("#encoders").get_by_label("nonsense")).to_be_checked()
        expect(page.locator("#encoders").get_by_label("random:256")).to_be_visible()
    else:
        chosen = "[...document.querySelectorAll('input')].some(box => box.value === 'nonsense')"
        page.wait_for_function(chosen)


def test_on_a_phone_help_and_the_rest_stand_in_the_strip(visitor, site):
    """Beside the search, apart from it; what the help says covers what is below it."""
    page = visitor(site, size=NARROW).open("decode")
    strip = [
        page.get_by_role("button", name="More controls"),
        page.get_by_label("About this page"),
        page.locator(".t-head").get_by_role("button", name="Jump to"),
    ]
    rest, help_, jump = (place.bounding_box() for place in strip)
    assert all(box["y"] + box["height"] <= 44 for box in (rest, help_, jump))
    assert rest["x"] + rest["width"] <= help_["x"]
    assert help_["x"] + help_["width"] <= jump["x"]
    page.get_by_label("About this page").click()
    on_top = """(text) => { const { left, right, top, bottom } = text.getBoundingClientRect();
        return [0.1, 0.5, 0.9].every((share) => text.contains(document.elementFromPoint(
            left + share * (right - left), top + share * (bottom - top)))); }"""
    assert page.locator(".t-about p").evaluate(on_top)


@pytest.mark.parametrize("host", ["elsewhere.example", "192.0.2.1"])
@pytest.mark.parametrize(
    "ask",
    [
        "fetch(url).catch(() => {})",
        "new Image().src = url",
        "document.head.append(Object.assign(document.createElement('script'), { src: url }))",
    ],
    ids=["fetch", "image", "script"],
)
def test_what_asks_another_host_would_fail_here(visit, ask, host):
    """Every visit fails on it: so these tests say that no page of ours asks anybody else."""
    page = visit.open()
    page.evaluate(f"(url) => {{ {ask}; }}", f"http://{host}/x")
    end = time.monotonic() + 30
    while not visit.wrong and time.monotonic() < end:
        page.wait_for_timeout(50)
    assert visit.wrong
    while visit.listeners:
        page.remove_listener(*visit.listeners.pop())
    visit.wrong.clear()


def test_a_page_at_rest_asks_for_no_frames(visitor, site):
    """Gradio's spinner, once taken off the page, would keep a twentieth of a core busy."""
    page = visitor(site).page
    page.add_init_script(
        "window.frames_asked = 0;"
        "const ask = window.requestAnimationFrame.bind(window);"
        "window.requestAnimationFrame = (draw) => { window.frames_asked += 1; return ask(draw); };"
    )
    page.goto(f"{site}/jobs")
    page.wait_for_selector(".t-header")
    frames = []
    while not frames or (len(frames) < 8 and frames[-1] >= 40):  # a busy machine opens it later
        before = page.evaluate("frames_asked")
        page.wait_for_timeout(1000)
        frames.append(page.evaluate("frames_asked") - before)
    page.close()  # its script would stay with it
    assert frames[-1] < 40, frames  # one loop asks for 60; polling takes some


LAID_OUT = """() => {
  const rests = performance.getEntriesByType("navigation")[0].loadEventEnd || Infinity;
  return performance.getEntriesByType("resource")
    .filter(({ name, startTime }) => name.includes("/assets/") && startTime < rests + 2500)
    .map(({ name, transferSize }) => [name, transferSize]);
}"""
"""The files that a page was laid out with, and their bytes, none where they were there already."""


def test_the_scripts_of_other_pages_come_while_this_one_rests(browser, site):
    """A page with components that no page before had does not have to fetch them."""
    page = browser.new_context().new_page()
    page.goto(f"{site}/jobs")
    page.wait_for_selector("link[rel=prefetch]", state="attached", timeout=30_000)
    page.wait_for_function(
        "() => [...document.querySelectorAll('link[rel=prefetch]')]"
        ".every(({ href }) => performance.getEntriesByName(href)"
        ".some(({ responseStatus }) => responseStatus === 200))"
    )
    assert page.locator("link[rel=prefetch][href*='/plotly-']").count() == 1
    page.goto(f"{site}/train")
    page.wait_for_selector(".t-header")
    names = page.evaluate(LAID_OUT)
    assert len(names) > 40
    assert [name for name, size in names if size] == []
    page.context.close()


def test_the_script_of_charts_is_asked_for_before_the_page_is_laid_out(browser, site):
    """It is large: it comes while Gradio is still at work, where there will be a chart."""
    page = browser.new_context().new_page()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    with page.expect_request("**/queue/join*"):  # the first thing that a page laid out asks for
        page.goto(f"{site}/compare")
    assert any("/plotly-" in address for address in asked)
    page.context.close()


def test_the_script_of_charts_is_read_while_the_server_works(visit):
    """From the second page with a chart on: by then the browser keeps what it compiled."""
    page, held = visit.page, []

    @contextmanager
    def answers_held_back():
        page.route("**/queue/data*", lambda route: held.append(route))
        with page.expect_response("**/queue/join*"):
            page.goto(f"{visit.site}/compare")
        yield
        for route in held:
            route.continue_()
        held.clear()
        page.unroute("**/queue/data*")
        page.wait_for_selector(".t-plot .main-svg")

    with answers_held_back():
        page.wait_for_timeout(500)
        assert not page.evaluate("Boolean(window.Plotly)")
    with answers_held_back():
        page.wait_for_function("window.Plotly")
