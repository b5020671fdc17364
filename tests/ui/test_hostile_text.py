"""Text with HTML and scripts in it is shown as text, wherever text of others can be shown.

The probe is an element that no page of ours has and a script that leaves a trace: if either is ever
there, something was not escaped.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from tests.ui.conftest import served
from tests.ui.steps import stays_text
from theodolite.app.pages.data.service import keep
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import Mapping

PROBE = "<xss-probe><img src=x onerror=window.pwned=1>{{window.pwned=2}}${window.pwned=3}"
Query = list[tuple[str, str]]
TITLE = f"Run {PROBE}"
TWO_FRAMES = "() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))"
"""By then a chart has drawn what it shows under the pointer."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Workspace, list[str]]]:
    """A store where every name, cell, title, message and log line holds the probe."""
    folder = tmp_path_factory.mktemp("hostile")
    made = Workspace(folder / "store")
    names = []
    for number in range(2):
        file = folder / f"{PROBE}{number}.txt"
        file.write_text("".join(f"w{i} {i % 3} {(i + number) % 5} {i % 7}\n" for i in range(40)))
        names.append(encoders.add(made, f"words:{quote(str(file))}")["name"])
    broken = f"dir:{quote(str(folder / PROBE))}"
    encoders.refresh(made, broken)  # listed while its folder was still there
    table = folder / f"{PROBE}.tsv"
    rows = [f"w{i} {PROBE} w{i + 1}\tw{i + 2} {PROBE}\t{i % 6}\t{PROBE}" for i in range(30)]
    table.write_text("\n".join([f"left {PROBE}\tright {PROBE}\tscore {PROBE}\tsplit", *rows]))
    columns = {
        "left": f"left {PROBE}",
        "right": f"right {PROBE}",
        "score": f"score {PROBE}",
        "split": "split",
    }
    keep(made, table, table.name, "hostile", Mapping("pairs", columns, True))
    for name in (*names, broken):
        evaluated(made, name, "upload:hostile")
        evaluated(made, name, "StarterSTS")
    run = made.store.runs.create(
        "evaluate", {"encoders": [], "tasks": [PROBE], "protocol": None, "seed": None}, title=TITLE
    )
    made.store.runs.start(run, 1, PROBE, [PROBE, PROBE])
    made.store.runs.end_unit(run, 0, 1.0, PROBE, PROBE)
    made.store.logs.path(run).write_text(f"{PROBE}\n")
    made.store.runs.finish(run, 1, "failed", PROBE, PROBE, PROBE)
    yield made, [run, *names, broken]
    made.close()


@pytest.fixture(scope="module")
def hostile_site(hostile: tuple[Workspace, list[str]]) -> Iterator[str]:
    """The app over it."""
    with served(hostile[0]) as address:
        yield address


def views(run: str, a: str, b: str, broken: str) -> dict[str, list[tuple[str, Query]]]:
    """Every page with the queries by which it shows the probe, or is asked for it."""
    both = [("encoder", a), ("encoder", b)]
    every = [*both, ("encoder", broken)]
    return {
        "lists": [
            ("encoders", [("spec", f"dir:{PROBE}")]),
            ("encoders", [("spec", PROBE)]),
            ("data", [("set", "upload:hostile"), ("find", "hostile")]),
            ("data", [("set", PROBE)]),
            ("data", [("find", PROBE)]),
            ("jobs", [("run", run)]),
            ("jobs", [("run", PROBE)]),
        ],
        "scores": [
            ("", []),
            ("", [("result", "5")]),
            ("evaluate", [*every, ("task", "upload:hostile")]),
            ("evaluate", [("run", run)]),
            ("evaluate", [("run", PROBE)]),
            ("compare", every),
            ("compare", [("encoder", PROBE)]),
            ("distributions", [*both, ("task", "upload:hostile")]),
        ],
        "texts": [
            ("search", [("q", f"w1 {PROBE}"), ("in", "upload:hostile"), *every]),
            ("decode", [("q", PROBE), *every]),
            ("interpolate", [("a", PROBE), ("b", PROBE), ("encoder", a)]),
            ("arithmetic", [("x", "a"), ("let", f"a = {PROBE}"), *both]),
            ("arithmetic", [("x", PROBE), ("let", "a = b"), *both]),
        ],
    }


@pytest.mark.parametrize("group", views("", "", "", ""))
def test_it_is_shown_and_not_obeyed(visitor, hostile, hostile_site, group):
    """On every page, under the pointer and in the figures."""
    visit = visitor(hostile_site)
    page = visit.page
    visit.listen("dialog", lambda dialog: visit.wrong.append(f"dialog: {dialog.message}"))
    for path, query in views(*hostile[1])[group]:
        visit.open(f"{path}?{urlencode(query)}")
        page.wait_for_function(
            "!document.querySelector('.t-page').innerText.includes('Searching with') &&"
            " document.querySelector('.t-page').innerText.includes('<xss-probe>') ||"
            " [...document.querySelectorAll('input, textarea')].some("
            "(i) => i.value.includes('<xss'))",
        )
        for place in page.locator("td.t-cell, .t-hits li, th button").all()[:12]:
            if place.is_visible():
                place.hover()
        for curve in page.locator(".js-plotly-plot .nsewdrag").all():
            area = curve.bounding_box()
            assert area is not None
            for share in (0.2, 0.4, 0.6, 0.8):
                page.mouse.move(
                    area["x"] + area["width"] * share, area["y"] + area["height"] * share
                )
                page.evaluate(TWO_FRAMES)
        stays_text(page)


def test_a_file_is_previewed_as_text(visitor, hostile, hostile_site, tmp_path: Path):
    """Before it is taken in: its name, its columns, its cells, and what is wrong with it."""
    file = tmp_path / "hostile.csv"
    quoted = '"' + PROBE + '"'
    file.write_text(f"left {PROBE},right,score\n{quoted},b,1\n{quoted},c\nd,e,{quoted}\n")
    page = visitor(hostile_site).open("data")
    page.get_by_role("button", name="Bring data").click()
    page.locator("#upload input[type=file]").set_input_files(file)
    page.locator("#look").get_by_text("<xss-probe>").first.wait_for()
    stays_text(page)
