"""Models of the hub, from a local server that speaks its protocol."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
for line in sys.stdin:
    spec = line.strip()
    try:
        before = describe(spec)["available"]
        encoder = load(spec, device="cpu")
        answer = {"rows": encoder.encode(%r).tolist(), "fingerprint": encoder.fingerprint,
                  "pooling": describe(spec)["pooling"], "before": before}
    except UserError as error:
        answer = {"message": error.message, "hint": error.hint}
    print(json.dumps(answer), flush=True)
"""


@contextmanager
def asking(environment: dict[str, str]) -> Iterator[Callable[[str], dict]]:
    """Have specs loaded and encoded with by a process whose hub is the given one."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", PROGRAM % SENTENCES]
    env = {**os.environ, **environment}
    with subprocess.Popen(command, env=env, text=True, stdin=pipe, stdout=pipe) as process:

        def ask(spec: str) -> dict:
            print(spec, file=process.stdin, flush=True)
            return json.loads(process.stdout.readline())

        yield ask


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
    with FakeHub(root) as hub, asking(hub.environment(cache)) as ask:
        first, second = ask(name), ask(f"{name}?revision=v2")
        for spec, words in told.items():
            assert words in ask(spec)["message"]
        requests = [r for r in hub.requests if r.startswith("GET") and "resolve" in r]
        hub.close()
        # What was downloaded works, what was not gets a sentence.
        again, missing = ask(name), ask("hf:princeton/other")
    local = load(f"dir:{root / 'models' / 'princeton' / 'unsup-simcse-tiny'}", device="cpu")
    np.testing.assert_allclose(first["rows"], local.encode(SENTENCES), atol=1e-6)
    assert first["fingerprint"] == local.fingerprint != second["fingerprint"]
    assert (first["pooling"], first["before"]) == ("cls_token", False)
    assert not any("msgpack" in r for r in requests)
    assert sum(r.endswith("model.safetensors") for r in requests) == 2

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
