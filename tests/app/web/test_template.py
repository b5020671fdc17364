"""What pages begin with: each app its own, and every script with the number of the answer."""

from __future__ import annotations

import re

import gradio as gr
import pytest
from starlette.testclient import TestClient

from theodolite.app.web import template


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
    assert data in page
    assert '<script nonce="n">x</script>' in page
    scripts = re.findall(r"<script(?! type=.application/json)[^>]*>", page)
    assert scripts
    assert all('nonce="' in script for script in scripts)
