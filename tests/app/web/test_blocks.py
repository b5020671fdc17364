"""The pages are laid out with less work than Gradio would do, and come out the same."""

from __future__ import annotations

import inspect

import gradio as gr
import httpx
import pytest
from gradio.blocks import Blocks, BlocksConfigDict

from theodolite.app import ui
from theodolite.app.web.blocks import Pages, keep_signatures
from theodolite.app.workspace import Workspace


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many components stood in each configuration that Gradio wrote down."""
    counts: list[int] = []
    original = Blocks.get_config_file

    def counted(self: Blocks) -> BlocksConfigDict:
        config = original(self)
        counts.append(len(config["components"]))
        return config

    monkeypatch.setattr(Blocks, "get_config_file", counted)
    return counts


def test_laying_out_writes_no_configuration_of_the_pages(
    workspace: Workspace, written: list[int]
) -> None:
    """Only the launch does, since only then all is known that stands in it."""
    demo = ui.build(workspace)
    assert sum(written) <= 1, "the empty Blocks themselves, at most"
    pages = {page for page, *_ in demo.pages}
    config = demo.get_config_file()
    assert {page.PATH for page in ui.PAGES} == pages == set(config["page"])
    assert len(config["components"]) > 500 and len(config["dependencies"]) == len(demo.fns)


def test_a_machine_too_busy_for_a_page_in_three_seconds_launches_all_the_same(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gradio would take that for a machine that cannot reach itself."""

    def late(*args: object, **kwargs: object) -> None:
        raise httpx.ReadTimeout("after 3 s")

    monkeypatch.setattr(httpx, "head", late)
    demo = ui.launch(workspace, open_browser=False, block=False)
    assert demo.local_url
    demo.close()


def test_the_configuration_is_that_of_gradio() -> None:
    """Of the same layout, but for the number that each app is known by."""
    configs = []
    for kind in (gr.Blocks, Pages):
        with kind(title="one") as demo:
            name = gr.Textbox(label="Name")
            gr.Button("Greet").click(str.upper, name, gr.HTML("<b>Hello</b>"))
        demo.laid_out = True
        first = min(demo.blocks)
        configs.append(demo.get_config_file())
        for part in configs[-1]["components"]:
            part["id"] -= first
    with_ids = ("app_id", "layout", "page", "dependencies")
    assert all(configs[0][key] == configs[1][key] for key in configs[0] if key not in with_ids)


def test_kept_signatures_are_those_that_inspect_works_out() -> None:
    """Of every component that a page may hold."""
    keep_signatures()
    for component in (gr.HTML, gr.Textbox, gr.Dropdown, gr.Row, gr.Column, gr.Timer, gr.State):
        kept = component.__init__.__signature__
        function = inspect.unwrap(component.__init__, stop=lambda f: not hasattr(f, "__wrapped__"))
        del function.__signature__
        assert inspect.signature(function) == kept
        function.__signature__ = kept
