"""Takes the pictures of the README and of the site from a running app.

    python -m docs.pictures [PATH ...]

Launches the app on a new store, without a data folder, and waits until its first runs have filled
the overview. Then every page is taken as it opens, light, for `docs/pages/`; the map and Compare
also light and dark for the README. With paths of pages (`map`, `fair-play`; `overview` for the
first) only these are taken.
"""

import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, TimeoutError as TookTooLong, sync_playwright

from benchmarks.first_look import ANSWERED
from theodolite.app.ui import PAGES

HERE = Path(__file__).parent
README = {"map": (".t-map-over", 900), "compare": (".t-answer .points path", 800)}
"""Page -> what is there once it is drawn, and pixels down to where its answer ends."""
WIDE, SMALL = 1440, {"width": 1200, "height": 800}
FLAGS = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
"""The map is drawn with WebGL, on machines without a graphics card too."""
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium")
LAST_MOTION = 2000
"""Milliseconds."""


def main(paths: list[str]) -> None:
    """Write docs/pages/PATH.webp of each page, and docs/PATH-light.png and -dark.png."""
    with tempfile.TemporaryDirectory() as store:
        app = subprocess.Popen(  # noqa: S603
            [
                sys.executable,
                "-m",
                "theodolite.app",
                "serve",
                "--store",
                store,
                "--no-browser",
                "--json",
            ],
            stdout=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if name != "THEODOLITE_DATA"},
        )
        try:
            url = json.loads(app.stdout.readline())["url"].rstrip("/")  # type: ignore[union-attr]
            _photograph(url, paths)
        finally:
            app.terminate()
            app.wait()


def _photograph(url: str, paths: list[str]) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=list(FLAGS))
        page = browser.new_page()
        page.goto(url)
        measured = page.locator("td.t-average:not(.t-waiting)", has_text="3 of 3 tasks")
        measured.nth(2).wait_for(timeout=900_000)  # until then what ships stands there
        page.close()
        for path in [module.PATH for module in PAGES]:
            name = path or "overview"
            if paths and name not in paths:
                continue
            _save(_answered(browser, f"{url}/{path}"), HERE / "pages" / f"{name}.webp")
            if path in README:
                drawn, height = README[path]
                for scheme in ("light", "dark"):
                    shot = _drawn(browser, f"{url}/{path}", drawn, height, scheme)
                    _save(shot, HERE / f"{path}-{scheme}.png")
        browser.close()


def _answered(browser: Browser, url: str) -> bytes:
    """A page once it shows what people come for."""
    page = browser.new_page(viewport=SMALL, color_scheme="light")  # type: ignore[arg-type]
    page.goto(url)
    with suppress(TookTooLong):  # a page whose answer is an empty form never says anything
        page.wait_for_function(ANSWERED, timeout=60_000)
    return _taken(page)


def _drawn(browser: Browser, url: str, drawn: str, height: int, scheme: Any) -> bytes:
    window = {"width": WIDE, "height": height}
    page = browser.new_page(viewport=window, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(url)
    page.locator(drawn).first.wait_for(timeout=60_000)
    return _taken(page)


def _taken(page: Any) -> bytes:
    page.wait_for_timeout(LAST_MOTION)
    shot: bytes = page.screenshot()
    page.close()
    return shot


def _save(shot: bytes, target: Path) -> None:
    """As small as it may be: they are tracked."""
    with Image.open(io.BytesIO(shot)) as picture:
        if target.suffix == ".webp":
            picture.convert("RGB").save(target, quality=70, method=6)
        else:
            picture.convert("RGB").quantize(256).save(target, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
