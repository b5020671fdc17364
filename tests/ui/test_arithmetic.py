"""The page Arithmetic: presets, expressions, a table of encoders, what is wrong and where."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.ui.addresses import address_of
from tests.ui.conftest import NARROW, PHONES
from tests.ui.decoding import ENCODER, FIRST, HOSTILE, SECOND, WITHOUT, obeyed, registered

BOTH = f"arithmetic?encoder={ENCODER}&encoder={WITHOUT}"
LINES = f"a = {FIRST}\nb = {SECOND}"
SOLVED = f"{BOTH}&x={quote('a - b + b')}&let={quote(LINES)}"


@pytest.fixture(scope="module", autouse=True)
def decoder(workspace, decoder_folder):
    """One encoder has a decoder, the other has none."""
    return registered(workspace, decoder_folder)


def box(page, which):
    """Where something is written."""
    return page.locator(f"#{which} textarea, #{which} input").first


def rows(page):
    """A row an encoder."""
    return page.locator("#told tbody tr")


def test_a_preset_fills_the_form_and_is_worked_out(visit):
    """By mouse; several encoders in one table, and what a person might say."""
    page = visit.open(BOTH)
    expect(rows(page)).to_have_count(2)
    page.locator("#preset input").click()
    page.get_by_role("option", name="Vec2Sent: Italy and pizza").click()
    expect(rows(page)).to_have_count(2)
    expect(box(page, "expression")).to_have_value("a - b + c")
    expect(rows(page).first.locator(".t-sentence")).to_be_visible()
    expect(rows(page).first).to_contain_text(ENCODER)
    expect(rows(page).nth(1)).to_contain_text("No decoder")
    expect(page.locator("#told")).to_contain_text("she visits france")
    address_of(page, "let=")


def test_a_link_opens_the_same_sum(visit):
    """What comes back is the sentence named a, and said to be."""
    page = visit.open(SOLVED)
    expect(rows(page).first.locator(".t-sentence")).to_contain_text(FIRST)
    expect(rows(page).first).to_contain_text("a again")
    expect(rows(page).first).to_contain_text("1.000")
    expect(box(page, "sentences")).to_have_value(LINES)
    expect(page.locator("#preset input")).to_have_value("My own")


def test_by_keyboard_alone(visit):
    """Sentences, expression, Enter."""
    page = visit.open(BOTH)
    expect(rows(page)).to_have_count(2)
    box(page, "sentences").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(LINES)
    box(page, "expression").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text("(a + a) / 2")
    page.keyboard.press("Enter")
    expect(rows(page).first.locator(".t-sentence")).to_contain_text(FIRST)


@pytest.mark.parametrize(
    ("expression", "lines", "said", "marked"),
    [
        ("a - q", LINES, "'q', at place 5", "q"),
        ("a / 0", LINES, "place 3 is by zero", "/"),
        ("a + * b", LINES, "place 5", "*"),
        ("(a", LINES, "a closing )", " "),
        ("a <i>", LINES, "'<' at place 3", "<"),
        ("", LINES, "The expression is empty", None),
        ("a", "no name here", "Line 1", None),
        ("a", "", "No sentence is named", None),
    ],
)
def test_what_is_wrong_stands_under_the_field(visit, expression, lines, said, marked):
    """Where it is, calmly, with a mark in the expression; the form keeps what was written."""
    page = visit.open(BOTH)
    expect(rows(page)).to_have_count(2)
    box(page, "sentences").fill(lines)
    box(page, "expression").fill(expression)
    box(page, "expression").press("Enter")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text(said)
    mark = notice.locator(".t-place mark")
    assert mark.evaluate_all("found => found.map(one => one.textContent)") == [marked] * bool(
        marked
    )
    if marked:
        expect(notice.locator(".t-place")).to_have_text(expression)
        assert mark.bounding_box()["width"] > 5
    field, message = page.locator("#expression").bounding_box(), notice.bounding_box()
    assert 0 <= message["y"] - (field["y"] + field["height"]) < 40
    expect(box(page, "expression")).to_have_value(expression)


def test_hostile_text_stays_text(visit):
    """As a sentence, and as an expression."""
    page = visit.open(f"{BOTH}&x=a&let={quote('a = ' + HOSTILE)}")
    expect(rows(page)).to_have_count(2)
    expect(box(page, "sentences")).to_have_value("a = " + HOSTILE)
    assert not obeyed(page)
    page = visit.open(f"{BOTH}&x={quote(HOSTILE)}&let={quote(LINES)}")
    expect(page.get_by_role("alert")).to_be_visible()
    assert not obeyed(page)


@pytest.mark.parametrize("dark", PHONES)
def test_on_a_phone(visitor, site, dark):
    """Nothing is wider than the window, the table included."""
    visit = visitor(site, dark=dark, size=NARROW)
    page = visit.open(SOLVED)
    expect(rows(page).first.locator(".t-sentence")).to_contain_text(FIRST)
    assert not visit.scrolls_sideways()
    assert page.evaluate(
        "(() => { const t = document.querySelector('#told .t-scroll');"
        " return t.scrollWidth <= t.clientWidth + 1; })()"
    )
    visit.picture(f"arithmetic-phone-{'dark' if dark else 'light'}")
