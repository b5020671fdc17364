"""Grids and random searches: every combination, seeded draws, nothing that cannot be run."""

import math
from collections import Counter
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.train import steps_of
from theodolite.engine.training.ablations import ABLATIONS, at_scale, children
from theodolite.engine.training.examples import open_examples
from theodolite.engine.training.presets import SUPERVISED, UNSUPERVISED, Machine, Preset, presets
from theodolite.engine.training.spec import TrainSpec
from theodolite.engine.training.sweeps import Range, best, grid, parse, search

SPEC = TrainSpec("unsup", "minilm", "starter", "out")


def test_a_grid_has_every_combination_in_a_stable_order() -> None:
    """The last field changes fastest, labels say what is run."""
    runs = grid(SPEC, {"learning_rate": [1e-5, 3e-5], "batch_size": [64, 128]})
    assert runs == [
        ("learning rate 1e-05, batch size 64", {"learning_rate": 1e-5, "batch_size": 64}),
        ("learning rate 1e-05, batch size 128", {"learning_rate": 1e-5, "batch_size": 128}),
        ("learning rate 3e-05, batch size 64", {"learning_rate": 3e-5, "batch_size": 64}),
        ("learning rate 3e-05, batch size 128", {"learning_rate": 3e-5, "batch_size": 128}),
    ]
    assert len(grid(SPEC, {"seed": [1, 2, 1]})) == 2  # the same again would be skipped as done


@pytest.mark.parametrize(
    ("varied", "code", "named"),
    [
        ({"learning_rte": [1]}, "unknown", "learning_rte"),
        ({"out": ["a", "b"]}, "unknown", "'out'"),
        ({"temperature": [0.05, 0.0]}, "invalid", "temperature cannot be 0.0"),
        ({"head": ["mlp", "mpl"]}, "invalid", "head cannot be 'mpl'"),
        ({"processes": [0]}, "invalid", "processes cannot be 0"),
        ({"processes": [65]}, "invalid", "65"),
        ({"processes": [1.5]}, "invalid", "1.5"),
        ({"seed": range(501)}, "too-large", "501 runs"),
        ({"seed": range(10**6), "batch_size": range(1, 10**6)}, "too-large", 500),
        ({"temperature": Range(0.01, 1.0)}, "invalid", "temperature"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(varied, code, named) -> None:
    """Each child is checked as a TrainSpec."""
    with refused(code, named):
        grid(SPEC, varied)


def test_a_search_is_decided_by_its_seed() -> None:
    """And a longer one begins with the runs of a shorter one; draws stay in their range."""
    varied = {"learning_rate": Range(1e-6, 1e-3, log=True), "batch_size": Range(16, 256)}
    runs = search(SPEC, varied, 300, seed=3)
    assert search(SPEC, varied, 4, seed=3) == runs[:4] != search(SPEC, varied, 4, seed=4)
    assert len(dict(runs)) == 300
    assert all(type(c["batch_size"]) is int and 16 <= c["batch_size"] <= 256 for _, c in runs)
    # Of a logarithmic range a third of the draws falls into each of its three decades.
    decades = Counter(math.floor(math.log10(change["learning_rate"])) for _, change in runs)
    assert decades == pytest.approx({-6: 100, -5: 100, -4: 100}, abs=30)
    # Among few each is found once.
    assert len(search(SPEC, {"head": ["mlp", "none"], "seed": [1, 2]}, 50, seed=0)) == 4


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("learning_rate=1e-5, 3e-5", ("learning_rate", [1e-5, 3e-5])),
        ("batch-size=64,128", ("batch_size", [64, 128])),
        ("hard_negatives=true,false", ("hard_negatives", [True, False])),
        ("dropout=none,0.2", ("dropout", [None, 0.2])),
        ("head=mlp,none", ("head", ["mlp", "none"])),
        ("temperature=0.01..0.1", ("temperature", Range(0.01, 0.1))),
        ("learning_rate=1e-6..1e-4:log", ("learning_rate", Range(1e-6, 1e-4, log=True))),
    ],
)
def test_what_is_varied_can_be_written_in_a_line(text, wanted) -> None:
    """For the command line; values take the type of their field."""
    assert parse(text) == wanted


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("rate=1", "unknown", "'rate'"),
        ("out=a,b", "unknown", "'out'"),
        ("head=0..1", "invalid", "head is not a number"),
        ("seed", "missing", "seed"),
        ("seed=1.5", "invalid", "a whole number"),
        ("dropout=much", "invalid", "'much'"),
        ("dual=perhaps", "invalid", "true or false"),
        ("temperature=1..0.1", "invalid", "1..0.1"),
        ("temperature=low..0.1", "invalid", "temperature cannot be 'low'"),
        ("temperature=0..1:log", "invalid", "logarithm"),
        ("temperature=0.1..1:lin", "invalid", "'lin'"),
        ("batch_size=1.6..1.9", "invalid", "batch size cannot be '1.6'"),
    ],
)
def test_a_slip_is_told(text, code, named) -> None:
    """With what was expected."""
    with refused(code, named):
        parse(text)


