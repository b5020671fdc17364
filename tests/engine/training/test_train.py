"""A training run from its first event to its encoder, and what may go wrong in between."""

import itertools
import math
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy.stats import spearmanr
from sentence_transformers import SentenceTransformer
from torch import nn
from transformers import get_linear_schedule_with_warmup

from tests.engine.training.test_checkpoint import full_disk
from tests.errors import refused
from tests.fakes.allocation import Allocation
from tests.fakes.runs import TinyCatalog, tiny_run, tiny_spec
from theodolite.engine.datasets import Catalog, LabelledSentences, PairPart, ScoredPairs
from theodolite.engine.memory import ran_out
from theodolite.engine.train import adamw, batches, learning_rate, steps_of, train
from theodolite.engine.training import TrainSpec, checkpoint
from theodolite.engine.training.dev import DevSet
from theodolite.engine.training.events import against_base
from theodolite.engine.training.loop import Meter, Trainer


def told(spec, **options):
    """All that a run says."""
    return list(train(spec, TinyCatalog(), **options))


def weights(folder):
    """The tensors of an encoder folder."""
    return load_file(folder / "model.safetensors")


assert_same = partial(torch.testing.assert_close, rtol=0, atol=0)


def test_a_run_tells_what_happens_and_its_encoder_has_the_best_weights(tmp_path):
    run = tiny_run(tiny_spec(tmp_path, learning_rate=0.02))
    events, looks = [], {}
    for event in run.events():
        events.append(event)
        if event.kind == "looked":
            looks[event.step] = event.score, checkpoint.weights_of(run.model)
    assert (events[0].kind, events[-1].kind, list(looks)) == ("started", "finished", [4, 8, 12])
    stepped = [e for e in events if e.kind == "stepped"]
    assert (stepped[0].step, stepped[-1].step) == (1, 12)
    assert all(math.isfinite(e.loss) and e.sentences_per_second > 0 for e in stepped)

    best = max(looks, key=lambda step: looks[step][0])
    assert (events[-1].best_step, events[-1].best_score) == (best, looks[best][0])
    assert_same(checkpoint.weights_of(run.model), looks[best][1])
    name = "embeddings.word_embeddings.weight"
    assert_same(weights(tmp_path / "encoder")[name], looks[best][1][f"encoders.0.{name}"])


def test_the_base_keeps_its_pooling_and_is_scored_first(tmp_path):
    """At step 0, as the base encodes; whether the training is any better is said at its end."""
    told(tiny_spec(tmp_path, out=str(tmp_path / "base"), pooling="avg", steps=1, dev=None))
    base = SentenceTransformer(str(tmp_path / "base"), device="cpu")
    (part,) = TinyCatalog().load("graded").parts.values()
    cosines = base.similarity_pairwise(base.encode(part.left), base.encode(part.right))
    expected = 100 * spearmanr(cosines, part.gold)[0]
    for pooling, kept in (("base", "mean"), ("max", "max")):
        out = str(tmp_path / f"with-{pooling}")
        spec = tiny_spec(tmp_path, base=f"dir:{tmp_path / 'base'}", out=out, pooling=pooling)
        first, *_, last = [e for e in told(spec) if e.kind in ("looked", "finished")]
        assert (first.step, first.best) == (0, False)
        assert first.score == last.base_score == pytest.approx(expected, abs=1e-3)
        assert last.best_step > 0
        assert SentenceTransformer(out, device="cpu")[1].pooling_mode == kept
    said = against_base(last.best_score, last.base_score)
    assert said in (tmp_path / "with-max" / "README.md").read_text()


def test_masked_language_modelling_learns_words_and_keeps_the_last_weights(tmp_path):
    """As every run does that has no dev task to choose by."""
    events = told(tiny_spec(tmp_path, "mlm", dev=None, steps=60, learning_rate=0.01, batch_size=30))
    losses = [e.loss for e in events if e.kind == "stepped"]
    assert losses[-1] < 0.8 * losses[0] and "looked" not in {e.kind for e in events}
    assert (events[-1].best_step, events[-1].best_score) == (60, None)


def test_it_stops_when_the_score_no_longer_rises(tmp_path):
    # At this rate float32 weights do not move, and so does no score.
    events = told(tiny_spec(tmp_path, learning_rate=1e-12, dev_every=1, patience=2))
    assert (events[-1].why, events[-1].step, events[-1].best_step) == ("patience", 3, 1)
    assert "2 evaluations" in events[-2].message


def test_asked_to_stop_it_looks_once_more_and_keeps_the_best(tmp_path):
    events = told(tiny_spec(tmp_path), stop=iter([False] * 6 + [True]).__next__)
    assert (events[-1].why, events[-1].step) == ("stopped", 6)
    assert [e.step for e in events if e.kind == "looked"] == [4, 6]
    assert weights(tmp_path / "encoder") and not (tmp_path / "encoder.training").exists()


