"""What pages begin with: each app its own, and every script with the number of the answer."""

import re
from pathlib import Path

import gradio as gr
import pytest
from starlette.testclient import TestClient

from theodolite.app import ui
from theodolite.app.web import template
from theodolite.app.workspace import Workspace


@pytest.fixture
def launch():
    """Launch a page that begins with this; what reads it."""
    running = []

    def launched(html: str) -> TestClient:
        with gr.Blocks(analytics_enabled=False) as demo:
            gr.Markdown("A page")
        demo.launch(prevent_thread_lock=True, quiet=True)
        running.append(demo)
        template.begin_with(demo.app, html)
        return TestClient(demo.app)

    yield launched
    for demo in running:
        demo.close()


def test_two_apps_of_a_process_begin_with_their_own(launch):
    """The one that was launched last does not speak for the other."""
    apps = [launch("<p>first {{ 1 }}</p>"), launch("<p>second</p>")]
    first, second = (app.get("/").text for app in apps)
    assert "<p>first {{ 1 }}</p><gradio-app" in first
    assert "<p>second</p><gradio-app" in second


def test_every_script_bears_the_number(launch, monkeypatch):
    """Ours and Gradio's; JSON runs nothing and needs none."""
    monkeypatch.setattr(template.policy, "number", lambda: "n")
    data = '<script type="application/json">{}</script>'
    page = launch(f"{data}<script>x</script>").get("/").text
    assert data in page and '<script nonce="n">x</script>' in page
    scripts = re.findall(r"<script(?! type=.application/json)[^>]*>", page)
    assert scripts
    assert all('nonce="' in script for script in scripts)


def test_every_component_of_the_app_is_listed(tmp_path: Path) -> None:
    """Each with its script, and all files are there; another version may write its list anew."""
    kinds = {block.get_block_name() for block in ui.build(Workspace(tmp_path)).blocks.values()}
    assert kinds >= {"dropdown", "html", "textbox"}
    for kind in kinds:
        assert any(name.endswith(".js") for name in template.component_files([kind])), kind
    files = template.component_files(kinds)
    assert len(files) == len(set(files))
    assert all((template.ASSETS / name).is_file() for name in files)


def test_a_list_that_cannot_be_read_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, or one that says something else."""
    monkeypatch.setattr(template, "ASSETS", tmp_path)
    assert template.component_files(["html"]) == []
    (tmp_path / "core-1.js").write_text("html:{component:()=>v(()=>import(`./x.js`)}")
    assert template.component_files(["html"]) == []
