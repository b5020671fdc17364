"""The frozen workbench, opened from a plain `python -m http.server` below some path of it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest
from playwright.sync_api import expect

from tests.fakes import folder as data_folder
from tests.fakes.results import invent
from tests.fakes.stores import starter_store
from tests.ui.conftest import LOOKS, served
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.publish import choice, folder, site
from theodolite.app.workspace import Workspace

NAMES = ("random:256", "random:64", "wordllama")
QUERY = "&".join(f"encoder={name}" for name in NAMES)
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
    """Finding, table, verdicts, intervals and notes, letter by letter."""
    pages = [visitor(address).open(f"{path}?{QUERY}" if path else "") for address in (live, frozen)]
    seen = []
    for page in pages:
        page.wait_for_selector(READY[path])
        if path in ("compare", "board"):  # the ranks come last
            expect(page.locator("#ranks, #apart").first).not_to_be_empty()
        seen.append([text for text in page.evaluate(SHOWN) if text])
    ours, theirs = (set(texts) for texts in seen)
    # Where a run would help, the live page has a link to where it is begun, or says what it lacks.
    help_wanted = re.compile("Measure|Evaluate|Compare at one size|has its data here")
    missing = {text for text in ours - theirs if not help_wanted.search(text)}
    assert len(theirs) > 3
    assert missing == set()


@pytest.mark.parametrize(("size", "dark"), LOOKS)
@pytest.mark.parametrize("path", READY)
def test_a_frozen_page_fits_its_window(visitor, frozen, path, size, dark):
    """In its own style sheet, light and dark; nothing sticks out."""
    visit = visitor(frozen, dark=dark, size=size)
    page = visit.open(path)
    page.wait_for_selector(READY[path])
    visit.picture(f"frozen-{path or 'overview'}-{size[0]}-{'dark' if dark else 'light'}")
    assert not visit.scrolls_sideways()
    assert page.evaluate("document.body.classList.contains('dark')") == dark
    assert page.evaluate("document.fonts.check('16px \"IBM Plex Sans\"')")


@pytest.mark.parametrize(
    ("live", "left"),
    [
        (
            '<p>To see. <a href="./data">Add one</a>, or <a href="./encoders">bring data</a>.</p>',
            "To see.",
        ),
        (
            '<p>Seen. <a href="./data">Add <b>one</b></a> to have <b>this</b> now. More.</p>',
            "Seen. More.",
        ),
        (
            '<p>See <a href="./data">Data</a>, or <a href="./encoders">Encoders</a>.</p>',
            "See Data, or Encoders.",
        ),
        ('<p>None yet. <a href="./data">Add one</a></p>', "None yet."),
        ('<p><a href="./data">Add</a><span>one</span></p>', "one"),
        ('<ul class="t-tour"><li><a href="./data">Data</a><small>yours</small></li></ul>', ""),
    ],
    ids=range(6),
)
def test_a_sentence_that_begins_with_a_link_to_nowhere_goes_whole(visitor, frozen, live, left):
    """What cannot be done here is not said by half; a link within a sentence leaves its words."""
    page = visitor(frozen).open()
    said = """html => {
      const place = document.body.appendChild(document.createElement("div"));
      place.innerHTML = html;
      return new Promise((resolve) => setTimeout(() => resolve(place.innerText), 50));
    }"""
    assert " ".join(page.evaluate(said, live).split()) == left


def test_a_score_opens_its_numbers_and_says_its_interval(visitor, frozen):
    """As on the live page, out of a file; the address opens it again."""
    page = visitor(frozen).open()
    cell = page.locator("#scores tbody tr", has_text="random:256").locator("td").first
    cell.hover()
    expect(page.locator("#t-heat-tip")).to_contain_text(
        re.compile(r"95 % interval\s*[\d.]+ to [\d.]+")
    )
    cell.click()
    card = page.locator("#result section")
    expect(card).to_contain_text("Protocol")
    assert page.get_by_role("button", name="Remove").count() == 0
    title = card.locator("h2").inner_text()
    page.reload()
    expect(page.locator("#result h2").first).to_have_text(title)


def test_tabs_and_choices_of_compare_live_on(visitor, frozen):
    """Ranks with the tasks drawn too: another interval, and the address keeps it."""
    page = visitor(frozen).open("compare")
    page.get_by_role("link", name="Ranks").click()
    ranks = page.locator("#ranks")
    expect(ranks).to_be_visible()
    expect(page.locator("#comparison")).to_be_hidden()
    first = ranks.inner_text()
    page.get_by_text("Resample examples and tasks").click()
    expect(ranks).not_to_have_text(first)
    expect(ranks).to_contain_text("3 tasks are few to resample")
    page.reload()
    expect(page.locator("#ranks")).to_contain_text("3 tasks are few to resample")
    page.get_by_role("link", name="Stability").click()
    expect(page.locator("#stability")).to_contain_text("leads")


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


def test_a_chart_is_drawn_and_its_numbers_saved(visitor, frozen):
    """By the same script, under a policy that lets nothing be evaluated."""
    page = visitor(frozen).open("compare")
    page.wait_for_selector("#forest .main-svg")
    page.locator("#forest summary").click()
    with page.expect_download() as saved:
        page.locator("#forest .t-twin").get_by_role("button", name="Download CSV").click()
    assert "random:64" in Path(saved.value.path()).read_text()


def test_a_map_answers_out_of_its_files(visitor, frozen, evaluated_here):
    """Its neighbours are those of the live page; words are found, points taken away as a table."""
    name = "random:64"
    found = MapJob.of(name, "starter-pairs", method="quick").make(evaluated_here)
    first = maps.point(evaluated_here, found, 0, maps.NEIGHBOURS)
    page = visitor(frozen).open(f"map?encoder={name}&find={quote(first['text'])}")
    expect(page.locator(".t-map-said")).to_contain_text("960 points, 1 found")
    assert page.locator(".t-views select option:checked").inner_text().startswith(name)
    page.get_by_role("button", name="Select what was found").click()
    assert pd.read_csv(io.BytesIO(table_of(page)))["sentence"].tolist() == [first["text"]]
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


def table_of(page) -> bytes:
    """What is selected on a map, as it is saved."""
    with page.expect_download() as waiting:
        page.get_by_label("Save", exact=True).select_option("CSV")
    return Path(waiting.value.path()).read_bytes()


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


def test_links_lead_to_what_is_there(visitor, frozen):
    """Rail and text; what would lead to a page that stayed at home is gone, sentences are whole."""
    page = visitor(frozen).open()
    assert page.locator("#t-rail nav a").all_inner_texts() == [
        "Overview",
        "Compare",
        "Board",
        "Search",
        "Map",
        "Two spaces",
        "Geometry",
        "Decode",
    ]
    page.locator("#headline").get_by_role("link", name="Compare").click()
    expect(page.locator("#headline h2")).to_contain_text("Against")
    for path, ready in READY.items():
        page.goto(f"{frozen}/{path}")
        page.wait_for_selector(ready)
        for url in page.locator("a[href]").evaluate_all("links => links.map((a) => a.href)"):
            assert page.request.get(url.partition("#")[0]).ok, url
    page.goto(f"{frozen}/compare")
    warnings = page.locator("#cautions li")
    expect(warnings.first.get_by_role("link")).to_have_text("Compare at one size")
    expect(warnings.last.get_by_role("link")).to_have_count(0)


def test_a_cell_that_opens_nothing_is_no_button(visitor, frozen):
    """Examples behind a score of the board are worked out live."""
    page = visitor(frozen).open("board")
    expect(page.locator("#board tbody tr").first).to_be_visible()
    expect(page.locator("#board tbody button")).to_have_count(0)
    assert "Click a score" not in page.locator("#board").inner_text()
    page.get_by_text("Types", exact=True).click()
    expect(page.locator("#board thead")).to_contain_text("Transfer")


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
        expect(page.locator("#t-main")).to_contain_text("<xss-probe>")
        assert page.locator("xss-probe, img[src=x]").count() == 0
        assert page.evaluate("window.pwned") is None
