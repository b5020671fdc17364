"""How much the browser has to do before a page stands: counted, for seconds vary."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import pytest

from theodolite.app import ui
from theodolite.app.workspace import Workspace

MOUNTED = 66
"""Components at most that a page draws when it opens; a closed fold draws its own when opened."""
TOLD = 3
"""Components at most that Gradio tells how far an event is, at each of its steps: it searches the
whole page for each of them."""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What Gradio's script is given to lay out the pages."""
    workspace = Workspace(tmp_path_factory.mktemp("opening"))
    yield ui.build(workspace).get_config_file()
    workspace.close()


def drawn(node: Mapping[str, Any], components: Mapping[int, Any]) -> Iterator[int]:
    """The components of a layout that are mounted when it is laid out."""
    part = components.get(node["id"], {"type": "", "props": {}})
    if part["props"].get("visible", True) is False:
        return
    yield node["id"]
    if part["type"] == "accordion" and not part["props"]["open"]:
        return
    for child in node.get("children", ()):
        yield from drawn(child, components)


def test_no_page_begins_with_more_than_it_shows(config: Any) -> None:
    """A form of a hundred controls keeps most of them in closed folds."""
    components = {part["id"]: part for part in config["components"]}
    counted = {
        path or "overview": sum(1 for _ in drawn(page["layout"], components))
        for path, page in config["page"].items()
    }
    assert {path: n for path, n in counted.items() if n > MOUNTED} == {}
    assert counted["train"] < len(config["page"]["train"]["components"]) * 0.6


def test_an_event_that_shows_no_progress_tells_nobody_of_it(config: Any) -> None:
    """Nor does one that shows it tell more than what it is shown on."""
    events = [event for event in config["dependencies"] if event["backend_fn"]]
    assert len(events) > 100
    for event in events:
        on = event["show_progress_on"]
        components = event["outputs"] if on is None else on
        most = 0 if event["show_progress"] == "hidden" else TOLD
        assert len(components) <= most, f"{event['api_name']} tells {len(components)} components"


@pytest.mark.parametrize("module", ui.WARM)
def test_what_is_imported_ahead_exists(module: str) -> None:
    """A wrong name would only be seen as time that pages take."""
    assert find_spec(module)
