"""The page Map in a real browser: drawn, hovered, selected, filtered, searched."""

from __future__ import annotations

import io
import math
import re
import threading
from urllib.parse import quote
from xml.etree import ElementTree

import httpx
import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.ui.decoding import FIRST, WITHOUT, registered
from tests.ui.maps import ENCODER, QUERY, drawn, inside, on_screen, over, said, table
from tests.ui.steps import HOSTILE, address_of, bring, gone_from_address, says, stays_text
from theodolite.app.pages.map import decoding as map_decoding
from theodolite.app.pages.map import job as map_job
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.web import background_call as working
from theodolite.app.web.figures import percent

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
PIXELS = "document.querySelector('.t-map-cloud').toDataURL()"


@pytest.fixture(scope="module")
def made(workspace):
    """The map of the starter topics that most tests look at."""
    return MapJob.of(ENCODER, "starter-topics", method="pca").make(workspace)


def test_the_map_is_drawn_by_webgl_and_has_its_words(visit, made):
    """Points, legend, trust in words, what is in view as a table, and files to take away."""
    page = drawn(visit)
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "webgl")
    trust = made.info["trust"]
    says(page.locator("#trust"), f"{percent(trust['recall'])} of a sentence")
    says(page.locator("#trust"), f"{trust['trustworthiness']:.3f}")
    expect(page.locator(".t-map-label")).to_have_count(20)
    says(page.locator(".t-map-label").first, "102")
    assert page.evaluate(COLOURS) > 10
    page.get_by_role("button", name="What is in view, as a table").click()
    rows = page.locator(".t-map-listing tbody tr")
    expect(rows).to_have_count(50)
    says(page.locator(".t-map-listing"), "50 of 2,040 in view")
    rows.first.get_by_role("button").click()
    expect(page.get_by_role("region", name="The open point")).to_be_visible()

    assert table(page, "PNG").startswith(b"\x89PNG")
    svg = table(page, "SVG").decode()
    assert svg.count("<circle") == 2040 and svg.count("<text") > 3
    ElementTree.fromstring(svg)  # noqa: S314 - ours
    assert len(pd.read_parquet(io.BytesIO(table(page, "Parquet")))) == 2040
    visit.fits("map")


def test_a_lasso_selects_what_a_point_in_polygon_test_finds(visit, made):
    """Drawn by mouse; the numbers in the CSV are those of NumPy's even-odd rule."""
    page = drawn(visit)
    places = on_screen(page, made.points)
    cx, cy = places.mean(axis=0)
    turns = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    far = 60 + 90 * (np.arange(24) % 2)  # a star, so that the line is not convex
    polygon = np.round(np.stack([cx + far * np.cos(turns), cy + far * np.sin(turns)], axis=1))
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(*polygon[0].tolist())
    page.mouse.down()
    for place in polygon[1:]:
        page.mouse.move(*place.tolist())
    page.mouse.up()
    expected = np.flatnonzero(inside(polygon, places))
    says(said(page), f"{len(expected)} selected")
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

    def drag(a, b, *keys):
        for key in keys:
            page.keyboard.down(key)
        page.mouse.move(*a)
        page.mouse.down()
        page.mouse.move(*b, steps=3)
        page.mouse.up()
        for key in keys:
            page.keyboard.up(key)
        return ((places > np.minimum(a, b)) & (places < np.maximum(a, b))).all(axis=1)

    first = drag((cx - 120, cy - 60), (cx, cy + 60))
    says(said(page), f"{first.sum()} selected")
    both = first | drag((cx, cy - 60), (cx + 100, cy + 60), "Shift")
    says(said(page), f"{both.sum()} selected")
    rest = both & ~drag((cx - 40, cy - 80), (cx + 40, cy + 80), "Alt")
    says(said(page), f"{rest.sum()} selected")
    page.get_by_role("button", name="Undo").click()
    says(said(page), f"{both.sum()} selected")
    page.keyboard.press("Control+Shift+z")
    says(said(page), f"{rest.sum()} selected")


