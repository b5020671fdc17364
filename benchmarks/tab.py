"""A tab of Chromium that nobody inspects: pages take as long in it as for a person.

Playwright enables the browser's `Runtime` domain. Wherever a script throws an error, Chromium then
looks up its place in the source, and keeps no compiled code: plotly.js takes a second to be read,
each time, where it takes 0.4 s at first and 0.06 s later. This tab navigates and evaluates only.
"""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--no-first-run", "--remote-debugging-pipe"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
POLLED = 0.02
"""Seconds between two looks at a condition."""


class Tab:
    """A tab, by Chrome's DevTools protocol over a pair of pipes.

    Args:
        commands, answers: file descriptors to write to and to read from.
    """

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = os.fdopen(commands, "wb", buffering=0)
        self._answers = os.fdopen(answers, "rb")
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self._rest = b""
        while not (pages := self._pages()):
            time.sleep(POLLED)
        attached = self._send("Target.attachToTarget", targetId=pages[0], flatten=True)
        self._session = attached["sessionId"]

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in pixels."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def open(self, address: str, condition: str, patience: float) -> float:
        """Seconds from the navigation until a condition holds in the page, at most `patience`."""
        began = time.perf_counter()
        self._send("Page.navigate", url=address)
        return self.wait(condition, patience, began)

    def wait(self, condition: str, patience: float, began: float) -> float:
        """Seconds since `began` until a condition, a JavaScript function, holds."""
        while time.perf_counter() - began < patience:
            if self.evaluate(f"!!({condition})()"):
                return time.perf_counter() - began
            time.sleep(POLLED)
        return patience

    def evaluate(self, expression: str) -> Any:
        """The JSON value of a JavaScript expression; None if it throws."""
        found = self._send("Runtime.evaluate", expression=expression, returnByValue=True)
        return found.get("result", {}).get("value")

    def close(self) -> None:
        """Close the browser."""
        self._session = None
        self._send("Browser.close")
        self._commands.close()
        self._answers.close()

    def _pages(self) -> list[str]:
        targets = self._send("Target.getTargets").get("targetInfos", [])
        return [target["targetId"] for target in targets if target["type"] == "page"]

    def _send(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command; empty if it failed, as while a page goes."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._rest:
                read = os.read(self._answers.fileno(), 1 << 16)
                if not read:
                    raise RuntimeError("Chromium has ended")
                self._rest += read
            line, _, self._rest = self._rest.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == number:
                result: dict[str, Any] = answer.get("result", {})
                return result


@contextmanager
def tab(width: int, height: int) -> Iterator[Tab]:
    """Launch the installed Chromium with an empty profile; yield its only tab, and close it."""
    from_us, commands = os.pipe()
    answers, to_us = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        given = [shutil.which("chromium") or "chromium", *FLAGS, f"--user-data-dir={profile}"]
        process = subprocess.Popen(  # the protocol's pipes are 3 and 4
            ["/bin/sh", "-c", f'exec "$@" 3<&{from_us} 4>&{to_us}', "sh", *given, "about:blank"],
            pass_fds=(from_us, to_us),
            stderr=subprocess.DEVNULL,
        )
        os.close(from_us)
        os.close(to_us)
        try:
            made = Tab(commands, answers)
            made.resize(width, height)
            yield made
            made.close()
        finally:
            process.terminate()
            process.wait(timeout=30)
