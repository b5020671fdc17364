"""A training run from its first event to its encoder, and what may go wrong in between."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.spatial.distance import cosine
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import get_linear_schedule_with_warmup

from tests.engine.training.test_checkpoint import full_disk
from tests.fakes.runs import TinyCatalog, tiny_run, tiny_spec
from theodolite.engine.errors import UserError
from theodolite.engine.memory import ran_out
from theodolite.engine.train import train
from theodolite.engine.training import checkpoint
from theodolite.engine.training.events import against_base
from theodolite.engine.training.loop import Meter, Trainer
from theodolite.engine.training.optimiser import adamw, learning_rate
from theodolite.engine.training.spec import TrainSpec


def told(spec, **options):
    """All that a run says."""
    return list(train(spec, TinyCatalog(), **options))


def weights(folder):
    """The tensors of an encoder folder."""
    return load_file(folder / "model.safetensors")


def same(left, right):
    """Whether all tensors are the same, bit by bit."""
    return left.keys() == right.keys() and all(torch.equal(left[n], right[n]) for n in left)


def test_a_run_tells_what_happens_in_order(tmp_path):
    """A run tells what happens in order."""
    spec = tiny_spec(tmp_path)
    events = told(spec)
    kinds = [event.kind for event in events]
    assert kinds[0] == "started"
    assert kinds[-1] == "finished"
    assert [e.step for e in events if e.kind == "looked"] == [4, 8, 12]
    stepped = [e for e in events if e.kind == "stepped"]
    assert stepped[0].step == 1
    assert stepped[-1].step == 12
    assert all(math.isfinite(e.loss) and e.sentences_per_second > 0 for e in stepped)
    assert json.loads(json.dumps([e.to_dict() for e in events]))[0]["kind"] == "started"


def test_the_encoder_has_the_best_weights_and_their_score(tmp_path):
    """The encoder has the best weights and their score."""
    run = tiny_run(tiny_spec(tmp_path, learning_rate=0.02))
    at_look = {}
    for event in run.events():
        if event.kind == "looked":
            at_look[event.step] = (event.score, checkpoint.weights_of(run.model))
        last = event
    best = max(at_look, key=lambda step: at_look[step][0])
    assert (last.best_step, last.best_score) == (best, at_look[best][0])
    assert same(checkpoint.weights_of(run.model), at_look[best][1])
    kept = weights(tmp_path / "encoder")
    name = "embeddings.word_embeddings.weight"
    assert torch.equal(kept[name], at_look[best][1][f"encoders.0.{name}"])


def test_the_base_keeps_its_pooling_and_is_scored_first(tmp_path):
    """At step 0, as the base encodes; whether the training is any better is said at its end."""
    told(tiny_spec(tmp_path, out=str(tmp_path / "base"), pooling="avg", steps=1, dev=None))
    base = SentenceTransformer(str(tmp_path / "base"), device="cpu")
    (part,) = TinyCatalog().load("graded").parts.values()
    left, right = base.encode(part.left), base.encode(part.right)
    cosines = [1 - cosine(*pair) for pair in zip(left, right, strict=True)]
    expected = 100 * spearmanr(cosines, part.gold)[0]
    for pooling in ("base", "max"):
        out = str(tmp_path / f"with-{pooling}")
        events = told(
            tiny_spec(
                tmp_path,
                base=f"dir:{tmp_path / 'base'}",
                out=out,
                **({} if pooling == "base" else {"pooling": pooling}),
            )
        )
        first, *_, last = [e for e in events if e.kind in ("looked", "finished")]
        assert (first.step, first.best) == (0, False)
        assert first.score == last.base_score == pytest.approx(expected, abs=1e-3)
        assert last.best_step > 0
        kept = SentenceTransformer(out, device="cpu")[1].pooling_mode
        assert kept == {"base": "mean", "max": "max"}[pooling]
    card = (tmp_path / "with-max" / "README.md").read_text()
    assert against_base(last.best_score, last.base_score) in card


def test_the_same_settings_give_the_same_weights_and_another_seed_others(tmp_path):
    """The same settings give the same weights and another seed others."""
    for out, seed in (("one", 1), ("two", 1), ("three", 2)):
        told(tiny_spec(tmp_path, out=str(tmp_path / out), seed=seed, steps=4))
    one, two, three = (weights(tmp_path / out) for out in ("one", "two", "three"))
    assert same(one, two)
    assert not same(one, three)


def test_without_a_dev_task_the_last_weights_are_kept(tmp_path):
    """Without a dev task the last weights are kept."""
    events = told(tiny_spec(tmp_path, dev=None, steps=5))
    assert not [e for e in events if e.kind == "looked"]
    assert (events[-1].best_step, events[-1].best_score) == (5, None)


def test_masked_language_modelling_learns_words(tmp_path):
    """Masked language modelling learns words."""
    spec = tiny_spec(tmp_path, "mlm", dev=None, steps=60, learning_rate=0.01, batch_size=30)
    losses = [e.loss for e in told(spec) if e.kind == "stepped"]
    assert losses[-1] < 0.8 * losses[0]


def test_it_stops_when_the_score_no_longer_rises(tmp_path):
    """It stops when the score no longer rises."""
    # At this rate float32 weights do not move, and so does no score.
    events = told(tiny_spec(tmp_path, learning_rate=1e-12, dev_every=1, patience=2))
    assert (events[-1].why, events[-1].step, events[-1].best_step) == ("patience", 3, 1)
    assert "no better score in 2 evaluations" in events[-2].message


def test_asked_to_stop_it_looks_once_more_and_keeps_the_best(tmp_path):
    """Asked to stop it looks once more and keeps the best."""
    answers = iter([False] * 6 + [True])
    events = told(tiny_spec(tmp_path), stop=lambda: next(answers))
    assert (events[-1].why, events[-1].step) == ("stopped", 6)
    assert [e.step for e in events if e.kind == "looked"] == [4, 6]
    assert (tmp_path / "encoder" / "model.safetensors").exists()
    assert not (tmp_path / "encoder.training").exists()


def test_an_encoder_that_is_there_is_told_of_and_not_made_again(tmp_path):
    """An encoder that is there is told of and not made again."""
    spec = tiny_spec(tmp_path, steps=4)
    first = told(spec)[-1]
    again = told(spec)
    assert [e.kind for e in again] == ["noted", "finished"]
    assert again[-1] == first


def test_nothing_is_overwritten(tmp_path):
    """Nothing is overwritten."""
    spec = tiny_spec(tmp_path)
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match="already exists"):
        told(spec)
    assert (tmp_path / "encoder" / "thesis.txt").read_text() == "years of work"


def test_an_encoder_of_other_data_is_not_overwritten(tmp_path):
    """An encoder of other data is not overwritten."""
    spec = tiny_spec(tmp_path, steps=4)
    told(spec)
    with (tmp_path / "sentences.txt").open("a") as file:
        file.write("\none more sentence")
    with pytest.raises(UserError, match="of other training data"):
        told(spec)


@pytest.mark.parametrize("objective", ["unsup", "next-sentence"])
def test_a_batch_of_one_has_no_negatives(tmp_path, objective):
    """A batch of one has no negatives."""
    with pytest.raises(UserError, match="the loss is 0 whatever the weights"):
        told(tiny_spec(tmp_path, objective, batch_size=1))


def test_a_batch_of_one_does_for_masked_language_modelling_and_hard_negatives(tmp_path):
    """A batch of one does for masked language modelling and hard negatives."""
    for objective in ("mlm", "sup"):
        out = str(tmp_path / objective)
        events = told(tiny_spec(tmp_path, objective, batch_size=1, steps=3, dev=None, out=out))
        assert events[-1].why == "done"
        assert all(e.loss > 0 for e in events if e.kind == "stepped")


def test_the_temperature_is_above_zero(tmp_path):
    """The temperature is above zero."""
    for pooling in ("cls", "pooler_output"):  # an encoder's; a training has a head instead
        with pytest.raises(UserError, match="pooling=cls_token"):
            tiny_spec(tmp_path, pooling=pooling)
    with pytest.raises(UserError, match="temperature cannot be 0"):
        tiny_spec(tmp_path, temperature=0)


def poison(run, call):
    """Let the head give no numbers from one call in training on."""
    calls = iter(range(1, 1000))

    def forget(module, given, made):
        """No numbers."""
        return made * math.nan if next(calls) >= call else made

    run.model.heads[0].register_forward_hook(forget)


def test_a_loss_that_is_no_number_names_its_step_and_keeps_the_best(tmp_path):
    """A loss that is no number names its step and keeps the best."""
    run = tiny_run(tiny_spec(tmp_path))
    poison(run, 7)
    seen, good = [], None
    for event in run.events():
        seen.append(event)
        if event.kind == "looked":
            good = checkpoint.weights_of(run.model)
    note = next(e for e in seen if e.kind == "noted").message
    assert note.startswith("The loss of step 7 was nan.")
    assert "the weights of step 4 are kept" in note
    assert (seen[-1].why, seen[-1].best_step) == ("diverged", 4)
    assert same(checkpoint.weights_of(run.model), good)
    assert all(torch.isfinite(t).all() for t in weights(tmp_path / "encoder").values())
    assert note in (tmp_path / "encoder" / "README.md").read_text("utf-8")


def test_without_looks_the_last_checkpoint_is_kept(tmp_path):
    """Without looks the last checkpoint is kept."""
    run = tiny_run(tiny_spec(tmp_path, dev=None))
    poison(run, 3)
    for event in run.events():
        if event.kind == "stepped" and event.step == 1:
            run.save()
            good = checkpoint.weights_of(run.model)
    assert (event.why, event.best_step) == ("diverged", 1)
    assert same(checkpoint.weights_of(run.model), good)


def test_what_went_wrong_stays_wrong_until_it_is_acted_on():
    """Several processes act every tenth update only: a good loss after it excuses nothing."""
    meter = Meter(0, 10, 0.0, torch.device("cpu"))
    for loss in (1.0, math.nan):
        meter.add(torch.tensor(loss), torch.tensor(1.0), 8, 0.1)
    assert meter.read() is None
    meter.add(torch.tensor(0.5), torch.tensor(1.0), 8, 0.1)
    assert meter.read() is None
    assert meter.failure.startswith("The loss of step 2 was nan.")


def test_weights_are_not_saved_unread(tmp_path, monkeypatch):
    """Time to save has come while the update ran: what it did is read first."""
    run = tiny_run(tiny_spec(tmp_path, dev=None))
    poison(run, 3)
    monkeypatch.setattr(Meter, "due", property(lambda meter: meter.step == 1))
    seen = Counter()

    def must_save(run):
        """Not yet when it is first asked after the fourth update, but an instant later."""
        seen[run.step] += 1
        return run.step > 4 or (run.step == 4 and seen[4] > 1)

    monkeypatch.setattr(Trainer, "must_save", must_save)
    with pytest.raises(UserError, match=r"The loss of step 3 was nan.*No checkpoint"):
        list(run.events())


def test_a_loss_that_is_no_number_from_the_start_leaves_nothing(tmp_path):
    """A loss that is no number from the start leaves nothing."""
    with pytest.raises(UserError, match=r"The loss of step 1 was nan.*No checkpoint") as told_:
        told(tiny_spec(tmp_path, similarity="dot", temperature=1e-45))
    assert "lower learning rate" in told_.value.hint
    assert not (tmp_path / "encoder").exists()


def limit_memory(run, most):
    """Ask for more memory than there is whenever so many sentences pass at once."""

    def grow(module, given):
        """A real failure of torch's allocator."""
        if len(given[0]) > most:
            torch.empty(1 << 50)

    run.model.heads[0].register_forward_pre_hook(grow)


