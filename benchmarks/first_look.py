"""Waiting times of a new user: the example on each page, their first map, and Compare.

    python -m benchmarks.first_look [--only pages|map|compare] [--page PATH ...] [--rounds N]

Times are those of Chromium while nothing inspects it (`benchmarks.tab`). `theodolite serve` is
launched on an empty store, with its worker.

- Pages: from the navigation until the main content (the class `t-answer`) is visible and not empty.
  The frame is in the browser's cache; each page is opened for the first time, a second after the
  one before was there: its charts are drawn then, which would keep the browser from leaving it.
- The first map: a collection that was added before the launch is opened and encoded with
  `wordllama`; the time is from the click on Compute map until the UMAP with its trust is drawn. The
  app is launched separately for each size.
- Compare: three encoders, and a hundred on fifty tasks, from the navigation to the last chart, for
  the first time and again, with a separate launch.

There is no peer: times are compared with limits.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.claims import within
from benchmarks.compare import fill
from benchmarks.startup import served
from benchmarks.tab import Tab, tab
from theodolite.app.pages.data.service import keep
from theodolite.app.ui import PAGES
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.tables import preview

SERVE = """
import sys
from theodolite.app.cli import main
port, store = sys.argv[1:]
sys.argv = ["theodolite", "serve", "--no-browser", "--port", port, "--store", store]
main()
"""
ANSWERED = r"""() => [...document.querySelectorAll(".t-answer")].some((node) => {
  const { width, height } = node.getBoundingClientRect();
  const length = (text) => text.replace(/\s/g, "").length;
  const pressed = [...node.querySelectorAll("button")].map((button) => button.innerText).join("");
  const says = length(node.innerText) > length(pressed) || node.querySelector("canvas, .main-svg");
  const lacking = [...node.querySelectorAll(".t-empty, progress, [role=progressbar]")]
    .filter((part) => !part.closest(".t-runs")); // how far a run is, is what Jobs is asked
  return width && height && says && !lacking.some((part) => part.checkVisibility());
})"""
DRAWN = """() => document.querySelector("#t-main")?.textContent.includes("principal components")"""
MAPPED = """() => document.querySelector("#t-main")?.textContent.includes("trustworthiness")"""
COMPARED = """() => document.querySelector(".t-answer .main-svg")
  && document.querySelector(".t-answer tbody tr")"""
PAGE_SECONDS = 1.0
MAP_SECONDS = {2_000: 3.0, 20_000: 10.0}
COMPARE_SECONDS = {"3 encoders, cold": 1.0, "100 encoders, cold": 3.0, "100 encoders, again": 1.0}
PATIENCE = 60.0
SETTLED, LOOKED_AT = 8.0, 1.0
"""Seconds between the launch and the first click, and those for which a page is looked at."""
SIZE = 1440, 900


@contextmanager
def launched(store: Path) -> Iterator[tuple[Tab, str]]:
    """Launch the app on a store, and open its first page in a new browser."""
    with served(SERVE, store) as address, tab(*SIZE) as page:
        page.open(address, "() => document.querySelector('h1')", PATIENCE)
        yield page, address


def pages(folder: Path, only: Sequence[str]) -> dict[str, float]:
    """Path -> seconds until the page's example is shown."""
    found = {}
    with launched(folder) as (page, address):
        time.sleep(SETTLED)
        for module in PAGES:
            if not only or module.PATH in only:
                seconds = page.open(address + module.PATH, ANSWERED, PATIENCE)
                found[module.PATH or "overview"] = seconds
                time.sleep(LOOKED_AT)
    return found


def first_map(folder: Path, n: int) -> float:
    """Seconds from the click to the UMAP of n new sentences."""
    workspace = Workspace(folder)
    file = folder / "new.txt"
    file.write_text("\n".join(sentences(n)) + "\n", encoding="utf-8")
    keep(workspace, file, file.name, "new", preview(file, file.name).mapping)
    workspace.close()
    query = urlencode({"encoder": "wordllama", "in": "upload:new"})
    with launched(folder) as (page, address):
        page.open(f"{address}map?{query}", DRAWN, PATIENCE)
        time.sleep(SETTLED)
        began = time.perf_counter()
        page.evaluate("document.querySelector('#make-map').click()")
        return page.wait(MAPPED, PATIENCE, began)


def sentences(n: int) -> list[str]:
    """Return n texts, each two sentences of the starter set, so that no data is needed."""
    known, _ = Catalog(None).sentences("starter-topics")
    pairs = permutations(known[: 2 + int(n**0.5)], 2)
    return [f"{first} {second}" for first, second in pairs][:n]


def compare(folder: Path) -> dict[str, float]:
    """Case -> seconds of Compare, after other encoders were compared.

    Cold: these encoders were not compared yet; the scripts of the page are already cached.
    """
    workspace = Workspace(folder)
    names = fill(workspace, 100, 50)
    workspace.store.settings.set("welcomed", True)  # no evaluation of the starters runs
    workspace.close()
    found = {}
    for label, some in (("3 encoders", names[:3]), ("100 encoders", names)):
        asked, others = (urlencode([("encoder", one) for one in n]) for n in (some, names[-2:]))
        with launched(folder) as (page, address):
            page.open(f"{address}compare?{others}", COMPARED, PATIENCE)
            time.sleep(SETTLED)
            for when in ("cold", "again"):
                took = page.open(f"{address}compare?{asked}", COMPARED, PATIENCE)
                found[f"{label}, {when}"] = took
    return found


def main() -> int:
    """Measure, print a table and a JSON line per claim; return 1 if a limit is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("pages", "map", "compare"))
    parser.add_argument("--page", nargs="*", default=[], help="paths; all without")
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    rounds: list[dict[str, float]] = []
    for _ in range(options.rounds):
        found: dict[str, float] = {}
        if options.only in (None, "pages"):
            with tempfile.TemporaryDirectory() as folder:
                seen = pages(Path(folder), options.page)
                found |= {f"page.{name}": seconds for name, seconds in seen.items()}
        for n in MAP_SECONDS if options.only in (None, "map") else ():
            with tempfile.TemporaryDirectory() as folder:
                found[f"map.{n}"] = first_map(Path(folder), n)
        if options.only in (None, "compare"):
            with tempfile.TemporaryDirectory() as folder:
                seen = compare(Path(folder))
                found |= {f"compare.{name}": seconds for name, seconds in seen.items()}
        rounds.append(found)
    return report(rounds)


def report(rounds: Sequence[dict[str, float]]) -> int:
    """Print the table and a JSON line per claim; return 1 if a limit is missed."""
    aims = {f"map.{n}": aim for n, aim in MAP_SECONDS.items()}
    aims |= {f"compare.{name}": aim for name, aim in COMPARE_SECONDS.items()}
    aims |= {name: PAGE_SECONDS for name in rounds[0] if name.startswith("page.")}
    print(f"{'':34}{'seconds':>9}{'aim':>7}")
    for name in rounds[0]:
        seconds = sorted(found[name] for found in rounds)
        words = "never" if seconds[0] >= PATIENCE else f"{seconds[len(seconds) // 2]:.2f}"
        print(f"{name:34}{words:>9}{aims.get(name, ''):>7}")
    met = [
        within(f"first_look.{name}", aims[name], [found[name] for found in rounds])
        for name in rounds[0]
        if name in aims
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
