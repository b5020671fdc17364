"""`import theodolite`: every name is there, and importing costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import pytest

import theodolite
from tests.test_arrows import HEAVY, ROOT, modules_after


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
    assert not modules_after("import theodolite") & (HEAVY | {"gradio", "numpy", "app", "engine"})
    assert "gradio" not in modules_after("import theodolite as th; th.load, th.compare, th.search")
    assert not modules_after("import theodolite as th; th.compare, th.search") & HEAVY


@pytest.mark.parametrize("hiding", ["app/__init__.py", "engine/__init__.py", "store.py"])
def test_what_hides_a_package_of_ours_is_named(hiding: str, tmp_path: Path) -> None:
    """Python looks first where it was started; else some name of ours would be missing."""
    file = tmp_path / hiding
    file.parent.mkdir(exist_ok=True)
    file.touch()
    done = subprocess.run(
        [sys.executable, "-c", "import theodolite"], cwd=tmp_path, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    place = tmp_path / hiding.removesuffix("/__init__.py")
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {place.resolve()} hides Theodolite's own package "
        f"{Path(hiding).parts[0].removesuffix('.py')!r}. Rename it, or start Python in another "
        "folder."
    )


def test_a_folder_without_python_hides_nothing(tmp_path: Path) -> None:
    """Data in a folder `store` is no package."""
    (tmp_path / "store").mkdir()
    subprocess.run(
        [sys.executable, "-c", "import theodolite"], cwd=tmp_path, check=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
