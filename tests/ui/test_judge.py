"""Judge: a session by keyboard, its marks taken back, the page loaded again in the middle."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.fakes.openai import FakeOpenAI
from tests.fakes.workers import work_off
from tests.ui.addresses import address_of
from tests.ui.conftest import NARROW, PHONES
from theodolite.app.pages.judge import service


@pytest.fixture
def session(workspace):
    """A session of two baselines, gone afterwards."""
    wanted = service.spec("starter-topics", ["random:256", "random:64"], draw=20, seed=4)
    made = service.begin(workspace, wanted)
    yield made
    service.remove(workspace, made)


def question(page: Page) -> str:
    """What is asked now."""
    return str(page.locator(".t-judge").inner_text())


def numbers(page: Page) -> str:
    """The estimate with its interval."""
    return str(page.locator(".t-judge-pair small").first.inner_text())


def press(page: Page, key: str) -> None:
    """Press a key and wait for another question."""
    before = page.locator(".t-judge").get_attribute("aria-label")
    page.keyboard.press(key)
    expect(page.locator(".t-judge")).not_to_have_attribute("aria-label", before or "")


def test_a_session_by_keyboard(visitor, site, workspace, session):
    """Marks move the interval, nothing names an encoder, and a reload loses nothing."""
    visit = visitor(site)
    page = visit.open(f"judge?session={session}&other=random:32")
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 1")
    expect(page.locator("#unjudged")).to_be_hidden()
    expect(page.locator(".t-judge-pair small")).to_have_count(0)
    first = question(page)
    press(page, "j")
    before = numbers(page)
    unjudged = page.locator("#unjudged-said")
    expect(unjudged).to_contain_text("Of the top 5 of random:32 for 1 judged query")
    expect(unjudged).to_contain_text("unjudged; they never count as wrong")
    again = unjudged.get_by_role("link", name="Begin a session with it").get_attribute("href")
    assert again and "encoder=random%3A32" in again
    press(page, "k")
    third, moved = question(page), numbers(page)
    assert moved != before
    press(page, "u")
    press(page, "u")
    assert question(page) == first.replace("\nUndo\nU", "")
    press(page, "1")
    press(page, "k")
    assert (question(page), numbers(page)) == (third, moved)
    page.reload()
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 3")
    assert (question(page), numbers(page)) == (third, moved)
    assert "random:" not in page.locator("#judging").inner_text()
    visit.picture("judge-question")
    page.get_by_role("button", name="Show which encoder is which").click()
    expect(page.locator(".t-judge-found")).to_contain_text("random:64")
    assert workspace.store.judgements.marks(session) == {0: {"me": 1.0}, 1: {"me": 0.0}}


def test_the_first_row_says_what_a_session_is_of(visitor, site, session):
    """Also when it was opened by its name alone; a link to another question shows no session."""
    page = visitor(site).open(f"judge?session={session}")
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 1")
    chips = page.locator("#encoders .token")
    expect(chips).to_have_count(2)
    assert [" ".join(chip.inner_text().split()) for chip in chips.all()] == [
        "random:256",
        "random:64",
    ]
    page = visitor(site).open("judge?in=starter-topics&encoder=random:32&encoder=random:64")
    expect(page.locator("#judging")).to_contain_text("An example")


def test_the_focus_stays_on_the_button_that_marks(visitor, site, session):
    """Who marks by Tab and Enter need not look for it again."""
    page = visitor(site).open(f"judge?session={session}")
    page.get_by_role("button", name="Not relevant").focus()
    for number in (1, 2):
        expect(page.locator(".t-judge")).to_have_attribute("aria-label", f"Question {number}")
        page.keyboard.press("Enter")
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 3")
    expect(page.get_by_role("button", name="Not relevant")).to_be_focused()


def test_closed_in_the_middle_of_a_mark(visitor, site, workspace, session):
    """It is kept or it is not; what is asked next is what was not marked."""
    for text in "jkj":
        page = visitor(site).open(f"judge?session={session}")
        expect(page.locator(".t-judge")).to_have_attribute("aria-label", re.compile("Question"))
        page.keyboard.press(text)
        page.close()
    page = visitor(site).open(f"judge?session={session}")
    marks = workspace.store.judgements.marks(session)
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", f"Question {len(marks) + 1}")
    assert list(marks) == list(range(len(marks))) and len(marks) <= 3


def test_a_key_pressed_while_writing_marks_nothing(visitor, site, workspace, session):
    """The letters go where one writes."""
    page = visitor(site).open(f"judge?session={session}")
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 1")
    page.get_by_role("button", name="More controls").click()
    page.get_by_label("Judge", exact=False).last.fill("")
    page.locator("#judge textarea, #judge input").first.press_sequentially("jukk")
    assert workspace.store.judgements.marks(session) == {}


def test_a_session_begun_on_the_page(visitor, site, workspace):
    """From the example to the first question."""
    visit = visitor(site)
    page = visit.open("judge?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-judging")).to_contain_text("The script:")
    visit.picture("judge-example")
    page.locator("#start").click()
    expect(page.locator("#judging")).to_contain_text("Querying the encoders")
    address = address_of(page, "run=")
    page.close()  # the run goes on
    run = address.split("run=")[1].split("&")[0]
    assert work_off(workspace, run)["state"] == "done"
    visit = visitor(site)
    page = visit.open(address)
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 1")
    expect(page.locator("#following")).to_be_empty()
    (row,) = workspace.store.judgements.list()
    page.locator(".t-judge [data-keys*=j]").click()
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 2")
    page.get_by_role("button", name="Turn the marks into a data set").click()
    expect(page.locator(".t-notice")).to_contain_text(f"upload:judged-{row['id']}-1")
    workspace.store.uploads.remove(f"judged-{row['id']}-1")
    service.remove(workspace, row["id"])


def test_the_page_follows_the_run_that_begins_a_session(visitor, site, workspace):
    """The first question comes by itself; of a run that fails the reason is there."""
    page = visitor(site).open("judge?encoder=random:256&encoder=random:64")
    expect(page.locator(".t-judging")).to_contain_text("The script:")
    page.locator("#start").click()
    expect(page.locator("#following")).to_contain_text("queued")
    work_off(workspace, address_of(page, "run=").split("run=")[1].split("&")[0])
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 1")
    (row,) = workspace.store.judgements.list()
    service.remove(workspace, row["id"])
    page = visitor(site).open("judge?encoder=random:256&encoder=random:256|normalise")
    expect(page.locator(".t-judging")).to_contain_text("The script:")
    page.locator("#start").click()
    expect(page.locator("#following")).to_contain_text("queued")
    work_off(workspace, address_of(page, "run=").split("run=")[1].split("&")[0])
    expect(page.locator("#following")).to_contain_text("return the same documents for every query")
    expect(page.locator("#judging")).to_contain_text("This session could not be started")


def test_a_model_judges_as_well(visitor, site, workspace):
    """What goes where is said before it goes; its marks show beside those of the person."""
    visit = visitor(site)
    page = visit.open("judge?encoder=random:256&encoder=random:64&draw=6")
    page.get_by_role("button", name="More controls").click()
    box = page.locator("#second textarea, #second input").first
    box.fill("api:https://api.invalid/v1#m")
    expect(page.locator("#second-where")).to_contain_text(
        "Up to 60 documents, each with its query, are sent to api.invalid"
    )
    expect(page.locator("#second-sends")).to_contain_text("Send documents and queries to")
    visit.picture("judge-second-asks")
    page.locator("#start").click()
    expect(page.locator(".t-notice").first).to_contain_text("Nothing leaves this machine without")
    assert workspace.store.judgements.list() == []
    with FakeOpenAI() as server:
        box.fill(f"api:{server.url}#fake")
        expect(page.locator("#second-where")).to_contain_text("on this machine")
        expect(page.locator("#second-sends")).to_be_hidden()
        page.locator("#start").click()
        work_off(workspace, address_of(page, "run=").split("run=")[1].split("&")[0])
        expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 1")
        (row,) = workspace.store.judgements.list()
        session = service.opened(workspace, row["id"])
        (run,) = workspace.store.runs.list(kinds=["second-judge"])
        expect(page.locator("#following")).to_contain_text("#fake marks session")
        expect(page.locator(".t-judge-second")).to_contain_text("It is marking.")
        assert work_off(workspace, run["id"])["state"] == "done"
        assert len(server.judged) == len(session.pool.keys)
        expect(page.locator(".t-judge-second")).to_contain_text("It has marked")
        expect(page.locator("#following")).to_be_empty()
    press(page, "k")
    found = page.locator(".t-judge-found")
    expect(found).to_contain_text("Without the second judge:")
    expect(found).to_contain_text(f"marked {len(session.pool.keys)} of")
    expect(found).to_contain_text("On 1 document marked by both")
    assert not visit.scrolls_sideways()
    visit.picture("judge-second")
    service.remove(workspace, row["id"])


def test_what_judges_disagree_on_is_settled(visitor, site, workspace, session):
    """Below the question, with the same buttons."""
    for judge, text in (("me", "relevant"), ("you", "not")):
        service.mark(workspace, session, text, judge)
    visit = visitor(site)
    page = visit.open(f"judge?session={session}")
    expect(page.get_by_role("heading", name="Judges disagree")).to_be_visible()
    visit.picture("judge-disagree")
    page.get_by_role("button", name="Settle as: Relevant").click()
    expect(page.get_by_role("heading", name="Judges disagree")).to_have_count(0)
    assert workspace.store.judgements.marks(session)[0][service.SETTLED] == 1.0


@pytest.mark.parametrize("dark", PHONES)
def test_on_a_phone(visitor, site, workspace, session, dark):
    """Two lists stand one above the other, the buttons are large enough for a thumb."""
    wanted = service.spec("starter-topics", ["random:256", "random:64"], draw=20, mode="preference")
    lists = service.begin(workspace, wanted)
    visit = visitor(site, size=NARROW, dark=dark)
    page = visit.open(f"judge?session={lists}")
    marks = page.locator(".t-judge-marks .t-button")
    expect(marks).to_have_count(3)
    assert all(one.bounding_box()["height"] >= 44 for one in marks.all())
    assert not visit.scrolls_sideways()
    visit.picture(f"judge-phone-{'dark' if dark else 'light'}")
    marks.first.click()
    expect(page.locator(".t-judge")).to_have_attribute("aria-label", "Question 2")
    service.remove(workspace, lists)


def test_visitors_only_look(visitor, desk, showcase):
    """No buttons to mark with, and what there is to see."""
    wanted = service.spec("starter-topics", ["random:256", "random:64"], draw=5)
    made = service.begin(desk, wanted)
    service.mark(desk, made, "relevant")
    page = visitor(showcase).open(f"judge?session={made}")
    expect(page.locator(".t-judge")).to_contain_text("The last mark: relevant")
    assert page.locator(".t-judge [data-act]").count() == 0
    service.remove(desk, made)
