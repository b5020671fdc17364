"""How fast a map is drawn, selects and moves in headless Chromium, against Plotly's scattergl.

    python -m benchmarks.map [--points N …] [--rounds N] [--peer-seconds S] [--peer-points N]

Both pages get the same coordinates and label numbers from one small server and are shown in the
same browser. *Drawn*: from the request for the file until the pixels can be read back. *Lasso*:
from releasing the mouse after 33 moves until the ids of the points are known. *Pan*: frames per
second while the view is moved for two seconds. During movement our map draws a fixed sample of
30,000 points, and all of them when it rests (of millions seen from afar, those not covered by ten
others); Plotly draws all. The peer is stopped after `--peer-seconds`, which then count as its time,
and left out above `--peer-points`. *Memory*: unique memory of the browser's processes, including
the one that draws, at the end, beyond that of an empty page.
"""

import argparse
import contextlib
import json
import math
import os
import shutil
import statistics
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import claim, within

SIZES = (200_000, 1_000_000, 5_000_000)
LABELS = 20
MOVES = 33
TARGETS = {
    200_000: {"drawn": 1.0, "lasso": 1.0, "pan": 20.0},
    1_000_000: {"drawn": 3.0, "lasso": 4.0, "pan": 10.0},
    5_000_000: {"drawn": 4.0, "lasso": 0.4, "pan": 15.0, "memory": 1.2},
}
UNITS = {"drawn": "s", "lasso": "s", "pan": "frames a second", "memory": "GB"}
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
FRAME = "<!doctype html><body style='margin:0'><div id='here' style='width:1200px'></div>"

OURS = """
import { mount } from "./BASE/map/map.js";
import { subscribe } from "./BASE/map/state.js";
import { choose, pan } from "./BASE/map/tools.js";
const began = performance.now();
window.selected = null;
const element = document.getElementById("here"), props = { value: VALUE, palette: PALETTE };
const ui = mount({ element, props, watch: () => {} });
subscribe(ui, "chosen", () => { window.selected = [performance.now()]; });
window.finish = () => ui.stage.firstChild.getContext("webgl")
  .readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4));
const wait = () => {
  const there = ui.map?.shades && ui.status.textContent.endsWith("points.");
  if (!there || ui.map.scene.drawing) return setTimeout(wait, 1);
  window.finish();
  window.drawn = (performance.now() - began) / 1000;
};
wait();
window.arm = () => { window.selected = null; choose(ui, "lasso"); };
window.step = (k) => pan(ui, k % 2 ? 9 : -9, 0);
"""

PEER = """
const began = performance.now();
window.selected = null;
(async () => {
  const read = async (part, kind) => new kind(await (await fetch(`m/${part}`)).arrayBuffer());
  const xy = await read("points", Float32Array), label = await read("column/label", Uint16Array);
  const n = xy.length / 2, x = new Float32Array(n), y = new Float32Array(n);
  for (let i = 0; i < n; i++) { x[i] = xy[2 * i]; y[i] = xy[2 * i + 1]; }
  const here = document.getElementById("here");
  await Plotly.newPlot(here, [{ type: "scattergl", mode: "markers", x, y, hoverinfo: "skip",
    marker: { size: 2, color: label, colorscale: "Portland" } }],
    { width: 1010, height: 720, dragmode: "lasso", margin: { l: 0, r: 0, t: 0, b: 0 } });
  const gl = here.querySelector("canvas").getContext("webgl");
  window.finish = () => gl?.readPixels(0, 0, 1, 1, 6408, 5121, new Uint8Array(4));
  window.finish();
  window.drawn = (performance.now() - began) / 1000;
  here.on("plotly_selected", () => { window.selected = [performance.now()]; });
  const [a, b] = here.layout.xaxis.range, size = (b - a) / 100;
  window.arm = () => {};
  window.step = (k) =>
    Plotly.relayout(here, { "xaxis.range": k % 2 ? [a + size, b + size] : [a, b] });
})();
"""

PAN = """async (limit) => {
  const began = performance.now();
  let frames = 0;
  while (performance.now() - began < limit) {
    await window.step(frames++);
    window.finish();
    await new Promise((done) => requestAnimationFrame(done));
  }
  return (1000 * frames) / (performance.now() - began);
}"""


