"""Every page: the thing first, in the same frame, without a complaint, for everybody.

A page is opened once and seen at three sizes. What people came for has the class `t-answer`. What
is chosen on a page that has choices is chosen again in another tab by the copied address.
"""

import importlib.util
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.conftest import Visit
from tests.ui.steps import NARROW, WIDE, address_of, says, served_to_visitors, write
from tests.waiting import wait_until
from theodolite.app.pages.judge import session as judging
from theodolite.app.ui import PAGES, RAIL

ACTS = "[data-act=stop], [data-act=cancel], [data-act=retry], [data-act=remove]"
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
"""Where what people came for is, in pixels, and its share of the first screen."""

LEVELS = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
COLOURS = {"type": "rule", "values": ["color-contrast"]}
"""Rules of axe-core: all that we keep, and what alone a theme changes."""

UNSORTED = """() => [...document.querySelectorAll("#t-main table.t-table")]
  .filter((table) => table.tBodies[0]?.rows.length > 2 && !table.querySelector("thead button"))
  .map((table) => table.closest("[aria-label]")?.getAttribute("aria-label"))"""
CONTROLS = """JSON.stringify([...document.querySelectorAll(
    "#t-main input:not([type=file]), #t-main textarea, #t-main select")]
  .filter((one) => !one.closest(".t-map") && one.labels?.[0]?.textContent.trim() !== "Chips")
  .map((one) => (/checkbox|radio/.test(one.type) ? one.checked : one.value)))"""
"""What stands in every control of the page."""
Change = Callable[[Page], None]


def tick(label: str) -> Change:
    """Tick the box of this label."""
    return lambda page: page.get_by_label(label, exact=True).check()


def fill(name: str, text: str) -> Change:
    """Write into the control of this id."""
    return lambda page: write(page, name, text)


PAIR, MORE = "encoder=random:64&encoder=random:256", "More controls"
CHOICES: dict[str, tuple[str, str, Change, str]] = {
    "arithmetic": (f"{PAIR}&x=a&let=a%3DRain.", "", fill("expression", "a*2"), "x=a*2"),
    "board": (f"{PAIR}&most_dimensions=64", "", tick("Types"), "columns=types"),
    "choose": ("encoder=random:64", "File, limits", fill("margin", "15"), "margin=15"),
    "compare": (PAIR, MORE, tick("StarterSearch"), "task=StarterS"),
    "curate": (f"{PAIR}&in=starter-pairs", "", tick("Near duplicates"), "job=near"),
    "data": ("", "", fill("find", "pairs"), "find=pairs"),
    "decode": (
        "encoder=random:64&q=Rain.&corrections=2",
        MORE,
        tick("Sampling"),
        "method=sample",
    ),
    "distributions": (PAIR, "", fill("encoders", "wordllama"), "encoder=wordllama"),
    "encoders": ("", "", fill("spec", "random:16"), "encoder=random%3A16"),  # added, and open
    "evaluate": (f"{PAIR}&task=StarterSTS", "", tick("All available"), "suite=all"),
    "geometry": (f"{PAIR}&data=starter-pairs&cut=2", MORE, tick("4 and above"), "rule=from"),
    "interpolate": ("encoder=random:64&steps=5", MORE, tick("Great circle"), "path=spherical"),
    "search": ("encoder=random:64&q=rain&k=5", MORE, fill("least", "0.5"), "least=0.5"),
    "spaces": (f"{PAIR}&method=pca", "", tick("One map, animated"), "show=move"),
    "train": ("seed=3", "", lambda page: page.get_by_label("Temperature").fill("0.1"), "ture=0.1"),
    "train-decoder": (
        "clauses=false",
        "",
        lambda page: page.get_by_label("Max words").fill("9"),
        "words=9",
    ),
}
"""Page -> the query it is opened with, the button that unfolds more of it, what is chosen then, and
what its address says of that."""
GONE = (
    "compare?encoder=random:64&encoder=random:256&task=Gone",
    "diagnose?encoder=minilm&in=upload:gone",
    "distributions?task=Gone",
    "evaluate?task=Gone",
    "fair-play?task=Gone",
    "interpolate?in=upload:gone",
    "judge?in=upload:gone",
    "judge?session=gone",
    "leaks?in=upload:gone",
    "map?in=upload:gone",
)
"""Addresses that name what was there once."""


