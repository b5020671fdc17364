"""The encoders page: write a spec, have it checked, keep it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.engine.encoders.models import save_sentence_transformer
from tests.ui.steps import says, stays_text
from theodolite.app.pages.encoders import service


@pytest.fixture
def page(visit):
    """The page with its list."""
    page = visit.open("encoders")
    page.wait_for_selector(".t-encoders li")
    return page


def spec(page):
    """The text box of the spec."""
    return page.get_by_label("Spec", exact=True)


def test_a_spec_is_checked_while_it_is_written_and_added(page, workspace):
    """The message names what is wrong, as text; the list has the canonical form."""
    spec(page).fill("rando:12<img src=x onerror=window.pwned=1>")
    says(page.locator("#verdict"), "rando")
    stays_text(page)
    spec(page).fill("random:32|normalise")
    says(page.locator("#verdict"), "random:32 | normalise")
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator(".t-encoders"), "random:32 | normalise")
    assert workspace.store.encoders.get("random:32 | normalise") is not None
    page.get_by_role("button", name="Remove random:32 | normalise").click()
    expect(page.locator(".t-encoders")).not_to_contain_text("random:32 | normalise")


def test_the_choices_write_the_spec(visit, page):
    """Source, steps, a second source with a pooling; the joined part can be emptied again."""
    page.get_by_role("button", name="Build a spec").click()
    page.get_by_label("Random words").check()
    page.get_by_label("Dimensions").fill("48")
    page.get_by_label("Centre: subtract the mean").check()
    page.get_by_label("Normalise: length 1").check()
    expect(spec(page)).to_have_value("random:48 | center:@task | normalise")
    says(page.locator("#verdict"), "48 dimensions")
    for step in ("Centre: subtract the mean", "Normalise: length 1"):
        page.get_by_label(step).uncheck()
    page.get_by_label("WordLlama", exact=True).check()
    expect(spec(page)).to_have_value("wordllama")
    page.get_by_role("button", name="Join another source").click()
    expect(page.get_by_label("Joined with")).to_have_value("wordllama")
    page.get_by_label("WordLlama", exact=True).check()
    page.get_by_label("Pooling of words").click()
    page.get_by_role("option", name="GEM").click()
    expect(page.get_by_label("Pooling learns from")).to_be_visible()
    expect(spec(page)).to_have_value("wordllama + wordllama?pooling=gem&data=starter")
    says(page.locator("#verdict"), "512 dimensions")
    visit.fits("encoders-builder")
    page.get_by_label("Joined with").fill("")
    expect(spec(page)).to_have_value("wordllama?pooling=gem&data=starter")


def test_what_a_choice_asks_for_is_shown_without_the_server(page):
    """A later answer would close the list just opened, or come after a newer one."""
    page.get_by_role("button", name="Build a spec").click()
    page.route("**/queue/join*", lambda route: None)  # no answer ever comes
    page.get_by_label("WordLlama", exact=True).check()
    page.get_by_label("Pooling of words").click()
    page.get_by_role("option", name="SIF").click()
    expect(page.get_by_label("Pooling learns from")).to_be_visible()
    page.get_by_label("Normalise: length 1").check()
    expect(page.get_by_label("Fitted on")).to_be_hidden()
    page.get_by_label("Centre: subtract the mean").check()
    expect(page.get_by_label("Fitted on")).to_be_visible()
    page.get_by_label("Random words").check()
    expect(page.get_by_label("Dimensions")).to_be_visible()
    expect(page.get_by_label("Pooling learns from")).to_be_visible()
    page.get_by_label("Word vectors").check()  # their order tells how frequent a word is
    expect(page.get_by_label("Pooling learns from")).to_be_hidden()


def test_an_endpoint_elsewhere_gets_nothing_unasked(page, workspace):
    """The box names who would get the texts; it is gone when that is decided, or no question."""
    box = page.get_by_label("Send the texts it encodes to api.invalid")
    spec(page).fill("api:https://api.invalid/v1#m?dimensions=4")
    expect(box).not_to_be_checked()
    says(page.locator("#verdict"), "sent to api.invalid")
    box.check()
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator(".t-encoders"), "api.invalid")
    expect(box).to_be_hidden()
    assert service.would_send_to(workspace, "api:https://api.invalid/v1#m") == []
    page.get_by_role("button", name="Remove api:").click()
    expect(page.locator(".t-encoders")).not_to_contain_text("api.invalid")
    assert service.would_send_to(workspace, "api:https://api.invalid/v1#m") == ["api.invalid"]


def test_the_settings_of_a_model_are_audited(visit, workspace, tmp_path):
    """Its prompts and what its files deny first; then each setting, with its interval."""
    prompts = {"query": "the cat ", "document": "a "}
    folder = save_sentence_transformer(tmp_path / "model", "mean", prompts=prompts)
    name = service.add(workspace, f"dir:{folder}")["name"]
    page = visit.open("encoders")
    entry = page.locator(".t-encoders li").filter(has_text=name)
    says(entry, "Its own prompts: document a , query the cat", "Add prompt=@task")
    entry.get_by_role("button", name=f"Audit settings of {name}").click()
    audit = page.get_by_role("region", name="Setting audit")
    expect(audit.get_by_role("row").nth(1)).to_contain_text("as asked")
    says(audit, "Measured on 200 pairs of starter-pairs")
    link = audit.get_by_role("link", name="prompt query")
    expect(link).to_have_attribute("title", f"{name}?prompt=query")
    visit.fits("encoders-audit")
