"""The page Map in a real browser: drawn, hovered, selected, filtered, searched."""

from __future__ import annotations

import math
import re
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from tests.ui.conftest import ARTIFACTS
from tests.ui.maps import ENCODER, QUERY, drawn, inside, on_screen, over, said, table
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.web.figures import percent

HOSTILE = "<img src=x onerror=alert(1)> a boat"
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


@pytest.fixture(scope="module")
def made(workspace):
    """The map of the starter topics that most tests look at."""
    return MapJob.of(ENCODER, "starter-topics", method="pca").make(workspace)


@pytest.fixture
def boats(workspace, tmp_path):
    """A collection of a few sentences, one of them with markup."""
    from theodolite.app.pages.data.service import keep
    from theodolite.engine.datasets.tables import preview

    file = tmp_path / "boats.txt"
    lines = [HOSTILE, "A boat at sea.", "A train in the rain.", "مرحبا 👩‍🚀", "Bread and salt."]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    yield keep(workspace, file, file.name, "boats", preview(file, file.name).mapping)["name"]
    workspace.store.uploads.remove("boats")


def draw_lasso(page, polygon):
    """By mouse, corner after corner."""
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(*polygon[0].tolist())
    page.mouse.down()
    for place in polygon[1:]:
        page.mouse.move(*place.tolist())
    page.mouse.up()


def test_the_map_is_drawn_by_webgl_and_has_its_words(visit, made):
    """Points, legend with counts, trust in words, and every label that the data set has."""
    page = drawn(visit)
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "webgl")
    trust = made.info["trust"]
    expect(page.locator("#trust")).to_contain_text(f"{percent(trust['recall'])} of a sentence")
    expect(page.locator("#trust")).to_contain_text(f"{trust['trustworthiness']:.3f}")
    labels = page.locator(".t-map-label")
    expect(labels).to_have_count(20)
    expect(labels.first).to_contain_text("102")
    colours = page.evaluate(COLOURS)
    assert colours > 10


def test_a_lasso_selects_what_a_point_in_polygon_test_finds(visit, made):
    """Drawn by mouse; the numbers in the CSV are those of NumPy's even-odd rule."""
    page = drawn(visit)
    places = on_screen(page, made.points)
    cx, cy = places.mean(axis=0)
    turns = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    far = 60 + 90 * (np.arange(24) % 2)  # a star, so that the line is not convex
    polygon = np.round(np.stack([cx + far * np.cos(turns), cy + far * np.sin(turns)], axis=1))
    draw_lasso(page, polygon)
    expected = np.flatnonzero(inside(polygon, places))
    expect(said(page)).to_contain_text(f"{len(expected)} selected")
    assert len(expected) > 20
    found = table(page)
    assert found["id"].tolist() == expected.tolist()
    assert found["sentence"].tolist() == [made.sentences[i] for i in expected]


def test_a_rectangle_adds_and_subtracts(visit, made):
    """Shift adds, Alt takes away; undo and redo go back and forth."""
    page = drawn(visit)
    places = on_screen(page, made.points)
    cx, cy = np.round(places.mean(axis=0)).tolist()
    page.get_by_role("button", name="Rectangle").click()

    def drag(a, b, key=None):
        if key:
            page.keyboard.down(key)
        page.mouse.move(*a)
        page.mouse.down()
        page.mouse.move(*b, steps=3)
        page.mouse.up()
        if key:
            page.keyboard.up(key)

    def within(a, b):
        return ((places > np.minimum(a, b)) & (places < np.maximum(a, b))).all(axis=1)

    drag((cx - 120, cy - 60), (cx, cy + 60))
    first = within((cx - 120, cy - 60), (cx, cy + 60))
    expect(said(page)).to_contain_text(f"{first.sum()} selected")
    drag((cx, cy - 60), (cx + 100, cy + 60), "Shift")
    both = first | within((cx, cy - 60), (cx + 100, cy + 60))
    expect(said(page)).to_contain_text(f"{both.sum()} selected")
    drag((cx - 40, cy - 80), (cx + 40, cy + 80), "Alt")
    rest = both & ~within((cx - 40, cy - 80), (cx + 40, cy + 80))
    expect(said(page)).to_contain_text(f"{rest.sum()} selected")
    page.get_by_role("button", name="Undo").click()
    expect(said(page)).to_contain_text(f"{both.sum()} selected")
    page.keyboard.press("Control+Shift+z")
    expect(said(page)).to_contain_text(f"{rest.sum()} selected")


