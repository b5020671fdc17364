"""The page Two spaces in a real browser: linked maps, moving points, the list, the flow."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import NARROW
from tests.ui.steps import address_of, says
from theodolite.app.pages.spaces.service import SpacesJob

A, B = "random:64", "random:256"
QUERY = f"spaces?encoder={A}&encoder={B}&method=pca"


@pytest.fixture(scope="module")
def pair(workspace):
    """The starter topics under two encoders, measured."""
    return SpacesJob.of(A, B, "starter-topics", method="pca").make(workspace)


def sides(page, points="2,040"):
    """The two maps, once both are drawn."""
    found = page.locator("#left-map"), page.locator("#right-map")
    for side in found:
        expect(said(side)).to_contain_text(f"{points} points")
    return found


def said(side):
    """The line under a map."""
    return side.locator(".t-map-said")


def over(side):
    """The canvas that takes pointer and keys."""
    return side.locator(".t-map-over")


def chosen(side):
    """How many points are selected on a map, by its own count."""
    found = re.search(r"([\d,]+) selected", said(side).inner_text())
    return int(found[1].replace(",", "")) if found else 0


def test_figures_and_flow_have_their_numbers(visit, pair):
    """Rounded as the table has them; a diagram, and every flow in the table below it."""
    page = visit.open(QUERY)
    sides(page)
    rows = page.locator("#figures tbody tr")
    expect(rows).to_have_count(4)
    for row, numbers in zip(rows.all(), pair.report["rows"], strict=True):
        says(row, f"{numbers['jaccard']:.3f}", f"{numbers['residual']:.3f}")
    says(rows.nth(1), "noise floor")
    says(page.locator("#finding h2"), "share")
    flow = page.locator("#flow")
    expect(flow.locator(".sankey-link").first).to_be_visible()
    flow.locator("summary").click()
    largest = max(count for row in pair.report["clusters"]["counts"] for count in row)
    says(flow.locator("tbody tr").first, str(largest))
    visit.fits("spaces")
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.wait_for_function(
        "() => { const [a, b] = ['left', 'right'].map((side) => document.querySelector("
        "`#${side}-map`).getBoundingClientRect()); return a.bottom <= b.top; }"
    )


def test_what_is_done_on_one_map_is_seen_on_the_other(visit, pair):
    """By key and by mouse: selection, hover, words found, colour, filter."""
    page = visit.open(QUERY)
    left, right = sides(page)
    over(left).focus()
    page.keyboard.press("v")
    says(said(right), "2,040 selected")
    over(right).focus()
    page.keyboard.press("Escape")
    expect(said(left)).to_have_text("2,040 points.")

    over(left).focus()
    page.keyboard.press("n")
    tips = [side.locator(".t-map-tip") for side in (left, right)]
    for tip in tips:
        expect(tip).to_be_visible()
    expect(tips[1]).to_have_text(tips[0].inner_text(), use_inner_text=True)
    page.keyboard.press("/")
    page.keyboard.type("the sea")
    page.keyboard.press("Enter")
    n = sum("the sea" in text.lower() for text in pair.first.sentences)
    for side in (left, right):
        says(said(side), f"{n} found")
    expect(right.get_by_label("Find", exact=True)).to_have_value("the sea")
    address_of(page, "find=the+sea")
    over(right).focus()
    page.keyboard.press("Escape")
    expect(said(left)).to_have_text("2,040 points.")

    left.get_by_role("button", name="Lasso").click()
    over(left).scroll_into_view_if_needed()
    area = over(left).bounding_box()
    x, y = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
    page.mouse.move(x - 80, y - 80)
    page.mouse.down()
    for dx, dy in ((80, -80), (80, 80), (-80, 80)):
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    for side in (left, right):
        says(said(side), "selected")
    assert 0 < chosen(left) == chosen(right) < 2040
    first = left.locator(".t-map-card ol button").first.inner_text()
    expect(right.locator(".t-map-card ol button").first).to_have_text(first)

    left.get_by_label("Colour by").select_option("label")
    expect(right.get_by_label("Colour by")).to_have_value("label")
    right.locator(".t-map-label").first.click()
    says(said(left), "1,938 filtered away")


def test_zoom_is_shared_and_the_address_keeps_both_maps(visitor, site, pair):
    """Closer on the left is closer on the right; another tab has it too, and what was filtered."""
    page = visitor(site).open(QUERY)
    left, right = sides(page)
    over(left).focus()
    for _ in range(3):
        page.keyboard.press("+")
    over(right).focus()
    page.keyboard.press("v")
    for side in (left, right):
        says(said(side), "selected")
    assert 0 < chosen(left) == chosen(right) < 2040
    page.keyboard.press("Escape")
    left.locator(".t-map-label").first.click()
    says(said(right), "1,938 filtered away")
    over(right).focus()
    page.keyboard.press("v")
    says(said(left), "selected")
    again = visitor(site).open(address_of(page, "view=", "filter="))
    there = sides(again)
    for side in there:
        says(said(side), "1,938 filtered away")
    over(there[1]).focus()
    again.keyboard.press("v")
    says(said(there[0]), "selected")
    assert chosen(there[0]) == chosen(left) > 0


def test_the_list_opens_both_neighbour_lists_by_key(visit, pair):
    """The one that changed most, its nearest with either encoder, and its place on both maps."""
    page = visit.open(QUERY)
    left, right = sides(page)
    top = pair.report["changed"][0]
    item = page.locator("#changed .t-changes > li").first
    item.locator("summary").press("Enter")
    columns = item.locator(".t-column")
    expect(columns).to_have_count(2)
    for column, side in zip(columns.all(), ("first", "second"), strict=True):
        says(column.locator("li p").first, pair.first.sentences[top[side][0][0]])
    page.keyboard.press("Tab")
    expect(item.get_by_role("button", name="Show it on the maps")).to_be_focused()
    page.keyboard.press("Enter")
    for side in (left, right):
        expect(side.locator(".t-map-card h3")).to_have_text(pair.first.sentences[top["id"]])
    theirs = right.locator(".t-map-card td:first-child").first
    expect(theirs).to_have_text(pair.first.sentences[top["second"][0][0]])


def test_points_move_by_slider_and_by_button(visit, pair):
    """From two maps to one that moves and back; by key to the other end."""
    page = visit.open(QUERY)
    left, right = sides(page)
    page.get_by_label("One map, animated").check()
    slider = left.get_by_role("slider", name=f"From {A} to {B}")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", f"100 % of the way to {B}")
    expect(right).not_to_be_visible()
    move = left.get_by_role("button", name="Move them")
    # Pressed and read in one moment: there at once, or on their way.
    pressed = "(button, slider) => { button.click(); return Number(slider.value); }"
    page.emulate_media(reduced_motion="reduce")
    assert move.evaluate(pressed, slider.element_handle()) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert move.evaluate(pressed, slider.element_handle()) < 50
    expect(slider).to_have_attribute("aria-valuetext", f"100 % of the way to {B}")
    page.get_by_label("Side by side").check()
    expect(slider).to_have_count(0)
    sides(page)
    page.locator("#second input").click()
    page.get_by_role("option", name=A, exact=True).click()
    says(page.get_by_role("alert"), "encoders are the same")


def test_before_the_run_there_are_planes_at_once(visit, workspace):
    """What takes long is queued by the button, found again by the address, and not begun before."""
    page = visit.open(f"spaces?encoder={A}&encoder={B}&in=starter-pairs&k=7")
    says(page.locator("#finding"), "drawn immediately")
    expect(page.locator("#left-map .t-map-over")).to_be_visible()
    assert not [run for run in workspace.store.runs.list() if run["kind"] == "spaces"]
    page.locator("#compare-spaces").click()
    says(page.locator("#following"), "waiting for its turn")
    (run,) = [run for run in workspace.store.runs.list() if run["kind"] == "spaces"]
    assert run["spec"]["k"] == 7
    address_of(page, f"run={run['id']}")
    workspace.store.runs.cancel(run["id"])
