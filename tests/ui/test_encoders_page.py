"""The encoders page: write a spec, have it checked, keep it."""

import pytest
from playwright.sync_api import expect

from tests.engine.encoders.models import save_sentence_transformer
from tests.fakes.stores import starter_store
from tests.ui.steps import says, served_to_visitors, stays_text
from theodolite.app.pages.encoders import service


@pytest.fixture
def page(visit):
    """The page with its list."""
    page = visit.open("encoders")
    page.wait_for_selector("#encoders tbody tr")
    return page


def spec(page):
    """The text box of the spec."""
    return page.get_by_label("Spec", exact=True)


def test_a_spec_is_checked_while_it_is_written_and_added(page):
    """What is wrong is said, as text; the list has the canonical form; the docs are there."""
    page.locator(".t-about summary").click()
    for name in ("More about this page", "How encoders are written"):
        expect(page.get_by_role("link", name=name)).to_be_visible()
    spec(page).fill("rando:12<img src=x onerror=window.pwned=1>")
    says(page.locator("#verdict"), "rando")
    stays_text(page)
    spec(page).fill("random:32|normalise")
    says(page.locator("#verdict"), "random:32 | normalise")
    # Entered at once: what was said of it stays when the check of what was typed has come.
    spec(page).press_sequentially("d")
    spec(page).press("Enter")
    says(page.locator("#verdict"), "Unknown step 'normalised'")
    says(page.get_by_role("alert"), "Unknown step 'normalised'")
    spec(page).fill("random:32|normalise")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator("#encoders"), "random:32 | normalise")
    page.get_by_role("button", name="Remove random:32 | normalise").click()
    expect(page.locator("#encoders")).not_to_contain_text("random:32 | normalise")


def test_the_choices_write_the_spec(visit, page):
    """Source, steps, a second source with a pooling; the joined part can be emptied again."""
    page.get_by_role("button", name="Build a spec").click()
    page.get_by_label("Random words").check()
    page.get_by_label("Dimensions").fill("48")
    page.get_by_label("Centre: subtract the mean").check()
    expect(spec(page)).to_have_value("random:48 | center:@task")
    says(page.locator("#verdict"), "48")
    page.get_by_label("Centre: subtract the mean").uncheck()
    page.get_by_label("WordLlama", exact=True).check()
    page.get_by_role("button", name="Join another source").click()
    expect(page.get_by_label("Joined with")).to_have_value("wordllama")
    page.get_by_label("WordLlama", exact=True).check()
    page.get_by_label("Pooling of words").click()
    page.get_by_role("option", name="GEM").click()
    expect(spec(page)).to_have_value("wordllama + wordllama?pooling=gem&data=starter")
    visit.fits()
    page.get_by_label("Joined with").fill("")
    expect(spec(page)).to_have_value("wordllama?pooling=gem&data=starter")
    # What a choice asks for comes without the server: a later answer would close an open list.
    page.route("**/queue/join*", lambda route: None)  # no answer ever comes
    expect(page.get_by_label("Fitted on")).to_be_hidden()
    page.get_by_label("Centre: subtract the mean").check()
    expect(page.get_by_label("Fitted on")).to_be_visible()


def test_an_endpoint_elsewhere_gets_nothing_unasked(page, workspace):
    """The box names who would get the texts; it is gone when that is decided, or no question."""
    box = page.get_by_label("Send the texts it encodes to api.invalid")
    spec(page).fill("api:https://api.invalid/v1#m?dimensions=4")
    expect(box).not_to_be_checked()
    says(page.locator("#verdict"), "sent to api.invalid")
    box.check()
    page.get_by_role("button", name="Add encoder").click()
    says(page.locator("#encoders"), "api.invalid")
    expect(box).to_be_hidden()
    assert service.would_send_to(workspace, "api:https://api.invalid/v1#m") == []
    page.get_by_role("button", name="Remove api:").click()
    expect(page.locator("#encoders")).not_to_contain_text("api.invalid")
    assert service.would_send_to(workspace, "api:https://api.invalid/v1#m") == ["api.invalid"]


def test_the_settings_of_a_model_are_audited_and_it_is_renamed(visit, workspace, tmp_path):
    """Its own prompts are said first; then each setting, with its interval. Its name is shown."""
    folder = save_sentence_transformer(
        tmp_path / "model", "mean", prompts={"query": "the cat ", "document": "a "}
    )
    name = service.add(workspace, f"dir:{folder}")["name"]
    page = visit.open("encoders")
    page.get_by_role("button", name=f"Open {name}").click()
    says(page.locator("#opened"), "document “a ”, query “the cat ”")
    page.get_by_role("button", name=f"Audit settings of {name}").click()
    audit = page.locator("#checked")
    says(audit.get_by_role("row").nth(1), "as asked")
    expect(audit.get_by_role("link", name="prompt query")).to_be_visible()
    visit.fits()
    box = page.get_by_label("Name", exact=True)
    box.fill("<b>mine</b>")
    box.press("Enter")
    expect(page.get_by_text("cannot name an encoder")).to_be_visible()
    stays_text(page)
    other = page.context.new_page()
    other.goto(f"{visit.site}/search?encoder={name}")
    says(other.locator("#encoders"), name)
    box.fill("mine")
    page.get_by_role("button", name="Rename").click()
    says(page.locator("#encoders"), "mine")
    says(other.locator("#encoders"), "mine")  # though it was open before
    other.close()
    expect(page.locator("#encoders")).not_to_contain_text(name)
    says(visit.open("search?encoder=mine").locator("#encoders"), "mine")


def test_visitors_of_an_empty_store_are_told_so_alone(visitor, tmp_path):
    """Not to add one, which they cannot, and nothing of a search that nobody made."""
    made = starter_store(tmp_path)
    for name in service.names(made):
        made.store.encoders.remove(name)
    with served_to_visitors(made) as address:
        page = visitor(address).open("encoders")
        says(page.locator("#encoders"), "No encoders yet")
        expect(page.get_by_text("No encoder matches")).to_be_hidden()
        expect(page.locator("#encoders")).not_to_contain_text("Add one")