def test_hover_and_click_show_text_as_text(visit, workspace, tmp_path):
    """Markup is shown, not run; the tip stays within the map."""
    lines = [HOSTILE, "A boat at sea.", "A train in the rain.", "مرحبا 👩‍🚀", "Bread and salt."]
    boats = bring(workspace, tmp_path, "boats", lines)
    found = MapJob.of(ENCODER, boats, method="pca").make(workspace)
    page = drawn(visit, f"{QUERY}&in={boats}", "5")
    x, y = on_screen(page, found.points)[0].tolist()
    page.mouse.move(x + 1, y + 1)
    tip = page.locator(".t-map-tip")
    says(tip, HOSTILE)
    tip_box, stage = tip.bounding_box(), page.locator(".t-map-stage").bounding_box()
    assert tip_box["x"] >= stage["x"]
    assert tip_box["x"] + tip_box["width"] <= stage["x"] + stage["width"] + 1
    page.mouse.click(x + 1, y + 1)
    says(page.get_by_role("region", name="The open point"), HOSTILE)
    stays_text(page)
    workspace.store.uploads.remove("boats")


def test_an_open_point_has_its_true_neighbours(visit, workspace, made):
    """As the engine finds them, and how many the map kept near."""
    page = drawn(visit)
    number = int(made.points[:, 0].argmax())
    page.mouse.click(*on_screen(page, made.points)[number].tolist())
    card = page.get_by_role("region", name="The open point")
    neighbours = maps.point(workspace, made, number, 15)["neighbours"]
    expect(card.locator("tbody button")).to_have_text([one["text"] for one in neighbours])
    kept = sum(one["kept"] for one in neighbours)
    says(card, f"{kept} are among its 15 nearest on the map")
    search = re.escape(quote(made.sentences[number], safe="!'()*~"))
    expect(card.get_by_role("link", name="Open in Search")).to_have_attribute(
        "href", re.compile(rf"^\./search\?.*&q={search}$")
    )
    card.get_by_role("button", name="Select it and its neighbours").click()
    says(said(page), "16 selected")


def test_everything_by_keyboard(visit, made):
    """Walk, open, select, move, select what is in view, undo, let go, filter."""
    page = drawn(visit)
    over(page).focus()
    tip = page.locator(".t-map-tip span")
    page.keyboard.press("n")
    expect(page.locator(".t-map-tip")).to_be_visible()
    first = tip.inner_text()
    page.keyboard.press("n")
    expect(tip).not_to_have_text(first)
    page.keyboard.press("N")
    expect(tip).to_have_text(first)
    page.keyboard.press(" ")
    says(said(page), "1 selected")
    page.keyboard.press("Enter")
    says(page.get_by_role("region", name="The open point"), first)
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="The open point")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(said(page)).to_have_text("2,040 points.")
    page.keyboard.press("v")
    says(said(page), "the selection too long to stand in the page's address")
    gone_from_address(page, "ids=")
    for _ in range(4):
        page.keyboard.press("+")
    page.keyboard.press("v")
    expect(said(page)).not_to_contain_text("2,040 selected")
    some = int(re.search(r"([\d,]+) selected", said(page).inner_text())[1].replace(",", ""))
    assert 0 < some < 2040
    for key in ("Control+z", "Control+z"):
        page.keyboard.press(key)
    expect(said(page)).to_have_text("2,040 points.")
    page.keyboard.press("/")
    expect(page.get_by_label("Find", exact=True)).to_be_focused()

    page.locator(".t-map-label", has_text="astronomy").click()
    says(said(page), "1,938 filtered away")
    other = page.locator(".t-map-label", has_text="cooking")
    other.press("Shift+Enter")
    says(said(page), "1,836 filtered away")
    expect(other).to_be_focused()
    for _ in range(2):
        page.get_by_role("button", name="Undo").click()
    expect(said(page)).to_have_text("2,040 points.")


