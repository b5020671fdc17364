"""A training that is killed goes on from its checkpoint, and ends with the same weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from tests.app.jobs.conftest import Bench
from tests.app.jobs.test_kills import kill_app, start_app, tree
from tests.engine.encoders.models import save_sentence_transformer
from tests.fakes.decoders import small_spec
from tests.fakes.small_training import small, write_sentences
from tests.waiting import wait_until
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training import TrainSpec


def checkpoint(spec: TrainSpec | DecoderSpec) -> int:
    """The update of the newest checkpoint; 0 for none."""
    found = Path(f"{spec.out}.training").glob("step-*[0-9]")
    return max((int(path.name.removeprefix("step-")) for path in found), default=0)


def begun_at(bench: Bench, run_id: str) -> list[int]:
    """The updates at which a training was begun or went on."""
    return [e["data"]["step"] for e in bench.store.events.of(run_id) if e["kind"] == "started"]


def killed_twice(bench: Bench, kind: str, spec: TrainSpec | DecoderSpec) -> str:
    """A training whose child is killed, then the app with all it started; its id once it is done.

    It went on from its checkpoint both times.
    """
    app = start_app(bench)
    run_id = bench.store.runs.create(kind, spec.to_dict(), "broken")
    wait_until(lambda: checkpoint(spec) > 0)
    tree(app)[2].kill()
    first = checkpoint(spec)
    wait_until(lambda: checkpoint(spec) > first)
    kill_app(app, tree(app))
    before = checkpoint(spec)
    start_app(bench)
    run = bench.over(run_id)
    assert (run["state"], run["error"]) == ("done", None)
    starts = begun_at(bench, run_id)
    assert starts[0] == 0
    assert starts[1] >= first > 0
    assert starts[2] >= before > first
    assert bench.store.runs.units(run_id)[0]["crashes"] <= 1  # it got further after the first
    return run_id


@pytest.mark.long  # `test_checkpoint` has the weights of a killed training, in one process
@pytest.mark.parametrize("changes", [{}, {"objective": "st", "train": "starter", "lora": 4}])
def test_a_killed_training_goes_on(bench: Bench, tmp_path: Path, changes: dict[str, Any]) -> None:
    """Its child is killed, then the app with all it started; the weights are as if unbroken."""
    file = write_sentences(tmp_path / "sentences.txt")
    base = f"dir:{save_sentence_transformer(tmp_path / 'base', 'mean')}"
    of_base = {"base": base} if "lora" in changes else {}
    spec = small(file, tmp_path / "broken", steps=400, dev_every=20, **changes, **of_base)
    run_id = killed_twice(bench, "train", spec)
    assert bench.store.encoders.names() == [f"dir:{spec.out}"]
    unbroken = replace(spec, out=str(tmp_path / "unbroken"))
    other_id = bench.store.runs.create("train", unbroken.to_dict(), "unbroken")
    assert bench.over(other_id)["state"] == "done"
    ends = [bench.store.events.last(number, "finished") for number in (run_id, other_id)]
    assert [end["best_step"] for end in ends] == [ends[0]["best_step"]] * 2
    assert [end["best_score"] for end in ends] == [ends[0]["best_score"]] * 2
    weights = [load_file(Path(s.out) / "model.safetensors") for s in (spec, unbroken)]
    np.testing.assert_equal(*weights)


@pytest.mark.long
def test_a_killed_training_of_a_decoder_goes_on(bench: Bench, tmp_path: Path) -> None:
    """It ends as a decoder in the list."""
    spec = small_spec(tmp_path / "broken", epochs=40.0)
    killed_twice(bench, "train-decoder", spec)
    (row,) = bench.store.decoders.list()
    assert (row["encoder"], row["folder"]) == (spec.encoder, Path(spec.out))
    assert open_decoder(row["folder"]).facts["hash"] == spec.hash
    assert checkpoint(spec) == 0
