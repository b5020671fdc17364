"""Data of one's own, in a browser: from files to a data set of each kind, and on to the board."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.fakes.stores import starter_store
from tests.fakes.uploads import beir
from tests.fakes.workers import work_off
from tests.ui.addresses import address_of
from tests.ui.conftest import served
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.workspace import Workspace

Visitor = Callable[..., Any]
BOX = "#upload input[type=file]"


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with two encoders and no result."""
    made = starter_store(tmp_path_factory.mktemp("newcomer"))
    encoders.add(made, "random:64")
    for spec in ("minilm", "random:256"):  # leaves wordllama of what ships
        encoders.remove(made, spec)
    yield made
    made.close()


@pytest.fixture(scope="module")
def home(newcomer: Workspace) -> Iterator[str]:
    """Address of an app over it."""
    with served(newcomer) as address:
        yield address


def bring(visitor: Visitor, home: str, *files: Path) -> Page:
    """The page Data with files chosen and looked at."""
    page: Page = visitor(home).open("data")
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").click()
    page.set_input_files(BOX, files)
    page.wait_for_selector("#look table")
    return page


def take_in(page: Page, name: str) -> None:
    """Name the data set and add it; the panel goes, and the preview stands there."""
    page.locator("#upload-name input").fill(name)
    page.locator("#take-in").click()
    expect(page.locator("#preview h2")).to_contain_text(f"upload:{name}")
    expect(page.locator("#more")).to_be_hidden()


def evaluate(page: Page, workspace: Workspace, tasks: int = 1) -> None:
    """Evaluate both encoders, as a worker does in the background."""
    page.get_by_role("link", name="Evaluate on it").click()
    expect(page.locator("#plan")).to_contain_text(f"2 encoders on {tasks} task")
    page.locator("#evaluate").click()
    run = address_of(page, "run=").split("run=")[1].split("&")[0]
    assert work_off(workspace, run)["state"] == "done"
    expect(page.locator("#results tbody tr")).to_have_count(2 * tasks)


def test_from_a_folder_of_beir_to_a_ranked_board(
    visitor: Visitor, home: str, newcomer: Workspace, tmp_path: Path
) -> None:
    """By mouse and keyboard: files, what they hold, a run, and an order that has intervals."""
    corpus, queries, judged = beir(tmp_path / "mine")
    visit = visitor(home)
    page = visit.open("data")
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").focus()
    page.keyboard.press("Enter")
    # No dialog chooses files of two folders at once: one is missing at first, and is added.
    page.set_input_files(BOX, [corpus, queries])
    expect(page.get_by_role("alert")).to_contain_text("no file of judgements")
    with page.expect_file_chooser() as chosen:
        page.locator("#upload button").first.click()
    chosen.value.set_files(judged)
    expect(page.locator("#look")).to_contain_text("3 files of queries and documents")
    expect(page.get_by_role("alert")).to_have_count(0)
    take_in(page, "mine")
    expect(page.locator("#preview")).to_contain_text("test 40")
    evaluate(page, newcomer)
    expect(page.locator("#results tbody tr").first).to_contain_text("nDCG at 10, test split")

    page.get_by_role("link", name="Rank them").click()
    expect(page.locator("#headline h2")).to_contain_text("wordllama leads 2 encoders")
    rows = page.locator("#board tbody tr:not(.t-gap)")
    expect(rows.first.locator("th")).to_contain_text("wordllama")
    expect(rows.first.locator("td").first).to_have_text(re.compile(r"^1\s*1 to 1$"))
    expect(page.locator("#board thead")).to_contain_text("mineRetrieval")
    expect(page.locator("#apart tbody tr").first).not_to_contain_text("not at hand")


SCORED = """first;second;grade
A cat sits.;A cat is sitting.;4.5
Rain falls.;Bread is baked.;0.5
A man runs.;A man is running fast.;4
"""
LABELLED = "premise,hypothesis,label\n" + "".join(
    f"The {thing} is {size} {i}.,The {thing} is {size if i % 2 else 'blue'} {i}.,{i % 2}\n"
    for i in range(6)
    for thing, size in (("house", "large"), ("mouse", "small"))
)


@pytest.mark.parametrize(
    ("name", "text", "holds", "task"),
    [
        ("graded.csv", SCORED, "Scored pairs", "STS"),
        ("same.csv", LABELLED, "Labelled pairs", "PairClassification"),
    ],
)
def test_a_table_of_pairs_is_known_by_its_columns(
    visitor: Visitor,
    home: str,
    newcomer: Workspace,
    tmp_path: Path,
    name: str,
    text: str,
    holds: str,
    task: str,
) -> None:
    """Graded or labelled: which column is what is guessed, and evaluated at once."""
    file = tmp_path / name
    file.write_text(text)
    page = bring(visitor, home, file)
    expect(page.get_by_label(holds, exact=True)).to_be_checked()
    take_in(page, file.stem)
    expect(page.locator("#preview")).to_contain_text(task)
    evaluate(page, newcomer)


def test_labelled_sentences_are_four_tasks(
    visitor: Visitor, home: str, newcomer: Workspace, tmp_path: Path
) -> None:
    """They are classified, searched, told apart from a few of each label, and clustered."""
    file = tmp_path / "things.csv"
    file.write_text(
        "text,label\n"
        + "".join(
            f"The {thing} number {i} is here.,{thing}\n"
            for i in range(20)
            for thing in ("dog", "car")
        )
    )
    page = bring(visitor, home, file)
    expect(page.get_by_label("Labelled sentences", exact=True)).to_be_checked()
    take_in(page, "things")
    evaluate(page, newcomer, tasks=4)
    for task in ("classify", "search", "few-shot", "cluster"):
        expect(page.locator("#results")).to_contain_text(f"upload:things/{task}")


def test_candidates_make_a_reranking(
    visitor: Visitor, home: str, newcomer: Workspace, tmp_path: Path
) -> None:
    """The files of a folder of BEIR with a list of documents for every query."""
    corpus, queries, judged = beir(tmp_path / "some", 12)
    documents = [json.loads(line)["_id"] for line in corpus.read_text().splitlines()]
    listed = tmp_path / "some" / "top_ranked.jsonl"
    listed.write_text(
        "".join(
            json.dumps({"query-id": f"q{i}", "corpus-ids": documents[:60]}) + "\n"
            for i in range(12)
        )
    )
    page = bring(visitor, home, corpus, queries, judged, listed)
    take_in(page, "some")
    expect(page.locator("#preview")).to_contain_text("Reranking")
    evaluate(page, newcomer)
    expect(page.locator("#results tbody tr").first).to_contain_text("MAP")


def test_two_files_of_lines_are_translations(
    visitor: Visitor, home: str, newcomer: Workspace, tmp_path: Path
) -> None:
    """Their endings name the languages, their common name the data set."""
    for language, lines in (("de", "eins\nzwei\ndrei\n"), ("en", "one\ntwo\nthree\n")):
        (tmp_path / f"numbers.{language}").write_text(lines)
    page = bring(visitor, home, *sorted(tmp_path.iterdir()))
    expect(page.locator("#look")).to_contain_text("2 files of parallel sentences")
    expect(page.locator("#upload-name input")).to_have_value("numbers")
    take_in(page, "numbers")
    expect(page.locator("#preview tbody tr").first.locator("td").nth(2)).to_have_text("eins")
    evaluate(page, newcomer)
