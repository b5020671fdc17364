"""A published app at full length, in an environment of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from tests.fakes.started import started
from tests.fakes.stores import starter_store
from tests.ui.steps import says
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.publish import choice, folder, live, manifest, targets

NAMES = ("minilm", "wordllama")


@pytest.mark.long
def test_a_space_starts_with_what_it_asks_for(tmp_path: Path, visitor) -> None:
    """The hub installs what it manages itself; elsewhere no GPU is lent, and none is needed.

    The index that has torch for the CPU is left out: where the tests run it lies on the disk.
    """
    kept, target, demo = starter_store(tmp_path), targets.TARGETS["zerogpu"], tmp_path / "demo"
    for name in NAMES:
        encoders.add(kept, name)
        for task in ("StarterSTS", "StarterSearch"):
            assert evaluate_one(kept, name, task)["error"] is None
    chosen = choice.choose(kept, NAMES)
    made = live.make(kept, chosen, target, texts=True)
    about = manifest.readme(kept, chosen, made, target, "Two encoders")
    folder.write(demo, {**made.files, "README.md": about.encode()})

    needs, wanted = tmp_path / "needs.txt", (demo / "requirements.txt").read_text()
    needs.write_text(wanted.replace("--extra-index-url https://download.pytorch.org/whl/cpu\n", ""))
    front_matter = yaml.safe_load(about.split("---\n")[1])
    theirs = [f"gradio[oauth]=={front_matter['sdk_version']}", "spaces", "torch==2.13.0"]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    python = tmp_path / "environment" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "-r", needs, *theirs], check=True)
    with started([python, front_matter["app_file"]], demo) as address:
        visit = visitor(address)
        page = visit.open("compare?encoder=minilm&encoder=wordllama")
        says(page.locator("#comparison"), "minilm")
        page = visit.open("search?encoder=minilm&in=starter-topics&q=a boat at sea&k=5")
        expect(page.locator(".t-column li")).to_have_count(5)
