"""The files of Gradio's page, as its own script lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.app import ui
from theodolite.app.web import assets
from theodolite.app.workspace import Workspace


def test_every_component_of_the_app_is_listed(tmp_path: Path) -> None:
    """Each with its script, and all files are there; another version may write its list anew."""
    demo = ui.build(Workspace(tmp_path))
    kinds = {block.get_block_name() for block in demo.blocks.values()}
    assert kinds >= {"dropdown", "html", "textbox"}
    for kind in kinds:
        assert any(name.endswith(".js") for name in assets.of_components([kind])), kind
    files = assets.of_components(kinds)
    assert len(files) == len(set(files))
    assert all((assets.FOLDER / name).is_file() for name in files)


def test_a_list_that_cannot_be_read_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, or one that says something else."""
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    assert assets.of_components(["html"]) == []
    (tmp_path / "core-1.js").write_text("html:{component:()=>v(()=>import(`./x.js`)}")
    assert assets.of_components(["html"]) == []
