"""`import theodolite`: every name is there, and importing costs nothing."""

from __future__ import annotations

from typing import get_type_hints

import pytest

import theodolite
from tests.test_arrows import HEAVY, modules_after


@pytest.mark.parametrize("name", theodolite.__all__)
def test_every_name_is_found_where_it_lives(name: str) -> None:
    """And says what it does."""
    found = getattr(theodolite, name)
    assert found.__name__ == name
    assert found.__doc__


def test_what_is_not_there_is_said() -> None:
    """As of any module; completion knows the names."""
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        theodolite.lode  # noqa: B018
    assert set(theodolite.__all__) == set(dir(theodolite))
    assert get_type_hints(theodolite.load)["spec"]


def test_the_door_is_light() -> None:
    """Nothing is imported before a name is used, Gradio not even then."""
    assert not modules_after("import theodolite") & (HEAVY | {"gradio", "numpy"})
    assert "gradio" not in modules_after("import theodolite as th; th.load, th.compare, th.search")
    assert not modules_after("import theodolite as th; th.compare, th.search") & HEAVY
