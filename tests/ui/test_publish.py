"""The frozen workbench, from a plain `python -m http.server` below some path of it; reports."""

import re
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from playwright.sync_api import Browser, Page, expect

import theodolite as th
from tests.fakes import folder as data_folder, reported
from tests.fakes.started import started
from tests.fakes.stores import evaluate_all, invent, starter_store
from tests.ui.steps import (
    NARROW,
    PATIENCE,
    drawn,
    over,
    rows_saved,
    said,
    saved,
    says,
    served_to_visitors,
    stays_text,
    table,
)
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.judge.answer import board_of
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import service
from theodolite.app.publish import choice, folder, live, manifest, site, targets
from theodolite.app.workspace import STARTER_ENCODERS, Workspace

NAMES = ("random:256", "random:64", "wordllama")
QUERY = "&".join(f"encoder={name}" for name in NAMES)
RAIL = ["Home", "Results", "Search", "Map", "Decode"]
PROBE = "<xss-probe><img src=x onerror=window.pwned=1></script><script>window.pwned=2</script>"
READY = {
    "": ".t-heat-table tbody tr",
    "compare": ".t-answer tbody tr",
    "board": ".t-board tbody tr",
    "fair-play": "#seeds h2",
    "distributions": ".t-readings li",
}
"""Page -> what is there once it says something."""
SHOWN = """() => [...document.querySelectorAll(
  '.t-answer h2, .t-answer tr, .t-answer p, .t-answer li, #scores tr, #scores + p, .t-readings li')]
  .map((one) => one.innerText.replace(/\\s+/g, ' ').trim())"""


@pytest.fixture(scope="module")
def desk(desk: Workspace) -> Workspace:
    """Two encoders evaluated, and invented accuracies."""
    for name, accuracy, other in zip(NAMES, (0.86, 0.85, 0.6), (0.85, 0.86, 0.6), strict=True):
        for task in ("MR", "CR", "SUBJ"):
            invent(desk, name, task, accuracy)
            invent(desk, name, task, other, protocol="senteval-fast")
    evaluate_all(desk, NAMES[:2], "StarterSTS")
    return desk


@pytest.fixture(scope="module")
def freeze(web: tuple[Path, str]) -> Callable[..., str]:
    """Freeze what is chosen of a store into a folder of the web server; gives its address."""

    def frozen(place: str, workspace: Workspace, names: list[str], *pages: str, **how) -> str:
        folder.write(
            web[0] / place,
            site.freeze(workspace, choice.choose(workspace, names, **how), pages).files,
        )
        return f"{web[1]}/{place}"

    return frozen


@pytest.fixture(scope="module")
def frozen(desk: Workspace, freeze) -> str:
    """Address of the frozen workbench, below a path of its own."""
    return freeze("some/where", desk, NAMES)


