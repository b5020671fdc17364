"""Judge: a session by keyboard, its marks taken back, the page loaded again in the middle."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.fakes.openai import FakeOpenAI
from tests.fakes.workers import work_off
from tests.ui.steps import NARROW, box, done, saved, says
from theodolite.app.pages.judge import session as judging


@pytest.fixture
def session(workspace):
    """A session of two baselines."""
    return judging.begin(
        workspace, judging.JudgeSpec("starter-topics", ["random:256", "random:64"], draw=20, seed=4)
    )


@pytest.fixture(autouse=True)
def no_session_is_left(workspace):
    yield
    for row in workspace.store.judgements.list():
        judging.remove(workspace, row["id"])


def asks(page: Page, number: int) -> None:
    """Wait for a question."""
    expect(page.locator("#judging .t-card-head").first).to_have_text(f"Question {number}")


def test_a_session_by_keyboard(visitor, site, workspace, session):
    """Marks move the interval, nothing names an encoder, and a reload loses nothing."""
    visit = visitor(site)
    page = visit.open(f"judge?session={session}&other=random:32")
    asks(page, 1)
    question, numbers = (
        page.locator("#judging .t-section h2").first,
        page.locator("#findings .t-section p").nth(1),
    )
    first = question.inner_text()
    page.keyboard.press("j")
    asks(page, 2)
    before = numbers.inner_text()
    again = page.locator("#unjudged-said").get_by_role("link", name="Begin a session with it")
    assert "encoder=random%3A32" in again.get_attribute("href")
    page.keyboard.press("k")
    asks(page, 3)
    third = question.inner_text(), numbers.inner_text()
    assert third[1] != before
    for number in (2, 1):
        page.keyboard.press("u")
        asks(page, number)
    expect(question).to_have_text(first)
    page.keyboard.press("1")
    asks(page, 2)
    page.get_by_role("button", name="Not relevant").press("Enter")
    asks(page, 3)
    expect(page.get_by_role("button", name="Not relevant")).to_be_focused()
    page.reload()
    asks(page, 3)
    assert (question.inner_text(), numbers.inner_text()) == third
    for part in ("#judging", "#findings"):
        assert "random:" not in page.locator(part).inner_text()
    visit.fits()
    page.get_by_role("button", name="More controls").click()
    box(page, "judge").press_sequentially("jukk")  # the letters go where one writes
    page.keyboard.press("Escape")
    page.get_by_role("button", name="End judging").click()
    says(page.locator("#findings"), "random:64")
    assert saved(page.get_by_role("button", name="Download qrels")).read_text().count("\n") == 2
    assert workspace.store.judgements.marks(session) == {0: {"me": 1.0}, 1: {"me": 0.0}}


def test_a_session_is_begun_a_model_judges_as_well_and_it_becomes_a_data_set(
    visitor, site, workspace
):
    """What goes where is said before it goes; its marks show beside those of the person."""
    page = visitor(site).open("judge?encoder=random:256&encoder=random:64&draw=6")
    expect(page.locator("#findings")).not_to_be_empty()  # opening it clears what was said
    page.get_by_role("button", name="More controls").click()
    box(page, "second").fill("api:https://api.invalid/v1#m")
    says(page.locator("#second-where"), "Up to 60 documents, each with its query", "api.invalid")
    page.locator("#start").click()
    says(page.locator(".t-notice").first, "Nothing leaves this machine without")
    assert workspace.store.judgements.list() == []
    with FakeOpenAI() as server:
        box(page, "second").fill(f"api:{server.url}#fake")
        expect(page.locator("#second-sends")).to_be_hidden()
        done(page, workspace, "#start")
        asks(page, 1)
        says(page.locator("#findings"), "Second judge: api:")
        (run,) = workspace.store.runs.list(("queued",), kinds=["second-judge"])
        work_off(workspace, run["id"])
        expect(page.locator("#following")).to_be_empty()
    page.keyboard.press("k")
    says(page.locator("#findings"), "On 1 document marked by both")
    page.get_by_role("button", name="End judging").click()
    page.get_by_role("button", name="Save as a data set").click()
    link = page.locator("#judging").get_by_role("link", name="upload:starter-topics-judged-")
    expect(link).to_have_attribute("href", re.compile(r"^\./data\?set=upload"))


def test_two_lists_on_a_phone(visitor, site, workspace):
    """One stands above the other, the buttons are large enough for a thumb."""
    wanted = judging.JudgeSpec(
        "starter-topics", ["random:256", "random:64"], draw=20, mode="preference"
    )
    visit = visitor(site, size=NARROW, dark=True)
    page = visit.open(f"judge?session={judging.begin(workspace, wanted)}")
    marks = page.locator("#judging .t-card .t-button")
    expect(marks).to_have_count(3)
    assert all(one.bounding_box()["height"] >= 44 for one in marks.all())
    assert not visit.scrolls_sideways()
    marks.first.click()
    asks(page, 2)
