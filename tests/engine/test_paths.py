"""Paths as a person writes them."""

from pathlib import Path

import pytest

from theodolite.engine.encoders.spec import parse
from theodolite.engine.errors import UserError
from theodolite.engine.paths import named


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`~` is the person's own folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert named("~/list.csv") == tmp_path / "list.csv"


def test_name_that_begins_like_a_home_folder() -> None:
    """Offices leave such files beside those that are open."""
    assert named("~$list.csv") == Path("~$list.csv")


@pytest.mark.parametrize("text", ["\0", "~\0/.//list.csv", "list.csv\0"])
def test_nul(text: str) -> None:
    """No file system has it in a name."""
    with pytest.raises(UserError, match="is not a path"):
        named(text)
    with pytest.raises(UserError, match="is not a path"):
        parse(f"dir:a{text}")
