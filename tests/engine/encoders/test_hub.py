"""Models of the hub, from a local server that speaks its protocol."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.engine.encoders.models import SENTENCES, save
from tests.fakes.hub import FakeHub
from theodolite.engine.encoders import load
from theodolite.engine.encoders.hub import needed

PROGRAM = """
import json, sys
from theodolite.engine.encoders import describe, load
from theodolite.engine.errors import UserError
for spec in json.loads(sys.stdin.read()):
    try:
        before = describe(spec)["available"]
        encoder = load(spec, device="cpu")
        rows = encoder.encode(%r)
        print(json.dumps({"rows": rows.tolist(), "fingerprint": encoder.fingerprint,
                          "pooling": describe(spec)["pooling"], "before": before}))
    except UserError as error:
        print(json.dumps({"message": error.message, "hint": error.hint}))
"""


def run(environment: dict[str, str], *specs: str) -> list[dict]:
    """Load and encode in a process whose hub is the given one."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % SENTENCES],
        input=json.dumps(specs),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """A hub with one model in two revisions."""
    root = tmp_path_factory.mktemp("hub")
    save(root / "models" / "princeton" / "unsup-simcse-tiny")
    save(root / "models" / "princeton" / "unsup-simcse-tiny@v2", initializer_range=0.5)
    (root / "models" / "princeton" / "unsup-simcse-tiny" / "flax_model.msgpack").write_bytes(b"x")
    return root


def test_models_revisions_and_no_network(root, tmp_path):
    """Downloaded once, pinned by revision, used offline; nothing but what is needed is fetched."""
    name = "hf:princeton/unsup-simcse-tiny"
    cache = tmp_path / "cache"
    told = {
        "hf:princeton/nothing": "no model 'princeton/nothing'",
        f"{name}?revision=v9": "no revision 'v9'",
        "hf:a/b/c": "not an id",
    }
    with FakeHub(root) as hub:
        first, second, *refusals = run(hub.environment(cache), name, f"{name}?revision=v2", *told)
        requests = [r for r in hub.requests if r.startswith("GET") and "resolve" in r]
    for refusal, words in zip(refusals, told.values(), strict=True):
        assert words in refusal["message"]
    local = load(f"dir:{root / 'models' / 'princeton' / 'unsup-simcse-tiny'}", device="cpu")
    np.testing.assert_allclose(first["rows"], local.encode(SENTENCES), atol=1e-6)
    assert first["fingerprint"] == local.fingerprint != second["fingerprint"]
    assert (first["pooling"], first["before"]) == ("cls_token", False)
    assert not any("msgpack" in r for r in requests)
    assert sum(r.endswith("model.safetensors") for r in requests) == 2

    # The server is gone: what was downloaded works, what was not gets a sentence.
    again, missing = run(hub.environment(cache), name, "hf:princeton/other")
    assert again["fingerprint"] == first["fingerprint"] and again["before"]
    assert "cannot be reached" in missing["message"] and "dir:FOLDER" in missing["hint"]


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
