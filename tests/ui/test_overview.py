"""The overview: the store's numbers, where they come from, and the view in the address."""

from playwright.sync_api import expect

from tests.fakes.stores import invent
from tests.ui.steps import address_of, rows_saved, says

GRID = ".t-heat-table tbody tr"


def cell(page, row, column):
    """The cell of an encoder and a task."""
    expect(page.locator(GRID).first).to_be_visible()
    heads = page.locator(".t-heat-table thead th").all()
    position = [head.get_attribute("data-key") for head in heads].index(column)
    return page.locator(GRID, has_text=row).locator("td").nth(position - 1)


def test_the_table_is_read_sorted_and_taken_away(visit, workspace):
    """Scores to two decimals, a dash where there is none; the address keeps the order."""
    page = visit.open()
    (row,) = workspace.store.results.table(encoders=["random:256"], tasks=["StarterSTS"])
    expect(cell(page, "random:256", "StarterSTS")).to_have_text(f"{row['score']:.2f}")
    expect(cell(page, "random:64", "StarterSearch")).to_have_text("–")
    cell(page, "random:256", "StarterSTS").hover()
    says(page.locator(".t-tip"), "simcse-2021", "480", " to ")
    rows = rows_saved(page.get_by_role("button", name="Download CSV"))
    assert {row["encoder"]: row["StarterSearch"] for row in rows}["random:64"] == ""
    head = page.locator("th[data-key=StarterSTS]")
    for way in ("descending", "ascending"):
        head.locator("button").click()
        expect(head).to_have_attribute("aria-sort", way)
    address_of(page, "order=up")
    page.reload()
    expect(head).to_have_attribute("aria-sort", "ascending")


def test_the_keyboard_opens_a_result_and_it_can_be_removed(visit, workspace):
    """Arrows move, Enter opens the protocol card, and the address names the result."""
    row = invent(workspace, "random:40", "StarterTopics", 0.5, protocol="starter-1")
    page = visit.open()
    cell(page, "random:256", "StarterSTS").focus()
    for key in ("ArrowRight", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    card = page.locator("#result-card")
    says(card, "Protocol simcse-2021")
    address_of(page, "result=")
    page.reload()
    says(card, "StarterSTS")
    page = visit.open(f"?result={row['id']}")
    page.get_by_text("Remove this result").click()
    says(page.locator("body"), "Removed: random:40")
    expect(page.locator("th[data-key=StarterTopics]")).to_have_count(0)
    assert workspace.store.results.table(encoders=["random:40"]) == []


def test_long_names_of_tasks_break_before_the_table_scrolls(visit, workspace):
    """Set-ups with chunks beside tasks of the starter set and the means."""
    for chunks in ("recursive", "sentences", "headings"):
        task = f"upload:handbook|queries:rule|chunk:{chunks},400,50"
        invent(workspace, "random:256", task, 0.5, dim=256)
    for task in ("MR", "CR", "SUBJ", "MPQA"):
        invent(workspace, "random:256", task, 0.5, dim=256)
    page = visit.open()
    expect(page.locator(".t-heat-table thead th")).to_contain_text(["recursive,400,50"])
    assert page.locator(".t-heat-scroll").evaluate("one => one.scrollWidth <= one.clientWidth")
