"""What takes long, in steps: every extra installed by itself, then each file with long tests.

A step that passed is not done again while the project's files stay as they are, so this can be
stopped at any time. What passed is noted in `artifacts/long/`, which git ignores.

    THEODOLITE_DATA=... python -m tests.long
"""

import os
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
PASSED, NO_TESTS = 0, 5  # exit codes of pytest


def tree() -> str:
    """A hash of all tracked files as they are now, committed or not."""
    stash = git("stash", "create") or "HEAD"
    return git("rev-parse", f"{stash}^{{tree}}")


def git(*arguments: str) -> str:
    """What git answers."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def install(extra: str) -> bool:
    """The extra in an environment of its own, and the command line there."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        install = [python, "-m", "pip", "install", "-q", "-c", "constraints.txt", f".[{extra}]"]
        return all(
            subprocess.run(command, cwd=ROOT, check=False).returncode == 0
            for command in (install, [python, "-m", "theodolite.app", "--help"])
        )


def run(file: str) -> bool:
    """The long tests of a file."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "long", file]
    threads = {"OMP_NUM_THREADS": "1"}  # as CI runs them
    done = subprocess.run(command, cwd=ROOT, check=False, env={**os.environ, **threads})
    return done.returncode in (PASSED, NO_TESTS)


def steps() -> dict[str, Callable[[], bool]]:
    """What is to be done, by what it is called."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: dict[str, Callable[[], bool]] = {
        f"extra {name}": lambda name=name: install(name) for name in extras["optional-dependencies"]
    }
    for file in git("ls-files", "tests/*.py").splitlines():
        if "mark.long" in (ROOT / file).read_text():
            found[file] = lambda file=file: run(file)
    return found


def main() -> None:
    """All steps that have not passed; those that fail are told at the end."""
    notes = ROOT / "artifacts" / "long" / tree()
    notes.parent.mkdir(parents=True, exist_ok=True)
    passed = set(notes.read_text().splitlines()) if notes.exists() else set()
    todo, failed = {n: step for n, step in steps().items() if n not in passed}, []
    for number, (name, step) in enumerate(todo.items(), 1):
        print(f"\n=== {name} ({number} of {len(todo)}, {time.strftime('%H:%M')})", flush=True)
        if step():
            with notes.open("a") as file:
                file.write(f"{name}\n")
        else:
            failed.append(name)
    sys.exit("failed: " + ", ".join(failed) if failed else 0)


if __name__ == "__main__":
    main()
