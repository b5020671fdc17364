"""The panel Publish: what would leave with a page, listed and accepted, then a ZIP that opens."""

from __future__ import annotations

import zipfile

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import LOOKS, served
from theodolite.app.workspace import Workspace


def test_a_page_is_published_as_it_is_seen(visitor, site, web):
    """By keyboard; the list comes before the file, and what is unpacked shows the same page."""
    root, address = web
    page = visitor(site).open("compare?encoder=random:256&encoder=random:64&view=ranks")
    expect(page.locator("#ranks")).to_contain_text("random:256")
    page.get_by_role("button", name="Publish").press("Enter")
    panel = page.get_by_role("dialog", name="Publish")
    expect(panel.get_by_label("This page, as it is now")).to_be_checked()
    expect(panel.get_by_role("link", name="download")).to_have_count(0)
    panel.get_by_role("button", name="List what would leave").press("Enter")
    rows = panel.locator("tbody tr")
    expect(rows.last).to_contain_text("total", timeout=120_000)
    expect(rows.filter(has_text="encoder")).to_have_count(2)
    expect(panel.locator("pre")).to_contain_text("theodolite publish FOLDER '--view=compare?")
    with page.expect_download() as saved:
        panel.get_by_role("link", name="Accept, and download the ZIP").click()
    with zipfile.ZipFile(saved.value.path()) as packed:
        packed.extractall(root / "unpacked")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    frozen = visitor(f"{address}/unpacked/theodolite-site").open()
    expect(frozen.locator("#ranks")).to_contain_text("random:256")
    assert "/compare/?" in frozen.url


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_the_panel_fits_every_window(visitor, site, size, dark):
    """A page with nothing of its own to freeze offers all the others."""
    visit = visitor(site, dark=dark, size=size)
    page = visit.open("jobs")
    if size[0] < 721:
        page.get_by_role("button", name="Pages").click()
    page.get_by_role("button", name="Publish").click()
    panel = page.get_by_role("dialog", name="Publish")
    expect(panel.get_by_label("This page, as it is now")).to_be_disabled()
    expect(panel.get_by_label("All pages")).to_be_checked()
    visit.picture(f"publish-{size[0]}-{'dark' if dark else 'light'}")
    box = panel.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size[0]


def test_visitors_have_no_such_button_and_no_such_address(visitor, workspace):
    """Nor does a request without the button reach it."""
    looking = Workspace(workspace.store.folder, read_only=True)
    with served(looking) as address:
        page = visitor(address).open("compare")
        expect(page.get_by_role("button", name="Jump to").first).to_be_visible()
        expect(page.get_by_role("button", name="Publish")).to_have_count(0)
        fields = {"address": "compare", "mask": "none", "texts": True}
        assert page.request.post(f"{address}/theodolite/publish", data=fields).status in (404, 405)
    looking.close()
