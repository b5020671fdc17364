"""Training of a decoder: it learns, goes on after a kill, and keeps what was good."""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.fakes.decoder_training import finished, running_sentences
from tests.fakes.kills import killed_at
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding import trainer as training
from theodolite.engine.decoding.dataset import sentences_of, with_vectors
from theodolite.engine.decoding.spec import Architecture, DecoderSpec
from theodolite.engine.decoding.train import DecoderTrainer, train_decoder
from theodolite.engine.encoders import load
from theodolite.engine.errors import UserError
from theodolite.engine.training import Noted, checkpoint, loop
from theodolite.engine.training.events import (
    DecoderEvaluated,
    DecoderStarted,
    DecoderStepped,
    Encoded,
)
from theodolite.engine.training.precision import Precision


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Sums in the same order here and in another process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """The tensors of a decoder folder."""
    return load_file(folder / "model.safetensors")


def assert_same(left: Path, right: Path) -> None:
    """All tensors are the same, bit by bit."""
    one, other = weights(left), weights(right)
    assert one.keys() == other.keys()
    for name in one:
        assert torch.equal(one[name], other[name]), name


def test_it_learns_and_says_so(spec: DecoderSpec) -> None:
    """Losses fall, what was kept apart is looked at, samples come along, the best is kept."""
    events = list(train_decoder(spec))
    kinds = [e.kind for e in events]
    assert kinds.index("noted") < kinds.index("encoded") < kinds.index("started")
    assert [e for e in events if isinstance(e, Encoded)][-1].done == 300
    started = next(e for e in events if isinstance(e, DecoderStarted))
    assert (started.step, started.sentences, started.device) == (0, 270, "cpu")
    looks = [e for e in events if isinstance(e, DecoderEvaluated)]
    assert looks[-1].step == started.steps
    assert looks[-1].loss < 0.7 * looks[0].loss
    assert len(looks[0].samples) == training.SAMPLES
    assert all(
        isinstance(e, DecoderStepped) and e.pieces_per_second > 0 and e.seconds_left >= 0
        for e in events
        if e.kind == "stepped"
    )
    last = finished(events)
    assert (last.why, last.step) == ("done", started.steps)
    assert last.best_loss == min(e.loss for e in looks)
    decoder = open_decoder(Path(last.out))
    assert decoder.facts["curve"] == [[e.step, e.loss] for e in looks]
    assert decoder.facts["sentences"] == 270
    assert not spec.working_folder.exists()
    json.dumps([e.to_dict() for e in events])


def test_its_own_vectors_are_those_it_is_told_of(spec: DecoderSpec) -> None:
    """The loss in the card, found again from the folder: the same points, the same pieces."""
    last = finished(list(train_decoder(spec)))
    decoder = open_decoder(Path(last.out))
    kept_apart = running_sentences(spec)[-30:]
    points = torch.from_numpy(decoder._checked(load("random:32").encode(kept_apart)))
    rows = [torch.from_numpy(i.astype(np.int64)) for i in decoder.vocabulary.ids(kept_apart)]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    with torch.no_grad():
        loss = float(decoder.model.loss(points, ids))
    assert loss == pytest.approx(last.best_loss, abs=0.01)  # float16 in the folder


# Before the eleventh update it waits to be killed.
CHILD = """
import itertools, json, sys, time
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
spec = DecoderSpec.from_dict(json.loads(sys.argv[1]))
asked = itertools.count(1)
for event in train_decoder(spec, stop=lambda: next(asked) > 10 and time.sleep(600)):
    print(json.dumps(event.to_dict()), flush=True)
"""


def test_a_killed_training_ends_with_the_weights_of_an_unbroken_one(
    spec: DecoderSpec, tmp_path: Path
) -> None:
    """Killed by SIGKILL, and begun again in this process."""
    killed_at(8, CHILD, spec.to_dict())
    assert not spec.out_folder.exists()
    resumed = list(train_decoder(spec))
    assert 0 < next(e for e in resumed if isinstance(e, DecoderStarted)).step <= 10
    whole = list(train_decoder(replace(spec, out=str(tmp_path / "unbroken"))))
    assert_same(tmp_path / "out", tmp_path / "unbroken")
    assert finished(resumed).best_loss == finished(whole).best_loss
    one, other = (
        json.loads((tmp_path / name / "decoder.json").read_text())["curve"]
        for name in ("out", "unbroken")
    )
    assert one == other


