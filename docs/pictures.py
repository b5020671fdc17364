"""Takes the README's picture from a running app: `python -m docs.pictures`.

Launches the app on a new store, waits until its first background run has filled the overview, and
photographs it in Chromium.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium")


def main() -> None:
    """Write docs/overview.png."""
    with tempfile.TemporaryDirectory() as store:
        app = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "app.cli", "serve", "--store", store, "--no-browser", "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = json.loads(app.stdout.readline())["url"]  # type: ignore[union-attr]
            _photograph(url, HERE / "overview.png")
        finally:
            app.terminate()
            app.wait()


def _photograph(url: str, target: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800}, device_scale_factor=1.5)
        page.goto(url)
        page.get_by_text("3 of 3 tasks").nth(2).wait_for(timeout=300_000)
        page.wait_for_timeout(2000)
        page.screenshot(path=target)
        browser.close()


if __name__ == "__main__":
    main()
