"""A page and its verb are two faces of one service: where they ask the same, the default is one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from app import cli, ui
from app.pages.decode import arithmetic, interpolate

VERBS: dict[ModuleType, Callable[..., Any]] = {
    ui.evaluate: cli.evaluate.evaluate,
    ui.compare: cli.compare.compare,
    ui.fair_play: cli.fair.fair,
    ui.search: cli.search.search,
    ui.map: cli.project.project,
    ui.spaces: cli.spaces.spaces,
    ui.geometry: cli.geometry.geometry,
    ui.curate: cli.curate.curate,
    ui.decode: cli.decode.decode,
    interpolate: cli.decode.interpolate,
    arithmetic: cli.decode.analogy,
    ui.diagnose: cli.diagnose.diagnose,
    ui.train: cli.train.train,
    ui.train_decoder: cli.decoders.train_decoder,
}
NOTHING = (None, "", [], (), ui.diagnose.USUAL)
"""No choice: everything there is, or what the service thinks best."""
FILLED = {"encoder"}
"""A list that the page fills from the store when it is opened."""
ONLY_ON_THE_PAGE = {(interpolate, "collection")}
"""The page always shows the nearest real sentences, the verb where it is asked to."""
OF_EVERY_VERB = {"store", "data", "as_json"}


def shared() -> list[Any]:
    """(page, name, default of the control, default of the option), where names correspond."""
    return [
        pytest.param(control.default, options[name].default, id=f"{page.PATH}-{name}")
        for page, verb in VERBS.items()
        for options in [inspect.signature(verb).parameters]
        for control in getattr(page, "CONTROLS", ())
        for name in [control.name]
        if name in options.keys() - OF_EVERY_VERB - FILLED
        and (page, name) not in ONLY_ON_THE_PAGE
        and options[name].default is not inspect.Parameter.empty
    ]


def test_pages_and_verbs_have_options_in_common() -> None:
    """Or the next test would test nothing."""
    assert len(shared()) > 30


@pytest.mark.parametrize(("on_the_page", "of_the_verb"), shared())
def test_page_and_verb_have_the_same_default(on_the_page: Any, of_the_verb: Any) -> None:
    """A list of nothing and None both mean that nothing was chosen; a number may be typed text."""
    if on_the_page not in NOTHING or of_the_verb not in NOTHING:
        assert str(on_the_page) == str(of_the_verb)