def test_it_goes_on_in_the_middle_of_a_pass(spec: DecoderSpec, tmp_path: Path) -> None:
    """From any update, with every architecture."""
    spec = replace(spec, architecture="lstm", width=16, epochs=2)
    events = train_decoder(spec, stop=countdown(6))
    for event in events:
        if isinstance(event, DecoderEvaluated) and event.step == 3:
            break  # and never came back
    events.close()  # type: ignore[attr-defined]
    assert checkpoint.peek(spec.working_folder) is not None
    list(train_decoder(spec))
    list(train_decoder(replace(spec, out=str(tmp_path / "unbroken"))))
    assert_same(tmp_path / "out", tmp_path / "unbroken")


def countdown(asked: int) -> Callable[[], bool]:
    """Stop when asked for the so manieth time."""
    count = itertools.count(1)
    return lambda: next(count) > asked


def test_asked_again_it_does_nothing(spec: DecoderSpec) -> None:
    """What is there already of the same settings and sentences is the answer."""
    first = finished(list(train_decoder(spec)))
    before = (Path(first.out) / "model.safetensors").stat().st_mtime_ns
    again = list(train_decoder(spec))
    assert [e.kind for e in again] == ["noted", "finished"]
    assert again[-1] == first
    assert (Path(first.out) / "model.safetensors").stat().st_mtime_ns == before


def test_nothing_is_overwritten(spec: DecoderSpec, tmp_path: Path) -> None:
    """Neither another decoder, nor any folder, nor the checkpoint of another training."""
    list(train_decoder(spec))
    with pytest.raises(UserError, match="already exists"):
        list(train_decoder(replace(spec, seed=1)))
    (tmp_path / "letters").mkdir()
    with pytest.raises(UserError, match="already exists"):
        list(train_decoder(replace(spec, out=str(tmp_path / "letters"))))
    half = replace(spec, out=str(tmp_path / "half"))
    for event in train_decoder(half):
        if isinstance(event, DecoderEvaluated) and event.step == 4:
            break
    with pytest.raises(UserError, match=r"broken off at step \d+.*warmup was 5 and is 6"):
        list(train_decoder(replace(half, warmup=6)))


def test_two_do_not_train_into_one_folder(spec: DecoderSpec) -> None:
    """The second is told, before it encodes anything; the first goes on."""
    first = train_decoder(spec)
    next(first)
    with pytest.raises(UserError, match="Another process is at work"):
        list(train_decoder(spec))
    finished(list(first))


def test_a_stop_keeps_the_best(spec: DecoderSpec) -> None:
    """After some updates, looks or not, there is a decoder."""
    events = list(train_decoder(spec, stop=countdown(13)))
    last = finished(events)
    assert last.why == "stopped"
    assert last.step == 12  # one question before the encoding
    assert last.best_loss == min(e.loss for e in events if isinstance(e, DecoderEvaluated))
    assert open_decoder(Path(last.out)).facts["why"] == "stopped"


def test_a_stop_before_the_first_update_leaves_nothing(spec: DecoderSpec) -> None:
    """There is nothing to keep, and it says so."""
    events = list(train_decoder(spec, stop=lambda: True))
    assert isinstance(events[-1], Noted)
    assert "no decoder" in events[-1].message
    assert not spec.out_folder.exists()


