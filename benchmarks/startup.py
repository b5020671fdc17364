"""Launch to first interactive page, against a Gradio hello-world, in the same run.

    python -m benchmarks.startup [repeats]

Both are started as new processes, in turns, each with a new browser context. The time is from the
start of the process until the page is usable: for hello-world, a text box is visible; for ours, the
table of the overview is drawn from a store with results.
"""

import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from playwright.sync_api import Browser, Playwright, sync_playwright

from benchmarks.claims import claim
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluate_one

REPEATS = 5
LIMIT = 1.5  # most times that ours may take hello-world's time
PATIENCE = 120.0

HELLO = """
import sys
import gradio as gr
with gr.Blocks() as demo:
    name = gr.Textbox(label="Name")
    greeting = gr.Textbox(label="Greeting")
    gr.Button("Greet").click(lambda text: f"Hello {text}!", name, greeting)
demo.launch(server_port=int(sys.argv[1]), quiet=True)
"""
OURS = """
import sys
from pathlib import Path
from theodolite.app import ui
from theodolite.app.workspace import Workspace
ui.launch(Workspace(Path(sys.argv[2])), port=int(sys.argv[1]), open_browser=False)
"""
READY = {"hello-world": "textarea, input[type=text]", "theodolite": ".t-heat-table tbody td"}


def main(repeats: int) -> None:
    """Measure and print a table and a JSON line."""
    times: dict[str, list[float]] = {"hello-world": [], "theodolite": []}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        store = Path(folder) / "store"
        fill(store)
        browser = chromium(playwright)
        for turn in range(repeats + 1):
            for name, code in (("hello-world", HELLO), ("theodolite", OURS)):
                seconds = launch(name, code, store, browser)
                if turn:  # the first warms the disk's cache and is not counted
                    times[name].append(seconds)
        browser.close()
    report(times)


def fill(store: Path) -> None:
    """Fill a small store, so that the first page has something to draw."""
    from theodolite.app.workspace import Workspace

    workspace = Workspace(store)
    for name in ("random:64", "random:256"):
        encoders.add(workspace, name)
        evaluate_one(workspace, name, "StarterSTS")
    workspace.close()


def launch(name: str, code: str, store: Path, browser: Browser) -> float:
    """Seconds from the start of the process to the interactive page."""
    started = time.perf_counter()
    with served(code, store) as address:
        context = browser.new_context()
        page = context.new_page()
        page.goto(address, wait_until="commit")
        page.locator(READY[name]).first.wait_for(state="visible", timeout=PATIENCE * 1000)
        seconds = time.perf_counter() - started
        context.close()
    return seconds


def chromium(playwright: Playwright) -> Browser:
    """Launch the installed Chromium, or Playwright's own if there is none."""
    found = shutil.which("chromium") or None
    return playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])


@contextmanager
def served(code: str, store: Path) -> Iterator[str]:
    """Serve a store in a new process; yield the address once it answers, and stop it afterwards."""
    port = free_port()
    environment = os.environ | {"GRADIO_ANALYTICS_ENABLED": "False", "HF_HUB_OFFLINE": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(port), str(store)],
        env=environment,
        cwd=Path(__file__).parents[1],
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/", process)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(timeout=30)


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    """Poll until the server answers.

    Raises:
        RuntimeError: the server ended, or did not answer in time.
    """
    limit = time.monotonic() + PATIENCE
    while time.monotonic() < limit:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        try:
            with urlopen(url, timeout=5):  # noqa: S310
                return
        except (URLError, OSError):
            time.sleep(0.02)
    raise RuntimeError(f"no answer in {PATIENCE:.0f} s")


def report(times: dict[str, list[float]]) -> None:
    """Print the medians and the claim on hello-world's time over ours."""
    print(f"{'':14}{'median':>9}{'min':>9}{'max':>9}   seconds, launch to interactive page")
    for name, values in times.items():
        print(f"{name:14}{statistics.median(values):9.2f}{min(values):9.2f}{max(values):9.2f}")
    ratios = [a / b for a, b in zip(times["hello-world"], times["theodolite"], strict=True)]
    hello, ours = (statistics.median(values) for values in times.values())
    print(f"ours takes {ours / hello:.2f} of hello-world's time; at most {LIMIT} is the aim")
    claim("startup", ratios, 1 / LIMIT, "wall")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else REPEATS)
