"""A copied address shows the same: what is chosen on a page is chosen again in another tab."""

from __future__ import annotations

import pytest

from tests.ui.steps import address_of, write

CONTROLS = """JSON.stringify([...document.querySelectorAll(
    "#t-main input:not([type=file]), #t-main textarea, #t-main select")]
  .filter((one) => !one.closest(".t-map"))
  .map((one) => (/checkbox|radio/.test(one.type) ? one.checked : one.value)))"""
"""What stands in every control of the page."""
PAIR = "encoder=random:64&encoder=random:256"


def tick(label):
    return lambda page: page.get_by_label(label, exact=True).check()


def fill(name, text):
    return lambda page: write(page, name, text)


def enter(label, text):
    return lambda page: page.get_by_label(label).fill(text)


@pytest.mark.parametrize(
    ("path", "folded", "change", "written"),
    [
        (f"arithmetic?{PAIR}&x=a&let=a%3DRain.", False, fill("expression", "a*2"), "x=a*2"),
        (f"board?{PAIR}&most_dimensions=64", False, tick("Types"), "columns=types"),
        ("choose?encoder=random:64", "Limits and columns", fill("margin", "15"), "margin=15"),
        (f"compare?{PAIR}&view=ranks", False, tick("Resample examples and tasks"), "drawn=over"),
        (f"curate?{PAIR}&in=starter-pairs", False, tick("Near duplicates"), "job=near"),
        ("data?set=starter-pairs", False, fill("find", "pairs"), "find=pairs"),
        ("decode?encoder=random:64&q=Rain.&corrections=2", True, tick("Sampling"), "method=sample"),
        (f"distributions?{PAIR}", False, tick("wordllama"), "encoder=wordllama"),
        ("encoders", False, fill("spec", "random:16"), "random%3A16"),
        (f"evaluate?{PAIR}&starter=StarterSTS", False, tick("wordllama"), "encoder=wordllama"),
        (f"geometry?{PAIR}&data=starter-pairs&cut=2", True, tick("4 and above"), "rule=from"),
        ("interpolate?encoder=random:64&steps=5", True, tick("Great circle"), "path=spherical"),
        ("search?encoder=random:64&q=rain&k=5", True, fill("least", "0.5"), "least=0.5"),
        (f"spaces?{PAIR}&method=pca", False, tick("One map, animated"), "show=move"),
        ("train?seed=3", False, enter("Temperature", "0.1"), "temperature=0.1"),
        ("train-decoder?clauses=false", False, enter("Max words", "9"), "words=9"),
    ],
)  # fmt: skip
def test_it_shows_what_was_chosen(visitor, site, path, folded, change, written):
    page = visitor(site).open(path)
    page.wait_for_function("document.querySelector('#t-main .t-answer')?.innerText")
    if folded:
        page.get_by_role(
            "button", name=folded if isinstance(folded, str) else "More controls"
        ).click()
    change(page)
    copied = address_of(page, written)
    again = visitor(site).open(copied)
    again.wait_for_function(f"seen => {CONTROLS} === seen", arg=page.evaluate(CONTROLS))
    assert address_of(again) == copied
