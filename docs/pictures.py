"""Takes the README's pictures from a running app: `python -m docs.pictures`.

Launches the app on a new store, waits until its first runs have filled the overview, and takes the
map and Compare in Chromium, light and dark.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).parent
PAGES = {"map": (".t-map-over", 900), "compare": ("#forest .t-plot .points path", 800)}
"""Page -> what is there once it is drawn, and pixels down to where its answer ends."""
WIDTH = 1440
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""The map is drawn with WebGL, on machines without a graphics card too."""
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium")


def main() -> None:
    """Write docs/PAGE-light.png and docs/PAGE-dark.png."""
    with tempfile.TemporaryDirectory() as store:
        app = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "app.cli", "serve", "--store", store, "--no-browser", "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = json.loads(app.stdout.readline())["url"].rstrip("/")  # type: ignore[union-attr]
            _photograph(url)
        finally:
            app.terminate()
            app.wait()


def _photograph(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        page = browser.new_page()
        page.goto(url)
        measured = page.locator("td.t-average:not(.t-waiting)", has_text="3 of 3 tasks")
        measured.nth(2).wait_for(timeout=300_000)  # until then what ships stands there
        for name, (drawn, height) in PAGES.items():
            for scheme in ("light", "dark"):
                target = HERE / f"{name}-{scheme}.png"
                _take(browser, f"{url}/{name}", drawn, height, scheme, target)
        browser.close()


def _take(browser: Browser, url: str, drawn: str, height: int, scheme: Any, target: Path) -> None:
    window = {"width": WIDTH, "height": height}
    page = browser.new_page(viewport=window, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    page.locator(drawn).first.wait_for(timeout=60_000)
    page.wait_for_timeout(2000)  # the last of the motion
    page.screenshot(path=target)
    page.close()


if __name__ == "__main__":
    main()
