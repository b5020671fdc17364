"""The frame around every page: the rail, its tabs, light and dark."""

import re

from playwright.sync_api import expect

from tests.ui.steps import HOSTILE, NARROW, address_of, says, stays_text


def test_the_rail_is_there_before_the_page_nothing_moves_and_all_comes_to_rest(visitor, site):
    """It waits for no script of Gradio's, and no shift of the layout comes after it.

    Gradio's spinner, once taken off the page, would keep a twentieth of a core busy: a loop asks
    for every frame, where polling asks for some.
    """
    page = visitor(site).page
    page.emulate_media(reduced_motion="no-preference")
    page.route("**/assets/*.js", lambda route: None)  # no answer ever comes
    page.goto(f"{site}/jobs", wait_until="commit")
    expect(page.get_by_role("link", name="Jobs")).to_have_attribute("aria-current", "true")
    page.unroute_all(behavior="ignoreErrors")
    page.add_init_script(
        "window.shifts = [];"
        "new PerformanceObserver((list) => shifts.push(...list.getEntries().flatMap("
        "(shift) => shift.sources.map(({ node }) => node?.closest?.('#t-rail, .t-head')))))"
        ".observe({ type: 'layout-shift', buffered: true });"
        "window.frames_asked = 0;"
        "window.next_frame = window.requestAnimationFrame.bind(window);"
        "window.requestAnimationFrame = (draw) => { frames_asked += 1; return next_frame(draw); };"
    )
    page.goto(f"{site}/jobs")
    page.wait_for_selector(".t-header")
    assert page.locator("#t-rail").bounding_box() == {"x": 0, "y": 0, "width": 176, "height": 900}
    assert page.evaluate("shifts.filter(Boolean).length") == 0
    page.wait_for_function(
        """async () => {
          const before = frames_asked;
          for (let frame = 0; frame < 40; frame += 1) await new Promise(next_frame);
          return frames_asked - before < 20;
        }"""
    )
    page.close()  # its script would stay with it


def test_the_rail_is_folded_to_icons_and_remembers_it(visitor, site):
    """On demand, with its words left to screen readers; on a narrow window of itself."""
    page = visitor(site).open("jobs")
    rail = page.locator("#t-rail")
    page.get_by_role("button", name="Fold the list of pages to icons").click()
    assert rail.bounding_box()["width"] == 56
    rail.get_by_role("link", name="Search").click()
    expect(page.locator("h1")).to_have_text("Search")
    assert rail.bounding_box()["width"] == 56
    page.get_by_role("button", name="Unfold the list of pages").click()
    assert rail.bounding_box()["width"] == 176
    narrower = visitor(site, size=(1024, 768)).open("jobs")
    assert narrower.locator("#t-rail").bounding_box()["width"] == 56


def test_on_a_phone_the_rail_is_a_sheet_and_the_rest_stands_in_the_strip(visitor, site):
    """Escape closes the sheet and gives the focus back; help covers what is below it."""
    page = visitor(site, size=NARROW).open("decode")
    rail, button = page.locator("#t-rail"), page.get_by_role("button", name="Pages")
    expect(rail).to_be_hidden()
    button.click()
    expect(rail.get_by_role("link", name="Decode")).to_be_focused()
    page.keyboard.press("Escape")
    expect(rail).to_be_hidden()
    expect(button).to_be_focused()
    strip = [
        page.get_by_role("button", name="More controls"),
        page.get_by_label("About this page"),
        page.locator(".t-head").get_by_role("button", name="Jump to"),
    ]
    rest, help_, jump = (place.bounding_box() for place in strip)
    assert all(box["y"] + box["height"] <= 44 for box in (rest, help_, jump))
    assert rest["x"] + rest["width"] <= help_["x"] <= jump["x"] - help_["width"]
    page.get_by_label("About this page").click()
    on_top = """(text) => { const { left, right, top, bottom } = text.getBoundingClientRect();
        return [0.1, 0.5, 0.9].every((share) => text.contains(document.elementFromPoint(
            left + share * (right - left), top + share * (bottom - top)))); }"""
    assert page.locator(".t-about p").evaluate(on_top)