def test_words_and_expressions_are_found(visit, made):
    """In the browser; a broken expression is a sentence."""
    page = drawn(visit)
    find = page.get_by_label("Find", exact=True)

    def search(text):
        find.fill(text)
        find.press("Enter")

    search("THE SEA")
    n = sum("the sea" in s.lower() for s in made.sentences)
    says(said(page), f"{n} found")
    page.get_by_role("button", name="Select what was found").click()
    says(said(page), f"{n} selected")
    page.get_by_label("Regular expression").check()
    search("(")
    says(said(page), "not a regular expression")


def test_a_copied_address_shows_what_was_seen(visitor, site, made):
    """Place, filter, pattern, size, names, a short selection; and a range of numbers."""
    page = drawn(visitor(site))
    page.locator(".t-map-label", has_text="astronomy").click()
    page.locator(".t-map-label", has_text="sea").click(modifiers=["Shift"])
    page.get_by_label("Points", exact=True).select_option("large")
    page.get_by_label("Names").uncheck()
    page.get_by_label("Regular expression").check()
    page.get_by_label("Find", exact=True).fill("^the .*[.]$")
    page.get_by_label("Find", exact=True).press("Enter")
    says(said(page), "found")
    over(page).focus()
    for key in ("+", "ArrowLeft", "n"):
        page.keyboard.press(key)
    says(said(page), "Label:")  # where the walk has come to
    page.keyboard.press(" ")
    says(said(page), "1 selected")
    copied = address_of(page, "&view=", "ids=")
    again = drawn(visitor(site), copied)
    expect(said(again)).to_have_text(said(page).inner_text())
    assert address_of(again) == address_of(page) == copied

    page = drawn(visitor(site), f"{QUERY}&colour=length")
    low = page.get_by_label("Lowest value shown")
    low.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    away = int((made.values["length"] < float(low.input_value())).sum())
    says(said(page), f"{away:,} filtered away")
    again = drawn(visitor(site), address_of(page, "filter="))
    expect(said(again)).to_have_text(said(page).inner_text())


def test_principal_components_come_at_once_and_the_map_when_it_is_made(visit, workspace):
    """Pressing the button queues a run; the points go along, and rest without a reload."""
    page = drawn(visit, "map?encoder=random:256&method=umap&seed=7")
    says(page.locator("#trust"), "first two principal components")
    page.locator("#make-map").click()
    says(page.locator("#following"), "UMAP of starter-topics")
    (run,) = [r for r in workspace.store.runs.list() if r["kind"] == "project"]
    assert run["spec"]["seed"] == 7
    plain = MapJob.of("random:256", "starter-topics", method="pca").make(workspace)
    key = MapJob.of("random:256", "starter-topics", method="umap", seed=7).key(workspace)
    sound = workspace.store.projections.get(plain.key)
    arrays = {n: np.load(f) for n, f in sound["files"].items()}
    before = page.evaluate(PIXELS)
    workspace.store.projections.put_unfinished(key, np.abs(arrays["points"]) ** 0.5)
    page.wait_for_function(f"before => {PIXELS} !== before", arg=before)
    workspace.store.projections.end_unfinished(key)
    workspace.store.projections.put(key, arrays, sound["info"] | {"method": "umap"})
    workspace.store.runs.start(run["id"], run["attempt"], "test", ["one"])
    workspace.store.runs.finish(run["id"], run["attempt"], "done")
    says(page.locator("#trust"), "are its nearest here")
    says(said(page), "2,040 points")
    workspace.store.projections.remove(key)


def test_what_is_said_before_the_map_is_there(visit, monkeypatch):
    """What is done, with a bar; and of what takes too long how long, which leaves it to a run."""
    encode, seen = working.encode, threading.Event()

    def slowly(workspace, encoder, dataset, say):
        say("Encoding 2,040 sentences", 0.25, 30.0)
        seen.wait(60)
        encode(workspace, encoder, dataset, say)

    def never(workspace, encoder, dataset, say):
        raise working.TooSlow(240.0)

    monkeypatch.setattr(working, "encode", slowly)
    page = visit.open("map?encoder=random:23&method=pca")
    trust = page.locator("#trust")
    expect(trust.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "25")
    says(trust, "about 30 s left")
    seen.set()
    says(said(page), "2,040 points")
    monkeypatch.setattr(working, "encode", never)
    page = visit.open("map?encoder=random:25&method=pca")
    says(trust, "That takes about 4 min", "Press Compute map")


