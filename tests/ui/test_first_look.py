"""Every page: the thing first, in the same frame, without a complaint, for everybody.

A page is opened once and seen at three sizes. What people came for has the class `t-answer`.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import NARROW, WIDE
from theodolite.app.ui import PAGES, RAIL

MIDDLE = (1024, 768)
HIGHEST_ON_A_PHONE = 420
"""Pixels above the answer."""
SHARE_OF_THE_MAP = 0.70
LEAST = 40
"""Pixels that an answer has at least, once it is there."""
TABBED = [
    p for group in RAIL for entry in group if len(entry.pages) > 1 for p in entry.pages.values()
]
MEASURE = """() => {
  const boxes = [...document.querySelectorAll(".t-answer:not(.t-answer .t-answer)")]
    .map((node) => node.getBoundingClientRect()).filter(({ width, height }) => width && height);
  if (!boxes.length) return null;
  const inside = (from, to, end) => Math.max(0, Math.min(to, end) - Math.max(from, 0));
  const area = (box) => inside(box.left, box.right, innerWidth) * inside(box.top, box.bottom, innerHeight);
  const top = Math.min(...boxes.map((box) => box.top)), bottom = Math.max(...boxes.map((box) => box.bottom));
  return { top, height: bottom - top, share: boxes.reduce((sum, box) => sum + area(box), 0) / innerWidth / innerHeight };
}"""  # noqa: E501

LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
COLOURS = {"type": "rule", "values": ["color-contrast"]}
"""Rules of axe-core: all that we keep, and what alone a theme changes."""

UNSORTED = """() => [...document.querySelectorAll("#t-main table.t-table")]
  .filter((table) => table.tBodies[0]?.rows.length > 2 && !table.querySelector("thead button"))
  .map((table) => table.closest("[aria-label]")?.getAttribute("aria-label"))"""
ORDERED = {"The two spaces in figures"}
"""Tables whose order has a meaning; every other one of more than two rows has heads to sort by."""


@dataclass(frozen=True)
class Answer:
    """Where what people came for is, in pixels, and its share of the first screen."""

    top: float
    height: float
    share: float


Seen = dict[tuple[int, int], Answer | None]


@pytest.fixture(scope="module")
def axe() -> str | None:
    """The script of axe-core; CI must have it."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        assert os.environ.get("CI") != "true"
        return None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", PAGES, ids=[page.PATH or "overview" for page in PAGES])
def test_a_page_answers_first_and_fits(visitor, site, module, axe):
    """Its answer is in the first screen; it fits every window; nothing is wrong with it for axe.

    No error, no request elsewhere, no sideways scrolling, its line of the rail marked, one heading.
    """
    visit, path = visitor(site), module.PATH
    page = visit.open(path)
    expect(page).to_have_title(f"{module.TITLE} · Theodolite")
    here = f"[data-paths][aria-current], .t-tabs [href='./{path}'][aria-current=page]"
    expect(page.locator(here)).to_have_count(2 if module in TABBED else 1)
    expect(page.locator("h1")).to_have_count(1)
    page.wait_for_function(f"({MEASURE})()?.height > {LEAST}")
    page.wait_for_function("document.fonts.status === 'loaded'")
    seen: Seen = {}
    for size in (WIDE, MIDDLE, NARROW):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        found = page.evaluate(MEASURE)
        seen[size] = Answer(**found) if found else None
        visit.picture(f"{path or 'overview'}-{size[0]}")
        assert not visit.scrolls_sideways(), f"{size[0]} pixels are too few"
    assert {*page.evaluate(UNSORTED)} <= ORDERED
    faults = violations(page, axe)
    page.evaluate("theodolite.toggleTheme()")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    visit.picture(f"{path or 'overview'}-dark")
    assert faults + violations(page, axe, COLOURS) == []
    assert answers(path, seen)


def answers(path: str, seen: Seen) -> bool:
    """Whether a page begins with its answer, on a wide screen and on a phone."""
    wide, phone = seen[WIDE], seen[NARROW]
    if wide is None or phone is None:
        return False
    in_sight = WIDE[1] - wide.top >= min(wide.height, WIDE[1] / 2)
    large = path != "map" or wide.share >= SHARE_OF_THE_MAP
    return in_sight and large and phone.top <= HIGHEST_ON_A_PHONE


def violations(page: Page, axe: str | None, rules: dict[str, Any] = LEVELS) -> list[str]:
    """What axe-core finds against its rules: those of WCAG 2.1 A and AA, or others."""
    if axe is None:
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe)
    # A colour on its way from one theme to the other is neither's.
    page.wait_for_function("!document.getAnimations().some((a) => a instanceof CSSTransition)")
    found = page.evaluate(
        "(runOnly) => axe.run(document, { resultTypes: ['violations'], runOnly }).then("
        "({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, any }) =>"
        " `${id}: ${target.join(' ')} ${any.map(({ message }) => message)}`)))",
        rules,
    )
    return list(found)
