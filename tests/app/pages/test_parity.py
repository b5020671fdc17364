"""A page and its verb are two faces of one service: where they ask the same, the default is one."""

import inspect
from importlib import import_module
from typing import Any

import pytest

VERBS = {
    "evaluate.page": "evaluate.command.evaluate",
    "judge.page": "judge.command.start_session",
    "map.page": "map.command.project",
    "spaces.page": "spaces.command.spaces",
    "train.page": "train.command.train",
    "train.decoder_page": "train.command.train_decoder",
}
NOTHING = (None, "", [], ())
"""No choice: everything there is, or what the service thinks best."""
FILLED = {"encoder"}
"""A list that the page fills from the store when it is opened."""
OF_EVERY_VERB = {"store", "data", "as_json"}


def shared() -> list[Any]:
    """(default of the control, default of the option), where a page and its verb have both."""
    found = []
    for page, verb in VERBS.items():
        module, _, name = f"theodolite.app.pages.{verb}".rpartition(".")
        options = inspect.signature(getattr(import_module(module), name)).parameters
        names = options.keys() - OF_EVERY_VERB - FILLED
        found += [
            pytest.param(
                control.default, options[control.name].default, id=f"{page}-{control.name}"
            )
            for control in getattr(import_module(f"theodolite.app.pages.{page}"), "CONTROLS", ())
            if control.name in names
            and options[control.name].default is not inspect.Parameter.empty
        ]
    assert found
    return found


@pytest.mark.parametrize(("on_the_page", "of_the_verb"), shared())
def test_page_and_verb_have_the_same_default(on_the_page: Any, of_the_verb: Any) -> None:
    """A list of nothing and None both mean that nothing was chosen; a number may be typed text."""
    if on_the_page not in NOTHING or of_the_verb not in NOTHING:
        assert str(on_the_page) == str(of_the_verb)