def test_an_encoder_that_is_there_is_neither_made_again_nor_overwritten(tmp_path):
    spec = tiny_spec(tmp_path, steps=4)
    *_, first = told(spec)
    note, last = told(spec)
    assert (note.kind, last) == ("noted", first)
    (tmp_path / "sentences.txt").write_text("other sentences\nthan before")
    with refused("conflict", spec.out):
        told(spec)


def test_a_batch_of_one_has_no_negatives(tmp_path):
    """It does for masked language modelling, and with hard negatives."""
    for objective in ("unsup", "next-sentence"):
        with refused("too-few", 1):
            told(tiny_spec(tmp_path, objective, batch_size=1))
    for objective in ("mlm", "sup"):
        spec = tiny_spec(tmp_path, objective, batch_size=1, steps=3, dev=None)
        *events, last = told(replace(spec, out=str(tmp_path / objective)))
        assert last.why == "done" and all(e.loss > 0 for e in events if e.kind == "stepped")


def poison(run, call):
    """Let the head give no numbers from one call in training on."""
    calls = itertools.count(1)
    run.model.heads[0].register_forward_hook(
        lambda module, given, made: made * math.nan if next(calls) >= call else made
    )


@pytest.mark.parametrize(
    ("dev", "call", "kept"), [("graded", 7, 4), pytest.param(None, 3, 1, id="no looks")]
)
def test_a_loss_that_is_no_number_names_its_step_and_keeps_the_best(tmp_path, dev, call, kept):
    """Or the last checkpoint, where there are no looks."""
    run = tiny_run(tiny_spec(tmp_path, dev=dev))
    poison(run, call)
    notes = []
    for event in run.events():
        if (event.kind, event.step) == ("looked" if dev else "stepped", kept):
            run.save()
            good = checkpoint.weights_of(run.model)
        if event.kind == "noted":
            notes.append(event.message)
    assert f"step {call} was nan" in notes[0] and f"step {kept}" in notes[0]
    assert (event.why, event.best_step) == ("diverged", kept)
    assert_same(checkpoint.weights_of(run.model), good)
    assert all(torch.isfinite(t).all() for t in weights(tmp_path / "encoder").values())
    assert notes[0] in (tmp_path / "encoder" / "README.md").read_text("utf-8")


def test_what_went_wrong_stays_wrong_until_it_is_acted_on():
    """Several processes act every tenth update only: a good loss after it excuses nothing."""
    meter = Meter(0, 10, 0.0, torch.device("cpu"))
    for losses in ((1.0, math.nan), (0.5,)):
        for loss in losses:
            meter.add(torch.tensor(loss), torch.tensor(1.0), 8, 0.1)
        assert meter.read() is None
    assert "step 2 was nan" in meter.failure


def test_weights_are_not_saved_unread(tmp_path, monkeypatch):
    """Time to save has come while the update ran: what it did is read first."""
    run = tiny_run(tiny_spec(tmp_path, dev=None))
    poison(run, 3)
    monkeypatch.setattr(Meter, "due", property(lambda meter: meter.step == 1))
    # Not yet when it is first asked after the fourth update, but an instant later.
    asked = itertools.count()
    monkeypatch.setattr(
        Trainer, "must_save", lambda run: run.step > 4 or (run.step == 4 and next(asked) > 0)
    )
    with refused("not-finite", "step 3 was nan"):
        list(run.events())
    # A loss that is no number from the start leaves nothing.
    with refused("not-finite", "step 1 was nan", "learning rate"):
        told(tiny_spec(tmp_path, similarity="dot", temperature=1e-45, out=str(tmp_path / "start")))
    assert not (tmp_path / "start").exists()


def test_out_of_memory_halves_the_micro_batch_and_changes_nothing_else(tmp_path):
    # In float64: AdamW makes a whole step of a gradient that is rounding error alone.
    whole, run = (
        tiny_run(tiny_spec(tmp_path, dropout=0.0, dev=None, out=str(tmp_path / out)))
        for out in ("whole", "encoder")
    )
    for each in (run, whole):
        each.model.double()
    list(whole.events())
    Allocation(run.model.heads[0], most=4 * 32)  # sentences: 2 examples, each in two passes
    events = list(run.events())
    assert [e.message.partition(" ")[0] for e in events if e.kind == "noted"] == ["8", "4"]
    assert (run.state.micro_batch, events[-1].step) == (2, 12)
    # A wrong gradient moves a weight by the learning rate, 1e-3, every time.
    left, right = (dict(each.model.state_dict()) for each in (whole, run))
    torch.testing.assert_close(left, right, atol=1e-8, rtol=0)
    # When a single example does not fit it says so.
    alone = tiny_run(tiny_spec(tmp_path, out=str(tmp_path / "alone")))
    Allocation(alone.model.heads[0], most=32)
    with refused("too-large", "micro-batch of 1", "cpu"):
        list(alone.events())
    assert not ran_out(RuntimeError("shapes differ"))


