"""Where a GPU is lent: models are there before visitors come, and a refusal is told."""

from __future__ import annotations

from pathlib import Path
from weakref import WeakValueDictionary

import gradio as gr
import numpy as np
import pytest

from tests.engine.encoders.models import save
from tests.errors import refused
from theodolite.app.publish import started
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import loading, zerogpu


def test_a_refusal_is_told_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub's own reason, without its markup; an encoder that is not here is passed over."""
    monkeypatch.setattr(loading, "_live", WeakValueDictionary())
    monkeypatch.setattr(zerogpu, "_decorated", [])
    monkeypatch.setattr(zerogpu, "_sources", [])
    name = f"dir:{save(tmp_path / 'model')}?pooling=avg"
    made = Workspace(tmp_path / "store")
    for listed in (name, "random:16", f"dir:{tmp_path / 'gone'}"):
        made.store.encoders.add(listed)
    made.close()
    gone = False

    def decorated(number: int, sentences: list[str]) -> list[np.ndarray]:
        if gone:
            raise gr.Error("Quota exceeded <a href='x'>Join</a>")
        return zerogpu.encode(number, sentences)

    started.lend(decorated, tmp_path / "store")
    assert [one.name for one in zerogpu._sources] == [name]
    looking = Workspace(tmp_path / "store", demo=True)
    assert looking.load(name).encode(["a cat"]).shape == (1, 32)
    gone = True
    with refused("unreachable", "Quota exceeded Join"):
        looking.load(name).encode(["a dog"])
    looking.close()
