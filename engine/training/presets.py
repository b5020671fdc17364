"""Presets to start from: for this machine, and the paper's own (Gao et al. 2021).

    for preset in presets(Catalog()):
        spec = TrainSpec.from_dict(preset.changes | {"out": "my-encoder"})

The paper's are those of table A.1 and section 6.3, with what only the released scripts say: an
evaluation every 125 updates, sentences cut at 32 tokens, no warm-up, no weight decay. Batches that
do not fit the memory are split into micro-batches, which leaves the gradients as they are.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from typing import Any

from theodolite.engine.datasets.catalog import Catalog

_WIKIPEDIA = ("unlabelled/wiki1m_for_simcse", "unlabelled/sentences_mix")
"""The paper's million sentences, or a substitute for them."""
_INFERENCE = ("nli/nli_for_simcse", "nli")
STARTER = "starter"
"""Name of the shipped training data: its pairs or its topics, depending on the objective."""
DEV = ("STSBenchmark", "starter-pairs")
"""Default dev sets: the first one in the catalog is taken."""

UNSUPERVISED: dict[str, Any] = {
    "objective": "unsup",
    "epochs": 1.0,
    "pooling": "cls_token",
    "head": "mlp-train-only",
    "temperature": 0.05,
    "max_length": 32,
    "dev_every": 125,
}
"""Settings shared by all unsupervised runs of the paper."""
SUPERVISED: dict[str, Any] = UNSUPERVISED | {"objective": "sup", "epochs": 3.0, "head": "mlp"}
"""Settings shared by all supervised runs of the paper."""


@dataclass(frozen=True)
class Preset:
    """Settings to start from.

    Attributes:
        name: for addresses and commands.
        label: a few words for people.
        about: where the settings come from, and notes on them.
        changes: fields of a TrainSpec, base and data included; all but `out`.
    """

    name: str
    label: str
    about: str
    changes: dict[str, Any]


@dataclass(frozen=True)
class Machine:
    """The facts about a machine that determine its settings.

    Attributes:
        device: `cpu`, `cuda` or `mps`.
        memory: bytes that a run may use, of the GPU or of the machine.
    """

    device: str
    memory: int

    @classmethod
    def here(cls) -> Machine:
        """Inspect this machine: its first GPU if it has one; without one, torch is not imported."""
        import psutil

        if not (sys.platform == "darwin" or shutil.which("nvidia-smi") or "torch" in sys.modules):
            return cls("cpu", psutil.virtual_memory().available)
        import torch

        from theodolite.engine.encoders.transformer import default_device

        device = default_device()
        if device == "cuda":
            return cls(device, torch.cuda.get_device_properties(0).total_memory)
        return cls(device, psutil.virtual_memory().available)


@dataclass(frozen=True)
class _Shape:
    """The dimensions of a transformer that determine its memory."""

    layers: int
    hidden: int
    heads: int
    parameters: int


_MINILM = _Shape(6, 384, 12, 23_000_000)
_BASE = _Shape(12, 768, 12, 125_000_000)
_LARGE = _Shape(24, 1024, 16, 355_000_000)
_SMALL = _Shape(4, 256, 4, 5_300_000)


def presets(catalog: Catalog, machine: Machine | None = None) -> list[Preset]:
    """List the presets, those for this machine first; of them the supervised one, given triplets.

    Args:
        catalog: the first preferred data set in it is taken, or else the starter set.
        machine: to choose settings for; None for this one.
    """
    machine = machine or Machine.here()
    known = {info.name for info in catalog.list()}
    sentences = _first(_WIKIPEDIA, known)
    triplets = _first(_INFERENCE, known)
    dev = {"dev": default_dev(catalog)}
    unsupervised, supervised, *others = _for_machine(machine, sentences, triplets)
    first = [unsupervised, supervised] if triplets == STARTER else [supervised, unsupervised]
    return [
        *(_with(preset, dev) for preset in [*first, *others]),
        *(_with(preset, dev) for preset in _of_paper(machine, sentences, triplets)),
    ]


def default_dev(catalog: Catalog) -> str | None:
    """The first of `DEV` in a catalog; None without any."""
    known = catalog.names()
    return next((name for name in DEV if name in known), None)


def _first(names: tuple[str, ...], known: set[str]) -> str:
    return next((name for name in names if name in known), STARTER)


def _with(preset: Preset, changes: dict[str, Any]) -> Preset:
    """Add the dev set; none for MLM, which STS does not measure, or where a run trains on it."""
    if preset.changes["objective"] == "mlm":
        changes = {"dev": None}
    elif preset.changes["objective"] == "sup" and preset.changes["train"] == STARTER:
        changes = {"dev": None} if changes["dev"] == "starter-pairs" else changes
    return replace(preset, changes=preset.changes | changes)