def test_a_frozen_page_says_what_the_live_one_says(visitor, desk, frozen):
    """Finding, table, verdicts, intervals and notes, letter by letter; in its own style sheet.

    Its links lead to what is there.
    """
    # Where a run would help, the live page has a link to where it is begun, or says what it lacks.
    help_wanted = "Measure|Evaluate|Compare at one size|has its data here|See Compare"
    links: set[str] = set()
    with served_to_visitors(desk) as live:
        visits = [visitor(address) for address in (live, frozen)]
        for path, ready in READY.items():
            for visit in visits:
                page = visit.open(f"{path}?{QUERY}" if path else "")
                page.wait_for_selector(ready)
                if path in ("compare", "board"):  # the ranks come last
                    says(page.locator(".t-answer").first, "rank")
            theirs = page.evaluate(SHOWN)
            assert len(set(theirs)) > 3
            visits[0].page.wait_for_function(  # what is computed may come later still
                f"([theirs, help]) => ({SHOWN})()"
                ".every((text) => theirs.includes(text) || RegExp(help).test(text))",
                arg=[["", *theirs], help_wanted],
            )
            visit.fits()
            assert page.evaluate("document.fonts.check('16px \"IBM Plex Sans\"')")
            links |= {*page.locator("a[href]").evaluate_all("links => links.map((a) => a.href)")}
        for url in {link.partition("#")[0] for link in links}:
            assert page.request.get(url, timeout=PATIENCE).ok, url
        assert page.locator("#t-rail nav a").all_inner_texts() == RAIL
        visits[0].page.goto("about:blank")  # before its server goes


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
    cell = page.locator(".t-heat-table tbody tr", has_text="random:256").locator("td").first
    cell.hover()
    says(page.locator("#t-heat-tip"), re.compile(r"95 % interval\s*[\d.]+ to [\d.]+"))
    cell.click()
    says(page.locator("#answer section"), "Protocol")
    opened = page.locator("#answer section h2").first.inner_text()
    page.reload()
    expect(page.locator("#answer section h2").first).to_have_text(opened)
    page.get_by_role("link", name="Compare says").click()
    chart = page.locator(".t-twin").first
    chart.locator("summary").click()
    assert "random:64" in saved(chart.get_by_role("button", name="Download CSV")).read_text()
    says(page.locator("#answer"), "rank")
    page = visitor(frozen).open("board")
    page.locator(".t-views select").select_option(label="Types")
    says(page.locator(".t-board thead"), "Transfer")
    expect(page.locator(".t-board tbody button")).to_have_count(0)  # what opens nothing is none


def test_a_choice_made_while_the_page_loads_is_answered(visitor, frozen):
    """The module that listens to choices is the last to arrive; the address keeps them as well."""
    page, held = visitor(frozen).page, []
    page.route("**/static-*.js", lambda route: held.append(route))
    with page.expect_request("**/static-*.js"):
        page.goto(f"{frozen}/map/", wait_until="commit")
    page.locator("fieldset").last.wait_for(state="attached")
    page.evaluate("document.querySelector('.t-views select').value = '1'")
    assert "?" not in page.url
    [waiting] = held
    waiting.continue_()
    says(said(page), "960 points")
    assert "starter-pairs" in page.url


def test_a_map_answers_out_of_its_files(visitor, frozen, desk):
    """Its neighbours are those of the live page; words are found, points taken away as a table."""
    name = "random:64"
    first = maps.point(
        desk, MapSpec(name, "starter-pairs", method="quick").make(desk), 0, maps.NEIGHBOURS
    )
    page = visitor(frozen).open(f"map?encoder={name}&find={quote(first['text'])}")
    says(said(page), "960 points, 1 found")
    page.get_by_role("button", name="Select what was found").click()
    assert table(page)["sentence"].tolist() == [first["text"]]
    page.get_by_label("Selected", exact=True).get_by_role("button", name=first["text"]).click()
    rows = page.get_by_label("The open point").locator("tbody tr")
    expect(rows).to_have_count(len(first["neighbours"]))
    near = [tuple(row.split("\t")) for row in rows.all_inner_texts()]
    assert [(cosine, where) for _, cosine, where in near] == [
        (f"{one['cosine']:.3f}", "near" if one["kept"] else "elsewhere")
        for one in first["neighbours"]
    ]
    assert {text for text, *_ in near} == {one["text"] for one in first["neighbours"]}
    page.locator(".t-views select").select_option(label="random:256 · starter-pairs")
    expect(page).to_have_url(re.compile("encoder=random%3A256"))
    page.goto(f"{frozen}/map?encoder={name}&pattern=1&find={quote('(.*.*)*!!!')}")
    says(page.get_by_role("status"), "stopped after 3 seconds")
    page.goto(f"{frozen}/spaces")
    for side in range(2):
        says(page.locator(".t-map-said").nth(side), "960 points")
    page.get_by_label("One map, animated").check()
    page.get_by_role("slider", name=re.compile("^From ")).press("End")
    page.goto(f"{frozen}/geometry")
    page.wait_for_selector(".t-chart .main-svg")


