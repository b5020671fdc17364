"""What encoders were trained on: whose names are the same, and what MTEB says."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.app.pages.board import trained
from theodolite.app.workspace import Workspace
from theodolite.engine.protocols.package import version


@pytest.mark.parametrize(
    ("name", "dataset", "same"),
    [
        ("embedding-data/SNLI", "SNLI", True),
        ("snli", "nli", True),
        ("Banking77Classification", "banking77", True),
        ("mteb/banking77", "mteb:Banking77Classification", True),
        ("embedding-data/flickr30k-captions", "flickr30k", True),
        ("paws-x", "pawsx/de", True),
        ("multi_nli", "nli/mnli_sample", True),
        ("multi_nli", "nli/cad_snli", False),
        ("NQ", "npl", False),
        ("STS12", "STS13", False),
    ],
)
def test_names_of_the_same_data(name: str, dataset: str, same: bool) -> None:
    """Whoever owns them, whatever the case and type; a family by its own name."""
    assert trained.is_same(name, dataset) is same


def test_what_is_here() -> None:
    """Of training sets those with a data set of their texts."""
    assert trained.here(["s2orc", "snli", "gooaq"], ["SNLI", "nli", "STS12"]) == {
        "snli": ["SNLI", "nli"]
    }


@pytest.mark.skipif(version() is None, reason="the extra mteb is not installed")
def test_mteb_is_asked_once(workspace: Workspace) -> None:
    """What it knows is kept by its version; of what has no name there nothing is asked."""
    assert trained.known(workspace, {}, ["minilm", "random:8"]) == {
        "minilm": None,
        "random:8": None,
    }
    assert trained.look_up(workspace, ["minilm", "random:8", "not a spec?"])
    assert not trained.look_up(workspace, ["minilm"])
    facts = {"minilm": {"trained_on": ["snli", "MSMARCO"]}}
    names = trained.known(workspace, facts, ["minilm"])["minilm"]
    assert names is not None
    sources = [names[name] for name in ("snli", "NQ", "MSMARCO")]
    assert sources == [trained.FILES, trained.MTEB, trained.FILES]


@pytest.mark.skipif(version() is None, reason="the extra mteb is not installed")
def test_what_failed_is_not_begun_again(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that ends badly ends so at every opening of a page: once is enough."""
    begun = tmp_path / "begun"
    broken = f"open({str(begun)!r}, 'a').write('x')\nraise SystemExit(1)\n"
    (tmp_path / "mteb.py").write_text(broken)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for _ in range(2):
        assert not trained.look_up(workspace, ["hf:owner/broken"])
    assert begun.read_text() == "x"
