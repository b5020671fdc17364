"""A browser without a screen: asks for the page once and is open until its window is closed.

THEODOLITE_BROWSER starts it: `python -m tests.fakes.browser [--fail | --hand-over]`. It notes what
the page answered in PROFILE/seen.json; a file PROFILE/closed closes it.
"""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
COMMAND = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.fakes.browser")


def main(arguments: list[str]) -> int:
    """What a browser does with its arguments."""
    if "--fail" in arguments:
        sys.stderr.write("something went wrong\nThe platform failed to initialize.\n\n")
        return 1
    given = dict(word[2:].partition("=")[::2] for word in arguments if word.startswith("--"))
    profile = Path(given["user-data-dir"])
    if "--hand-over" in arguments:
        others = [word for word in arguments if word != "--hand-over"]
        subprocess.Popen([*COMMAND, *others], start_new_session=True)
        wait_until((profile / "seen.json").exists)
        return 0
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "closed").unlink(missing_ok=True)
    with urllib.request.urlopen(given["app"]) as answer:  # noqa: S310
        seen = {"status": answer.status}
    written = profile / "seen.part"
    written.write_text(json.dumps(seen))
    written.rename(profile / "seen.json")
    wait_until((profile / "closed").exists)
    return 0


def seen(profile: Path) -> dict:
    """What the one with this profile saw, when it has seen it."""
    wait_until((profile / "seen.json").exists)
    return json.loads((profile / "seen.json").read_text())


def close(profile: Path) -> None:
    """Close its window, as a person does."""
    (profile / "closed").touch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
