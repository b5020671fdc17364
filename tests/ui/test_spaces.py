"""The page Two spaces in a real browser: linked maps, moving points, the list, the flow."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from tests.ui.conftest import NARROW, PHONES
from theodolite.app.pages.spaces.service import SpacesJob

A, B = "random:64", "random:256"
HOSTILE = "<img src=x onerror=alert(1)> a boat"
QUERY = f"spaces?encoder={A}&encoder={B}&method=pca"


@pytest.fixture(scope="module")
def pair(workspace):
    """The starter topics under two encoders, measured."""
    return SpacesJob.of(A, B, "starter-topics", method="pca").make(workspace)


@pytest.fixture
def boats(workspace, tmp_path):
    """A collection of a few sentences, one of them with markup."""
    from theodolite.app.pages.data.service import keep
    from theodolite.engine.datasets.tables import preview

    file = tmp_path / "boats.txt"
    lines = [HOSTILE, "A boat at sea.", "A train in the rain.", "مرحبا 👩‍🚀", "Bread and salt."]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    name = keep(workspace, file, file.name, "spaced", preview(file, file.name).mapping)["name"]
    SpacesJob.of(A, B, f"upload:{name}", method="pca").make(workspace)
    yield name
    workspace.store.uploads.remove("spaced")


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


def test_the_figures_stand_with_noise_and_chance(visit, pair):
    """Rounded as the table has them, the two encoders first."""
    page = visit.open(QUERY)
    rows = page.locator("#figures tbody tr")
    expect(rows).to_have_count(4)
    for row, numbers in zip(rows.all(), pair.report["rows"], strict=True):
        expect(row).to_contain_text(f"{numbers['jaccard']:.3f}")
        expect(row).to_contain_text(f"{numbers['residual']:.3f}")
    expect(rows.nth(1)).to_contain_text("noise floor")
    expect(page.locator("#finding h2")).to_contain_text("share")


def test_a_selection_in_one_shows_in_the_other(visit, pair):
    """By key: all in view, then none; the right map follows and answers."""
    page = visit.open(QUERY)
    left, right = sides(page)
    over(left).focus()
    page.keyboard.press("v")
    expect(said(right)).to_contain_text("2,040 selected")
    over(right).focus()
    page.keyboard.press("Escape")
    expect(said(left)).not_to_contain_text("selected")


def test_zoom_is_shared(visit, pair):
    """Closer on the left: what is in view on the right is less, at the same place."""
    page = visit.open(QUERY)
    left, right = sides(page)
    over(left).focus()
    for _ in range(3):
        page.keyboard.press("+")
    over(right).focus()
    page.keyboard.press("v")
    for side in (left, right):
        expect(said(side)).to_contain_text("selected")
    x, y, span = map(float, pair_view(pair))
    half = span * 0.6**3 / 2
    box = over(right).bounding_box()
    wide, high = (box[side] / min(box["width"], box["height"]) for side in ("width", "height"))
    away = abs(pair.second.points - (x, y))
    inside = int(((away[:, 0] <= half * wide) & (away[:, 1] <= half * high)).sum())
    assert 0 < inside < 2040
    assert abs(chosen(right) - inside) <= 0.02 * 2040
    assert chosen(left) == chosen(right)


def pair_view(pair):
    """Centre and length of what both maps open with, worked out from the points."""
    every = [*pair.first.points, *pair.second.points]
    low = [min(p[axis] for p in every) for axis in (0, 1)]
    high = [max(p[axis] for p in every) for axis in (0, 1)]
    longest = max(high[axis] - low[axis] for axis in (0, 1))
    return (low[0] + high[0]) / 2, (low[1] + high[1]) / 2, 1.08 * longest


def test_a_lasso_on_the_left_selects_on_the_right(visit, pair):
    """Drawn by mouse around the middle; the same sentences, wherever they lie there."""
    page = visit.open(QUERY)
    left, right = sides(page)
    left.get_by_role("button", name="Lasso").click()
    over(left).scroll_into_view_if_needed()
    box = over(left).bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    corners = [(-80, -80), (80, -80), (80, 80), (-80, 80)]
    page.mouse.move(x - 80, y - 80)
    page.mouse.down()
    for dx, dy in corners[1:]:
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()
    expect(said(left)).to_contain_text("selected")
    expect(said(right)).to_contain_text("selected")
    assert 0 < chosen(left) == chosen(right) < 2040
    first = left.locator(".t-map-card ol button").first.inner_text()
    expect(right.locator(".t-map-card ol button").first).to_have_text(first)


def test_colour_and_filter_are_shared(visit, pair):
    """Chosen on the left, seen on the right; one label alone leaves the others grey on both."""
    page = visit.open(QUERY)
    left, right = sides(page)
    left.get_by_label("Colour by").select_option("cluster_b")
    expect(right.get_by_label("Colour by")).to_have_value("cluster_b")
    left.get_by_label("Colour by").select_option("label")
    expect(right.get_by_label("Colour by")).to_have_value("label")
    right.locator(".t-map-label").first.click()
    expect(said(left)).to_contain_text("1,938 filtered away")


def test_hover_and_words_found_are_shared(visit, pair):
    """The tip stands on both maps, and what is found on one is found on the other."""
    page = visit.open(QUERY)
    left, right = sides(page)
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
        expect(said(side)).to_contain_text(f"{n} found")
    expect(right.get_by_label("Find", exact=True)).to_have_value("the sea")
    address_of(page, "find=the+sea")
    over(right).focus()
    page.keyboard.press("Escape")
    expect(said(left)).to_have_text("2,040 points.")


def test_a_copied_address_shows_both_maps_as_they_were(visitor, site, pair):
    """Zoomed on the right, filtered on the left: the same in another tab, on both."""
    page = visitor(site).open(QUERY)
    left, right = sides(page)
    left.locator(".t-map-label").first.click()
    over(right).focus()
    page.keyboard.press("+")
    address_of(page, "view=")
    page.keyboard.press("v")
    expect(said(left)).to_contain_text("selected")
    again = visitor(site).open(address_of(page))
    there = sides(again)
    for side in there:
        expect(said(side)).to_contain_text("1,938 filtered away")
    over(there[1]).focus()
    again.keyboard.press("v")
    expect(said(there[0])).to_contain_text("selected")
    assert chosen(there[0]) == chosen(left) > 0


def test_the_list_opens_both_neighbour_lists_by_key(visit, pair):
    """The one that changed most, its nearest with either encoder, and its place on both maps."""
    page = visit.open(QUERY)
    left, right = sides(page)
    top = pair.report["changed"][0]
    item = page.locator("#changed .t-changes > li").first
    item.locator("summary").focus()
    page.keyboard.press("Enter")
    columns = item.locator(".t-column")
    expect(columns).to_have_count(2)
    for column, name, side in zip(columns.all(), (A, B), ("first", "second"), strict=True):
        expect(column.locator("header")).to_contain_text(name)
        expect(column.locator("li")).to_have_count(10)
        nearest = pair.first.sentences[top[side][0][0]]
        expect(column.locator("li p").first).to_have_text(re.compile(re.escape(nearest)))
    page.keyboard.press("Tab")
    expect(item.get_by_role("button", name="Show it on the maps")).to_be_focused()
    page.keyboard.press("Enter")
    for side in (left, right):
        card = side.locator(".t-map-card")
        expect(card.locator("h3")).to_have_text(pair.first.sentences[top["id"]])
    theirs = right.locator(".t-map-card td:first-child").first
    expect(theirs).to_have_text(pair.first.sentences[top["second"][0][0]])


def test_the_flow_has_its_numbers(visit, pair):
    """A diagram, and every flow in the table below it."""
    page = visit.open(QUERY)
    flow = page.locator("#flow")
    expect(flow.locator(".sankey-link").first).to_be_visible()
    flow.locator("summary").click()
    largest = max(count for row in pair.report["clusters"]["counts"] for count in row)
    expect(flow.locator("tbody tr").first).to_contain_text(str(largest))


def test_points_move_by_slider_and_by_button(visit, pair):
    """By key to the other end; there the map is the second's: what lies left of all lies there."""
    page = visit.open(f"{QUERY}&show=move")
    side = page.locator("#left-map")
    expect(said(side)).to_contain_text("2,040 points")
    slider = side.get_by_role("slider", name=f"From {A} to {B}")
    slider.focus()
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuetext", f"100 % of the way to {B}")
    expect(page.locator("#right-map")).not_to_be_visible()
    move = side.get_by_role("button", name="Move them")
    # Pressed and read in one moment: there at once, or on their way.
    pressed = "(button, slider) => { button.click(); return Number(slider.value); }"
    page.emulate_media(reduced_motion="reduce")
    assert move.evaluate(pressed, slider.element_handle()) == 0
    page.emulate_media(reduced_motion="no-preference")
    assert move.evaluate(pressed, slider.element_handle()) < 50
    expect(slider).to_have_attribute("aria-valuetext", f"100 % of the way to {B}")


