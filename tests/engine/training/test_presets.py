"""Presets: the paper's table A.1, and what fits a machine and its data."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.training.examples import open_examples
from theodolite.engine.training.presets import Machine, Preset, presets
from theodolite.engine.training.spec import TrainSpec

GB = 2**30
LAPTOP, GPU = Machine("cpu", 8 * GB), Machine("cuda", 80 * GB)


def named(catalog: Catalog, machine: Machine) -> dict[str, Preset]:
    """Presets by name."""
    return {preset.name: preset for preset in presets(catalog, machine)}


@pytest.mark.parametrize("machine", [LAPTOP, GPU, Machine("cuda", 2 * GB), Machine("mps", 0)])
def test_every_preset_is_a_run(catalog, machine) -> None:
    """Whatever the machine; this machine's come first and their names differ."""
    found = presets(catalog, machine)
    for preset in found:
        TrainSpec.from_dict(preset.changes | {"out": "o"})
    names = [preset.name for preset in found]
    assert len(set(names)) == len(names)
    assert [name.startswith("here-") for name in names] == [True] * 3 + [False] * 8


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
    sizes = []
    for memory in (4, 8, 24, 80):
        changes = named(catalog, Machine("cuda", memory * GB))["paper-sup-bert-base"].changes
        assert changes["batch_size"] == 512
        sizes.append(changes["micro_batch"] or 512)
    assert sizes == sorted(sizes)
    assert sizes[0] < 512
    assert sizes[-1] == 512


def test_a_preset_for_this_machine_runs_on_what_ships(catalog, tmp_path: Path) -> None:
    """Base, data and dev set are there without any download."""
    for preset in presets(catalog, LAPTOP)[:3]:
        spec = TrainSpec.from_dict(preset.changes | {"out": "o"})
        assert spec.base == "minilm" or spec.base.startswith("new:")
        # The pairs are what the supervised run learns from: they cannot choose its weights.
        assert spec.dev == ("starter-pairs" if spec.objective == "unsup" else None)
        assert len(open_examples(spec.train, spec.objective, catalog, folder=tmp_path)) > 100


def test_this_machine_can_be_looked_at() -> None:
    """It has a device and some memory."""
    machine = Machine.here()
    assert machine.device in ("cpu", "cuda", "mps")
    assert machine.memory > 2**20


@pytest.mark.data
def test_the_data_folder_is_used_where_there_is_one(data_root: Path) -> None:
    """Sentences for unsupervised runs, triplets for supervised ones, STS-B to choose by."""
    found = named(Catalog(data_root), LAPTOP)
    assert found["here-unsup"].changes["train"].startswith("unlabelled/")
    assert found["here-sup"].changes["train"].startswith("nli")
    devs = [found[f"here-{way}"].changes["dev"] for way in ("unsup", "sup", "mlm")]
    assert devs == ["STSBenchmark", "STSBenchmark", None]