# The map where something is missing: WebGL, its context, a window.


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
    says(said(page), "2,040 points")
    expect(page.locator(".t-map")).to_have_attribute("data-scene", "canvas")
    over(page).focus()
    page.keyboard.press("v")
    says(said(page), "2,040 selected")
    context.close()


def test_a_lost_context_falls_back_and_comes_again(visit, made):
    """The browser may take the drawing away at any time; nothing is lost but a moment."""
    page = drawn(visit)
    over(page).focus()
    page.keyboard.press("v")
    page.evaluate("""() => {
      const map = document.querySelector(".t-map"), canvas = map.querySelector(".t-map-cloud");
      window.scenes = [];
      new MutationObserver(() => scenes.push(map.dataset.scene)).observe(map, { attributes: true });
      canvas.getContext("webgl").getExtension("WEBGL_lose_context").loseContext();
    }""")
    page.wait_for_function("scenes.includes('canvas') && scenes.at(-1) === 'webgl'")
    says(said(page), "2,040 selected")


# The map's places in words: by mouse, by keyboard, from a link, without a decoder.


@pytest.fixture(scope="module")
def placed(workspace, decoder_folder):
    """The map of an encoder that has a decoder."""
    registered(workspace, decoder_folder)
    return map_job.quick(workspace, ENCODER, "starter-topics")


def test_any_place_is_decoded(visit, site, workspace, placed):
    """By mouse and by key, through the nearest points, weighted; as the server works it out."""
    page = drawn(visit)
    card = page.get_by_role("region", name="The place decoded")
    low, high = placed.points.min(axis=0), placed.points.max(axis=0)
    middle = (low + high) / 2
    page.get_by_role("button", name="Decode", exact=True).click()
    page.mouse.click(*on_screen(page, np.array([low, high, middle]))[2].tolist())
    says(card, "weighted mean of the 8 nearest points, in all 64 dim")
    says(card, "Cosine of the sentence to that mean:")
    nearest = placed.sentences[int(np.hypot(*(placed.points - middle).T).argmin())]
    says(card.locator("tbody tr").first, nearest)
    address_of(page, "said=")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(card).to_be_hidden()
    gone_from_address(page, "said=")

    over(page).focus()
    page.keyboard.press("d")
    expected = map_decoding.decoded(workspace, placed, *middle.tolist())["neighbours"][0]["text"]
    says(card.locator("tbody tr").first, expected)
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    page.keyboard.press("n")  # the first point, and what stands there
    page.keyboard.press("d")
    says(card, "the nearest point, in all 64 dimensions")

    x, y = placed.points[placed.sentences.index(FIRST)].tolist()
    page = drawn(visit, f"map?encoder={ENCODER}&method=pca&said={x!r},{y!r}")
    expect(card.get_by_role("heading")).to_have_text(FIRST)
    says(said(page), f"Decoded: {FIRST}")
    for place in ("", "x=1", "x=nan&y=0", "x=1&y=inf", "x=a&y=b"):
        answer = httpx.get(f"{site}/theodolite/map/{placed.key}/decode?{place}")
        assert answer.status_code == 404, place


def test_without_a_decoder_there_is_the_way_to_one(visit, workspace, placed):
    map_job.quick(workspace, WITHOUT, "starter-topics")
    page = drawn(visit, f"map?encoder={WITHOUT}&method=pca")
    over(page).focus()
    page.keyboard.press("d")
    card = page.get_by_role("region", name="The place decoded")
    says(card, f"No decoder for {WITHOUT} yet")
    link = card.get_by_role("link", name="Train a decoder")
    assert link.get_attribute("href").endswith(f"train-decoder?encoder={quote(WITHOUT)}")
