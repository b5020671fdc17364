"""How fast the page Board answers with 400 encoders on 60 tasks.

    python -m benchmarks.board [--encoders 400] [--tasks 60] [--rounds 5] [--no-browser]

Two stores: one with measured results (invented, of 400 examples each), and one with published
results, as on MTEB's leaderboard. The app is launched separately for each.

- Answer: from the call of the page's function to the first headline and table, with a new filter
  every time.
- In the browser: from the navigation to the rows of the table, in Chromium, without the first
  visit. The time until the ranks have their intervals is printed as well.

There is no peer: times are compared with limits.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.claims import within
from benchmarks.compare import fill
from benchmarks.first_look import PATIENCE, SETTLED, launched
from theodolite.app.pages.board import page
from theodolite.app.web.controls import Values
from theodolite.app.workspace import Workspace

ANSWER_SECONDS, BROWSER_SECONDS = 0.1, 1.0
STANDS = """() => document.querySelectorAll("#board tbody tr:not(.t-gap)").length > 5"""
RANKED = """() => /Nobody ties|ties? with/.test(document.querySelector("#board")?.textContent)"""
INTERVAL = "95 % interval"
"""Text in the head of the rank column; 'rank' alone also matches 'reranking'."""
KINDS = ("Classification", "Clustering", "PairClassification", "Reranking", "Retrieval", "STS")


def measure_all(workspace: Workspace, encoders: int, tasks: int) -> None:
    """Fill a store with measured results."""
    fill(workspace, encoders, tasks)


def publish_all(workspace: Workspace, encoders: int, tasks: int) -> None:
    """Fill a store with published results, on tasks of MTEB's usual types."""
    rng = np.random.default_rng(0)
    workspace.store.published.put(
        {
            "model": f"organisation/model-{model}",
            "revision": "a" * 40,
            "task": f"mteb:Task{task}{KINDS[task % len(KINDS)]}",
            "data_revision": "b" * 40,
            "version": "2.26.0",
            "metric": "main_score",
            "score": float(score),
            "scores": [],
            "facts": {
                "languages": ["eng-Latn"],
                "parts": [["test", "default", float(score)]],
                "model": {"parameters": 10**6 * (model + 1), "dim": 768},
            },
        }
        for model in range(encoders)
        for task, score in enumerate(rng.uniform(30, 90, tasks))
    )


def answers(workspace: Workspace, rounds: int) -> tuple[float, list[float]]:
    """Seconds of the first answer, and of later ones, each with a new filter."""
    usual = {control.name: control.default for control in page.CONTROLS}
    seconds = []
    for limit in range(rounds + 1):
        asked = Values(**usual | {"most_dimensions": 100_000 + limit})
        began = time.perf_counter()
        next(page.answer(workspace, asked))
        seconds.append(time.perf_counter() - began)
    return seconds[0], seconds[1:]


def in_browser(store: Path, rounds: int) -> tuple[list[float], list[float]]:
    """Seconds from the navigation to the table, and to the ranks' intervals if there are any."""
    rows, ranks = [], []
    with launched(store) as (tab, address):
        time.sleep(SETTLED)
        for _ in range(rounds + 1):
            began = time.perf_counter()
            rows.append(tab.open(f"{address}board", STANDS, PATIENCE))
            if INTERVAL in (tab.evaluate("document.querySelector('#board').textContent") or ""):
                ranks.append(tab.wait(RANKED, PATIENCE, began))
    return rows[1:], ranks


def main() -> int:
    """Measure, print a table and a JSON line per claim; return 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--encoders", type=int, default=400)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--no-browser", action="store_true")
    options = parser.parse_args()
    stores: dict[str, Callable[[Workspace, int, int], None]] = {
        "measured": measure_all,
        "published": publish_all,
    }
    met = []
    for name, put in stores.items():
        with tempfile.TemporaryDirectory() as folder:
            workspace = Workspace(Path(folder))
            put(workspace, options.encoders, options.tasks)
            workspace.store.settings.set("welcomed", True)  # no evaluation of the starters runs
            first, later = answers(workspace, options.rounds)
            workspace.close()
            print(f"{options.encoders} models on {options.tasks} tasks, {name}")
            print(f"  answer: first {first:.2f} s, then {middle(later)}")
            met.append(within(f"board.{name}.answer", ANSWER_SECONDS, later))
            if options.no_browser:
                continue
            rows, ranks = in_browser(Path(folder), options.rounds)
            print(f"  in the browser: {middle(rows)}")
            if ranks:
                print(f"  ranks with intervals: first {ranks[0]:.2f} s, then {middle(ranks[1:])}")
            met.append(within(f"board.{name}.browser", BROWSER_SECONDS, rows))
    return 0 if all(met) else 1


def middle(seconds: Sequence[float]) -> str:
    """The median as text."""
    return f"a median of {statistics.median(seconds):.3f} s"


if __name__ == "__main__":
    sys.exit(main())
