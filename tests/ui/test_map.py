"""The pages Map and Two spaces in a real browser: drawn, hovered, selected, filtered, linked."""

import io
import re
from urllib.parse import quote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.fakes.decoders import known_sentences
from tests.fakes.uploads import collection
from tests.ui.steps import (
    HOSTILE,
    MAP as QUERY,
    MAPPED as ENCODER,
    NARROW,
    address_of,
    drawn,
    gone_from_address,
    on_screen,
    over,
    run_in_address,
    said,
    says,
    stays_text,
    table,
)
from theodolite.app import decoders
from theodolite.app.formats import percent
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.spaces.job import SpacesSpec

COLOURS = """() => {
    const cloud = document.querySelector(".t-map-cloud"), copy = document.createElement("canvas");
    [copy.width, copy.height] = [cloud.width, cloud.height];
    const context = copy.getContext("2d");
    context.drawImage(cloud, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 200) seen.add([0, 1, 2].map((k) => data[i + k] >> 5).join());
    return seen.size;
}"""
"""How many colours, coarsely, are on the canvas of the points."""
WITHOUT = "random:100"
"""An encoder without a decoder."""
PIXELS = "document.querySelector('.t-map-cloud').toDataURL()"


@pytest.fixture(scope="module")
def made(workspace):
    """The map of the starter topics that most tests look at."""
    return MapSpec(ENCODER, "starter-topics", method="pca").make(workspace)


def test_the_map_is_drawn_by_webgl_and_has_its_words(visit, made):
    """Points, legend, trust in words, what is in view as a table, and files to take away.

    The browser may take the drawing away at any time; nothing is lost but a moment.
    """
    page = drawn(visit)
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "webgl")
    says(
        page.locator("#answer .t-section"),
        f"{percent(made.info['trust']['recall'])} of a sentence",
    )
    expect(page.locator(".t-map-label")).to_have_count(20)
    assert page.evaluate(COLOURS) > 10
    page.get_by_role("button", name="What is in view, as a table").click()
    says(page.locator(".t-map-listing"), "50 of 2,040 in view")
    page.locator(".t-map-listing tbody tr").first.get_by_role("button").click()
    expect(page.get_by_role("region", name="The open point")).to_be_visible()

    assert table(page, "PNG").startswith(b"\x89PNG")
    svg = table(page, "SVG").decode()
    assert svg.count("<circle") == 2040 and svg.count("<text") > 3
    ElementTree.fromstring(svg)  # noqa: S314 - ours
    assert len(pd.read_parquet(io.BytesIO(table(page, "Parquet")))) == 2040

    over(page).press("v")
    selected = chosen(page)
    page.evaluate("""() => {
      const map = document.querySelector(".t-map"), canvas = map.querySelector(".t-map-cloud");
      window.scenes = [];
      new MutationObserver(() => scenes.push(map.dataset.scene)).observe(map, { attributes: true });
      canvas.getContext("webgl").getExtension("WEBGL_lose_context").loseContext();
    }""")
    page.wait_for_function("scenes.includes('canvas') && scenes.at(-1) === 'webgl'")
    assert chosen(page) == selected


def test_a_lasso_selects_what_lies_within_it(visit, made):
    """Drawn by mouse, as a diamond; the points are in the CSV with their sentences."""
    page = drawn(visit)
    places = on_screen(page, made.points)
    middle = np.round(places.mean(axis=0))
    corners = middle + np.array([(120, 0), (0, 120), (-120, 0), (0, -120)])
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(*corners[0].tolist())
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner.tolist())
    page.mouse.up()
    expected = np.flatnonzero(np.abs(places - middle).sum(axis=1) < 120)
    says(said(page), f"{len(expected)} selected")
    assert len(expected) > 20
    found = table(page)
    assert found["id"].tolist() == expected.tolist()
    assert found["sentence"].tolist() == [made.sentences[i] for i in expected]
    a_rectangle_adds_and_subtracts(page, places)


def a_rectangle_adds_and_subtracts(page, places):
    """Shift adds, Alt takes away; undo and redo go back and forth."""
    x, y = np.round(places.mean(axis=0)).tolist()
    page.get_by_role("button", name="Rectangle").click()
    selected, counts = np.zeros(len(places), bool), []
    for a, b, key, change in (
        ((x - 120, y - 60), (x, y + 60), None, np.logical_or),
        ((x, y - 60), (x + 100, y + 60), "Shift", np.logical_or),
        ((x - 40, y - 80), (x + 40, y + 80), "Alt", np.greater),
    ):
        if key:
            page.keyboard.down(key)
        page.mouse.move(*a)
        page.mouse.down()
        page.mouse.move(*b, steps=3)
        page.mouse.up()
        if key:
            page.keyboard.up(key)
        selected = change(selected, ((places > a) & (places < b)).all(axis=1))
        counts.append(f"{selected.sum()} selected")
        says(said(page), counts[-1])
    page.get_by_role("button", name="Undo").click()
    says(said(page), counts[1])
    page.keyboard.press("Control+Shift+z")
    says(said(page), counts[2])


