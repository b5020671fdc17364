"""The page Compare: verdicts, ties, fairness, published rows that are never tested."""

from __future__ import annotations

from playwright.sync_api import expect
from scipy.stats import spearmanr

PAIR = ("random:256", "random:64")
TWO = "compare?encoder=random:256&encoder=random:64"


def test_the_difference_and_its_verdict_stand_beside_the_scores(visit, workspace):
    """The difference is that of two Spearman correlations; the interval holds it."""
    page = visit.open(TWO)
    row = page.locator("#comparison tbody tr", has_text="StarterSTS")
    scores = {}
    for result in workspace.store.results.table(encoders=PAIR, tasks=["StarterSTS"]):
        examples = workspace.store.results.examples(result["id"])
        scores[result["encoder"]] = 100 * spearmanr(examples["cosine"], examples["gold"]).statistic
    delta = f"{scores['random:64'] - scores['random:256']:+.2f}".replace("-", "−")
    expect(row).to_contain_text(delta)
    low, high = (
        float(end.replace("−", "-")) for end in row.locator("small").last.inner_text().split(" to ")
    )
    assert low <= float(delta.replace("−", "-")) <= high
    verdict = "tie" if low <= 0 <= high else "worse" if high < 0 else "better"
    expect(row.locator(".t-tag")).to_have_text(verdict)


def test_an_average_says_over_how_many_tasks(visit):
    """StarterSearch was measured on one of them only: the mean is over what both share."""
    page = visit.open(TWO)
    expect(page.locator("#comparison tfoot")).to_contain_text("tasks: those that all share")
    expect(page.locator("#comparison")).to_contain_text("not measured")


def test_unfair_comparisons_are_pointed_out(visit):
    """Sizes differ, and that is said in words."""
    page = visit.open(TWO)
    expect(page.locator("#cautions")).to_contain_text("differ in size")


def test_the_baseline_is_chosen_and_kept_in_the_address(visit, visitor, site):
    """Copying the address shows the same comparison."""
    page = visit.open(f"{TWO}&baseline=random:64")
    expect(page.locator("#comparison thead th").nth(1)).to_contain_text("random:64")
    other = visitor(site).open(page.url.removeprefix(f"{site}/"))
    expect(other.locator("#comparison thead th").nth(1)).to_contain_text("random:64")


def test_published_rows_are_marked_and_have_no_verdict(visit):
    """A printed number is a reference: no interval, and a note says where it is from."""
    page = visit.open(f"{TWO}&published=SimCSE-BERT-base,+unsupervised,+all")
    head = page.locator("#comparison thead th").last
    expect(head).to_contain_text("published")
    expect(page.locator("#comparison tbody td").last.locator(".t-tag")).to_have_count(0)
    expect(page.locator("#cautions")).to_contain_text("numbers from a paper")


def test_the_picture_has_a_table_and_a_csv(visit):
    """What is drawn can be read and taken away."""
    page = visit.open(TWO)
    page.wait_for_selector("#forest .main-svg")
    page.locator("#forest summary").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    text = saved.value.path().read_text(encoding="utf-8")
    assert text.startswith("task,encoder,score") and "StarterSTS" in text


def test_one_encoder_is_told_what_to_do(visit):
    """An empty state with the next step."""
    page = visit.open("compare?encoder=random:256")
    expect(page.locator(".t-empty")).to_contain_text("Choose two encoders")
