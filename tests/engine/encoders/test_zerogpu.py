"""A GPU that is allocated for a call: what goes there, what stays."""

import pickle
from pathlib import Path
from weakref import WeakValueDictionary

import numpy as np
import pytest

from tests.engine.encoders.models import SENTENCES, save
from theodolite.engine import encoders
from theodolite.engine.encoders import loading, zerogpu


class Elsewhere:
    """What the package `spaces` makes of a function: only what is plain goes there and back."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, list[str]]] = []

    def __call__(self, number: int, sentences: list[str]) -> list[np.ndarray]:
        """Call it as if in another process."""
        self.asked.append(pickle.loads(pickle.dumps((number, sentences))))  # noqa: S301
        return pickle.loads(pickle.dumps(zerogpu.encode(*self.asked[-1])))  # noqa: S301


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    """A decorated function, for this test alone."""
    monkeypatch.setattr(loading, "_live", WeakValueDictionary())
    monkeypatch.setattr(zerogpu, "_decorated", [])
    monkeypatch.setattr(zerogpu, "_sources", [])
    return Elsewhere()


def test_a_model_runs_in_the_decorated_function(tmp_path: Path, elsewhere: Elsewhere) -> None:
    """To the same vectors; its weights are read before it is asked, once for all of its names."""
    folder = save(tmp_path / "model")
    here = encoders.load(f"dir:{folder}?pooling=avg").encode(SENTENCES)
    zerogpu.use(elsewhere)
    names = [f"dir:{folder}?pooling=avg", f"dir:{folder}?pooling=avg | normalise"]
    first, second = map(encoders.load, names)
    (held,) = zerogpu._sources
    assert held.source._weights.model is not None
    assert elsewhere.asked == []
    assert np.array_equal(first.encode(SENTENCES), here)
    assert elsewhere.asked == [(0, SENTENCES)]
    assert second.fingerprint != first.fingerprint
    first.encode(SENTENCES)  # known by now
    assert len(elsewhere.asked) == 1


def test_what_uses_no_gpu_stays(elsewhere: Elsewhere) -> None:
    """Tables of word vectors are quicker looked up than sent."""
    zerogpu.use(elsewhere)
    encoders.load("random:16").encode(["rain"])
    assert elsewhere.asked == []
    assert zerogpu._sources == []
