"""Reports: the file that a page hands out, opened from a disk by somebody without a network."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from PIL import Image, ImageColor
from playwright.sync_api import Browser, Page, expect

from tests.fakes import reported
from tests.fakes.command_line import theodolite
from tests.ui.conftest import NARROW
from theodolite.app.publish.standalone import chart
from theodolite.app.report import pictures
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError


@pytest.fixture
def alone(browser: Browser) -> Page:
    """A dark phone without a network, that forgives nothing."""
    context = browser.new_context(
        viewport={"width": NARROW[0], "height": NARROW[1]}, color_scheme="dark", offline=True
    )
    page = context.new_page()
    page.wrong = []  # type: ignore[attr-defined]
    page.on("pageerror", lambda error: page.wrong.append(str(error)))  # type: ignore[attr-defined]
    page.on(
        "console",
        lambda message: (
            page.wrong.append(message.text)  # type: ignore[attr-defined]
            if "GL Driver Message" not in message.text
            else None
        ),
    )
    page.on(
        "request",
        lambda asked: (
            page.wrong.append(asked.url)  # type: ignore[attr-defined]
            if not asked.url.startswith(("file:", "blob:", "data:"))
            else None
        ),
    )
    yield page
    context.close()
    assert not page.wrong  # type: ignore[attr-defined]


def handed_out(page: Page, folder: Path) -> Path:
    """The file that the page's button gives."""
    with page.expect_download(timeout=60_000) as saved:
        page.get_by_role("button", name="Report").click()
    file = folder / saved.value.suggested_filename
    saved.value.save_as(file)
    return file


def test_a_comparison_is_handed_out_and_opens_from_a_disk(visitor, site, alone, tmp_path) -> None:
    """Chart and table as on the page, its numbers as a file; nothing is asked for."""
    page = visitor(site).open("compare?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-compare")).to_be_visible()
    alone.goto(handed_out(page, tmp_path).as_uri())
    expect(alone).to_have_title("Comparison of random:256 and random:64 · Theodolite")
    expect(alone.locator("body")).to_have_class("dark t-window")
    expect(alone.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    expect(alone.locator(".t-compare")).to_contain_text("StarterSTS")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    with alone.expect_download() as saved:
        alone.get_by_role("button", name="comparison.csv").click()
    with saved.value.path().open(newline="", encoding="utf-8") as file:
        assert {row["encoder"] for row in csv.DictReader(file)} == {"random:256", "random:64"}


def test_a_map_is_handed_out_and_is_the_map_of_the_page(visitor, site, alone, tmp_path) -> None:
    """Points, names, true neighbours, words and the selection as a table, out of one file."""
    page = visitor(site).open("map?encoder=minilm&in=starter-topics")
    expect(page.locator(".t-map-said")).to_contain_text("2,040 points")
    alone.goto(handed_out(page, tmp_path).as_uri())
    expect(alone.locator(".t-map-said")).to_contain_text("2,040 points")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    stage = alone.locator(".t-map-over")
    stage.focus()
    stage.press("n")
    stage.press("Enter")
    card = alone.get_by_role("region", name="The open point")
    expect(card).to_contain_text("Of its 15 nearest in the full space")
    expect(card.locator("tbody tr")).to_have_count(15)
    alone.get_by_label("Find", exact=True).fill("harbour")
    alone.get_by_label("Find", exact=True).press("Enter")
    alone.get_by_role("button", name="Select what was found").click()
    chosen = alone.get_by_role("region", name="Selected", exact=True)
    with alone.expect_download() as saved:
        chosen.get_by_role("button", name="CSV").click()
    with saved.value.path().open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows and all("harbour" in row["sentence"].lower() for row in rows)


def test_the_picture_of_a_map_is_drawn(tmp_path) -> None:
    """Its points in the colours of their labels, without the tools."""
    theodolite(
        "report",
        "map",
        "minilm",
        "starter-topics",
        "--out",
        str(tmp_path / "map"),
        "--store",
        str(tmp_path / "store"),
    )
    (file,) = tmp_path.glob("map/*.png")
    with Image.open(file) as picture:
        assert picture.width == 2 * pictures.WIDTH
        colours = {colour: n for n, colour in picture.convert("RGB").getcolors(2**24) or []}
    for name in SERIES[:4]:
        assert colours.get(ImageColor.getrgb(name)[:3], 0) > 100, name


def test_the_pictures_of_markdown_are_drawn(browser, tmp_path) -> None:
    """Each chart of a training: large, and with its curve in the curve's own colour."""
    made = Workspace(tmp_path / "store")
    run = reported.training(made)
    made.close()
    out = tmp_path / "training"
    theodolite("report", "training", run, "--out", str(out), "--store", str(tmp_path / "store"))
    files = sorted(out.glob("*.png"))
    assert len(files) >= 4
    text = (out / "report.md").read_text()
    red, green, blue = ImageColor.getrgb(SERIES[0])[:3]
    for file in files:
        assert f"]({file.name})" in text
        with Image.open(file) as picture:
            assert picture.width == 2 * pictures.WIDTH
            assert picture.height > 300
            colours = picture.convert("RGB").getcolors(2**24) or []
        drawn = sum(
            n for n, (r, g, b) in colours if abs(r - red) + abs(g - green) + abs(b - blue) < 24
        )
        assert drawn > 200, file.name


def test_a_blank_picture_is_an_error() -> None:
    """A browser that draws nothing is said to, not handed out."""
    blank = io.BytesIO()
    Image.new("RGB", (10, 10), "white").save(blank, "PNG")
    with pytest.raises(OSError, match="blank"):
        pictures._trimmed(blank.getvalue())
    with pytest.raises(UserError, match="could not draw"):
        pictures.drawn(chart(None), ("false",))