@pytest.fixture(scope="module")
def axe() -> str | None:
    """The script of axe-core; CI must have it."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        assert os.environ.get("CI") != "true"
        return None
    return (Path(spec.origin).parent / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", PAGES, ids=[page.PATH or "overview" for page in PAGES])
def test_a_page_answers_first_fits_and_is_copied(visitor, site, module, axe):
    """Its answer is in the first screen; it fits every window; nothing is wrong with it for axe.

    No error, no request elsewhere, no sideways scrolling, its line of the rail marked, one heading.
    """
    visit, path = visitor(site), module.PATH
    query, folded, change, written = CHOICES.get(path, ("", "", None, ""))
    page = visit.open(f"{path}?{query}" if query else path)
    expect(page).to_have_title(f"{module.TITLE} · Theodolite")
    here = f"[data-paths][aria-current], .t-tabs [href='./{path}'][aria-current=page]"
    expect(page.locator(here)).to_have_count(2 if module in TABBED else 1)
    expect(page.locator("h1")).to_have_count(1)
    page.wait_for_function(f"({MEASURE})()?.height > {LEAST}")
    page.wait_for_function("document.fonts.status === 'loaded'")
    seen = {}
    for size in (WIDE, MIDDLE, NARROW):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        # None while the page is laid out for another width.
        seen[size] = page.wait_for_function(MEASURE).json_value()
        assert not visit.scrolls_sideways(), f"{size[0]} pixels are too few"
    assert page.evaluate(UNSORTED) == []
    assert violations(page, axe, LEVELS) == []
    page.evaluate("theodolite.toggleTheme()")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    assert violations(page, axe, COLOURS) == []
    wide = seen[WIDE]
    assert WIDE[1] - wide["top"] >= min(wide["height"], WIDE[1] / 2)
    assert path != "map" or wide["share"] >= SHARE_OF_THE_MAP
    assert seen[NARROW]["top"] <= HIGHEST_ON_A_PHONE
    if folded:
        page.get_by_role("button", name=folded).click()
    if change:
        change(page)
        a_copied_address_shows_the_same(page, visitor(site), address_of(page, written))


def a_copied_address_shows_the_same(page: Page, other: Visit, copied: str) -> None:
    """What stands in every control of the page, in another tab; and the address stays.

    Both are looked at until they agree: what an answer shows comes after the address is written.
    """
    again = other.open(copied)
    wait_until(lambda: again.evaluate(CONTROLS) == page.evaluate(CONTROLS), 120)
    assert sorted(re.split("[?&]", address_of(again))) == sorted(re.split("[?&]", copied))


def violations(page: Page, axe: str | None, rules: dict) -> list[str]:
    """What axe-core finds against these rules."""
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


def test_what_an_address_names_in_vain_is_said(visitor, site):
    """Nothing else is answered in its place, and the address stays as it was."""
    seen = visitor(site)
    for address in GONE:
        page = seen.open(address)
        says(
            page.get_by_role("alert"),
            re.compile("no (session of judging|task|data set) (named )?'.*[gG]one'"),
        )
        address_of(page, "one")
    says(seen.open("encoders?encoder=gone").get_by_role("alert"), "'gone'")
    page = seen.open("curate")
    expect(page.get_by_label("Collection", exact=True)).to_have_value("starter-topics")
    says(page.locator("#found"), "shipped example")
    assert address_of(page) == "curate"  # what is as usual is left out


def test_visitors_look_and_touch_nothing(visitor, desk):
    """Nothing is offered that would change or run anything."""
    desk.store.runs.create("evaluate", {"encoders": [], "tasks": [], "n": 1}, title="A run")
    session = judging.begin(
        desk, judging.JudgeSpec("starter-topics", ["random:256", "random:64"], draw=5)
    )
    judging.mark(desk, session, "relevant")
    with served_to_visitors(desk) as address:
        visit = visitor(address)
        for path, place, seen, gone in (
            ("", "h1", "Home", "#t-main a[href='./data'], #t-main a[href='./encoders']"),
            (
                "encoders?encoder=random:256",
                "#encoders",
                "random:256",
                "#opened [data-act], #spec, #add",
            ),
            ("jobs", ".t-runs li", "A run", ACTS),
            (
                f"judge?session={session}",
                "#judging",
                "The last mark: relevant",
                "#judging [data-act]",
            ),
            ("train", "#command pre", "theodolite train", "#start, #cost, #upload, #file, #sweep"),
            ("runs", "#runs", "ships as an example", f"{ACTS}, #ablations, .t-verbs a"),
            ("upgrade?new=random:256", "#t-main", "Not measured yet", "#t-main :text('Press')"),
            ("fair-play", "#t-main", "eeds", "[data-act=evaluate]"),
            (
                "compare",
                "h1",
                "Compare",
                "button:text('Publish'), #t-main .t-answer a[href^='./evaluate']",
            ),
        ):
            page = visit.open(path)
            says(page.locator(place).first, seen)
            expect(page.locator(gone).locator("visible=true")).to_have_count(0)
        sent = page.request.post(
            f"{address}/theodolite/publish",
            data={"address": "compare", "mask": "none", "texts": True},
        )
        assert sent.status in (404, 405)
        page.goto("about:blank")  # what it still loads may be asked of the next server on this port