def test_hover_and_click_show_text_as_text(visit, workspace, tmp_path):
    """Markup is shown, not run; the tip stays within the map."""
    lines = [HOSTILE, "A boat at sea.", "A train in the rain.", "مرحبا 👩‍🚀", "Bread and salt."]
    boats = collection(workspace, tmp_path, "boats", lines)
    found = MapSpec(ENCODER, boats, method="pca").make(workspace)
    page = drawn(visit, f"{QUERY}&in={boats}", "5")
    x, y = on_screen(page, found.points)[0].tolist()
    page.mouse.move(x + 1, y + 1)
    tip = page.locator(".t-map-tip")
    says(tip, HOSTILE)
    tip, stage = tip.bounding_box(), page.locator(".t-map-stage").bounding_box()
    assert stage["x"] <= tip["x"]
    assert tip["x"] + tip["width"] <= stage["x"] + stage["width"] + 1
    page.mouse.click(x + 1, y + 1)
    says(page.get_by_role("region", name="The open point"), HOSTILE)
    stays_text(page)


def test_an_open_point_has_its_true_neighbours(visit, workspace, made):
    page = drawn(visit)
    number = int(made.points[:, 0].argmax())
    page.mouse.click(*on_screen(page, made.points)[number].tolist())
    card = page.get_by_role("region", name="The open point")
    address_of(page, "view=")  # the map has moved, until the point is beside its panel
    neighbours = maps.point(workspace, made, number, 15)["neighbours"]
    expect(card.locator("tbody button")).to_have_text([one["text"] for one in neighbours])
    link = card.get_by_role("link", name="Open in Search").get_attribute("href")
    assert link.endswith("&q=" + quote(made.sentences[number], safe="!'()*~"))
    card.get_by_role("button", name="Select it and its neighbours").click()
    says(said(page), "16 selected")
    selection = page.get_by_role("region", name="Selected", exact=True)
    acts = ("Label it", "<b>near</b>"), ("Make a data set", "a/b"), ("Make a data set", "near it")
    for act, name in acts:
        selection.get_by_label("Name of the selection").fill(name)
        selection.get_by_role("button", name=act).click()
        if name == "a/b":
            says(selection.get_by_role("alert"), "a/b")
    says(page.locator(".t-map-label").last, "<b>near</b>", "16")
    assert table(page)["own"].tolist() == ["<b>near</b>"] * 16
    says(selection.get_by_role("status"), "upload:near it")
    expect(selection.get_by_role("button", name="Make a data set")).to_be_focused()
    link = selection.get_by_role("link", name="upload:near")
    assert workspace.catalog.load(link.inner_text()).labels == ["<b>near</b>"] * 16


def test_everything_by_keyboard(visit, made):
    """Walk, open, select, move, select what is in view, undo, let go, filter, find."""
    page = drawn(visit)
    over(page).focus()
    tip = page.locator(".t-map-tip span")
    page.keyboard.press("n")
    expect(tip).to_be_visible()
    first = tip.inner_text()
    page.keyboard.press("n")
    expect(tip).not_to_have_text(first)
    page.keyboard.press("N")
    expect(tip).to_have_text(first)
    page.keyboard.press(" ")
    says(said(page), "1 selected")
    page.keyboard.press("Enter")
    card = page.get_by_role("region", name="The open point")
    says(card, first)
    page.keyboard.press("Escape")
    expect(card).to_have_count(0)
    page.keyboard.press("Escape")
    expect(said(page)).to_have_text("2,040 points.")
    page.keyboard.press("v")
    says(said(page), "the selection too large to fit in the link")
    page.keyboard.press("Control+z")
    expect(said(page)).to_have_text("2,040 points.")

    page.locator(".t-map-label", has_text="astronomy").press("Enter")
    says(said(page), "1,938 filtered away")
    other = page.locator(".t-map-label", has_text="cooking")
    other.press("Shift+Enter")
    says(said(page), "1,836 filtered away")
    expect(other).to_be_focused()
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
    over(page).press("/")
    expect(page.get_by_label("Find", exact=True)).to_be_focused()
    page.keyboard.type("THE SEA")
    page.keyboard.press("Enter")
    found = sum("the sea" in sentence.lower() for sentence in made.sentences)
    says(said(page), f"{found} found")
    page.get_by_label("Regular expression").check()
    page.get_by_label("Find", exact=True).fill("(")
    page.keyboard.press("Enter")
    says(said(page), "not a regular expression")


