"""Training of a decoder: it learns, goes on after a kill, and keeps what was good."""

import errno
import itertools
import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.errors import refused
from tests.fakes.decoders import loss_of, opened, random_spec, small_spec
from tests.fakes.encoders import ConstantEncoder, NaNEncoder
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.dataset import sentences_of
from theodolite.engine.decoding.facts import facts_of
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import SAMPLES, DecoderTrainer, train_decoder
from theodolite.engine.decoding.vocabulary import Vocabulary
from theodolite.engine.threads import one_torch_thread
from theodolite.engine.training import Event, Noted, checkpoint, loop


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Sums in the same order every time."""
    with one_torch_thread():
        yield


@pytest.fixture(scope="module")
def whole(
    one_thread: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[DecoderSpec, list[Event]]:
    """A training that nothing befell, and its events."""
    spec = random_spec(tmp_path_factory.mktemp("whole"))
    return spec, list(train_decoder(spec))


def of(events: list[Event], kind: str) -> list:
    """Those of a kind."""
    return [event for event in events if event.kind == kind]


def test_it_learns_and_says_so(whole: tuple[DecoderSpec, list[Event]]) -> None:
    spec, events = whole
    kinds = [e.kind for e in events]
    assert kinds.index("noted") < kinds.index("encoded") < kinds.index("started")
    (started,), looks, last = of(events, "started"), of(events, "looked"), events[-1]
    assert (started.step, started.examples, started.device) == (0, 270, "cpu")
    assert looks[-1].loss < 0.7 * looks[0].loss
    assert (of(events, "encoded")[-1].done, len(looks[0].samples)) == (300, SAMPLES)
    assert all(e.sentences_per_second > 0 and e.seconds_left >= 0 for e in of(events, "stepped"))
    assert last.why == "done" and last.step == looks[-1].step == started.steps
    assert last.best_loss == min(e.loss for e in looks)
    decoder = open_decoder(Path(last.out))
    assert decoder.facts["curve"] == [[e.step, e.loss] for e in looks]
    assert decoder.facts["sentences"] == 270 and not spec.working_folder.exists()
    # The loss of the card, computed again from the folder: the same points and tokens.
    held_out = sentences_of(spec, Catalog(None), spec.working_folder).texts[-30:]
    loss = loss_of(Path(last.out), "random:32", held_out)
    assert loss == pytest.approx(last.best_loss, abs=0.01)  # float16 in the folder


def test_a_training_that_was_broken_off_ends_with_the_weights_of_an_unbroken_one(
    spec: DecoderSpec, whole: tuple[DecoderSpec, list[Event]]
) -> None:
    """Bit by bit, in the middle of an epoch; `training/test_checkpoint.py` kills the process."""
    broken = train_decoder(spec)
    next(event for event in broken if event.kind == "looked" and event.step == 8)
    broken.close()
    assert not spec.out_folder.exists()
    resumed = list(train_decoder(spec))
    assert 0 < of(resumed, "started")[0].step <= 10
    folders_of_both = spec.out_folder, whole[0].out_folder
    tensors = [load_file(folder / "model.safetensors") for folder in folders_of_both]
    torch.testing.assert_close(*tensors, rtol=0, atol=0)
    one, other = (facts_of(folder)["curve"] for folder in folders_of_both)
    assert (one, resumed[-1].best_loss) == (other, whole[1][-1].best_loss)


def test_nothing_is_trained_again_and_nothing_overwritten(
    whole: tuple[DecoderSpec, list[Event]], tmp_path: Path
) -> None:
    """Neither another decoder, nor any folder, nor the checkpoint of another training."""
    spec, events = whole
    weights = spec.out_folder / "model.safetensors"
    before = weights.stat().st_mtime_ns
    note, last = train_decoder(spec)
    assert (note.kind, last, weights.stat().st_mtime_ns) == ("noted", events[-1], before)
    (tmp_path / "letters").mkdir()
    for other in (replace(spec, seed=1), replace(spec, out=str(tmp_path / "letters"))):
        with refused("conflict", other.out):
            list(train_decoder(other))
    half = replace(spec, out=str(tmp_path / "half"))
    first = train_decoder(half)
    next(e for e in first if e.kind == "looked" and e.step == 4)
    with refused("conflict", half.working_folder):  # the first one is still at work
        list(train_decoder(half))


def test_a_stop_before_the_first_update_leaves_nothing(spec: DecoderSpec) -> None:
    assert list(train_decoder(spec, stop=lambda: True))[-1].kind == "noted"
    assert not spec.out_folder.exists()
    answers = iter([False] * 13 + [True])
    *_, last = train_decoder(spec, stop=lambda: next(answers))
    assert (last.why, last.step) == ("stopped", 12)  # one question before the encoding


def test_weights_of_nan_are_neither_kept_nor_saved(
    spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spoilt by the ninth update, whose own loss does not tell."""
    update, save, saved = DecoderTrainer.update, checkpoint.save, []

    def spoilt(trainer: DecoderTrainer, rows: np.ndarray) -> list[Noted]:
        update(trainer, rows)
        if trainer.step == 9:
            next(trainer.model.parameters()).data.fill_(torch.nan)
        return []

    def noted(folder: Path, model: torch.nn.Module, *more: object) -> None:
        saved.append(finite(model.state_dict()))
        save(folder, model, *more)

    monkeypatch.setattr(DecoderTrainer, "update", spoilt)
    monkeypatch.setattr(checkpoint, "save", noted)
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    events = list(train_decoder(spec))
    last = events[-1]
    assert (last.why, last.step, last.best_step, saved) == ("diverged", 9, 8, [True] * 8)
    assert np.isfinite([e.loss for e in of(events, "looked")]).all()
    (note,) = [e.message for e in of(events, "noted") if "nan" in e.message]
    assert "step 8" in note and "held-out" in note
    assert finite(load_file(spec.out_folder / "model.safetensors"))
    assert note in (spec.out_folder / "README.md").read_text("utf-8")
    assert np.isfinite(facts_of(spec.out_folder)["curve"]).all()


