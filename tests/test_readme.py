"""The README and the changelog say what is there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TARGETS = ("setup", "run", "test", "ui", "lint", "type", "bench", "docs", "site")


def test_two_commands_do_all_the_setting_up() -> None:
    """One launches, one tests; CI runs the second as it stands here."""
    assert "pip install -c constraints.txt '.[starter]' && theodolite\n" in README
    assert "pip install -c constraints.txt '.[starter,test]' && pytest\n" in README
    assert "&& pytest$" in (ROOT / ".ci" / "run").read_text()


def test_the_pictures_are_there() -> None:
    """The README's pictures, light and dark, are in the repository, and small enough for it."""
    found = re.findall(r"docs/\w+-(?:light|dark)\.png", README)
    assert len(set(found)) == 4
    for name in found:
        assert 10_000 < (ROOT / name).stat().st_size < 1_000_000


def test_the_python_example_runs() -> None:
    """The example of the section Python prints a number for each starter task."""
    code = re.search(r"```python\n(.*?)```", README, re.S).group(1)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    printed = [line.split() for line in done.stdout.splitlines()]
    assert [task for task, _ in printed] == ["StarterSTS", "StarterTopics", "StarterSearch"]
    assert all(0 < float(score) < 100 for _, score in printed)


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    """At most 150 lines; what is longer stands in docs/. Every link has its file."""
    assert len(README.splitlines()) <= 150
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("target", TARGETS)
def test_every_habit_has_its_target(target: str) -> None:
    """The Makefile lists the habits with a line of help each."""
    assert re.search(rf"^{target}: ## \w", (ROOT / "Makefile").read_text(), re.M)