def test_a_copied_address_shows_what_was_seen(visitor, site, made):
    """Place, filter, pattern, size, names, a short selection."""
    page = drawn(visitor(site))
    page.locator(".t-map-label", has_text="astronomy").click()
    page.get_by_label("Points", exact=True).select_option("large")
    page.get_by_label("Names").uncheck()
    page.get_by_label("Regular expression").check()
    page.get_by_label("Find", exact=True).fill("^the .*[.]$")
    page.get_by_label("Find", exact=True).press("Enter")
    says(said(page), "found")
    for key in ("+", "ArrowLeft", "n"):
        over(page).press(key)
    says(said(page), "Label:")  # where the walk has come to
    page.keyboard.press(" ")
    says(said(page), "1 selected")
    copied = address_of(page, "&view=", "ids=")
    again = drawn(visitor(site), copied)
    expect(said(again)).to_have_text(said(page).inner_text())
    assert address_of(again) == copied


def test_principal_components_come_at_once_and_the_map_when_it_is_made(visit, workspace):
    """Pressing the button queues a run; the points go along, and rest without a reload."""
    page = drawn(visit, "map?encoder=random:256&method=umap&seed=7")
    says(page.locator("#answer .t-section"), "first two principal components")
    page.locator("#make-map").click()
    says(page.locator("#following"), "UMAP of starter-topics")
    store = workspace.store.derived
    plain = MapSpec("random:256", "starter-topics", method="pca").make(workspace)
    key = MapSpec("random:256", "starter-topics", method="umap", seed=7).key(workspace)
    sound = store.get(plain.key)
    arrays = {n: np.load(f) for n, f in sound["files"].items()}
    before = page.evaluate(PIXELS)
    store.put_unfinished(key, np.abs(arrays["points"]) ** 0.5)
    page.wait_for_function(f"before => {PIXELS} !== before", arg=before)
    store.end_unfinished(key)
    store.put(key, "map", sound["info"] | {"method": "umap"}, arrays)
    run = workspace.store.runs.list(kinds=["project"])[0]
    workspace.store.runs.start(run["id"], run["attempt"], "test", ["one", "two"])
    expect(page.locator("#following-units li")).to_have_count(2)
    workspace.store.runs.finish(run["id"], run["attempt"], "done")
    says(page.locator("#answer .t-section"), "neighbours on this map")
    says(said(page), "2,040 points")
    expect(page.locator("#following-units li")).to_have_count(0)
    expect(page.locator("#following .t-run > *")).to_have_count(1)
    store.remove(key)


# The map where something is missing: WebGL, a window.


def test_without_webgl_a_canvas_draws(stranger, site, made):
    """Where the browser has none; what is selected is the same."""
    stranger.add_init_script("""
        const get = HTMLCanvasElement.prototype.getContext;
        HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
            return kind.startsWith("webgl") ? null : get.call(this, kind, ...rest);
        };""")
    stranger.goto(f"{site}/{QUERY}")
    says(said(stranger), "2,040 points")
    expect(stranger.locator(".t-map")).to_have_attribute("data-scene", "canvas")
    over(stranger).press("v")
    says(said(stranger), "2,040 selected")


def test_any_place_is_decoded(visit, workspace, decoder_folder):
    """By address, by mouse and by key; without a decoder there is the way to one."""
    workspace.store.encoders.add(WITHOUT)
    decoders.register(workspace, decoder_folder)
    placed = MapSpec(ENCODER, "starter-topics", "quick").make(workspace)
    known = known_sentences()[0]
    x, y = placed.points[placed.sentences.index(known)].tolist()
    page = drawn(visit, f"{QUERY}&said={x!r},{y!r}")
    card = page.get_by_role("region", name="The place decoded")
    expect(card.get_by_role("heading")).to_have_text(known)
    page.get_by_role("button", name="Close", exact=True).click()
    expect(card).to_be_hidden()
    gone_from_address(page, "said=")
    low, high = placed.points.min(axis=0), placed.points.max(axis=0)
    middle = (low + high) / 2
    page.get_by_role("button", name="Decode", exact=True).click()
    page.mouse.click(*on_screen(page, np.array([low, high, middle]))[2].tolist())
    says(card, "weighted mean of the 8 nearest points, in all 64 dim")
    says(
        card.locator("tbody tr").first,
        placed.sentences[int(np.hypot(*(placed.points - middle).T).argmin())],
    )
    address_of(page, "said=")
    over(page).press("n")  # the first point, and what stands there
    page.keyboard.press("d")
    says(card, "the nearest point, in all 64 dimensions")
    page = drawn(visit, f"map?encoder={WITHOUT}&method=pca&said=0,0")
    link = card.get_by_role("link", name="Train a decoder")
    assert link.get_attribute("href").endswith(f"train-decoder?encoder={quote(WITHOUT)}")