def _for_machine(machine: Machine, sentences: str, triplets: str) -> list[Preset]:
    gpu = machine.device != "cpu"
    where = "the GPU" if gpu else "the processor"
    limit, batch = (None, 512) if gpu else (20_000, 64)
    part = "all of the data" if limit is None else f"at most {limit:,} examples"
    shared = {
        "base": "minilm",
        "pooling": "base",
        "limit": limit,
        "batch_size": batch,
        "dev_every": 25,
    }
    look = f"The included MiniLM, on {where} of this machine, with {part}."
    pretrained = {
        "objective": "mlm",
        "base": "new:layers=4,hidden=256,heads=4,vocab=8000",
        "train": sentences,
        "batch_size": 128,
        "max_length": 64,
        "learning_rate": 5e-4,
        "warmup": 0.06,
        "weight_decay": 0.01,
        "head": "none",
        "pooling": "avg",
        "epochs": 3.0 if gpu else 1.0,
    }
    return [
        Preset(
            "here-unsup",
            "This machine: unsupervised",
            f"{look} Sentences of any language will do, but MiniLM is good already: "
            "expect no gain from sentences alone.",
            UNSUPERVISED
            | shared
            | {"train": sentences, "learning_rate": 3e-5}
            | _micro(machine, _MINILM, batch, 2),
        ),
        Preset(
            "here-sup",
            "This machine: supervised",
            f"{look} It needs pairs that mean the same, better with hard negatives. "
            "Without a head: a new layer would have to learn first what MiniLM knows.",
            SUPERVISED
            | shared
            | {"train": triplets, "learning_rate": 5e-5, "head": "none"}
            | _micro(machine, _MINILM, batch, 3),
        ),
        Preset(
            "here-mlm",
            "This machine: a small BERT from scratch",
            "Masked language modelling with four layers of 256 and a vocabulary of its own: a base "
            "to train further. The settings are ours; the last weights are kept.",
            pretrained | _micro(machine, _SMALL, 128, 1, 64),
        ),
    ]


# name -> base, the shape that determines its memory, and (batch size, learning rate) of
# unsupervised and of supervised training (table A.1).
_PAPER: dict[str, tuple[str, _Shape, tuple[int, float], tuple[int, float]]] = {
    "bert-base": ("hf:bert-base-uncased", _BASE, (64, 3e-5), (512, 5e-5)),
    "bert-large": ("hf:bert-large-uncased", _LARGE, (64, 1e-5), (512, 1e-5)),
    "roberta-base": ("hf:roberta-base", _BASE, (512, 1e-5), (512, 5e-5)),
    "roberta-large": ("hf:roberta-large", _LARGE, (512, 3e-5), (512, 1e-5)),
}
_LABELS = {
    "bert-base": "BERT base",
    "bert-large": "BERT large",
    "roberta-base": "RoBERTa base",
    "roberta-large": "RoBERTa large",
}


def _of_paper(machine: Machine, sentences: str, triplets: str) -> list[Preset]:
    presets = []
    for way, shared, train, columns, data in (
        ("unsup", UNSUPERVISED, sentences, 2, "a million sentences of Wikipedia"),
        ("sup", SUPERVISED, triplets, 3, "275,601 triplets of SNLI and MultiNLI"),
    ):
        for name, (base, shape, unsup, sup) in _PAPER.items():
            batch, rate = unsup if way == "unsup" else sup
            changes = {"base": base, "train": train, "batch_size": batch, "learning_rate": rate}
            word = "unsupervised" if way == "unsup" else "supervised"
            presets.append(
                Preset(
                    f"paper-{way}-{name}",
                    f"SimCSE's paper: {_LABELS[name]}, {word}",
                    f"Gao et al. 2021, table A.1. The paper trained on {data}; give that file for "
                    "its scores. The base is fetched from the Hugging Face hub.",
                    shared | changes | _micro(machine, shape, batch, columns),
                )
            )
    return presets


def _micro(
    machine: Machine, shape: _Shape, batch: int, columns: int, length: int = 32
) -> dict[str, int | None]:
    """The micro-batch: the largest power of two of examples that should fit the memory.

    Activations of a layer take tokens x hidden x (34 + 5 heads x length / hidden) bytes at half
    precision (Korthikanti et al. 2022, equation 2), twice that in float32; weights, gradients and
    the two moments of AdamW 16 bytes a parameter. Half of the memory is left free.
    """
    of_token = shape.hidden * (34 + 5 * shape.heads * length / shape.hidden)
    example = 2 * shape.layers * length * of_token * columns
    room = machine.memory / 2 - 16 * shape.parameters
    fits = 2 ** max(0, int(max(room, 1) / example).bit_length() - 1)
    return {"micro_batch": None if fits >= batch else fits}
