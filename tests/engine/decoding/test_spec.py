"""What the training of a decoder is asked: refused where it cannot be, kept as JSON, preset."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.errors import refused
from theodolite.engine.decoding.presets import PRESETS, preset
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import Code

SPEC = DecoderSpec("random:32", ("sentences.txt",), "out", noise=0.1, epochs=4)


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"words": 1}, "invalid", "words"),
        ({"epochs": 0}, "invalid", "epochs"),
        ({"epochs": float("nan")}, "invalid", "epochs"),
        ({"width": 30}, "invalid", "multiple of 4"),
        ({"learning_rate": 1.0}, "invalid", "learning rate"),
        ({"vocabulary": 100}, "invalid", "vocabulary"),
        ({"train": ()}, "missing", "sentences"),
        ({"architecture": "gru"}, "invalid", "prefix, lstm, lstm-mos, causal"),
        ({"held_out": 0}, "invalid", "held out"),
        ({"precision": "fp8"}, "invalid", "auto, fp32, bf16, fp16"),
        ({"architecture": "causal", "base": "dir:a", "start": "b"}, "conflict", "start"),
        ({"architecture": "causal"}, "conflict", "a base"),
        ({"base": "hf:gpt2"}, "conflict", "no base"),
        ({"architecture": "causal", "base": "hf:gpt2", "width": 8}, "conflict", "width"),
    ],
)
def test_a_setting_that_cannot_be_is_told(changes: dict, code: Code, named: str) -> None:
    with refused(code, named):
        replace(SPEC, **changes)


def test_a_spec_goes_through_json_and_its_hash_leaves_out_the_folder() -> None:
    assert DecoderSpec.from_dict(json.loads(json.dumps(SPEC.to_dict()))) == SPEC
    assert replace(SPEC, out="elsewhere").hash == SPEC.hash
    others = [replace(SPEC, seed=7), replace(SPEC, start="other"), replace(SPEC, precision="bf16")]
    assert len({SPEC.hash, *(other.hash for other in others)}) == 4
    for entries, code, named in (
        (SPEC.to_dict() | {"tea": 1}, "unknown", "tea"),
        (SPEC.to_dict() | {"version": 2}, "unsupported", 2),
        ({"train": ["a.txt"], "out": "b"}, "missing", "encoder"),
    ):
        with refused(code, named):  # type: ignore[arg-type]
            DecoderSpec.from_dict(entries)


def test_presets_are_settings() -> None:
    """Of the paper and of its code: protocols of Vec2Sent."""
    specs = {p.name: DecoderSpec("minilm", ("a.txt",), "out", **p.changes) for p in PRESETS}
    assert len(specs) == len(PRESETS)
    for name, words, test in (("paper", 15, 10_000), ("code", 14, 1_000)):
        spec = specs[name]
        assert (spec.words, spec.limit, preset(name).test) == (words, 1_400_000, test)
        assert (spec.architecture, spec.clauses) == ("lstm-mos", False)
    assert specs["ours"] == DecoderSpec("minilm", ("a.txt",), "out")
    with refused("unknown", "poem", "quick"):
        preset("poem")
