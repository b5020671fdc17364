"""The pages are laid out with less work than Gradio would do."""

import httpx
import pytest
from gradio.blocks import Blocks, BlocksConfigDict

from tests.fakes.launched import launched
from theodolite.app import ui
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
    with launched(workspace) as client:
        assert client.get("/healthz").is_success
