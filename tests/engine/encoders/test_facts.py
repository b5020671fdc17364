"""What is known of an encoder from its files: what it was trained on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.engine.encoders.models import save_sentence_transformer
from theodolite.engine.encoders import describe


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"base": "new:layers=2", "train": "nli"}, ["nli"]),
        ({"base": "dir:/nowhere", "train": "/home/me/own.txt"}, ["own.txt"]),
        ({"base": "not a spec?", "train": "nli/mnli_sample"}, ["nli/mnli_sample"]),
        ({"train": 3}, []),
    ],
)
def test_what_was_trained_here_names_its_data(
    tmp_path: Path, spec: dict[str, Any], named: list[str]
) -> None:
    """By the record that lies beside it; a file by its name alone."""
    folder = save_sentence_transformer(tmp_path / "trained")
    (folder / "theodolite.json").write_text(json.dumps({"version": 2, "spec": spec}))
    assert describe(f"dir:{folder}")["trained_on"] == named


def test_what_was_tuned_knows_what_its_base_does(tmp_path: Path) -> None:
    """What the card of the base names comes first."""
    folder = save_sentence_transformer(tmp_path / "trained")
    spec = {"base": "minilm", "train": "nli"}
    (folder / "theodolite.json").write_text(json.dumps({"version": 2, "spec": spec}))
    named = describe(f"dir:{folder}")["trained_on"]
    assert named[-1] == "nli" and "snli" in named and len(named) > 10
