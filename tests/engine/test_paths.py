"""Paths as a person writes them."""

from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.engine.encoders.spec import parse
from theodolite.engine.paths import named


def test_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Offices leave files such as `~$list.csv` beside those that are open."""
    monkeypatch.setenv("HOME", str(tmp_path))
    assert named("~/list.csv") == tmp_path / "list.csv"
    assert named("~$list.csv") == Path("~$list.csv")


@pytest.mark.parametrize("text", ["\0", "~\0/.//list.csv", "list.csv\0"])
@pytest.mark.parametrize("read", [named, lambda text: parse(f"dir:a{text}")])
def test_nul(text: str, read) -> None:
    """No file system has it in a name."""
    with refused("invalid", "NUL"):
        read(text)
