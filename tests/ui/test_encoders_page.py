"""The encoders page: write a spec, have it checked, keep it."""

from __future__ import annotations

import numpy as np
import pytest
from playwright.sync_api import expect

from tests.engine.encoders.models import save_sentence_transformer
from tests.ui.addresses import address_of
from tests.ui.conftest import LOOKS, NARROW
from theodolite.app.pages.encoders import service
from theodolite.engine.encoders.vectors import save


@pytest.fixture
def page(visit):
    """The page with its list."""
    page = visit.open("encoders")
    page.wait_for_selector(".t-encoders li")
    return page


def build(page):
    """Open the panel of choices."""
    page.get_by_role("button", name="Build a spec").click()


def spec(page):
    """The text box of the spec."""
    return page.get_by_label("Spec", exact=True)


def test_a_wrong_spec_is_explained_while_it_is_written(page):
    """The message names what is wrong; it is text, whatever is in it."""
    spec(page).fill("rando:12<script>alert(1)</script>")
    expect(page.locator("#verdict")).to_contain_text("rando")
    assert page.locator("#verdict script").count() == 0


def test_a_good_spec_shows_its_canonical_form_and_is_added(page, workspace):
    """Spaces do not matter; the list has the canonical text."""
    spec(page).fill("random:32|normalise")
    expect(page.locator("#verdict")).to_contain_text("random:32 | normalise")
    page.get_by_role("button", name="Add encoder").click()
    expect(page.locator(".t-encoders")).to_contain_text("random:32 | normalise")
    assert workspace.store.encoders.get("random:32 | normalise") is not None
    page.get_by_role("button", name="Remove random:32 | normalise").click()
    expect(page.locator(".t-encoders")).not_to_contain_text("random:32 | normalise")


def test_the_choices_write_the_spec(page):
    """Source, value and steps become the text one could have typed."""
    build(page)
    page.get_by_label("Random words").check()
    page.get_by_label("Dimensions").fill("48")
    page.get_by_label("Centre: subtract the mean").check()
    page.get_by_label("Normalise: length 1").check()
    expect(spec(page)).to_have_value("random:48 | center:@task | normalise")
    expect(page.locator("#verdict")).to_contain_text("48 dimensions")


def test_an_endpoint_elsewhere_gets_nothing_unasked(page, workspace):
    """The box names who would get the texts; it is gone when that is decided, or no question."""
    box = page.get_by_label("Send the texts it encodes to api.invalid")
    spec(page).fill("api:https://api.invalid/v1#m?dimensions=4")
    expect(box).not_to_be_checked()
    expect(page.locator("#verdict")).to_contain_text("sent to api.invalid")
    box.check()
    page.get_by_role("button", name="Add encoder").click()
    expect(page.locator(".t-encoders")).to_contain_text("api.invalid")
    expect(box).to_be_hidden()
    assert service.would_send_to(workspace, "api:https://api.invalid/v1#m") == []
    page.get_by_role("button", name="Remove api:").click()
    expect(page.locator(".t-encoders")).not_to_contain_text("api.invalid")
    assert service.would_send_to(workspace, "api:https://api.invalid/v1#m") == ["api.invalid"]


def test_the_spec_is_in_the_address(page):
    """A link can bring a spec along."""
    spec(page).fill("random:16")
    address_of(page, "random%3A16")
    page.reload()
    expect(spec(page)).to_have_value("random:16")