def test_colours_go_along_and_the_bar_can_be_skipped(visit):
    """The first stop of Tab is a link that skips the bar, and stays on the page."""
    page = visit.open("jobs")
    page.keyboard.press("Tab")
    expect(page.locator(".t-skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#t-main")).to_be_focused()
    expect(page.locator("h1")).to_have_text("Jobs")
    expect(page.locator("body")).not_to_have_class(re.compile("dark"))
    page.get_by_role("button", name="Light or dark").click()
    page.get_by_role("navigation", name="Jobs").get_by_role("link", name="Workers").click()
    expect(page.locator("h1")).to_have_text("Workers")
    expect(page.locator("body")).to_have_class(re.compile("dark"))


def test_an_encoder_that_cannot_be_read_is_one_to_choose_again(visit):
    """A link with a slip in it: what is wrong is said, and the form stands there to be mended."""
    for path in ("search?q=rain&", "map?"):
        page = visit.open(f"{path}encoder=nonsense")
        expect(
            page.get_by_role("alert").filter(has_text="Unknown source 'nonsense'").first
        ).to_be_visible()
        page.wait_for_function(
            "[...document.querySelectorAll('#t-main input, #encoders .token')].some("
            "(one) => [one.value, one.name, one.innerText].join().includes('nonsense'))"
        )


def test_what_asks_another_host_would_fail_here(visit):
    """Every visit fails on it: so these tests say that no page of ours asks anybody else."""
    page = visit.open()
    with page.expect_event("console", lambda said: said.type == "error"):
        page.evaluate("() => { new Image().src = 'http://elsewhere.example/x'; }")
    assert visit.wrong
    visit.wrong.clear()


LAID_OUT = """() => {
  return performance.getEntriesByType("resource").filter(({ name }) => name.includes("/assets/"))
    .map(({ name, transferSize }) => [name, transferSize]);
}"""
"""The files that a page was laid out with, and their bytes, none where they were there already."""


def test_the_scripts_of_other_pages_come_while_this_one_rests(stranger, site):
    """A page with components that no page before had does not have to fetch them."""
    stranger.goto(f"{site}/jobs")
    stranger.wait_for_selector("link[rel=prefetch]", state="attached")
    stranger.wait_for_function(
        "() => [...document.querySelectorAll('link[rel=prefetch]')]"
        ".every(({ href }) => performance.getEntriesByName(href)"
        ".some(({ responseStatus }) => responseStatus === 200))"
    )
    expect(stranger.locator("link[rel=prefetch][href*='/plotly-']")).to_have_count(1)
    stranger.goto(f"{site}/train")
    stranger.wait_for_selector(".t-header")
    sizes = dict(stranger.evaluate(LAID_OUT))
    assert len(sizes) > 40
    assert [name for name, size in sizes.items() if size] == []


def test_the_script_of_charts_comes_early(stranger, site):
    """It is large: it is asked for while Gradio is still at work, where there will be a chart.

    From the second page with a chart on, when the browser keeps what it compiled, it is read while
    the server works.
    """
    asked, held = [], []
    stranger.on("request", lambda request: asked.append(request.url))
    with stranger.expect_request("**/queue/join*"):  # the first thing a page laid out asks for
        stranger.goto(f"{site}/compare")
    assert any("/plotly-" in address for address in asked)
    stranger.wait_for_selector(".t-plot .main-svg")
    stranger.route("**/queue/data*", lambda route: held.append(route))
    with stranger.expect_request("**/queue/data*"):
        stranger.goto(f"{site}/compare")
    stranger.wait_for_function("window.Plotly")
    assert held


# Radio buttons on every page: one group, one stop of the Tab key, moved by the arrow keys.


def test_arrow_keys_move_the_choice(visit):
    """To the next one and back, with what the page does about it; Tab leaves the group.

    The first is one that the address alone has chosen: it stands there when the page is filled.
    """
    page, group = visit.open("search?by=pattern"), visit.page.locator("#by")
    page.locator("[aria-controls=more]").click()
    expect(group.locator("[value=pattern]")).to_be_checked()
    expect(group).to_have_attribute("role", "radiogroup")
    expect(group).to_have_attribute("aria-label", re.compile("Search by"))
    group.locator("input:checked").focus()
    for value in ("meaning", "examples", "words"):
        page.keyboard.press("ArrowRight")
        expect(group.locator(f"[value={value}]")).to_be_checked()
        expect(group.locator(f"[value={value}]")).to_be_focused()
    expect(page.locator("#encoders")).to_be_hidden()
    address_of(page, "by=words")
    page.keyboard.press("ArrowLeft")
    expect(group.locator("[value=examples]")).to_be_checked()
    page.keyboard.press("Tab")
    expect(group.locator("input:focus")).to_have_count(0)


