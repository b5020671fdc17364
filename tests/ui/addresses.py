"""Addresses of pages, as the page has them: what Playwright knows of them may lag behind."""

from __future__ import annotations

from playwright.sync_api import Page

HERE = "location.pathname.slice(1) + location.search"


def address_of(page: Page, *parts: str) -> str:
    """Path and query of a page, once each of these stands in it: what one would copy."""
    has_all = f"parts => parts.every(part => ({HERE}).includes(part)) && ({HERE})"
    return str(page.wait_for_function(has_all, arg=list(parts)).json_value())


def gone_from_address(page: Page, part: str) -> None:
    """Wait until this stands in the address no longer."""
    page.wait_for_function(f"part => !({HERE}).includes(part)", arg=part)