def test_hostile_texts_and_names_are_shown_as_text(visitor, freeze, tmp_path):
    """Sentences, labels and names of encoders that are HTML, in the pages and in their files."""
    data = data_folder.write(tmp_path / "data")
    for sign in ("pos", "neg"):
        file = data / f"downstream/MR/rt-polarity.{sign}"
        lines = enumerate(file.read_text().splitlines())
        file.write_text("".join(f"{PROBE} w{n % 40} {line}\n" for n, line in lines))
    made = Workspace(tmp_path / "store", data)
    every = ["random:16", "random:64"]
    for number in range(2):
        words = tmp_path / f"{PROBE.replace('/', '')}{number}.txt"
        words.write_text("".join(f"w{i} {i % 3} {(i + number) % 5}\n" for i in range(40)))
        every.append(encoders.add(made, f"words:{quote(str(words))}")["name"])
    evaluate_all(made, every, "MR")
    visit = visitor(freeze("hostile", made, every))
    for path in ("", "board"):
        page = visit.open(path)
        page.wait_for_selector(READY[path])
        says(page.locator("#t-main"), "<xss-probe>")
        stays_text(page)


# The panel Publish: what would leave with a page, listed and accepted, then a ZIP that opens.


def test_a_page_is_published_as_it_is_seen(visitor, site, web, browser: Browser):
    """By keyboard; the list comes before the file, and what is unpacked shows the same page.

    From a disk it says that it needs a server.
    """
    root, address = web
    page = visitor(site).open("compare?encoder=random:256&encoder=random:64")
    says(page.locator("#comparison"), "random:256")
    page.get_by_role("button", name="Publish").press("Enter")
    panel = page.get_by_role("dialog", name="Publish")
    expect(panel.get_by_label("This page, as it is now")).to_be_checked()
    expect(panel.get_by_role("link", name="download")).to_have_count(0)
    panel.get_by_role("button", name="Show what will be published").press("Enter")
    says(panel.locator("tbody tr").last, "total")
    expect(panel.locator("tbody tr", has_text="encoder")).to_have_count(2)
    says(panel.locator("pre"), "theodolite publish FOLDER '--view=compare?")
    packed = saved(panel.get_by_role("link", name="Accept, and download the ZIP"))
    zipfile.ZipFile(packed).extractall(root / "unpacked")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)
    frozen = visitor(f"{address}/unpacked/theodolite-site").open()
    says(frozen.locator("#answer"), "random:256")
    expect(frozen).to_have_title("Compare · Theodolite")
    with browser.new_page() as alone:  # the errors that a browser notes are the reason
        alone.goto((root / "unpacked/theodolite-site/index.html").as_uri())
        says(alone.locator("#answer"), "python -m http.server")


ANSWERS = {
    "choose": ["Decision sheet for upload:topics"],
    "judge": ["10 of at most 20 marks on"],
    "runs": ["60 updates", "<img src=x"],
    "decode": ["He drinks coffee in the morning."],
    "interpolate": ["of the way"],
    "arithmetic": ["Is the shop closed?"],
}
"""Page -> what it says."""


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with a decision, a session, a training, and an encoder that has a decoder."""
    with reported.answered(tmp_path_factory.mktemp("answered"), "random:64", "wordllama") as made:
        yield made


@pytest.fixture(scope="module")
def answers(answered: Workspace, freeze) -> str:
    """Address of all of it, frozen."""
    return freeze(
        "answers", answered, [*reported.PAIR, "random:64", "wordllama"], data=["starter-topics"]
    )


def test_answers_are_shown_as_on_their_pages_and_another_is_chosen(visitor, answers, answered):
    """With nothing sticking out, and hostile texts as texts."""
    session = answered.store.judgements.list()[0]["id"]
    (pair,) = board_of(judging.open_session(answered, session))["pairs"]
    visit = visitor(answers)
    for path, words in ANSWERS.items():
        page = visit.open(path)
        says(page.locator("#answer"), *words)
        expect(page.locator("#t-main .t-button, #t-main [data-act]")).to_have_count(0)
        assert "hit" not in page.title()
        stays_text(page)
        if path == "judge":
            says(page.locator("#answer"), f"{abs(pair['low']):.2f}", f"{abs(pair['high']):.2f}")
        elif path == "choose":
            assert "upload:topics" in saved(page.get_by_role("button", name="Markdown")).read_text()
        elif path == "interpolate":
            page.get_by_role("slider").press("End")
            says(page.locator("#answer"), "100 % of the way")
    visit.fits()
    page.locator(".t-views select").select_option(label="Negation")
    says(page.locator("#t-main"), "I do not like this film.")
    page.reload()  # the address leads to it again
    says(page.locator("#t-main"), "b = I like this film.")


# Search in a searchable workbench: new sentences found in the browser, from a plain web server.

COLLECTION = "starter-topics"
ALIVE, DEAD = ("wordllama", "random:64"), "random:16 | dims:8,random,0"
NEW_QUERY = "Doctors say that bread is good for a cold."


def in_column(page, encoder):
    """Sentences in an encoder's column, once they are there."""
    column = page.locator("#answer .t-column", has=page.get_by_text(encoder, exact=True))
    expect(column.locator("li")).to_have_count(10)
    return column.locator("li p").all_inner_texts()