def cloud(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty clusters of points: float32 (n, 2), and their labels, uint16 (n,)."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, LABELS, n).astype(np.uint16)
    centres = rng.normal(0, 6, (LABELS, 2))
    return (centres[labels] + rng.normal(size=(n, 2))).astype(np.float32), labels


def pages(n: int) -> tuple[str, str]:
    """The HTML of our page and of the peer's."""
    import gradio as gr

    from theodolite.app import ui
    from theodolite.app.components.modules import BASE
    from theodolite.app.web.theme import SERIES

    names = [f"label {i}" for i in range(LABELS)]
    column = {"key": "label", "name": "Label", "kind": "label", "labels": names}
    value = {"url": "m", "label": f"{n} points", "colour": "label", "columns": [column]}
    value |= {"regions": [], "name": "map", "collection": "", "encoder": "", "dataset": ""}
    code = OURS.replace("VALUE", json.dumps(value)).replace("PALETTE", json.dumps(list(SERIES)))
    code = f'<script type="module">{code.replace("BASE", BASE)}</script>'
    mine = FRAME + ui.first_painted(gr.Blocks(), visitors=True) + ui.head() + code
    return mine, f"{FRAME}<script src='plotly.js'></script><script>{PEER}</script>"


def serve(n: int) -> tuple[Any, str]:
    """Start a server of both pages and the numbers; stop it with `.should_exit = True`."""
    import uvicorn
    from starlette.applications import Starlette
    from starlette.responses import FileResponse, HTMLResponse, Response
    from starlette.routing import Route

    from theodolite.app.components import modules
    from theodolite.app.web.routes import plotly_file

    points, labels = cloud(n)
    mine, peer = pages(n)

    def binary(array: np.ndarray) -> Any:
        return lambda request: Response(array.tobytes())

    app = Starlette(
        routes=[
            Route("/ours", lambda request: HTMLResponse(mine)),
            Route("/plotly", lambda request: HTMLResponse(peer)),
            Route("/plotly.js", lambda request: FileResponse(plotly_file())),
            *modules.routes(),
            Route("/m/points", binary(points)),
            Route("/m/column/label", binary(labels)),
        ]
    )
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        pass
    port = server.servers[0].sockets[0].getsockname()[1]
    return server, f"http://127.0.0.1:{port}"


def measure(browser: Any, address: str, limit: float) -> dict[str, float]:
    """Measure a page: seconds until drawn, seconds of a lasso, frames per second, gigabytes."""
    from playwright.sync_api import TimeoutError as TooLong

    found = {"drawn": limit, "lasso": limit, "pan": 1 / limit, "memory": math.inf}
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto("about:blank")
    before = memory()
    page.set_default_timeout(1000 * limit)
    page.on("pageerror", lambda error: print(f"page error: {error}", file=sys.stderr))
    try:
        page.goto(address)
        page.wait_for_function("window.drawn")
        found["drawn"] = page.evaluate("window.drawn")
        found["pan"] = page.evaluate(PAN, 2000)
        page.wait_for_timeout(1500)
        page.evaluate("window.arm()")
        found["lasso"] = lasso(page)
        found["memory"] = memory() - before
    except TooLong:
        print(f"{address} was given up after {limit:.0f} s", file=sys.stderr)
    page.close()
    return found


def memory() -> float:
    """Gigabytes of unique memory (USS) of this process's children, which are the browser's."""
    import psutil

    held = 0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            held += process.memory_full_info().uss
    return held / 1e9


def lasso(page: Any) -> float:
    """Draw a ring of 33 moves; return the seconds from release to selection."""
    x, y = 500, 400
    page.mouse.move(x + 200, y)
    page.mouse.down()
    for k in range(MOVES):
        angle = 2 * math.pi * k / MOVES
        page.mouse.move(x + 200 * math.cos(angle), y + 150 * math.sin(angle))
    page.evaluate(
        "window.addEventListener('pointerup', () => { window.released = "
        "performance.now(); }, true); window.addEventListener('mouseup', () => "
        "{ window.released ??= performance.now(); }, true)"
    )
    page.mouse.up()
    page.wait_for_function("window.selected")
    return float(page.evaluate("(window.selected[0] - window.released) / 1000"))


def report(n: int, ours: list[dict[str, float]], peer: list[dict[str, float]]) -> bool:
    """Print the measurements of one size; return False if a target is missed."""
    met = True
    for what, target in TARGETS.get(n, {}).items():
        mine = [run[what] for run in ours]
        theirs = [run[what] for run in peer]
        beside = f"plotly {statistics.median(theirs):8.2f}" if theirs else "plotly not asked"
        print(f"{n:>9,} points, {what:6}: {statistics.median(mine):8.2f} {UNITS[what]}, {beside}")
        seconds = [1 / run for run in mine] if what == "pan" else mine
        limit = 1 / target if what == "pan" else target
        met &= within(f"map.{n}.{what}", limit, seconds)
        others = [1 / run for run in theirs] if what == "pan" else theirs
        if shares := [b / a for a, b in zip(seconds, others, strict=False)]:
            met &= claim(f"map.{n}.{what} against plotly", shares, 1.0, "wall")
    return met


def main() -> int:
    """Measure, print a table and a JSON line per claim; return 1 if a target is missed."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer-rounds", type=int, default=1)
    parser.add_argument("--peer-seconds", type=float, default=180.0)
    parser.add_argument("--peer-points", type=int, default=1_000_000)
    options = parser.parse_args()
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None or not Path(path).exists():
        print("Chromium is not installed: nothing to draw in.")
        return 0
    met = True
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        for n in options.points:
            server, address = serve(n)
            limit = options.peer_seconds
            ours = [measure(browser, f"{address}/ours", limit) for _ in range(options.rounds)]
            peer = [
                measure(browser, f"{address}/plotly", limit)
                for _ in range(options.peer_rounds * (n <= options.peer_points))
            ]
            met &= report(n, ours, peer)
            server.should_exit = True
        browser.close()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