A, B = "random:64", "random:256"
SPACES = f"spaces?encoder={A}&encoder={B}&method=pca"


@pytest.fixture(scope="module")
def pair(workspace):
    """The starter topics under two encoders, measured."""
    return SpacesSpec((A, B), "starter-topics", method="pca").make(workspace)


def sides(page):
    """The two maps, once both are drawn."""
    found = page.locator(".t-pair-side").first, page.locator(".t-pair-side").last
    for side in found:
        says(said(side), "2,040 points")
    return found


def chosen(side):
    """How many points are selected on a map, by its own count."""
    says(said(side), "selected")
    return re.search(r"([\d,]+) selected", said(side).inner_text())[1]


def test_figures_flow_and_list_have_their_numbers(visit, pair):
    """Rounded as the table has them; a diagram, and every flow in the table below it."""
    page = visit.open(SPACES)
    left, right = sides(page)
    the_list_opens_both_neighbour_lists_by_key(page, left, right, pair)
    rows = page.get_by_role("region", name="spaces").locator("tbody tr")
    for row, numbers in zip(rows.all(), pair.report["rows"], strict=True):
        says(row, f"{numbers['jaccard']:.3f}", f"{numbers['residual']:.3f}")
    flow = page.locator(".t-chart")
    expect(flow.locator(".sankey-link").first).to_be_visible()
    flow.locator("summary").click()
    largest = max(count for row in pair.report["clusters"]["counts"] for count in row)
    says(flow.locator("tbody tr").first, str(largest))
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    page.wait_for_function(
        "() => { const [a, b] = [...document.querySelectorAll('.t-pair-side')]"
        ".map((side) => side.getBoundingClientRect()); return a.bottom <= b.top; }"
    )


def test_what_is_done_on_one_map_is_seen_on_the_other(visit, pair):
    """By key and by mouse: selection, zoom, hover, words found, colour, filter.

    From two maps to one that moves, by slider to the other end, by button back and on its way.
    """
    page = visit.open(SPACES)
    left, right = sides(page)
    for _ in range(3):
        over(left).press("+")
    over(right).press("v")
    assert chosen(left) == chosen(right) != "2,040"
    address_of(page, "view=")
    over(right).press("Escape")
    expect(said(left)).to_have_text("2,040 points.")

    over(left).press("n")
    tips = [side.locator(".t-map-tip") for side in (left, right)]
    for tip in tips:
        expect(tip).to_be_visible()
    expect(tips[1]).to_have_text(tips[0].inner_text(), use_inner_text=True)
    page.keyboard.press("/")
    page.keyboard.type("the sea")
    page.keyboard.press("Enter")
    says(said(left), "found")
    expect(said(right)).to_have_text(said(left).inner_text())
    expect(right.get_by_label("Find", exact=True)).to_have_value("the sea")
    address_of(page, "find=the+sea")
    left.get_by_role("button", name="Select what was found").click()
    assert chosen(left) == chosen(right)
    first = left.locator(".t-map-card ol button").first.inner_text()
    expect(right.locator(".t-map-card ol button").first).to_have_text(first)

    left.get_by_label("Colour by").select_option("label")
    expect(right.get_by_label("Colour by")).to_have_value("label")
    right.locator(".t-map-label").first.click()
    says(said(left), "1,938 filtered away")

    page.get_by_label("One map, animated").check()
    slider = left.get_by_role("slider", name=f"From {A} to {B}")
    slider.press("End")
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
    expect(right).to_be_visible()


def the_list_opens_both_neighbour_lists_by_key(page, left, right, pair):
    """The one that changed most, its nearest with either encoder, and its place on both maps."""
    top = pair.report["changed"][0]
    item = page.locator(".t-changes > li").first
    item.locator("summary").press("Enter")
    for column, side in zip(item.locator(".t-column").all(), ("first", "second"), strict=True):
        says(column.locator("li p").first, pair.first.sentences[top[side][0][0]])
    page.keyboard.press("Tab")
    expect(item.get_by_role("button", name="Show it on the maps")).to_be_focused()
    page.keyboard.press("Enter")
    for side in (left, right):
        expect(side.locator(".t-map-card h3")).to_have_text(pair.first.sentences[top["id"]])


def test_before_the_run_there_are_planes_at_once(visit, workspace):
    """What takes long is queued by the button, found again by the address, and not begun before."""
    page = visit.open(f"spaces?encoder={A}&encoder={B}&in=starter-pairs&k=7")
    says(page.locator("#answer"), "drawn immediately")
    expect(page.locator(".t-pair-side").first.locator(".t-map-over")).to_be_visible()
    page.locator("#compare-spaces").click()
    says(page.locator("#following"), "waiting for its turn")
    assert workspace.store.runs.get(run_in_address(page))["spec"]["k"] == 7