def test_out_of_memory_halves_the_micro_batch_and_changes_nothing_else(tmp_path):
    """Out of memory halves the micro batch and changes nothing else."""
    # In float64: AdamW makes a whole step of a gradient that is rounding error alone.
    whole = tiny_run(tiny_spec(tmp_path, dropout=0.0, dev=None, out=str(tmp_path / "whole")))
    run = tiny_run(tiny_spec(tmp_path, dropout=0.0, dev=None))
    for each in (whole, run):
        each.model.double()
    list(whole.events())
    limit_memory(run, 4)  # sentences: 2 examples, each in two passes
    events = list(run.events())
    notes = [e.message for e in events if e.kind == "noted"]
    assert [note[:30] for note in notes] == [
        "8 examples at once did not fit",
        "4 examples at once did not fit",
    ]
    assert run.state.micro_batch == 2
    assert events[-1].step == 12
    left, right = whole.model.state_dict(), run.model.state_dict()
    for name in left:  # a wrong gradient moves a weight by the learning rate, 1e-3, every time
        torch.testing.assert_close(left[name], right[name], atol=1e-8, rtol=0)


def test_when_a_single_example_does_not_fit_it_says_so(tmp_path):
    """When a single example does not fit it says so."""
    run = tiny_run(tiny_spec(tmp_path))
    limit_memory(run, 1)
    with pytest.raises(UserError, match="micro-batch of 1 does not fit the memory of cpu"):
        list(run.events())


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    """Other errors are not taken for a lack of memory."""
    assert ran_out(torch.OutOfMemoryError("CUDA out of memory"))
    assert not ran_out(RuntimeError("shapes differ"))