def test_word_sources_are_pooled_and_joined(page):
    """avg+max, written by choices: the kept part can be emptied again."""
    build(page)
    page.get_by_label("WordLlama", exact=True).check()
    expect(spec(page)).to_have_value("wordllama")
    page.get_by_role("button", name="Join another source").click()
    expect(page.get_by_label("Joined with")).to_have_value("wordllama")
    page.get_by_label("WordLlama", exact=True).check()
    page.get_by_label("Pooling of words").click()
    page.get_by_role("option", name="Max", exact=True).click()
    expect(spec(page)).to_have_value("wordllama + wordllama?pooling=max")
    expect(page.locator("#verdict")).to_contain_text("512 dimensions")
    page.get_by_label("Pooling of words").click()
    page.get_by_role("option", name="GEM").click()
    expect(page.get_by_label("Pooling learns from")).to_be_visible()
    expect(spec(page)).to_have_value("wordllama + wordllama?pooling=gem&data=starter")
    page.get_by_label("Joined with").fill("")
    expect(spec(page)).to_have_value("wordllama?pooling=gem&data=starter")


def test_what_a_choice_asks_for_is_shown_without_the_server(page):
    """A later answer would close the list just opened, or come after a newer one."""
    build(page)
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


def test_a_file_of_vectors_says_what_it_lacks(page, workspace, tmp_path):
    """Added by the choices, asked on the page: task by task."""
    build(page)
    sentences = list(dict.fromkeys(workspace.catalog.load("starter-pairs").sentences))
    save(tmp_path / "x.parquet", sentences[3:], np.ones((len(sentences) - 3, 5)))
    page.get_by_label("Computed vectors").check()
    page.get_by_label("File .npy or .parquet").fill(str(tmp_path / "x.parquet"))
    expect(page.locator("#verdict")).to_contain_text("computed vectors · 5 dimensions")
    page.get_by_role("button", name="Add encoder").click()
    name = f"vectors:{tmp_path / 'x.parquet'}"
    page.get_by_role("button", name=f"Check coverage of {name}").click()
    table = page.get_by_role("region", name="Coverage").get_by_role("table")
    expect(table).to_contain_text(sentences[0])
    expect(table.get_by_role("row").nth(1)).to_contain_text("StarterSTS")
    expect(table.get_by_role("row").nth(1)).to_contain_text("3")
    page.get_by_role("button", name=f"Remove {name}").click()
    expect(page.locator(".t-encoders")).not_to_contain_text("x.parquet")


def test_the_builder_fits_a_phone(visitor, site):
    """Nothing is wider than the window."""
    visit = visitor(site, size=NARROW)
    page = visit.open("encoders")
    build(page)
    page.get_by_label("WordLlama", exact=True).check()
    page.get_by_label("Pooling of words").click()
    page.get_by_role("option", name="SIF").click()
    expect(page.get_by_label("Pooling learns from")).to_be_visible()
    assert not visit.scrolls_sideways()


@pytest.mark.parametrize(("size", "dark"), LOOKS)
def test_the_settings_of_a_model_are_audited(visitor, site, workspace, tmp_path, size, dark):
    """Its prompts and what its files deny first; then each setting, with its interval."""
    prompts = {"query": "the cat ", "document": "a "}
    folder = save_sentence_transformer(tmp_path / "model", "mean", prompts=prompts)
    name = service.add(workspace, f"dir:{folder}")["name"]
    visit = visitor(site, size=size, dark=dark)
    page = visit.open("encoders")
    entry = page.locator(".t-encoders li").filter(has_text=name)
    expect(entry).to_contain_text("Its own prompts: document a , query the cat")
    expect(entry).to_contain_text("Add prompt=@task")
    entry.get_by_role("button", name=f"Audit settings of {name}").click()
    audit = page.get_by_role("region", name="Setting audit")
    expect(audit.get_by_role("row").nth(1)).to_contain_text("as asked", timeout=60_000)
    expect(audit).to_contain_text("Measured on 200 pairs of starter-pairs")
    expect(audit.get_by_role("row").filter(has_text="prompt query")).to_have_count(1)
    link = audit.get_by_role("link", name="prompt query")
    expect(link).to_have_attribute("title", f"{name}?prompt=query")
    assert not visit.scrolls_sideways()
    visit.picture(f"audit-{size[0]}-{'dark' if dark else 'light'}")
    service.remove(workspace, name)
