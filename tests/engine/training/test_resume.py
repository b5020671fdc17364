"""A run that was killed goes on, and ends as if nothing had happened."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.errors import refused
from tests.fakes.kills import killed_at
from tests.fakes.runs import TinyCatalog, tiny_run, tiny_spec
from theodolite.engine.threads import one_torch_thread
from theodolite.engine.train import train
from theodolite.engine.training.checkpoint import lock

# Before the eleventh update it waits to be killed, which may happen anywhere from the eighth on.
CHILD = """
import itertools, json, sys, time
from theodolite.engine.train import train
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import TinyCatalog
spec = TrainSpec.from_dict(json.loads(sys.argv[1]))
asked = itertools.count(1)
for event in train(spec, TinyCatalog(), stop=lambda: next(asked) > 10 and time.sleep(600)):
    print(json.dumps(event.to_dict()), flush=True)
"""
# All that draws at random: dropout, augmentation, hidden tokens; in two passes (GradCache).
EVERYTHING = {"augmentation": "delete", "mlm_weight": 0.1, "micro_batch": 4, "steps": 24}


@pytest.fixture(autouse=True)
def one_thread():
    """Sums in the same order here and in another process."""
    with one_torch_thread():
        yield


def assert_same_weights(folder):
    """The encoder and the unbroken one are equal, bit by bit."""
    tensors = [load_file(folder / out / "model.safetensors") for out in ("encoder", "unbroken")]
    torch.testing.assert_close(*tensors, rtol=0, atol=0)


def test_a_killed_run_ends_with_the_weights_of_an_unbroken_one(tmp_path):
    spec = tiny_spec(tmp_path, **EVERYTHING)
    killed_at(8, CHILD, spec.to_dict())
    assert not (tmp_path / "encoder").exists()

    resumed = list(train(spec, TinyCatalog()))
    assert resumed[0].step in (4, 8)
    assert not (tmp_path / "encoder.training").exists()
    whole = list(train(replace(spec, out=str(tmp_path / "unbroken")), TinyCatalog()))
    assert_same_weights(tmp_path)
    first, second = ([e for e in events if e.kind == "looked"] for events in (whole, resumed))
    assert second == [e for e in first if e.step > resumed[0].step]
    assert resumed[-1].best_step == whole[-1].best_step
    record = json.loads((tmp_path / "encoder" / "theodolite.json").read_text())
    assert [e["step"] for e in record["curve"] if e["kind"] == "looked"] == [4, 8, 12, 16, 20, 24]


@pytest.mark.parametrize(
    ("objective", "changes"),
    [
        ("mlm", {"dev": None}),
        ("sup", {"dual": True, "head": "mlp", "warmup": 0.3, "weight_decay": 0.01}),
        ("unsup", {"fixed_mask": True, "patience": 3}),
        ("st", {"loss": "CoSENTLoss", "train": "graded", "batch_size": 4}),
    ],
)
def test_it_goes_on_in_the_middle_of_an_epoch(tmp_path, objective, changes):
    first = tiny_run(tiny_spec(tmp_path, objective, **changes))
    for event in first.events():
        if event.kind == "stepped" and event.step == 1:
            first.save()
            break  # and never came back
    resumed = list(train(first.spec, TinyCatalog()))
    assert resumed[0].step == 1
    whole = list(train(replace(first.spec, out=str(tmp_path / "unbroken")), TinyCatalog()))
    assert_same_weights(tmp_path)
    assert resumed[-1].best_score == whole[-1].best_score


def test_a_smaller_micro_batch_and_the_time_before_the_kill_are_remembered(tmp_path):
    first = tiny_run(tiny_spec(tmp_path))
    first.reduce_micro_batch(8)
    first.meter._before = 1000.0
    first.save()
    assert tiny_run(first.spec).state.micro_batch == 4
    assert list(train(first.spec, TinyCatalog()))[-1].seconds > 1000.0


def test_other_settings_and_other_data_do_not_go_on_with_it(tmp_path):
    spec = tiny_spec(tmp_path)
    tiny_run(spec).save()
    with refused("mismatch", spec.working_folder, "seed was 42 and is 7"):
        list(train(tiny_spec(tmp_path, seed=7), TinyCatalog()))
    (tmp_path / "sentences.txt").write_text("other sentences\nthan before")
    with refused("mismatch", spec.working_folder, "data have changed"):
        list(train(spec, TinyCatalog()))


HOLDER = """
import sys
from pathlib import Path
from theodolite.engine.training.checkpoint import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_trains_in_a_folder_until_it_is_gone(tmp_path: Path) -> None:
    """Killed without a chance to tidy up, it holds nothing any more; its file is no hindrance."""
    spec = tiny_spec(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(spec.working_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    with refused("conflict", spec.working_folder):
        next(train(spec, TinyCatalog()))
    holder.kill()
    holder.communicate(timeout=30)
    first = train(spec, TinyCatalog())
    next(first)
    with refused("conflict", spec.working_folder):
        next(train(spec, TinyCatalog()))
    assert [event.kind for event in first][-1] == "finished"


def test_what_is_in_a_folder_stays_and_an_empty_one_goes(tmp_path: Path) -> None:
    """No litter beside a training that was stopped before it had anything to keep."""
    with lock(tmp_path / "empty"), lock(tmp_path / "kept"):
        (tmp_path / "kept" / "file").write_text("to keep")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    with refused("no-file", tmp_path / "kept/file"), lock(tmp_path / "kept/file"):
        pass