# The palette: a few letters lead anywhere, and the rail counts what runs.


def test_tab_passes_a_list_without_a_word_to_the_server_and_closes_one_that_is_open(visit):
    page = visit.open("search?data=starter-topics&q=rain&encoder=random:256")
    expect(page.locator("#hits li").first).to_be_visible()
    asked = []
    visit.listen("request", lambda sent: "queue/join" in sent.url and asked.append(sent.url))
    page.locator("#search-button").focus()
    for focused in ("Collection", "More controls"):
        page.keyboard.press("Tab")
        expect(page.locator(":focus")).to_have_accessible_name(re.compile(focused))
        expect(page.get_by_role("listbox")).to_have_count(0)
    assert asked == []

    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("listbox")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_accessible_name("More controls")
    expect(page.get_by_role("listbox")).to_have_count(0)


def test_letters_arrows_and_enter_lead_to_a_place(visit, workspace):
    """Ctrl+K opens it over any page; Escape closes it and gives the focus back.

    A run that waits is counted in the rail, and found with its title as it was written.
    """
    workspace.store.runs.create("evaluate", {}, title=HOSTILE)
    page = visit.open("encoders")
    waiting = len(workspace.store.runs.list(("queued", "running")))
    expect(page.locator(".t-live")).to_have_attribute("data-count", str(waiting))
    link = page.get_by_role("link", name="Data", exact=True)
    link.focus()
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox", name="Jump to")
    expect(box).to_be_focused()
    expect(page.get_by_role("option", name="Home")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(link).to_be_focused()
    page.get_by_role("button", name="Jump to").click()
    box.fill("onerror")
    says(page.get_by_role("option").first, HOSTILE)
    stays_text(page)
    box.fill("strtpairs")
    says(page.get_by_role("option").first, "starter-pairs")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    active = box.get_attribute("aria-activedescendant")
    expect(page.locator(f"#{active}")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/data?set=starter-pairs")


# Tables that people can sort by their heads, with the mouse and with the keyboard.

ROWS = """<tr><td>b</td><td>3 min 20 s</td></tr><tr><td>a10</td><td>8.4 s</td></tr>
<tr><td>C</td><td>–</td></tr><tr><td>a9</td><td>1 h 2 min</td></tr>
<tr><td>d</td><td>541 µs</td></tr><tr><td>e</td><td>12 ms</td></tr>"""


def test_durations_are_sorted_as_such_and_what_is_missing_stays_below(visit):
    """An hour is longer than three minutes, and a9 comes before a10."""
    page = visit.open("jobs")
    page.evaluate(
        "(rows) => document.querySelector('#t-main').insertAdjacentHTML('beforeend', `<table id=x>"
        "<thead><tr>${['Name', 'Time'].map((name) => `<th><button data-press='sort'>"
        "${name}</button></th>`).join('')}</tr></thead><tbody>${rows}</tbody></table>`)",
        ROWS,
    )
    rows = page.locator("#x tbody tr")
    name, time = (page.locator("#x th").filter(has_text=head) for head in ("Name", "Time"))
    for head, way, order in (
        (name, "ascending", "a9 a10 b C d e"),
        (time, "descending", "a9 b a10 e d C"),
        (time, "ascending", "d e a10 b a9 C"),
        (time, None, "b a10 C a9 d e"),
    ):
        head.get_by_role("button").press("Enter")
        expect(page.locator(f"#x [aria-sort={way}]")).to_have_count(1 if way else 0)
        expect(rows.locator("td:first-child")).to_have_text(order.split())


def test_on_a_phone_a_wide_table_is_read_downwards(visitor, site):
    """Each row is a block, each number under its head; nothing is scrolled sideways."""
    table = visitor(site, size=NARROW).open("diagnose?encoder=minilm").locator(".t-stacked").first
    expect(table).to_be_visible()
    assert table.evaluate("({ parentElement: box }) => box.scrollWidth <= box.clientWidth")
    number = table.locator("td.t-num").first
    head = number.evaluate("(cell) => getComputedStyle(cell, '::before').content")
    assert head == f'"{number.get_attribute("data-head")} "'
