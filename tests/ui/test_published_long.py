"""Published apps at full length, in environments of their own.

There is no container here: a step that copies copies, a step that runs runs, as user 1000, and an
environment of its own stands for the image's Python.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from playwright.sync_api import expect

from tests.fakes.started import started, steps_of
from tests.fakes.stores import starter_store
from tests.ui.steps import says
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.publish import choice, folder, live, manifest, targets
from theodolite.app.workspace import Workspace

pytestmark = pytest.mark.long
NAMES = ("minilm", "wordllama")
USER = 1000


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A store with two encoders evaluated on the starter set."""
    made = starter_store(tmp_path_factory.mktemp("kept"))
    for name in NAMES:
        encoders.add(made, name)
        for task in ("StarterSTS", "StarterSearch"):
            assert evaluated(made, name, task)["error"] is None
    yield made
    made.close()


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that user 1000 can reach and write to, as pytest's own is not."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        Path(made).chmod(0o777)
        yield Path(made)


def published(kept: Workspace, name: targets.Name, where: Path) -> Path:
    """The folder, written."""
    target, chosen = targets.TARGETS[name], choice.choose(kept, NAMES)
    made = live.make(kept, chosen, target, texts=True)
    about = manifest.readme(kept, chosen, made, target, "Two encoders")
    folder.write(where, {**made.files, "README.md": about.encode()})
    return where


def installed(where: Path, requirements: Path, *more: str, **how: Any) -> Path:
    """Python of a new environment with these and no others.

    The index that has torch for the CPU is left out: where the tests run it lies on the disk.
    """
    mine = where / "requirements-here.txt"
    text = requirements.read_text()
    mine.write_text(text.replace("--extra-index-url https://download.pytorch.org/whl/cpu\n", ""))
    base = next(path for path in (sys.executable, "/usr/bin/python3") if _runs(path, how))
    subprocess.run([base, "-m", "venv", where / "environment"], check=True, **how)
    python = where / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", mine, *more], check=True, **how)
    return python


def _runs(python: str, how: dict[str, Any]) -> bool:
    """Whether whoever is to run it may."""
    try:
        return subprocess.run([python, "-c", ""], check=False, **how).returncode == 0
    except PermissionError:
        return False


def looked_at(visitor: Any, address: str) -> None:
    """Compare and search as a visitor would; nothing fails in the browser."""
    visit = visitor(address)
    page = visit.open("compare?encoder=minilm&encoder=wordllama")
    says(page.locator("#comparison"), "minilm")
    page = visit.open("search?encoder=minilm&in=starter-topics&q=a boat at sea&k=5")
    expect(page.locator(".t-column li")).to_have_count(5)


def test_a_space_starts_with_what_it_asks_for(kept: Workspace, place: Path, visitor: Any) -> None:
    """The hub installs what it manages itself; elsewhere no GPU is lent, and none is needed."""
    where = published(kept, "zerogpu", place / "demo")
    front_matter = yaml.safe_load((where / "README.md").read_text().split("---\n")[1])
    theirs = [f"gradio[oauth]=={front_matter['sdk_version']}", "spaces", "torch==2.13.0"]
    python = installed(place, where / "requirements.txt", *theirs)
    with started([python, front_matter["app_file"]], where) as address:
        looked_at(visitor, address)


def test_a_container_starts_by_its_steps(kept: Workspace, place: Path, visitor: Any) -> None:
    """As user 1000, who owns what was copied and writes nowhere else."""
    context = published(kept, "docker", place / "context")
    how: dict[str, Any] = {"user": USER, "group": USER} if os.getuid() == 0 else {}
    home = place / "home"
    where = home / "app"
    where.mkdir(parents=True)
    python, command = Path(), [""]
    for step in steps_of((context / "Dockerfile").read_text()):
        word, rest = step.split(maxsplit=1)
        if word == "COPY":
            _, given, to = shlex.split(rest)
            copy = shutil.copytree if (context / given).is_dir() else shutil.copy
            copy(context / given, where / to)
            if how:
                subprocess.run(["chown", "-R", f"{USER}:{USER}", home], check=True)
        elif word == "RUN" and rest.startswith("pip install"):
            python = installed(home, where / "requirements.txt", **how)
        elif word == "CMD":
            command = yaml.safe_load(rest)
    assert command[0] == "python"
    with started([python, *command[1:]], where, {"HOME": str(home)}, **how) as address:
        looked_at(visitor, address)
