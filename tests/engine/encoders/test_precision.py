"""float32 on every device unless a spec says otherwise, and the same fingerprint everywhere."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.engine.encoders.models import SENTENCES, save
from theodolite.engine.encoders import load
from theodolite.engine.encoders.float32 import exact_float32

MINILM = "442be9242b6d975e1f20b7fd378dc6ee"
"""Fingerprint of `minilm` since the decoder that ships was trained."""
Switches: Any = torch.backends


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT."""
    return save(tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize("device", ["cpu", "cuda", "mps"])
def test_a_device_does_not_change_the_fingerprint(bert: Path, device: str) -> None:
    """Weights are read at the first `encode`, so this needs no such device."""
    assert load("minilm", device=device).fingerprint == MINILM
    assert load("minilm?dtype=float32", device=device).fingerprint == MINILM
    assert load("minilm?dtype=float16", device=device).fingerprint != MINILM
    spec = f"dir:{bert}?pooling=avg"
    assert load(spec, device=device).fingerprint == load(spec, device="cpu").fingerprint


def test_the_decoders_that_ship_fit_on_every_device() -> None:
    """On a GPU too, where it was called one for another version."""
    from theodolite.engine.decoding.shipped import shipped

    for spec, folder in shipped().items():
        facts = json.loads((folder / "decoder.json").read_text("utf-8"))
        assert load(spec, device="cuda").fingerprint == facts["fingerprint"]


def test_a_process_that_allows_tf32_gets_float32_all_the_same(bert: Path) -> None:
    """While the model runs; what the process had chosen comes back."""
    seen = []
    encoder: Any = load(f"dir:{bert}?pooling=avg", device="cpu")
    expected = encoder.encode(SENTENCES)
    fresh: Any = load(f"dir:{bert}?pooling=avg", device="cpu")
    fresh.source.transformer.model.register_forward_hook(lambda *_: seen.append(_precisions()))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        np.testing.assert_array_equal(fresh.encode(SENTENCES), expected)
        assert set(seen) == {("ieee", "ieee", "ieee")}
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def test_the_last_thread_out_restores_what_was_allowed() -> None:
    """The first one to leave would otherwise take exactness from the others."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    inside, leave = threading.Event(), threading.Event()

    def first() -> None:
        with exact_float32():
            inside.set()
            leave.wait(10)

    try:
        thread = threading.Thread(target=first)
        thread.start()
        assert inside.wait(10)
        with exact_float32():
            leave.set()
            thread.join()
            assert set(_precisions()) == {"ieee"}
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


def _precisions() -> tuple[str, ...]:
    parts = (Switches.cuda.matmul, Switches.cudnn.conv, Switches.mkldnn.matmul)
    return tuple(part.fp32_precision for part in parts)