def test_hover_and_click_show_text_as_text(visit, workspace, boats):
    """Markup is shown, not run; the tip stays within the map."""
    found = MapJob.of(ENCODER, f"upload:{boats}", method="pca").make(workspace)
    page = drawn(visit, f"{QUERY}&in=upload:{boats}", "5")
    x, y = on_screen(page, found.points)[0].tolist()
    page.mouse.move(x + 1, y + 1)
    tip = page.locator(".t-map-tip")
    expect(tip).to_contain_text(HOSTILE)
    tip_box, stage = tip.bounding_box(), page.locator(".t-map-stage").bounding_box()
    assert tip_box["x"] >= stage["x"]
    assert tip_box["x"] + tip_box["width"] <= stage["x"] + stage["width"] + 1
    page.mouse.click(x + 1, y + 1)
    expect(page.get_by_role("region", name="The open point")).to_contain_text(HOSTILE)
    assert page.locator(".t-map img").count() == 0


def test_an_open_point_has_its_true_neighbours(visit, workspace, made):
    """As the engine finds them, and how many of them the map kept near."""
    page = drawn(visit)
    x, y = on_screen(page, made.points)[int(made.points[:, 0].argmax())].tolist()
    page.mouse.click(x, y)
    card = page.get_by_role("region", name="The open point")
    number = int(made.points[:, 0].argmax())
    expected = maps.point(workspace, made, number, 15)
    expect(card.locator("tbody tr")).to_have_count(15)
    shown = card.locator("tbody button").all_inner_texts()
    assert shown == [one["text"] for one in expected["neighbours"]]
    kept = sum(one["kept"] for one in expected["neighbours"])
    expect(card).to_contain_text(f"{kept} are among its 15 nearest on the map")
    expect(card.get_by_role("link", name="Open in Search")).to_have_attribute(
        "href", searches(made.sentences[number])
    )
    card.get_by_role("button", name="Select it and its neighbours").click()
    expect(said(page)).to_contain_text("16 selected")


def searches(sentence):
    """The address of a search for a sentence."""
    return re.compile(r"^\./search\?.*&q=" + re.escape(quote(sentence, safe="!'()*~")) + "$")


def test_everything_by_keyboard(visit, made):
    """Walk, open, select, move, select what is in view, undo, let go."""
    page = drawn(visit)
    over(page).focus()
    page.keyboard.press("n")
    expect(page.locator(".t-map-tip")).to_be_visible()
    first = page.locator(".t-map-tip span").inner_text()
    page.keyboard.press("n")
    expect(page.locator(".t-map-tip span")).not_to_have_text(first)
    page.keyboard.press("N")
    expect(page.locator(".t-map-tip span")).to_have_text(first)
    page.keyboard.press(" ")
    expect(said(page)).to_contain_text("1 selected")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="The open point")).to_contain_text(first)
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="The open point")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(said(page)).to_have_text("2,040 points.")
    for _ in range(4):
        page.keyboard.press("+")
    page.keyboard.press("v")
    expect(said(page)).to_contain_text("selected")
    some = int(re.search(r"([\d,]+) selected", said(page).inner_text())[1].replace(",", ""))
    assert 0 < some < 2040
    page.keyboard.press("Control+z")
    expect(said(page)).to_have_text("2,040 points.")
    page.keyboard.press("0")
    page.keyboard.press("/")
    expect(page.get_by_label("Find", exact=True)).to_be_focused()


def test_the_legend_filters_by_mouse_and_key(visit, made):
    """What is filtered away stays as grey context and cannot be selected; undo brings it back."""
    page = drawn(visit)
    row = page.locator(".t-map-label", has_text="astronomy")
    row.click()
    expect(said(page)).to_contain_text("1,938 filtered away")
    over(page).focus()
    page.keyboard.press("v")
    expect(said(page)).to_contain_text("102 selected")
    page.keyboard.press("Control+z")
    other = page.locator(".t-map-label", has_text="cooking")
    other.focus()
    page.keyboard.press("Shift+Enter")
    expect(said(page)).to_contain_text("1,836 filtered away")
    expect(page.locator(".t-map-label", has_text="cooking")).to_be_focused()
    page.get_by_role("button", name="Undo").click()
    expect(said(page)).to_contain_text("1,938 filtered away")
    page.get_by_role("button", name="Undo").click()
    expect(said(page)).to_have_text("2,040 points.")


def test_a_number_filters_by_its_range(visit, made):
    """The slider, moved by key, keeps those at or above."""
    page = drawn(visit, f"{QUERY}&colour=length")
    low = page.get_by_label("Lowest value shown")
    low.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(said(page)).to_contain_text("filtered away")
    bound = float(page.get_by_label("Lowest value shown").input_value())
    away = int((made.values["length"] < bound).sum())
    expect(said(page)).to_contain_text(f"{away:,} filtered away")


