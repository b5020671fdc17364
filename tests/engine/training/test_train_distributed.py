"""A whole run in two processes, as `torchrun` starts them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

from engine.train import train
from tests.fakes.runs import TinyCatalog, tiny_spec

CHILD = """
import json, sys
from engine.train import train
from engine.training.spec import TrainSpec
from tests.fakes.runs import TinyCatalog
for event in train(TrainSpec.from_dict(json.loads(sys.argv[1])), TinyCatalog()):
    print(json.dumps(event.to_dict()), flush=True)
"""


def test_two_processes_train_as_one_and_only_the_first_speaks(tmp_path):
    """Two processes train as one, and only the first speaks."""
    spec = tiny_spec(tmp_path, dropout=0.0)
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    root = Path(__file__).parents[3]
    made = subprocess.run(
        [sys.executable, *launch, str(script), json.dumps(spec.to_dict())],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)},
    )
    assert made.returncode == 0, made.stderr
    said = [json.loads(line) for line in made.stdout.splitlines()]
    assert [e["kind"] for e in said].count("started") == 1
    assert [e["step"] for e in said if e["kind"] == "looked"] == [4, 8, 12]
    assert said[-1]["kind"] == "finished"

    alone = tiny_spec(tmp_path, dropout=0.0, out=str(tmp_path / "alone"))
    last = list(train(alone, TinyCatalog()))[-1]
    assert said[-1]["best_step"] == last.best_step
    left = load_file(tmp_path / "encoder" / "model.safetensors")
    right = load_file(tmp_path / "alone" / "model.safetensors")
    for name in left:  # a wrong gradient moves a weight by the learning rate, 1e-3, every time
        torch.testing.assert_close(left[name], right[name], atol=1e-4, rtol=0)
