"""How fast the page Compare answers with a hundred encoders on fifty tasks.

    python -m benchmarks.compare [--encoders 100] [--tasks 50] [--rounds 10] [--browser]

The results are invented, of classifiers with 400 examples each. The first answer resamples all of
them and tests all pairs; warm is the time of every further answer, from the call of the page's
function to its tables and charts. There is no peer: times are compared with a limit. With
`--browser`, also the time of the page in Chromium, from its address to its last chart, with all and
with three of the encoders.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from benchmarks.claims import within
from tests.fakes.stores import invent
from theodolite.app.pages.compare.answer import CompareSpec, compared
from theodolite.app.surfaces import web
from theodolite.app.workspace import Workspace
from theodolite.engine.protocols import PROTOCOLS
from theodolite.engine.tasks import TASKS

LIMIT = 0.1


def fill(workspace: Workspace, encoders: int, tasks: int) -> list[str]:
    """Store results of the encoders on the tasks; return the encoders' names."""
    names = [f"random:{64 + place}" for place in range(encoders)]
    known = [(task.name, task.protocol) for task in TASKS.values()]
    own = [(f"Own{place}", "senteval") for place in range(tasks)]  # as on uploads since removed
    for name, accuracy in zip(names, np.linspace(0.6, 0.9, encoders), strict=True):
        for task, protocol in [*known, *own][:tasks]:
            seed = PROTOCOLS[protocol].seed
            invent(workspace, name, task, float(accuracy), protocol=protocol, seed=seed)
    return names


def in_browser(store: Path, names: list[str], rounds: int) -> float:
    """Median seconds from the page's address to its last chart, without the first visit."""
    from playwright.sync_api import sync_playwright

    from benchmarks.startup import OURS, PATIENCE, chromium, served

    seconds = []
    with sync_playwright() as playwright, served(OURS, store) as address:
        page = chromium(playwright).new_page()
        query = urlencode([("encoder", name) for name in names])
        for _ in range(rounds + 1):
            began = time.perf_counter()
            page.goto(f"{address}compare?{query}", wait_until="commit")
            page.locator("#comparison .main-svg").first.wait_for(timeout=PATIENCE * 1000)
            seconds.append(time.perf_counter() - began)
    return statistics.median(seconds[1:])


def main() -> int:
    """Measure, print a table and a JSON line; return 1 if the limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoders", type=int, default=100)
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--browser", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        names = fill(workspace, options.encoders, options.tasks)
        seconds = []
        for _ in range(options.rounds + 1):
            began = time.perf_counter()
            *_, report = compared(workspace, CompareSpec(names))
            shown = web.value(report.blocks())
            seconds.append(time.perf_counter() - began)
        workspace.close()
        if options.browser:
            for chosen in (names[:3], names):
                took = in_browser(Path(folder), chosen, options.rounds)
                print(f"{len(chosen)} encoders in the browser: a median of {took:.1f} s")
    first, *warm = seconds
    size = len(shown) / 2**20
    print(f"{options.encoders} encoders on {options.tasks} tasks, {size:.1f} MiB shown")
    print(f"first {first:.1f} s, then a median of {1000 * statistics.median(warm):.0f} ms")
    return 0 if within("compare.warm", LIMIT, warm) else 1


if __name__ == "__main__":
    sys.exit(main())