def finite(tensors: dict[str, torch.Tensor]) -> bool:
    """Whether all are numbers."""
    return all(bool(tensor.isfinite().all()) for tensor in tensors.values())


def test_vectors_and_updates_that_cannot_be(spec: DecoderSpec) -> None:
    """NaN is refused before training; of one vector for all there still is a language model.

    Where an update does not fit torch's allocator really fails.
    """
    with refused("not-finite"):
        list(train_decoder(spec, encoder=NaNEncoder(4)))
    *_, last = train_decoder(replace(spec, epochs=1), encoder=ConstantEncoder(4))
    assert np.isfinite(last.best_loss)
    trainer = opened(spec)
    next(trainer.model.children()).register_forward_pre_hook(lambda *_: torch.empty(1 << 50) and 0)
    with refused("too-large", "cpu"):
        trainer.update(next(trainer.batches(0)))


def test_a_disk_that_fills_at_the_very_end_loses_nothing(
    spec: DecoderSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decoder could not be written; tried again it only is."""
    full = Mock(side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    with monkeypatch.context() as filling:
        filling.setattr("theodolite.engine.decoding.folder.save_file", full)
        with refused("no-file", spec.out):
            list(train_decoder(spec))
    assert not spec.out_folder.exists()
    assert not {"stepped", "looked"} & {e.kind for e in train_decoder(spec)}
    assert open_decoder(spec.out_folder).dim == 32


def lines_of(spec: DecoderSpec, lines: list[str]) -> DecoderSpec:
    """The same with other sentences, for one epoch."""
    Path(spec.train[0]).write_text("\n".join(lines) + "\n", "utf-8")
    return replace(spec, epochs=1)


def test_too_few_different_sentences_are_told(spec: DecoderSpec) -> None:
    """As many as are held out must at least be left, and then some."""
    sentences = sentences_of(spec, Catalog(None), spec.working_folder).texts
    for lines, count in ((sentences[:60], 60), (["the cat sees the dog"] * 500, 1)):
        with refused("too-few", f"{count} different sentences", 30):
            list(train_decoder(lines_of(spec, lines)))
    *_, last = train_decoder(lines_of(spec, sentences[:61]))
    assert last.kind == "finished"


def test_odd_lines_are_left_out_and_counted(spec: DecoderSpec) -> None:
    """Empty or of marks alone, without `clauses` long ones, and one of very many tokens.

    An address of 200 letters would be 200 positions for every sentence.
    """
    sentences = sentences_of(spec, Catalog(None), spec.working_folder).texts
    address = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz/0123456789", k=200))
    odd = ["", "   ", "?!", "one two three four five six seven, and no clause that is short enough"]
    lines = [*odd, *sentences, address, *sentences]
    events = list(train_decoder(lines_of(replace(spec, clauses=False), lines)))
    counted = " ".join(e.message for e in of(events, "noted"))
    parts = "2 empty lines", "301 different sentences", "603 lines", "1 sentences of very"
    assert [part for part in parts if part not in counted] == []
    assert open_decoder(Path(events[-1].out)).model.positions <= 4 * 6 + 8


# --- from another's weights ---


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> DecoderSpec:
    """A training that is over."""
    spec = small_spec(tmp_path_factory.mktemp("first") / "out")
    list(train_decoder(spec))
    return spec


@pytest.fixture
def on(first: DecoderSpec, tmp_path: Path) -> DecoderSpec:
    """One of other sentences that begins where it ended."""
    file, words = tmp_path / "more.txt", "cat dog fire king zebra road house tree song man".split()
    pairs = itertools.product(words, words)
    file.write_text("".join(f"the {a} sleeps by the {b}\n" for a, b in pairs), "utf-8")
    return replace(first, train=(str(file),), start=first.out, out=str(tmp_path / "on"))


def test_it_begins_with_the_weights_tokens_and_standardisation(
    first: DecoderSpec, on: DecoderSpec
) -> None:
    """At a rate of nearly none the same decoder comes out, with the words of both texts."""
    list(train_decoder(replace(on, learning_rate=1e-12, dropout=0.3)))
    one, other = (load_file(Path(s.out) / "model.safetensors") for s in (first, on))
    torch.testing.assert_close(one, other, atol=1e-6, rtol=1e-5)
    before, after = open_decoder(first.out_folder), open_decoder(on.out_folder)
    assert before.vocabulary.to_json() == after.vocabulary.to_json()
    assert all(before.facts[name] == after.facts[name] for name in ("mean", "scale"))
    assert after.facts["sizes"] == before.facts["sizes"] | {"dropout": 0.3}
    card = (on.out_folder / "README.md").read_text("utf-8")
    assert "began with the weights of the decoder `out`" in card


def test_the_words_that_decoding_is_held_to_are_those_of_both_texts(first: DecoderSpec) -> None:
    tokens = Vocabulary(folders.read(first.out_folder)[1].tokenizer, ["cat", "zebra"])
    both = tokens.knowing(["the cat sleeps"], ["the zebra sleeps"])
    assert list(both.known_words.words) == ["cat", "sleeps", "the", "zebra"]


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"encoder": "random:64"}, "mismatch", "random:32"),
        ({"architecture": "lstm"}, "mismatch", "architecture prefix, not lstm"),
        ({"vocabulary": 400}, "mismatch", "vocabulary 300, not 400"),
        ({"width": None}, "mismatch", "width 32"),
        ({"layers": 2}, "mismatch", "layers 1, not 2"),
        ({"start": "nowhere"}, "no-file", "nowhere"),
    ],
)
def test_a_decoder_that_does_not_fit_is_told(
    on: DecoderSpec, changes: dict[str, object], code: str, named: str
) -> None:
    """Before anything is encoded."""
    other = replace(on, **changes)
    with refused(code, named):
        list(train_decoder(other))
    assert not other.out_folder.exists()


def test_longer_sentences_than_it_has_places_for_are_left_out(
    first: DecoderSpec, on: DecoderSpec
) -> None:
    """They would be beyond its positions."""
    places, long = facts_of(first.out_folder)["sizes"]["positions"], " ".join(["zzzzzzzz"] * 8)
    assert len(folders.read(first.out_folder)[1].ids([long])[0]) > places + 1
    with Path(on.train[0]).open("a") as text:
        text.write(f"{long}\n{long} end\n")
    events = list(train_decoder(on))
    assert any("of very many tokens were left out" in str(event) for event in events)
    assert facts_of(on.out_folder)["sizes"]["positions"] == places


# --- its settings ---


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
def test_a_setting_that_cannot_be_is_told(changes: dict, code: str, named: str) -> None:
    with refused(code, named):
        replace(SPEC, **changes)


def test_a_spec_goes_through_json_and_its_hash_leaves_out_the_folder() -> None:
    assert DecoderSpec.from_dict(json.loads(json.dumps(SPEC.to_dict()))) == SPEC
    assert replace(SPEC, out="elsewhere").hash == SPEC.hash
    others = ({"seed": 7}, {"start": "other"}, {"precision": "bf16"})
    assert len({SPEC.hash, *(replace(SPEC, **other).hash for other in others)}) == 4
    for entries, code, named in (
        (SPEC.to_dict() | {"tea": 1}, "unknown", "tea"),
        (SPEC.to_dict() | {"version": 2}, "unsupported", 2),
        ({"train": ["a.txt"], "out": "b"}, "missing", "encoder"),
    ):
        with refused(code, named):
            DecoderSpec.from_dict(entries)