def test_a_disk_that_fills_up_stops_the_run_with_its_checkpoint_whole(tmp_path):
    run = tiny_run(tiny_spec(tmp_path))
    with ExitStack() as disk, refused("no-file", "step 12", "File too large", "step 4 is whole"):
        for event in run.events():
            if event.kind == "looked" and event.step == 8:
                disk.enter_context(full_disk(2000))
    assert told(run.spec)[0].step == 4


def test_half_precision_on_a_processor_gives_nearly_the_same_loss(tmp_path):
    changes = {"dropout": 0.0, "mlm_weight": 1.0, "micro_batch": 4, "steps": 3, "dev": None}
    losses = {}
    for name in ("fp32", "bf16"):
        out = tmp_path / name
        events = told(tiny_spec(tmp_path, precision=name, out=str(out), **changes))
        losses[events[0].precision] = next(e.loss for e in events if e.kind == "stepped")
        assert {tensor.dtype for tensor in weights(out).values()} == {torch.float32}
    assert losses == {"fp32": losses["fp32"], "bf16": pytest.approx(losses["fp32"], rel=0.01)}


@pytest.mark.parametrize(
    "changes", [{"device": "cuda:77"}, {"device": "toaster"}, {"precision": "fp16"}]
)
def test_what_the_machine_does_not_have_is_refused(tmp_path, changes):
    with refused("unsupported", *changes.values()):
        told(tiny_spec(tmp_path, **changes))


@pytest.mark.parametrize(("warmup", "steps"), [(0.0, 10), (0.1, 10), (0.25, 11), (1.0, 4)])
def test_the_learning_rate_is_that_of_transformers(tmp_path, warmup, steps):
    spec = tiny_spec(tmp_path, warmup=warmup, learning_rate=0.5)
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule = get_linear_schedule_with_warmup(optimiser, math.ceil(warmup * steps), steps)
    rates = [learning_rate(spec, step, steps) for step in range(steps)]
    assert rates == pytest.approx([0.5 * schedule.lr_lambdas[0](step) for step in range(steps)])


def test_biases_and_norms_are_not_decayed():
    spec = TrainSpec("unsup", "minilm", "a.txt", "out", weight_decay=0.1)
    found = [
        (group["weight_decay"], [p.ndim for p in group["params"]])
        for group in adamw(nn.Sequential(nn.Linear(3, 3), nn.LayerNorm(3)), spec).param_groups
    ]
    assert found == [(0.1, [2]), (0.0, [1, 1, 1])]


def test_an_epoch_has_each_example_once_in_an_order_of_its_own():
    run = list(batches([10], 4, 6, seed=1))
    assert [len(batch) for batch in run] == [4, 4, 2] * 2
    first, second = np.concatenate(run[:3]).tolist(), np.concatenate(run[3:]).tolist()
    assert sorted(first) == sorted(second) == list(range(10))
    again, other = (np.concatenate(list(batches([10], 4, 3, seed))).tolist() for seed in (1, 2))
    assert again == first not in (second, other)
    assert [sorted(batch) for batch in batches([3], 64, 2, seed=0)] == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize(("sampler", "an_epoch"), [("proportional", 10), ("round-robin", 6)])
