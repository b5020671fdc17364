"""What the training of a decoder is asked: refused where it cannot be, kept as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError

SPEC = DecoderSpec("random:32", ("sentences.txt",), "out", noise=0.1, epochs=4)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"words": 1}, "words"),
        ({"epochs": 0}, "epochs"),
        ({"epochs": float("nan")}, "epochs"),
        ({"width": 30}, "multiple of 4"),
        ({"learning_rate": 1.0}, "learning rate"),
        ({"vocabulary": 100}, "vocabulary"),
        ({"train": ()}, "sentences to learn from"),
        ({"architecture": "gru"}, "prefix, lstm, lstm-mos, causal"),
        ({"held_out": 0}, "held out"),
        ({"precision": "fp8"}, "auto, fp32, bf16, fp16"),
        ({"architecture": "causal", "base": "dir:a", "start": "b"}, "learns on from its base"),
    ],
)
def test_a_setting_that_cannot_be_is_told(changes: dict[str, object], said: str) -> None:
    """With its name and what fits."""
    with pytest.raises(UserError, match=said):
        replace(SPEC, **changes)  # type: ignore[arg-type]


def test_a_spec_goes_through_json_and_its_hash_leaves_out_the_folder() -> None:
    """What is kept of a training is enough to ask for it again."""
    assert DecoderSpec.from_dict(json.loads(json.dumps(SPEC.to_dict()))) == SPEC
    assert replace(SPEC, out="elsewhere").hash == SPEC.hash != replace(SPEC, seed=7).hash
    required = {name: SPEC.to_dict()[name] for name in ("encoder", "train", "out")}
    assert DecoderSpec.from_dict(required) == replace(SPEC, noise=0.0, epochs=5)
    changed = (replace(SPEC, start="b"), replace(SPEC, precision="bf16"))
    assert len({SPEC.hash, *(spec.hash for spec in changed)}) == 3
    for given in ({"tea": 1}, {"version": 2}):
        with pytest.raises(UserError):
            DecoderSpec.from_dict(SPEC.to_dict() | given)
    with pytest.raises(UserError, match="needs the field 'encoder'"):
        DecoderSpec.from_dict({"train": ["a.txt"], "out": "b"})