def test_words_and_expressions_are_found(visit, made):
    """In the browser; a broken expression is a sentence; what was found can be selected."""
    page = drawn(visit)
    box = page.get_by_label("Find", exact=True)
    box.fill("THE SEA")
    box.press("Enter")
    n = sum("the sea" in s.lower() for s in made.sentences)
    expect(said(page)).to_contain_text(f"{n} found")
    page.get_by_role("button", name="Select what was found").click()
    expect(said(page)).to_contain_text(f"{n} selected")
    address_of(page, "find=THE+SEA")
    page.get_by_label("Regular expression").check()
    box.fill("^(the|a) .*\\?$")
    box.press("Enter")
    n = sum(bool(re.search(r"^(the|a) .*\?$", s, re.I)) for s in made.sentences)
    expect(said(page)).to_contain_text(f"{n} found")
    box.fill("(")
    box.press("Enter")
    expect(said(page)).to_contain_text("not a regular expression")


def test_a_sentence_is_placed(visit, made):
    """A known one has itself as its nearest."""
    page = drawn(visit)
    box = page.get_by_label("Place a sentence")
    box.fill(made.sentences[10])
    box.press("Enter")
    card = page.get_by_role("region", name="The sentence placed")
    expect(card.locator("tbody tr").first).to_contain_text("1.000")
    expect(card.locator("tbody button").first).to_have_text(made.sentences[10])


def test_the_address_restores_the_view(visit, visitor, site):
    """Colour, place and zoom, words found."""
    page = drawn(visit, f"{QUERY}&colour=length&find=the+sea")
    over(page).focus()
    for key in ("+", "+", "ArrowRight"):
        page.keyboard.press(key)
    address_of(page, "view=")
    page.get_by_label("Colour by").select_option("recall")
    again = drawn(visitor(site), address_of(page, "colour=recall"))
    expect(again.get_by_label("Colour by")).to_have_value("recall")
    expect(said(again)).to_contain_text("found")
    over(again).focus()
    counts = []
    for tab in (page, again):
        over(tab).focus()
        tab.keyboard.press("v")
        expect(said(tab)).to_contain_text("selected")
        counts.append(said(tab).inner_text().split(", ")[-1])
    assert counts[0] == counts[1]


def test_the_table_lists_what_is_in_view(visit, made):
    """For those who read instead of look."""
    page = drawn(visit)
    page.get_by_role("button", name="What is in view, as a table").click()
    rows = page.locator(".t-map-listing tbody tr")
    expect(rows).to_have_count(50)
    expect(page.locator(".t-map-listing")).to_contain_text("50 of 2,040 in view")
    rows.first.get_by_role("button").click()
    expect(page.get_by_role("region", name="The open point")).to_be_visible()


def test_principal_components_come_at_once_and_the_map_when_it_is_made(visit, workspace):
    """Pressing the button queues a run; the points go along, and rest without a reload."""
    page = drawn(visit, "map?encoder=random:256&method=umap&seed=7")
    expect(page.locator("#trust")).to_contain_text("first two principal components")
    page.locator("#make-map").click()
    expect(page.locator("#following")).to_contain_text("UMAP of starter-topics")
    (run,) = [r for r in workspace.store.runs.list() if r["kind"] == "project"]
    assert run["spec"]["seed"] == 7
    plain = MapJob.of("random:256", "starter-topics", method="pca").make(workspace)
    key = MapJob.of("random:256", "starter-topics", method="umap", seed=7).key(workspace)
    sound = workspace.store.projections.get(plain.key)
    arrays = {n: np.load(f) for n, f in sound["files"].items()}
    stage = page.locator(".t-map-stage")
    before = stage.screenshot(path=ARTIFACTS / "map-before.png")
    workspace.store.projections.put_unfinished(key, np.abs(arrays["points"]) ** 0.5)
    with page.expect_response(lambda answer: "unfinished" in answer.url and answer.status == 200):
        pass
    while stage.screenshot(path=ARTIFACTS / "map-going.png") == before:
        page.wait_for_timeout(50)
    workspace.store.projections.end_unfinished(key)
    workspace.store.projections.put(key, arrays, sound["info"] | {"method": "umap"})
    workspace.store.runs.start(run["id"], run["attempt"], "test", ["one"])
    workspace.store.runs.finish(run["id"], run["attempt"], "done")
    expect(page.locator("#trust")).to_contain_text("are its nearest here", timeout=20_000)
    expect(said(page)).to_contain_text("2,040 points")
    workspace.store.projections.remove(key)