def test_the_view_can_be_changed_and_changed_back(visit, pair):
    """From two maps to one that moves: the slider comes and goes."""
    page = visit.open(QUERY)
    left, _ = sides(page)
    page.get_by_label("One map, animated").check()
    slider = left.get_by_role("slider", name=f"From {A} to {B}")
    expect(slider).to_be_visible()
    page.get_by_label("Side by side").check()
    expect(slider).to_have_count(0)
    sides(page)


def test_before_the_run_there_are_planes_at_once(visit, workspace):
    """What takes long is queued by the button, found again by the address, and not begun before."""
    page = visit.open(f"spaces?encoder={A}&encoder={B}&in=starter-pairs&k=7")
    expect(page.locator("#finding")).to_contain_text("drawn immediately")
    expect(page.locator("#left-map .t-map-over")).to_be_visible()
    assert not [run for run in workspace.store.runs.list() if run["kind"] == "spaces"]
    page.locator("#compare-spaces").click()
    expect(page.locator("#following")).to_contain_text("waiting for its turn")
    address_of(page, "run=")
    (run,) = [run for run in workspace.store.runs.list() if run["kind"] == "spaces"]
    assert run["spec"]["k"] == 7
    address_of(page, run["id"])
    workspace.store.runs.cancel(run["id"])