def as_live(workspace, encoder, query):
    """What the live page finds."""
    return [
        hit.sentence
        for hit in service.nearest(workspace, encoder, COLLECTION, [query], service.Limits(10))[0]
    ]


def test_a_new_sentence_is_found_without_a_server(visitor, workspace, freeze):
    """As the live page finds it; what needs Python says so, and has the neighbours of sentences."""
    data = ["starter-pairs", COLLECTION]
    searchable = freeze("search", workspace, (*ALIVE, DEAD), "search", data=data)
    visit, requests = visitor(searchable), []
    visit.listen("request", lambda request: requests.append(request.url))
    page = visit.open(f"search?in={COLLECTION}")
    opened = [in_column(page, name) for name in (*ALIVE, DEAD)]
    assert opened == [as_live(workspace, name, opened[0][0]) for name in (*ALIVE, DEAD)]
    # What it opens with is there before any vector is.
    assert not [url for url in requests if re.search("/(vectors|encoders|texts)/", url)]
    visit.fits()
    expect(page.locator(".t-chosen", has_text="Query")).to_have_count(0)  # the box has it
    page.get_by_role("searchbox", name="Query").fill(NEW_QUERY)
    page.keyboard.press("Enter")
    says(page.locator("#answer .t-notice"), "It needs Python")
    for name in ALIVE:
        there, here = as_live(workspace, name, NEW_QUERY), in_column(page, name)
        assert len(set(here) & set(there)) >= 9 and here[0] == there[0]
    page.locator("#answer li a").first.click()
    near = in_column(page, DEAD)
    assert near == as_live(workspace, DEAD, near[0])
    page.reload()
    assert in_column(page, DEAD) == near  # in the same collection
    marks = page.locator("#answer mark")
    for text, found in (('"on the"', "on the"), ("/^Who .*[?]$/", "Who ")):
        page.get_by_role("searchbox", name="Query").fill(text)
        page.keyboard.press("Enter")
        expect(marks.first).to_contain_text(found, ignore_case=True)
        expect(page.locator("#answer .t-column")).to_have_count(1)
    page.get_by_role("searchbox", name="Query").fill("/(\\w+\\s?)+!!/")  # it would take for ever
    page.keyboard.press("Enter")
    says(page.locator("#answer .t-notice"), "stopped after 3 seconds", "simplify")


LOCAL = ("file:", "blob:", "data:", "about:")


@pytest.fixture
def alone(browser: Browser) -> Iterator[Page]:
    """A dark phone without a network, that forgives nothing."""
    context = browser.new_context(
        viewport={"width": NARROW[0], "height": NARROW[1]}, color_scheme="dark", offline=True
    )
    context.set_default_timeout(PATIENCE)
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: "GL Driver Message" in said.text or wrong.append(said.text))
    page.on("request", lambda asked: asked.url.startswith(LOCAL) or wrong.append(asked.url))
    yield page
    context.close()
    assert not wrong


