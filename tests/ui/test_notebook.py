"""Answers in a notebook: drawn in a frame that asks nobody for anything and may do nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

import theodolite as th
from tests.fakes.results import invent

pytestmark = pytest.mark.ui


def test_a_comparison_and_hits_show_themselves_offline(browser: Browser, tmp_path: Path) -> None:
    """Chart and table as on the page, as high as they are; hostile text stays text."""
    place = th.Workspace(tmp_path / "store")
    for name, accuracy in (("random:8", 0.9), ("random:4", 0.6)):
        invent(place, name, "MR", accuracy)
    hostile = "<img src=x onerror=\"document.title='hit'\">"
    answers = (
        th.compare(["random:8", "random:4"], workspace=place),
        th.search("a dog", ["a dog", hostile], th.load("random:16"), k=2),
    )
    notebook = "".join(f"<div>{answer._repr_html_()}</div>" for answer in answers)
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{notebook}", encoding="utf-8")
    page = browser.new_page()
    requests: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(file.as_uri())
    compared, hits = page.frame_locator("iframe").nth(0), page.frame_locator("iframe").nth(1)
    expect(compared.locator(".t-compare")).to_contain_text("worse")
    expect(compared.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    expect(hits.locator("li")).to_have_count(2)
    expect(hits.locator("li").last).to_contain_text("<img src=x")
    expect(hits.locator("li button, li img")).to_have_count(0)
    expect(page.locator("iframe").first).not_to_have_css("height", "320px")
    page.close()
    assert not wrong
    assert {url.split(":")[0] for url in requests} <= {"file", "about", "blob", "data"}