def test_a_loss_of_nan_keeps_the_last_good_weights(
    spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights spoilt at the ninth update: those of the best look before are written."""
    update = DecoderTrainer.update

    def spoilt(trainer: DecoderTrainer, rows: np.ndarray) -> list[Noted]:
        if trainer.step == 8:
            with torch.no_grad():
                next(trainer.model.parameters()).fill_(torch.nan)
        return update(trainer, rows)

    monkeypatch.setattr(DecoderTrainer, "update", spoilt)
    events = list(train_decoder(spec))
    last = finished(events)
    assert (last.why, last.best_step) == ("diverged", 8)
    assert any(isinstance(e, Noted) and "of step 8 are kept" in e.message for e in events)
    assert all(t.isfinite().all() for t in weights(Path(last.out)).values())
    assert "of step 8 are kept" in (Path(last.out) / "README.md").read_text("utf-8")


def test_a_nan_of_the_held_out_loss_is_neither_kept_nor_saved(
    spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights spoilt behind the ninth update, whose own loss was a number."""
    update, save, saved = DecoderTrainer.update, checkpoint.save, []

    def spoilt(trainer: DecoderTrainer, rows: np.ndarray) -> list[Noted]:
        notes = update(trainer, rows)
        if trainer.step == 9:
            with torch.no_grad():
                next(trainer.model.parameters()).fill_(torch.nan)
        return notes

    def noted(folder: Path, model: torch.nn.Module, *more: object) -> None:
        saved.append(all(bool(t.isfinite().all()) for t in model.state_dict().values()))
        save(folder, model, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(DecoderTrainer, "update", spoilt)
    monkeypatch.setattr(checkpoint, "save", noted)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    events = list(train_decoder(spec))
    last = finished(events)
    assert (last.why, last.step, last.best_step) == ("diverged", 9, 8)
    assert len(saved) == 8 and all(saved)
    assert all(np.isfinite(e.loss) for e in events if isinstance(e, DecoderEvaluated))
    assert any(isinstance(e, Noted) and "the held-out loss was nan" in e.message for e in events)
    assert all(np.isfinite(loss) for _, loss in open_decoder(Path(last.out)).facts["curve"])


@pytest.mark.parametrize("architecture", ["prefix", "lstm", "lstm-mos"])
def test_half_precision_learns_nearly_the_same(
    spec: DecoderSpec, tmp_path: Path, architecture: Architecture
) -> None:
    """As on a GPU; the weights stay float32."""
    spec = replace(spec, architecture=architecture, width=16, epochs=1, dropout=0.0, noise=0.0)
    losses: dict[str, float] = {}
    for name in ("fp32", "bf16"):
        trainer = opened(spec, Precision.on("cpu", name))
        for rows in trainer.batches(0):
            trainer.update(rows)
        losses[name], _ = trainer.score()
        assert {p.dtype for p in trainer.model.parameters()} == {torch.float32}
    assert losses["bf16"] != losses["fp32"]
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.02)


def test_an_update_that_does_not_fit_says_what_to_change(spec: DecoderSpec) -> None:
    """Rather than a traceback of the allocator's."""
    trainer = opened(spec, Precision.on("cpu"))

    def grow(module: torch.nn.Module, given: object) -> None:
        """A real failure of torch's allocator."""
        torch.empty(1 << 50)

    next(trainer.model.children()).register_forward_pre_hook(grow)
    with pytest.raises(UserError, match="tokens at once do not fit the memory of cpu"):
        trainer.update(next(trainer.batches(0)))


def opened(spec: DecoderSpec, precision: Precision) -> DecoderTrainer:
    """What `train_decoder` opens, with another precision."""
    sentences = sentences_of(spec, Catalog(), spec.working_folder)
    vocabulary = folders.vocabulary_of(spec, sentences.texts[: -spec.held_out])
    encoder = load(spec.encoder)
    vectors = encoder.encode(sentences.texts)
    dataset = with_vectors(spec, sentences.texts, vectors, vocabulary)
    return DecoderTrainer(spec, dataset, vocabulary, encoder.fingerprint, sentences.hash, precision)


def test_nan_from_the_start_is_told(spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to keep."""
    monkeypatch.setattr(
        DecoderTrainer, "_share", lambda self: float("nan") if self.step == 0 else 1.0
    )
    with pytest.raises(UserError, match="No checkpoint had been written before"):
        list(train_decoder(spec))
    assert not spec.out_folder.exists()


def test_a_full_disk_keeps_the_checkpoint_before(
    spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It says so, and with room again the training ends as an unbroken one."""
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    write, written = checkpoint._write_tensors, itertools.count(1)

    def full(file: Path, tensors: dict[str, torch.Tensor]) -> None:
        if next(written) > 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(file, tensors)

    with monkeypatch.context() as filling:
        filling.setattr(checkpoint, "_write_tensors", full)
        with pytest.raises(UserError, match=r"No space left.*That of step \d+ is whole"):
            list(train_decoder(spec))
    kept = checkpoint.peek(spec.working_folder)
    assert kept is not None and kept["step"] > 0
    list(train_decoder(spec))
    list(train_decoder(replace(spec, out=str(tmp_path / "unbroken"))))
    assert_same(tmp_path / "out", tmp_path / "unbroken")


def test_a_disk_that_fills_at_the_very_end_loses_nothing(
    spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decoder could not be written; tried again it only is."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as filling:
        filling.setattr("theodolite.engine.decoding.folder.save_file", full)
        with pytest.raises(UserError, match="could not be written"):
            list(train_decoder(spec))
    assert not spec.out_folder.exists()
    events = list(train_decoder(spec))
    assert [e.kind for e in events if e.kind in ("stepped", "looked")] == []
    assert open_decoder(Path(finished(events).out)).dim == 32
