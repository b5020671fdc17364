"""Text with HTML and scripts in it is shown as text, wherever text of others can be shown.

The probe is an element that no page of ours has and a script that leaves a trace: if either is ever
there, something was not escaped.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from tests.ui.steps import served, stays_text
from theodolite.app.pages.data.service import keep
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import Mapping

PROBE = "<xss-probe><img src=x onerror=window.pwned=1>{{window.pwned=2}}${window.pwned=3}"
Query = list[tuple[str, str]]
TWO_FRAMES = "() => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen)))"
"""By then a chart has drawn what it shows under the pointer."""


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[tuple[str, list[tuple[str, Query]]]]:
    """Address of an app where every name, cell, title, message and log line holds the probe.

    And pages of every kind with the queries by which they show it, or are asked for it.
    """
    folder = tmp_path / "hostile"
    folder.mkdir()
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
        evaluate_one(made, name, "upload:hostile")
        evaluate_one(made, name, "StarterSTS")
    run = made.store.runs.create(
        "evaluate",
        {"encoders": [], "tasks": [PROBE], "protocol": None, "seed": None},
        title=f"Run {PROBE}",
    )
    made.store.runs.start(run, 1, PROBE, [PROBE, PROBE])
    made.store.runs.end_unit(run, 0, 1.0, PROBE, PROBE)
    made.store.logs.path(run).write_text(f"{PROBE}\n")
    made.store.runs.finish(run, 1, "failed", PROBE, PROBE, PROBE)
    both = [("encoder", name) for name in names]
    every = [*both, ("encoder", broken)]
    views = [
        ("encoders", [("spec", f"dir:{PROBE}")]),
        ("data", [("set", "upload:hostile"), ("find", "hostile")]),
        ("jobs", [("run", run)]),
        ("", [("result", "5")]),
        ("evaluate", [*every, ("task", "upload:hostile")]),
        ("evaluate", [("run", run)]),
        ("compare", every),
        ("compare", [("encoder", PROBE)]),
        ("distributions", [*both, ("task", "upload:hostile")]),
        ("search", [("q", f"w1 {PROBE}"), ("in", "upload:hostile"), *every]),
    ]
    with served(made) as address:
        yield address, views


def test_it_is_shown_and_not_obeyed(visitor, hostile):
    """On every page, under the pointer and in the figures."""
    address, asked = hostile
    visit = visitor(address)
    page = visit.page
    visit.listen("dialog", lambda dialog: visit.wrong.append(f"dialog: {dialog.message}"))
    for path, query in asked:
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
            for share in (0.2, 0.4, 0.6, 0.8):
                page.mouse.move(
                    area["x"] + area["width"] * share, area["y"] + area["height"] * share
                )
                page.evaluate(TWO_FRAMES)
        stays_text(page)
