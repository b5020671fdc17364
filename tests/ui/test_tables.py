"""Tables that people can sort by their heads, with the mouse and with the keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ui.conftest import NARROW

COLUMN = "(rows, at) => rows.map((row) => row.cells[at].textContent)"
ROWS = """<tr><td>b</td><td>3 min 20 s</td></tr><tr><td>a10</td><td>8.4 s</td></tr>
<tr><td>C</td><td>–</td></tr><tr><td>a9</td><td>1 h 2 min</td></tr>
<tr><td>d</td><td>541 µs</td></tr><tr><td>e</td><td>12 ms</td></tr>"""


def test_a_head_sorts_its_table_and_says_so(visit):
    """Numbers from the highest, then the other way round, then as it was."""
    page = visit.open("evaluate")
    heads = page.locator("#results th")
    score = heads.filter(has_text="Score")
    column = score.evaluate("(head) => head.cellIndex")
    rows = page.locator("#results tbody tr")
    expect(rows).to_have_count(3)
    before = rows.evaluate_all(COLUMN, column)
    score.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(score).to_have_attribute("aria-sort", "descending")
    assert rows.evaluate_all(COLUMN, column) == sorted(before, key=float, reverse=True)
    page.keyboard.press("Enter")
    expect(score).to_have_attribute("aria-sort", "ascending")
    assert rows.evaluate_all(COLUMN, column) == sorted(before, key=float)
    heads.filter(has_text="Encoder").get_by_role("button").click()
    assert page.locator("#results [aria-sort]").all_inner_texts() == ["Encoder"]
    for _ in range(2):
        heads.filter(has_text="Encoder").get_by_role("button").click()
    expect(page.locator("#results [aria-sort]")).to_have_count(0)
    assert rows.evaluate_all(COLUMN, column) == before


def test_durations_are_sorted_as_such_and_what_is_missing_stays_below(visit):
    """An hour is longer than three minutes, and a9 comes before a10."""
    page = visit.open("jobs")
    page.evaluate(
        "(rows) => document.querySelector('#t-main').insertAdjacentHTML('beforeend', `<table id=x>"
        "<thead><tr>${['Name', 'Time'].map((name) => `<th><button data-press='sort'>"
        "${name}</button></th>`).join('')}</tr></thead><tbody>${rows}</tbody></table>`)",
        ROWS,
    )
    rows, name = page.locator("#x tbody tr"), page.locator("#x").get_by_role("button", name="Name")
    name.click()
    assert rows.evaluate_all(COLUMN, 0) == ["a9", "a10", "b", "C", "d", "e"]
    page.locator("#x").get_by_role("button", name="Time").click()
    assert rows.evaluate_all(COLUMN, 0) == ["a9", "b", "a10", "e", "d", "C"]
    page.locator("#x").get_by_role("button", name="Time").click()
    assert rows.evaluate_all(COLUMN, 0) == ["d", "e", "a10", "b", "a9", "C"]


@pytest.mark.parametrize("path", ["diagnose", "leaks"])
def test_on_a_phone_a_wide_table_is_read_downwards(visitor, site, path):
    """Each row is a block, each number under its head; nothing is scrolled sideways."""
    page = visitor(site, size=NARROW).open(f"{path}?encoder=minilm")
    table = page.locator(".t-stacked").first
    expect(table).to_be_visible()
    assert table.evaluate("({ parentElement: box }) => box.scrollWidth <= box.clientWidth")
    number = table.locator("td.t-num").first
    head = number.evaluate("(cell) => getComputedStyle(cell, '::before').content")
    assert head == f'"{number.get_attribute("data-head")} "'
