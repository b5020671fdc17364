"""Models of the hub, from a local server that speaks its protocol."""

import numpy as np
import pytest

from tests.engine.encoders.models import SENTENCES, save
from tests.errors import refused
from tests.fakes.hub import FakeHub
from theodolite.engine.encoders import describe, load
from theodolite.engine.encoders.hub import needed
from theodolite.engine.errors import UserError


def test_models_revisions_and_no_network(served: FakeHub) -> None:
    """Downloaded once, pinned by revision, used offline; nothing but what is needed is fetched."""
    folder = save(served.root / "models/princeton/unsup-simcse-tiny")
    save(folder.with_name(f"{folder.name}@v2"), initializer_range=0.5)
    (folder / "flax_model.msgpack").write_bytes(b"x")
    name = "hf:princeton/unsup-simcse-tiny"
    assert not describe(name)["available"]
    first, second = (load(spec, device="cpu") for spec in (name, f"{name}?revision=v2"))
    rows = first.encode(SENTENCES)
    for spec, words in (
        ("hf:princeton/nothing", "no model 'princeton/nothing'"),
        (f"{name}?revision=v9", "no revision 'v9'"),
        ("hf:a/b/c", "not an id"),
    ):
        with pytest.raises(UserError, match=words):
            load(spec)
    requests = [r for r in served.requests if r.startswith("GET") and "resolve" in r]
    assert not any("msgpack" in r for r in requests)
    assert sum(r.endswith("model.safetensors") for r in requests) == 2
    local = load(f"dir:{folder}", device="cpu")
    np.testing.assert_allclose(rows, local.encode(SENTENCES), atol=1e-6)
    assert first.fingerprint == local.fingerprint != second.fingerprint
    served.close()
    # What was downloaded works, what was not gets a sentence.
    facts = describe(name)
    assert facts["available"] and facts["pooling"] == "cls_token"
    assert load(name, device="cpu").fingerprint == first.fingerprint
    with refused("unreachable", "cannot be reached", "dir:FOLDER"):
        load("hf:princeton/other")


def test_only_one_form_of_the_weights_is_needed():
    """Safetensors where there are any; never other frameworks' copies or training leftovers."""
    files = [
        "README.md",
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "pytorch_model.bin",
        "tf_model.h5",
        "onnx/model.onnx",
        "onnx/config.json",
        "1_Pooling/config.json",
        "2_Dense/pytorch_model.bin",
        "2_Dense/config.json",
        "optimizer.pt",
        "vocab.txt",
        "checkpoint-5/model.safetensors",
        "openvino/openvino_model.bin",
    ]
    assert set(needed(files)) == {
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "1_Pooling/config.json",
        "2_Dense/pytorch_model.bin",
        "2_Dense/config.json",
        "vocab.txt",
    }
    assert "pytorch_model.bin" in needed(["config.json", "pytorch_model.bin"])
