"""A page and its verb are two faces of one service: where they ask the same, the default is one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from theodolite.app.pages.board import command as board_verbs
from theodolite.app.pages.board import page as board
from theodolite.app.pages.compare import command as compare_verbs
from theodolite.app.pages.compare import page as compare
from theodolite.app.pages.curate import command as curate_verbs
from theodolite.app.pages.curate import page as curate
from theodolite.app.pages.decode import arithmetic, interpolate
from theodolite.app.pages.decode import command as decode_verbs
from theodolite.app.pages.decode import page as decode
from theodolite.app.pages.diagnose import command as diagnose_verbs
from theodolite.app.pages.diagnose import page as diagnose
from theodolite.app.pages.evaluate import command as evaluate_verbs
from theodolite.app.pages.evaluate import page as evaluate
from theodolite.app.pages.fair import command as fair_verbs
from theodolite.app.pages.fair import page as fair
from theodolite.app.pages.geometry import command as geometry_verbs
from theodolite.app.pages.geometry import page as geometry
from theodolite.app.pages.judge import command as judge_verbs
from theodolite.app.pages.judge import page as judge
from theodolite.app.pages.map import command as map_verbs
from theodolite.app.pages.map import page as map
from theodolite.app.pages.search import command as search_verbs
from theodolite.app.pages.search import page as search
from theodolite.app.pages.spaces import command as spaces_verbs
from theodolite.app.pages.spaces import page as spaces
from theodolite.app.pages.train import command as train_verbs
from theodolite.app.pages.train import decoder_page as train_decoder
from theodolite.app.pages.train import page as train

VERBS: dict[ModuleType, Callable[..., Any]] = {
    evaluate: evaluate_verbs.evaluate,
    compare: compare_verbs.compare,
    board: board_verbs.board,
    fair: fair_verbs.fair,
    judge: judge_verbs.start_session,
    search: search_verbs.search,
    map: map_verbs.project,
    spaces: spaces_verbs.spaces,
    geometry: geometry_verbs.geometry,
    curate: curate_verbs.curate,
    decode: decode_verbs.decode,
    interpolate: decode_verbs.interpolate,
    arithmetic: decode_verbs.analogy,
    diagnose: diagnose_verbs.diagnose,
    train: train_verbs.train,
    train_decoder: train_verbs.train_decoder,
}
NOTHING = (None, "", [], (), diagnose.USUAL)
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
