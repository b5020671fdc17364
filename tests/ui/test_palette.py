"""The palette: a few letters lead anywhere, and the rail counts what runs."""

from __future__ import annotations

from playwright.sync_api import expect

HOSTILE = "<img src=x onerror=alert(1)>"


def test_letters_arrows_and_enter_lead_to_a_place(visit):
    """Ctrl+K opens it over any page; Escape closes it and gives the focus back."""
    page = visit.open("jobs")
    link = page.get_by_role("link", name="Data", exact=True)
    link.focus()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Jump to")
    expect(box).to_be_focused()
    expect(page.get_by_role("option", name="Overview")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(link).to_be_focused()
    page.keyboard.press("Control+k")
    expect(box).to_be_focused()
    page.keyboard.type("strtpairs")
    options = page.get_by_role("option")
    expect(options.first).to_contain_text("starter-pairs")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    active = box.get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/data?set=starter-pairs")


def test_a_waiting_run_is_counted_and_its_title_is_text(visit, workspace):
    """The rail counts it beside Jobs; the palette shows its title as it was written."""
    workspace.store.runs.create("evaluate", {}, title=HOSTILE)
    page = visit.open("encoders")
    expect(page.locator(".t-live")).to_have_attribute("data-count", "1")
    page.get_by_role("button", name="Jump to").click()
    expect(page.get_by_role("combobox", name="Jump to")).to_be_focused()
    page.keyboard.type("onerror")
    expect(page.get_by_role("option").first).to_contain_text(HOSTILE)
    assert page.locator("#t-palette img").count() == 0