def test_a_disk_that_fills_up_stops_the_run_with_its_checkpoint_whole(tmp_path):
    """A disk that fills up stops the run with its checkpoint whole."""
    run = tiny_run(tiny_spec(tmp_path))
    expected = r"step 12 could not be written.*That of step 4 is whole"
    with ExitStack() as disk, pytest.raises(UserError, match=expected):
        for event in run.events():
            if event.kind == "looked" and event.step == 8:
                disk.enter_context(full_disk(2000))
    assert told(run.spec)[0].step == 4


def test_half_precision_on_a_processor_gives_nearly_the_same_loss(tmp_path):
    """Half precision on a processor gives nearly the same loss."""
    losses = {}
    for precision in ("fp32", "bf16"):
        spec = tiny_spec(
            tmp_path,
            dropout=0.0,
            mlm_weight=1.0,
            micro_batch=4,
            precision=precision,
            steps=3,
            dev=None,
            out=str(tmp_path / precision),
        )
        events = told(spec)
        assert events[0].precision == precision
        losses[precision] = next(e.loss for e in events if e.kind == "stepped")
        kept = weights(tmp_path / precision)
        assert {tensor.dtype for tensor in kept.values()} == {torch.float32}
    assert losses["bf16"] == pytest.approx(losses["fp32"], rel=0.01)