def test_a_map_is_handed_out_and_is_the_map_of_the_page(visit, alone, tmp_path) -> None:
    """Points, names, true neighbours, words and the selection as a table, out of one file."""
    page = drawn(visit, "map?encoder=minilm&in=starter-topics")
    report = saved(page.get_by_role("button", name="Report"))
    alone.goto(report.rename(tmp_path / "report.html").as_uri())
    says(said(alone), "2,040 points")
    assert alone.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
    over(alone).press("n")
    over(alone).press("Enter")
    card = alone.get_by_role("region", name="The open point")
    says(card, "Of its 15 nearest in the full space")
    expect(card.locator("tbody tr")).to_have_count(15)
    alone.get_by_label("Regular expression").check()
    alone.get_by_label("Find", exact=True).fill("harbou?r")
    alone.get_by_label("Find", exact=True).press("Enter")
    alone.get_by_role("button", name="Select what was found").click()
    rows = rows_saved(
        alone.get_by_role("region", name="Selected", exact=True).get_by_role("button", name="CSV")
    )
    assert rows and all("harbour" in row["sentence"].lower() for row in rows)


# Answers in a notebook: drawn in a frame that asks nobody for anything and may do nothing.


def test_a_comparison_and_hits_show_themselves_offline(alone: Page, tmp_path: Path) -> None:
    """Chart and table as on the page, as high as they are; hostile text stays text."""
    place = th.Workspace(tmp_path / "store")
    for name, accuracy in (("random:8", 0.9), ("random:4", 0.6)):
        invent(place, name, "MR", accuracy)
    hostile = "<img src=x onerror=\"document.title='hit'\">"
    comparison = th.compare(["random:8", "random:4"], workspace=place)
    hits = th.search("a dog", ["a dog", hostile], th.load("random:16"), k=2)
    notebook = f"<div>{comparison._repr_html_()}</div><div>{hits._repr_html_()}</div>"
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><meta charset=utf-8><body>{notebook}", encoding="utf-8")
    alone.goto(file.as_uri())
    compared, hits = (alone.frame_locator("iframe").nth(place) for place in (0, 1))
    says(compared.locator(".t-cells"), "worse")
    expect(compared.locator(".js-plotly-plot .plot-container").first).to_be_visible()
    expect(hits.locator("li")).to_have_count(2)
    says(hits.locator("li").last, "<img src=x")
    expect(hits.locator("li button, li img")).to_have_count(0)
    expect(alone.locator("iframe").first).not_to_have_css("height", "320px")


@pytest.mark.long
def test_a_space_starts_with_what_it_asks_for(tmp_path: Path, visitor) -> None:
    """The hub installs what it manages itself; elsewhere no GPU is lent, and none is needed.

    The index that has torch for the CPU is left out: where the tests run it lies on the disk.
    """
    kept, target, demo = starter_store(tmp_path), targets.TARGETS["zerogpu"], tmp_path / "demo"
    evaluate_all(kept, STARTER_ENCODERS[1:], "StarterSTS", "StarterSearch")
    chosen = choice.choose(kept, STARTER_ENCODERS[1:])
    made = live.make(kept, chosen, target, texts=True)
    about = manifest.readme(kept, chosen, made, target, "Two encoders")
    folder.write(demo, {**made.files, "README.md": about.encode()})

    needs, wanted = tmp_path / "needs.txt", (demo / "requirements.txt").read_text()
    needs.write_text(wanted.replace("--extra-index-url https://download.pytorch.org/whl/cpu\n", ""))
    front_matter = yaml.safe_load(about.split("---\n")[1])
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    python = tmp_path / "environment" / "bin" / "python"
    theirs = f"gradio[oauth]=={front_matter['sdk_version']} spaces torch==2.13.0".split()
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", needs, *theirs], check=True)
    with started([python, front_matter["app_file"]], demo) as address:
        visit = visitor(address)
        page = visit.open("compare?encoder=minilm&encoder=wordllama")
        says(page.locator("#comparison"), "minilm")
        page = visit.open("search?encoder=minilm&in=starter-topics&q=a boat at sea&k=5")
        expect(page.locator(".t-column li")).to_have_count(5)
