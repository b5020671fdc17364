"""The pages that decode: Decode, Interpolation and Arithmetic, by mouse and by keyboard."""

import pytest
from playwright.sync_api import expect

from tests.fakes.decoders import known_sentences
from tests.fakes.uploads import collection
from tests.ui.steps import (
    HOSTILE,
    Held,
    address_of,
    box,
    rows_saved,
    says,
    stays_text,
    tab_to,
    write,
)
from theodolite.app import decoders

ENCODER, WITHOUT = "random:64", "random:100"
FIRST, SECOND = known_sentences()[0], known_sentences()[3]
BOTH = f"decode?encoder={ENCODER}&encoder={WITHOUT}"


@pytest.fixture(scope="module", autouse=True)
def decoder(workspace, decoder_folder):
    """One encoder has a decoder, the other has none."""
    workspace.store.encoders.add(WITHOUT)
    decoders.register(workspace, decoder_folder)


def card(page, encoder=ENCODER):
    """What one encoder's decoder said."""
    return page.get_by_role("region", name=encoder, exact=True)


def test_a_sentence_comes_back_and_what_became_of_its_words(visit):
    page = visit.open(BOTH)
    expect(card(page).locator(".t-sentence")).to_be_visible()
    box(page, "sentence").fill(FIRST)
    page.locator("#decode-button").click()
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    box(page, "sentence").focus()
    tab_to(page, "at.tagName === 'SUMMARY'")
    page.keyboard.press("Enter")
    expect(card(page).locator(".t-others li").first).to_be_visible()
    link = card(page, WITHOUT).get_by_role("link", name="Train a decoder")
    assert "train-decoder?encoder=random%3A100" in link.get_attribute("href")

    write(page, "sentence", " ".join(["Zyx", *FIRST.split()[1:]]))
    says(card(page).locator("del").first, "Zyx")
    write(page, "sentence", HOSTILE)
    says(card(page).locator(".t-tally"), "onerror")
    stays_text(page)
    write(page, "sentence", "")
    says(page.get_by_role("alert"), "The sentence is empty")


def test_what_is_written_before_the_page_is_filled_stays(visit):
    """The answer that fills the page comes late; it names the encoders and leaves the sentence.

    Entered too early, it is answered all the same: the error that no encoder is there yet comes
    first and goes with the answer.
    """
    held = Held(visit.page, "*/queue/join*")
    with visit.page.expect_request("**/queue/join*"):
        page = visit.open(BOTH)
    box(page, "sentence").fill(FIRST)
    with page.expect_request("**/queue/join*"):
        box(page, "sentence").press("Enter")
    held.let_go()
    expect(page.locator("#encoders .token").first).to_have_text(ENCODER)
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    expect(box(page, "sentence")).to_have_value(FIRST)
    expect(page.get_by_role("alert")).to_have_count(0)


# The page Interpolation: the strip, the slider that needs no Python, the chart with its numbers.


def test_a_way_is_walked(visit):
    """By mouse and by keyboard; the slider works without an answer of the server."""
    page = visit.open(f"interpolate?encoder={ENCODER}&in=starter-pairs")
    steps, where = page.locator(".t-steps > li"), page.locator(".t-ends output")
    expect(steps).to_have_count(11)
    box(page, "first").fill(FIRST)
    box(page, "second").fill("")
    page.locator("#walk-button").click()
    says(page.get_by_role("alert"), "The second sentence is empty")
    write(page, "second", SECOND)
    expect(steps.last.locator(".t-stop")).to_have_text(SECOND)
    expect(page.locator("#walk .js-plotly-plot")).to_be_visible()

    page.route("**/queue/**", lambda route: None)  # no answer ever comes
    tab_to(page, "at.type === 'range'")
    page.keyboard.press("End")
    expect(where).to_have_text("100 % of the way")
    expect(page.locator(".t-stage .t-sentence")).to_have_text(SECOND)
    page.keyboard.press("ArrowLeft")
    expect(where).to_have_text("90 % of the way")
    expect(steps.nth(9)).to_have_class("t-now")
    steps.first.get_by_role("button").press("Enter")
    expect(page.locator(".t-stage .t-sentence")).to_have_text(FIRST)
    address_of(page, "at=0")
    page.locator("#walk .t-twin summary").click()
    (row, *_) = rows_saved(page.locator("#walk .t-twin").get_by_role("button", name="Download CSV"))
    assert row["decoded"] == FIRST


def test_what_is_missing_is_said_with_the_way_to_it(visit, workspace, tmp_path):
    page = visit.open(f"interpolate?encoder={WITHOUT}&a=one&b=two")
    says(page.locator("#walk"), "No decoder")
    many = collection(workspace, tmp_path, "lines", [f"line {i} of many" for i in range(600)])
    page = visit.open(
        f"interpolate?encoder={ENCODER}&in={many}&a={FIRST}&b={HOSTILE + ' boat' * 300}"
    )
    expect(page.locator(".t-steps > li")).to_have_count(11)
    says(page.locator("#walk"), "600 sentences of upload:lines are not yet")
    says(page.locator(".t-ends"), "onerror")
    assert page.locator(".t-ends").bounding_box()["height"] < 80  # or the slider is out of sight
    stays_text(page)


# The page Arithmetic: presets, expressions, a table of encoders, what is wrong and where.


def test_sentences_are_calculated_with(visit):
    """A preset by mouse, one's own sum by keyboard, and a slip that is pointed at."""
    page = visit.open(f"arithmetic?encoder={ENCODER}&encoder={WITHOUT}")
    rows = page.locator("#told .t-column")
    expect(rows).to_have_count(2)
    page.locator("#preset input").click()
    page.get_by_role("option", name="Vec2Sent: Italy and pizza").click()
    says(page.locator("#told"), "No decoder", "she visits france")
    box(page, "sentences").fill(f"a = {FIRST}\nb = {SECOND}")
    write(page, "expression", "a - b + b")
    says(rows.first, FIRST, "1.000")

    write(page, "expression", "a - q")
    notice = page.get_by_role("alert")
    says(notice, "'q', at place 5")
    expect(notice.locator(".t-place mark")).to_have_text("q")
    assert notice.locator(".t-place mark").bounding_box()["width"] > 5
    field, message = page.locator("#expression").bounding_box(), notice.bounding_box()
    assert 0 <= message["y"] - (field["y"] + field["height"]) < 40
    write(page, "expression", HOSTILE)
    says(notice, "onerror")
    stays_text(page)