def test_what_the_machine_does_not_have_is_refused(tmp_path):
    """What the machine does not have is refused."""
    with pytest.raises(UserError, match="no device 'cuda:77'"):
        told(tiny_spec(tmp_path, device="cuda:77"))
    with pytest.raises(UserError, match="no device 'toaster'"):
        told(tiny_spec(tmp_path, device="toaster"))
    with pytest.raises(UserError, match="fp16 is not to be had on cpu"):
        told(tiny_spec(tmp_path, precision="fp16"))


@pytest.mark.parametrize(("warmup", "steps"), [(0.0, 10), (0.1, 10), (0.25, 11), (1.0, 4)])
def test_the_learning_rate_is_that_of_transformers(tmp_path, warmup, steps):
    """The learning rate is that of transformers."""
    spec = tiny_spec(tmp_path, warmup=warmup, learning_rate=0.5)
    weight = nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([weight], lr=0.5)
    warming = math.ceil(warmup * steps)
    schedule = get_linear_schedule_with_warmup(optimiser, warming, steps)
    expected = []
    for _ in range(steps):
        expected.append(schedule.get_last_lr()[0])
        optimiser.step()
        schedule.step()
    np.testing.assert_allclose([learning_rate(spec, i, steps) for i in range(steps)], expected)


def test_biases_and_norms_are_not_decayed():
    """Biases and norms are not decayed."""
    spec = TrainSpec("unsup", "minilm", "a.txt", "out", weight_decay=0.1)
    layer = nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3))
    decayed, free = adamw(layer, spec).param_groups
    assert [p.shape for p in decayed["params"]] == [(3, 3)]
    assert (decayed["weight_decay"], free["weight_decay"]) == (0.1, 0.0)
    assert len(free["params"]) == 3


def test_training_needs_neither_index_nor_map():
    """Training needs neither index nor map."""
    script = "import sys, engine.train; print([m for m in ('faiss', 'umap') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
