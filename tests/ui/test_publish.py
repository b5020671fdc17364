"""The frozen workbench, opened from a plain `python -m http.server` below some path of it."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.fakes import folder as data_folder
from tests.fakes.results import invent
from tests.fakes.stores import starter_store
from tests.ui.conftest import NARROW, served
from tests.ui.maps import table
from tests.ui.steps import saved, says, stays_text
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.publish import choice, folder, site
from theodolite.app.workspace import Workspace

NAMES = ("random:256", "random:64", "wordllama")
QUERY = "&".join(f"encoder={name}" for name in NAMES)
RAIL = ["Overview", "Compare", "Board", "Search", "Map", "Two spaces", "Geometry", "Decode"]
PROBE = "<xss-probe><img src=x onerror=window.pwned=1></script><script>window.pwned=2</script>"
READY = {
    "": "#scores tbody tr",
    "compare": "#comparison tbody tr",
    "board": "#board tbody tr",
    "fair-play": "#seeds h2",
    "distributions": "#readings li",
}
"""Page -> what is there once it says something."""
SHOWN = """() => [...document.querySelectorAll(
  '#headline h2, #comparison tr, #cautions li, #scores tr, #scores + p, #board tr, #ranks p, '
  + '#advice, .t-point p, .t-point h2, #readings li')]
  .map((one) => one.innerText.replace(/\\s+/g, ' ').trim())"""


@pytest.fixture(scope="module")
def evaluated_here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with two encoders evaluated, and invented accuracies."""
    made = starter_store(tmp_path_factory.mktemp("evaluated"))
    for place, name in enumerate(NAMES):
        for task in ("MR", "CR", "SUBJ"):
            invent(made, name, task, (0.86, 0.85, 0.6)[place])
            invent(made, name, task, (0.85, 0.86, 0.6)[place], protocol="senteval-fast")
    for name in NAMES[:2]:
        assert evaluated(made, name, "StarterSTS")["error"] is None
    yield made
    made.close()