def test_a_batch_is_of_one_data_set(sampler, an_epoch):
    """In an epoch all batches at random, or in turn until the smallest set has no more.

    Begun anywhere they are as if the run had not stopped.
    """
    sizes, ends = (10, 20, 5), [10, 30, 35]
    run = list(batches(sizes, 4, 2 * an_epoch, seed=1, sampler=sampler))
    sets = [{int(np.searchsorted(ends, i, side="right")) for i in batch} for batch in run]
    assert all(len(one) == 1 for one in sets)
    order = [one for (one,) in sets]
    seen = np.concatenate(run[: len(run) // 2])
    if sampler == "proportional":
        assert sorted(seen) == list(range(35)) and order[:10] != sorted(order[:10])
    else:
        assert order == [0, 1, 2] * 4 and len(set(seen)) == len(seen)
    spec = TrainSpec("sup", "minilm", "a,b,c", "out", batch_size=4, sampler=sampler)
    assert steps_of(spec, *sizes) == an_epoch
    for start in range(len(run)):
        rest = batches(sizes, 4, len(run), 1, start, sampler)
        assert [b.tolist() for b in rest] == [b.tolist() for b in run[start:]]


@pytest.mark.parametrize(
    ("changes", "examples", "steps"),
    [
        ({}, 1_000_000, 15_625),  # SimCSE's unsupervised run
        ({"batch_size": 512, "epochs": 3}, 275_601, 1617),  # its supervised run
        ({"epochs": 0.5}, 129, 2),
        ({"epochs": 0.001}, 129, 1),
        ({"steps": 7}, 1_000_000, 7),
    ],
)
def test_steps_are_counted_by_epochs_or_given(changes, examples, steps):
    spec = TrainSpec("unsup", "new:layers=1", "starter", "out", **{"batch_size": 64} | changes)
    assert steps_of(spec, examples) == steps


# --- the look at a scored task ---


def shelf(dataset) -> Catalog:
    """A catalog whose data set `mine` is this one."""
    catalog, load = Catalog(), Catalog().load
    catalog.load = lambda name: dataset if name == "mine" else load(name)
    return catalog


def scored(dev, vectors):
    """Its scores by a model that looks vectors up, each once."""
    assert len(set(dev.sentences)) == len(dev.sentences)
    return dev.score(np.array([vectors[s] for s in dev.sentences], np.float32))


def part(*rows):
    """Pairs of (left, right, gold)."""
    left, right, gold = zip(*rows, strict=True)
    return PairPart(left, right, np.array(gold, np.float64))


def opened(parts, parts_are="splits", scale=(0.0, 5.0)):
    """A dev set of these parts."""
    return DevSet.open("mine", shelf(ScoredPairs("mine", parts, parts_are, scale)))


TRAIN = part(("x", "y", 1.0), ("x", "z", 2.0))
DEV = part(("a", "b", 4.5), ("c", "d", 4.0), ("a", "d", 1.0), ("b", "c", 0.0))


def test_it_is_the_dev_split_or_everything_where_there_is_none():
    for dev, n in (
        (opened({"train": TRAIN, "dev": DEV}), 4),
        (opened({"all": DEV}), 4),
        (opened({"dev": DEV, "more": TRAIN}, "subsets"), 6),
    ):
        assert dev.gold.tolist() == [4.5, 4.0, 1.0, 0.0, 1.0, 2.0][:n]
    by_task, by_name = (DevSet.open(name, Catalog()) for name in ("StarterSTS", "starter-pairs"))
    assert by_task.sentences == by_name.sentences


def test_alignment_is_over_pairs_above_four_and_uniformity_over_all_sentences():
    """Vectors that are all the same order nothing, and neither do those that are not finite."""
    corners = {"a": [1, 0], "b": [0, 3], "c": [-2, 0], "d": [0, -1]}
    score = scored(opened({"dev": DEV}), corners)
    # Only a and b have more than 4: a quarter of the circle, of squared length 2.
    assert score.alignment == pytest.approx(2.0)
    # Left a, c, a, b and right b, d, d, c are each corner twice: of 28 pairs, 4 are the same point,
    # 16 lie a quarter apart (squared 2) and 8 opposite (squared 4).
    assert score.uniformity == pytest.approx(np.log((4 + 16 * np.exp(-4) + 8 * np.exp(-8)) / 28))
    assert scored(opened({"dev": DEV}), {s: [1.0, 1.0] for s in "abcd"}).spearman == 0.0
    assert np.isnan(scored(opened({"dev": DEV}), {s: [np.nan, 1.0] for s in "abcd"})[:3]).all()


@pytest.mark.parametrize(
    ("golds", "scale", "positive"),
    [
        ((0.81, 0.8, 0.1), (0.0, 1.0), [True, False, False]),
        ((3.0, 3.0, 1.0), (0.0, 5.0), [True, True, False]),  # none above four fifths
    ],
)
def test_positive_are_pairs_above_four_fifths_of_the_scale_or_the_highest(golds, scale, positive):
    rows = [(*pair, gold) for pair, gold in zip(("ab", "cd", "ad"), golds, strict=True)]
    assert opened({"dev": part(*rows)}, scale=scale).positive.tolist() == positive


@pytest.mark.parametrize(
    ("name", "dataset", "code"),
    [
        (
            "mine",
            ScoredPairs("mine", {"dev": part(("a", "b", 3.0), ("c", "d", 3.0))}, "splits"),
            "too-few",
        ),
        ("mine", LabelledSentences("mine", ["a", "b"], ["x", "y"]), "wrong-kind"),
        ("nowhere", None, "unknown"),
    ],
)
def test_what_cannot_choose_a_checkpoint_is_refused(name, dataset, code):
    with refused(code, name):
        DevSet.open(name, shelf(dataset))
