"""The page Decode: what came back, what became of its words, by mouse and by keyboard."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import Route, expect

from tests.ui.addresses import address_of
from tests.ui.conftest import NARROW, PHONES
from tests.ui.decoding import ENCODER, FIRST, HOSTILE, WITHOUT, obeyed, registered

BOTH = f"decode?encoder={ENCODER}&encoder={WITHOUT}"


@pytest.fixture(scope="module", autouse=True)
def decoder(workspace, decoder_folder):
    """One encoder has a decoder, the other has none."""
    return registered(workspace, decoder_folder)


def box(page):
    """Where the sentence is written."""
    return page.locator("#sentence textarea, #sentence input").first


def card(page, encoder=ENCODER):
    """What one encoder's decoder said."""
    return page.get_by_role("region", name=encoder, exact=True)


def test_a_sentence_comes_back_with_its_cosine(visit):
    """By mouse: the sentence, its cosine, the other candidates folded away."""
    page = visit.open(BOTH)
    expect(card(page).locator(".t-sentence")).to_be_visible()
    box(page).fill(FIRST)
    page.locator("#decode-button").click()
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    expect(card(page)).to_contain_text("1.000")
    expect(card(page)).to_contain_text("All of it came back")
    others = card(page).locator(".t-others")
    expect(others.locator("li").first).to_be_hidden()
    others.locator("summary").click()
    expect(others.locator("li").first).to_be_visible()
    page.wait_for_function("new URLSearchParams(location.search).get('q') !== null")


def test_what_is_written_before_the_page_is_filled_stays(visit):
    """The answer that fills the page comes late; it ticks the encoders and leaves the sentence.

    Entered too early, it is answered all the same: the error that nothing is ticked yet comes
    first and goes with the answer.
    """
    held: list[Route] = []
    visit.page.route("**/queue/join*", lambda route: held.append(route))
    with visit.page.expect_request("**/queue/join*"):
        page = visit.open(BOTH)
    box(page).fill(FIRST)
    with page.expect_request("**/queue/join*"):
        box(page).press("Enter")
    for route in reversed(held):
        route.continue_()
    page.unroute("**/queue/join*")
    expect(page.locator("#encoders").get_by_label(ENCODER, exact=True)).to_be_checked()
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    expect(box(page)).to_have_value(FIRST)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_encoder_without_a_decoder_has_the_way_to_one(visit):
    """A calm word, and a link with the encoder filled in."""
    page = visit.open(f"{BOTH}&q={quote(FIRST)}")
    notice = card(page, WITHOUT).locator(".t-lacking")
    expect(notice).to_contain_text("No decoder")
    link = notice.get_by_role("link", name="Train a decoder")
    assert f"train-decoder?encoder={quote(WITHOUT)}" in link.get_attribute("href")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_the_page_opens_with_a_sentence_and_what_ships_as_its_answer(visit):
    """Said to be so; the address stays plain. Another sentence takes its place."""
    page = visit.open("decode?encoder=random:256")
    mine = card(page, "random:256")
    expect(mine).to_contain_text("shipped example")
    expect(mine.locator(".t-tally")).to_contain_text("of 6 words kept in place")
    assert "q=" not in page.url
    box(page).fill(FIRST)
    box(page).press("Enter")
    expect(mine).not_to_contain_text("shipped example")


def test_by_keyboard_alone(visit):
    """Write, Enter, then the candidates by Tab and Enter."""
    page = visit.open(BOTH)
    expect(card(page).locator(".t-sentence")).to_be_visible()
    box(page).focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(FIRST)
    page.keyboard.press("Enter")
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            break
    page.keyboard.press("Enter")
    expect(card(page).locator(".t-others li").first).to_be_visible()


def test_words_lost_and_new_are_marked(visit):
    """In the sentence by their own elements, and under it in words."""
    words = FIRST.split()
    given = " ".join(["Zyx", *words[1:]])
    page = visit.open(f"decode?encoder={ENCODER}&q={quote(given)}")
    expect(card(page).locator("del").first).to_contain_text("Zyx")
    expect(card(page).locator("ins").first).to_be_visible()
    expect(card(page).locator(".t-tally")).to_contain_text("Lost: Zyx")
    expect(page.locator(".t-legend")).to_be_visible()


def test_a_long_sentence_is_said_to_be_cut(visit):
    """The decoder knows seven words."""
    page = visit.open(f"decode?encoder={ENCODER}&q={quote('word ' * 40)}")
    expect(card(page).locator(".t-note")).to_contain_text("40 words")
    expect(card(page).locator(".t-note")).to_contain_text("at most 7")


def test_a_link_opens_the_same_view(visit):
    """Method and options too; greedy has one candidate."""
    page = visit.open(
        f"decode?encoder={ENCODER}&q={quote(FIRST)}&method=greedy&corrections=2&known-words=false"
    )
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    expect(card(page).locator(".t-others")).to_have_count(0)
    page.get_by_role("button", name="More controls").click()
    expect(page.get_by_role("radio", name="Greedy")).to_be_checked()
    expect(page.locator("#corrections input")).to_have_value("2")
    expect(page.locator("#beams")).to_be_hidden()
    expect(page.get_by_role("checkbox", name="Known words only")).not_to_be_checked()
    page.get_by_role("radio", name="Sampling").check()
    expect(page.locator("#temperature")).to_be_visible()
    address_of(page, "method=sample")


def test_an_old_link_with_nonsense_opens_calmly(visit):
    """What cannot be is as usual."""
    page = visit.open(
        f"decode?encoder={ENCODER}&q={quote(FIRST)}&method=magic&beams=-3&temperature=nan&seed=x"
    )
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)


def test_nothing_written_is_told_calmly(visit):
    """And what was there stays."""
    page = visit.open(BOTH)
    expect(card(page).locator(".t-sentence")).to_be_visible()
    box(page).fill("")
    page.locator("#decode-button").click()
    expect(page.get_by_role("alert")).to_contain_text("The sentence is empty")


def test_hostile_text_stays_text(visit):
    """In the words lost, in the address, in the name of an encoder."""
    page = visit.open(f"{BOTH}&q={quote(HOSTILE)}")
    expect(card(page).locator(".t-tally")).to_contain_text("onerror")
    assert not obeyed(page)
    page = visit.open(f"decode?q=x&encoder={quote(HOSTILE)}")
    expect(page.get_by_role("alert")).to_be_visible()
    assert not obeyed(page)


@pytest.mark.parametrize("dark", PHONES)
def test_on_a_phone(visitor, site, dark):
    """Nothing is wider than the window."""
    visit = visitor(site, dark=dark, size=NARROW)
    page = visit.open(f"{BOTH}&q={quote(FIRST)}")
    expect(card(page).locator(".t-sentence")).to_have_text(FIRST)
    expect(card(page, WITHOUT)).to_contain_text("No decoder")
    assert not visit.scrolls_sideways()
    visit.picture(f"decode-phone-{'dark' if dark else 'light'}")