@pytest.fixture(scope="module")
def live(evaluated_here: Workspace) -> Iterator[str]:
    """The app over it, for visitors, with the starter set alone as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        looking = Workspace(evaluated_here.store.folder, read_only=True)
    with served(looking) as address:
        yield address
    looking.close()


@pytest.fixture(scope="module")
def frozen(evaluated_here: Workspace, web: tuple[Path, str]) -> str:
    """Address of the frozen workbench, below a path of its own."""
    root, address = web
    made = site.freeze(evaluated_here, choice.choose(evaluated_here, NAMES))
    folder.write(root / "some" / "where", made.files)
    return f"{address}/some/where"


@pytest.mark.parametrize("path", READY)
def test_a_frozen_page_says_what_the_live_one_says(visitor, live, frozen, path):
    """Finding, table, verdicts, intervals and notes, letter by letter; in its own style sheet.

    Its links lead to what is there.
    """
    visits = [visitor(address) for address in (live, frozen)]
    seen = []
    for visit in visits:
        page = visit.open(f"{path}?{QUERY}" if path else "")
        page.wait_for_selector(READY[path])
        if path in ("compare", "board"):  # the ranks come last
            expect(page.locator("#ranks, #apart").first).not_to_be_empty()
        seen.append({text for text in page.evaluate(SHOWN) if text})
    ours, theirs = seen
    # Where a run would help, the live page has a link to where it is begun, or says what it lacks.
    help_wanted = re.compile("Measure|Evaluate|Compare at one size|has its data here")
    assert len(theirs) > 3
    assert {text for text in ours - theirs if not help_wanted.search(text)} == set()
    visits[1].fits(f"frozen-{path or 'overview'}")
    assert page.evaluate("document.fonts.check('16px \"IBM Plex Sans\"')")
    for url in page.locator("a[href]").evaluate_all("links => links.map((a) => a.href)"):
        assert page.request.get(url.partition("#")[0]).ok, url


def test_a_sentence_that_begins_with_a_link_to_nowhere_goes_whole(visitor, frozen):
    """What cannot be done here is not said by half; a link within a sentence leaves its words."""
    page = visitor(frozen).open()
    data, encoders = '<a href="./data">Add', '<a href="./encoders">'
    for html, left in (
        (f"<p>To see. {data} one</a>, or {encoders}bring data</a>.</p>", "To see."),
        (f"<p>Seen. {data} <b>one</b></a> to have <b>this</b> now. More.</p>", "Seen. More."),
        (f"<p>See {data}</a>, or {encoders}Encoders</a>.</p>", "See Add, or Encoders."),
        (f"<p>None yet. {data} one</a></p>", "None yet."),
        (f"<p>{data}</a><span>one</span></p>", "one"),
        (f'<ul class="t-tour"><li>{data}</a><small>yours</small></li></ul>', ""),
    ):
        page.evaluate(
            "(html) => { document.querySelector('#probe')?.remove(); const place = "
            "document.body.appendChild(document.createElement('div')); place.id = 'probe'; "
            "place.innerHTML = html; }",
            html,
        )
        expect(page.locator("#probe")).to_have_text(left, use_inner_text=True)


def test_scores_and_tabs_live_on(visitor, frozen):
    """A score opens its numbers; ranks with the tasks drawn too; a chart with its numbers."""
    page = visitor(frozen).open()
    cell = page.locator("#scores tbody tr", has_text="random:256").locator("td").first
    cell.hover()
    says(page.locator("#t-heat-tip"), re.compile(r"95 % interval\s*[\d.]+ to [\d.]+"))
    cell.click()
    title = page.locator("#result section h2")
    says(page.locator("#result section"), "Protocol")
    opened = title.inner_text()
    page.reload()
    expect(title).to_have_text(opened)
    page.locator("#headline").get_by_role("link", name="Compare").click()
    page.wait_for_selector("#forest .main-svg")
    page.locator("#forest summary").click()
    button = page.locator("#forest .t-twin").get_by_role("button", name="Download CSV")
    assert "random:64" in saved(page, button).read_text()
    page.get_by_role("link", name="Ranks").click()
    expect(page.locator("#comparison")).to_be_hidden()
    page.get_by_text("Resample examples and tasks").click()
    says(page.locator("#ranks"), "3 tasks are few to resample")
    page.reload()
    says(page.locator("#ranks"), "3 tasks are few to resample")
    page.get_by_role("link", name="Stability").click()
    says(page.locator("#stability"), "leads")
    page = visitor(frozen).open("board")
    expect(page.locator("#board tbody tr").first).to_be_visible()
    expect(page.locator("#board tbody button")).to_have_count(0)  # what opens nothing is none
    page.get_by_text("Types", exact=True).click()
    says(page.locator("#board thead"), "Transfer")


@pytest.mark.parametrize(
    ("path", "choose", "shown", "query"),
    [
        (
            "compare",
            "document.querySelector('#drawn label:last-of-type').click()",
            ("#ranks", "3 tasks are few to resample"),
            "drawn=over",
        ),
        (
            "map",
            "document.querySelector('.t-views select').value = '1'",
            (".t-map-said", "960 points"),
            "starter-pairs",
        ),
    ],
)
def test_a_choice_made_while_the_page_loads_is_answered(
    visitor, frozen, path, choose, shown, query
):
    """The module that listens to choices is the last to arrive; the address keeps them as well."""
    visit = visitor(frozen)
    page, held = visit.page, []
    page.route("**/frozen*.js", lambda route: held.append(route))
    with page.expect_request("**/frozen*.js"):
        page.goto(f"{frozen}/{path}/", wait_until="commit")
    page.locator("fieldset").last.wait_for(state="attached")
    page.evaluate(choose)
    assert "?" not in page.url
    [waiting] = held
    waiting.continue_()
    expect(page.locator(shown[0])).to_contain_text(shown[1])
    assert query in page.url


def test_a_map_answers_out_of_its_files(visitor, frozen, evaluated_here):
    """Its neighbours are those of the live page; words are found, points taken away as a table."""
    name = "random:64"
    found = MapJob.of(name, "starter-pairs", method="quick").make(evaluated_here)
    first = maps.point(evaluated_here, found, 0, maps.NEIGHBOURS)
    page = visitor(frozen).open(f"map?encoder={name}&find={quote(first['text'])}")
    expect(page.locator(".t-map-said")).to_contain_text("960 points, 1 found")
    assert page.locator(".t-views select option:checked").inner_text().startswith(name)
    page.get_by_role("button", name="Select what was found").click()
    assert table(page)["sentence"].tolist() == [first["text"]]
    page.get_by_label("Selected", exact=True).get_by_role("button", name=first["text"]).click()
    card = page.get_by_label("The open point")
    rows = card.locator("tbody tr")
    expect(rows).to_have_count(len(first["neighbours"]))
    sentences = [row.split("\t") for row in rows.all_inner_texts()]
    assert [(cosine, where) for _, cosine, where in sentences] == [
        (f"{one['cosine']:.3f}", "near" if one["kept"] else "elsewhere")
        for one in first["neighbours"]
    ]
    assert {text for text, *_ in sentences} == {one["text"] for one in first["neighbours"]}
    page.locator(".t-views select").select_option(label="random:256 · starter-pairs")
    expect(page).to_have_url(re.compile("encoder=random%3A256"))
    expect(page.locator(".t-map-said")).to_contain_text("960 points")


def test_two_spaces_and_geometry_are_drawn(visitor, frozen):
    """Side by side or as one map that moves; charts of what was evaluated."""
    page = visitor(frozen).open("spaces")
    for side in ("left", "right"):
        expect(page.locator(f"#{side}-map .t-map-said")).to_contain_text("960 points")
    page.get_by_text("One map, animated").click()
    expect(page.get_by_role("button", name="Move them")).to_be_visible()
    page.goto(f"{frozen}/geometry")
    expect(page.locator("#numbers tbody")).to_contain_text("random:64")
    page.wait_for_selector("#spectrum .main-svg")
    assert page.locator("#t-rail nav a").all_inner_texts() == RAIL


def test_hostile_texts_and_names_are_shown_as_text(visitor, web, tmp_path):
    """Sentences, labels and names of encoders that are HTML, in the pages and in their files."""
    root, address = web
    data = data_folder.write(tmp_path / "data")
    for sign in ("pos", "neg"):
        file = data / f"downstream/MR/rt-polarity.{sign}"
        lines = enumerate(file.read_text().splitlines())
        file.write_text("".join(f"{PROBE} w{n % 40} {line}\n" for n, line in lines))
    made = Workspace(tmp_path / "store", data)
    names = []
    for number in range(2):
        words = tmp_path / f"{PROBE.replace('/', '')}{number}.txt"
        words.write_text("".join(f"w{i} {i % 3} {(i + number) % 5}\n" for i in range(40)))
        names.append(encoders.add(made, f"words:{quote(str(words))}")["name"])
    for name in (*names, "random:16", "random:64"):
        made.store.encoders.add(name, {})
        assert evaluated(made, name, "MR")["error"] is None
    every = (*names, "random:16", "random:64")
    folder.write(root / "hostile", site.freeze(made, choice.choose(made, every)).files)
    made.close()
    for path in ("", "compare", "board", "fair-play"):
        page = visitor(f"{address}/hostile").open(path)
        page.wait_for_selector(READY[path])
        says(page.locator("#t-main"), "<xss-probe>")
        stays_text(page)


# The panel Publish: what would leave with a page, listed and accepted, then a ZIP that opens.


def test_a_page_is_published_as_it_is_seen(visitor, site, web):
    """By keyboard; the list comes before the file, and what is unpacked shows the same page."""
    root, address = web
    page = visitor(site).open("compare?encoder=random:256&encoder=random:64&view=ranks")
    expect(page.locator("#ranks")).to_contain_text("random:256")
    page.get_by_role("button", name="Publish").press("Enter")
    panel = page.get_by_role("dialog", name="Publish")
    expect(panel.get_by_label("This page, as it is now")).to_be_checked()
    expect(panel.get_by_role("link", name="download")).to_have_count(0)
    panel.get_by_role("button", name="List what would leave").press("Enter")
    rows = panel.locator("tbody tr")
    expect(rows.last).to_contain_text("total")
    expect(rows.filter(has_text="encoder")).to_have_count(2)
    expect(panel.locator("pre")).to_contain_text("theodolite publish FOLDER '--view=compare?")
    with page.expect_download() as saved:
        panel.get_by_role("link", name="Accept, and download the ZIP").click()
    with zipfile.ZipFile(saved.value.path()) as packed:
        packed.extractall(root / "unpacked")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    frozen = visitor(f"{address}/unpacked/theodolite-site").open()
    expect(frozen.locator("#ranks")).to_contain_text("random:256")
    assert "/compare/?" in frozen.url


def test_the_panel_fits_a_phone(visitor, site):
    """A page with nothing of its own to freeze offers all the others."""
    page = visitor(site, size=NARROW, dark=True).open("jobs")
    page.get_by_role("button", name="Pages").click()
    page.get_by_role("button", name="Publish").click()
    panel = page.get_by_role("dialog", name="Publish")
    expect(panel.get_by_label("This page, as it is now")).to_be_disabled()
    expect(panel.get_by_label("All pages")).to_be_checked()
    box = panel.bounding_box()
    assert 0 <= box["x"] and box["x"] + box["width"] <= NARROW[0]
