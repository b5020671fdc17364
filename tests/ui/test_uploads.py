"""Data of one's own, in a browser: from files to a data set of each kind, and on to the board."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.fakes.stores import starter_store
from tests.fakes.uploads import beir
from tests.fakes.workers import work_off
from tests.ui.conftest import served
from tests.ui.steps import run_in_address, says
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


def take_in(page: Page, name: str) -> None:
    """Name the data set and add it; the panel goes, and the preview stands there."""
    page.locator("#upload-name input").fill(name)
    page.locator("#take-in").click()
    says(page.locator("#preview h2"), f"upload:{name}")
    expect(page.locator("#more")).to_be_hidden()


def evaluate(page: Page, workspace: Workspace, tasks: int = 1) -> None:
    """Evaluate both encoders, as a worker does in the background."""
    page.get_by_role("link", name="Evaluate on it").click()
    says(page.locator("#plan"), f"2 encoders on {tasks} task")
    page.locator("#evaluate").click()
    assert work_off(workspace, run_in_address(page))["state"] == "done"
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
    says(page.get_by_role("alert"), "no file of judgements")
    with page.expect_file_chooser() as chosen:
        page.locator("#upload button").first.click()
    chosen.value.set_files(judged)
    says(page.locator("#look"), "3 files of queries and documents")
    expect(page.get_by_role("alert")).to_have_count(0)
    take_in(page, "mine")
    says(page.locator("#preview"), "test 40")
    evaluate(page, newcomer)
    says(page.locator("#results tbody tr").first, "nDCG at 10, test split")

    page.get_by_role("link", name="Rank them").click()
    says(page.locator("#headline h2"), "wordllama leads 2 encoders")
    rows = page.locator("#board tbody tr:not(.t-gap)")
    says(rows.first.locator("th"), "wordllama")
    expect(rows.first.locator("td").first).to_have_text(re.compile(r"^1\s*1 to 1$"))
    says(page.locator("#board thead"), "mineRetrieval")
    expect(page.locator("#apart tbody tr").first).not_to_contain_text("not at hand")


PAIRS = """first;second;grade
A cat sits.;A cat is sitting.;4.5
Rain falls.;Bread is baked.;0.5
A man runs.;A man is running fast.;4
"""
THINGS = "text,label\n" + "".join(
    f"The {thing} number {i} is here.,{thing}\n" for i in range(20) for thing in ("dog", "car")
)


@pytest.mark.parametrize(
    ("files", "holds", "tasks"),
    [
        ({"graded.csv": PAIRS}, "Scored pairs", ["graded"]),
        (
            {"things.csv": THINGS},
            "Labelled sentences",
            ["things/classify", "things/search", "things/few-shot", "things/cluster"],
        ),
        (
            {"numbers.de": "eins\nzwei\ndrei\n", "numbers.en": "one\ntwo\nthree\n"},
            "2 files of parallel sentences",
            ["numbers"],
        ),
    ],
    ids=["pairs", "sentences", "translations"],
)
def test_a_file_is_known_by_its_columns_and_evaluated(
    visitor: Visitor,
    home: str,
    newcomer: Workspace,
    tmp_path: Path,
    files: dict[str, str],
    holds: str,
    tasks: list[str],
) -> None:
    """Which column is what is guessed, what it is called and what can be evaluated."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    page = visitor(home).open("data")
    page.wait_for_selector(".t-sets li")
    page.get_by_role("button", name="Bring data").click()
    page.set_input_files(BOX, sorted(tmp_path.iterdir()))
    if len(files) > 1:
        says(page.locator("#look"), holds)
    else:
        expect(page.get_by_label(holds, exact=True)).to_be_checked()
    name = tasks[0].split("/")[0]
    expect(page.locator("#upload-name input")).to_have_value(name)
    take_in(page, name)
    evaluate(page, newcomer, len(tasks))
    says(page.locator("#results"), *(f"upload:{task}" for task in tasks))