def test_the_best_has_the_highest_dev_score() -> None:
    """The first of equals; runs without a score do not count."""
    scores = [70.0, 75.5, None, 75.5, math.nan]
    assert (best(scores), best([None, math.nan])) == (1, None)


UNSUP = TrainSpec.from_dict(UNSUPERVISED | {"base": "minilm", "train": "starter", "out": "o"})
SUP = TrainSpec.from_dict(SUPERVISED | {"base": "minilm", "train": "nli", "out": "o"})


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_row_is_a_run_of_its_own_and_the_paper_chose_the_best(name) -> None:
    """No two labels are the same. The presets are the best row of each table, bar equals."""
    ablation = ABLATIONS[name]
    spec = {"unsup": UNSUP, "sup": SUP}[ablation.objective]
    found = children(name, spec)
    usual = spec.to_dict() | {"dropout": 0.1}
    runs = {str(TrainSpec.from_dict(usual | changes)) for _, changes in found}
    assert len(runs) == len(dict(found)) == len(found)
    top = max(row.score for row in ablation.rows)
    assert top == {"unsup": 82.5, "sup": 86.2}[ablation.objective]
    assert any(usual | row.changes == usual for row in ablation.rows if row.score == top)
    with refused("mismatch", ablation.table, ablation.objective):  # which it starts from
        children(name, {"unsup": SUP, "sup": UNSUP}[ablation.objective])


def test_scales_bound_the_examples_and_look_ten_times() -> None:
    """A run of 20,000 sentences in batches of 64 has 313 updates, and looks every 31."""
    small = at_scale(UNSUP, "small")
    assert (small.limit, small.dev_every, steps_of(small, 20_000)) == (20_000, 31, 313)
    assert at_scale(UNSUP, "paper") == UNSUP


GB = 2**30
LAPTOP, GPU = Machine("cpu", 8 * GB), Machine("cuda", 80 * GB)


def named(catalog: Catalog, machine: Machine) -> dict[str, Preset]:
    """Presets by name."""
    return {preset.name: preset for preset in presets(catalog, machine)}


@pytest.mark.parametrize("machine", [LAPTOP, GPU, Machine("cuda", 2 * GB), Machine("mps", 0)])
def test_every_preset_is_a_run(catalog, machine, tmp_path: Path) -> None:
    """Whatever the machine; this machine's come first and their names differ."""
    specs = {
        each.name: TrainSpec.from_dict(each.changes | {"out": "o"})
        for each in presets(catalog, machine)
    }
    assert [name.startswith("here-") for name in specs] == [True] * 3 + [False] * 8
    # Of this machine's, base, data and dev set are there without any download.
    for spec in list(specs.values())[:3]:
        assert spec.base == "minilm" or spec.base.startswith("new:")
        # The pairs are what the supervised run learns from: they cannot choose its weights.
        assert spec.dev == ("starter-pairs" if spec.objective == "unsup" else None)
        assert len(open_examples(spec.train, spec.objective, catalog, folder=tmp_path)) > 100


@pytest.mark.parametrize(
    ("name", "batch", "rate"),
    [
        ("unsup-bert-base", 64, 3e-5),
        ("unsup-bert-large", 64, 1e-5),
        ("unsup-roberta-base", 512, 1e-5),
        ("unsup-roberta-large", 512, 3e-5),
        ("sup-bert-base", 512, 5e-5),
        ("sup-bert-large", 512, 1e-5),
        ("sup-roberta-base", 512, 5e-5),
        ("sup-roberta-large", 512, 1e-5),
    ],
)
def test_the_settings_of_the_paper(catalog, name, batch, rate) -> None:
    """Table A.1; a head in training only for unsupervised runs, kept for supervised ones."""
    spec = TrainSpec.from_dict(named(catalog, GPU)[f"paper-{name}"].changes | {"out": "o"})
    assert (spec.batch_size, spec.learning_rate) == (batch, rate)
    unsup = name.startswith("unsup")
    assert (spec.epochs, spec.head) == ((1.0, "mlp-train-only") if unsup else (3.0, "mlp"))
    assert (spec.max_length, spec.temperature, spec.pooling) == (32, 0.05, "cls_token")


def test_a_small_memory_takes_smaller_micro_batches(catalog) -> None:
    """And a large one the whole batch at once; the batch stays the paper's."""
    changes = [
        named(catalog, Machine("cuda", memory * GB))["paper-sup-bert-base"].changes
        for memory in (4, 8, 24, 80)
    ]
    assert {change["batch_size"] for change in changes} == {512}
    sizes = [change["micro_batch"] or 512 for change in changes]
    assert sorted(sizes) == sizes and sizes[0] < sizes[-1] == 512


@pytest.mark.data
def test_the_data_folder_is_used_where_there_is_one(real: Catalog) -> None:
    """Sentences for unsupervised runs, triplets for supervised ones, STS-B to choose by."""
    unsup, sup, mlm = (
        named(real, LAPTOP)[f"here-{way}"].changes for way in ("unsup", "sup", "mlm")
    )
    assert unsup["train"].startswith("unlabelled/") and sup["train"].startswith("nli")
    assert (unsup["dev"], sup["dev"], mlm["dev"]) == ("STSBenchmark", "STSBenchmark", None)