def test_the_same_encoder_twice_is_refused_calmly(visit):
    """In words, above the empty maps."""
    page = visit.open(f"spaces?encoder={A}&encoder={B}&method=pca")
    sides(page)
    page.locator("#second input").click()
    page.get_by_role("option", name=A, exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("encoders are the same")


def test_text_of_an_upload_stays_text(visit, boats):
    """Markup in a sentence is shown, not run."""
    page = visit.open(f"{QUERY}&in=upload:{boats}")
    sides(page, "5")
    expect(page.locator("#changed")).to_contain_text(HOSTILE)
    assert page.locator("#changed img").count() == 0


@pytest.mark.parametrize("dark", PHONES)
def test_it_fits_a_phone(visitor, site, pair, dark):
    """One map under the other, nothing wider than the window."""
    tab = visitor(site, dark=dark, size=NARROW)
    page = tab.open(QUERY)
    left, right = sides(page)
    assert left.bounding_box()["y"] < right.bounding_box()["y"]
    assert not tab.scrolls_sideways()
    tab.picture(f"spaces-{'dark' if dark else 'light'}-narrow")


def test_a_picture(visitor, site, pair):
    """Kept to be looked at."""
    tab = visitor(site)
    sides(tab.open(QUERY))
    tab.picture("spaces-light-wide")
