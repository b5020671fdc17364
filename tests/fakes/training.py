"""Tiny BERTs of the engine's own, from fresh weights."""

import torch

from theodolite.engine.training import TrainSpec
from theodolite.engine.training.model import TrainingModel, open_model

WORDS = (
    "a the man woman cat dog sits runs sleeps eats on under near mat table street red old "
    "small happy nobody sings while rain falls and then they leave quietly"
)
BASE = "new:layers=2,hidden=32,heads=2,vocab=300,positions=40"
"""Each of the words is one token."""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def tiny_model(spec: TrainSpec, dtype: torch.dtype = torch.float64) -> TrainingModel:
    """The model of a spec whose base is `BASE`."""
    model = open_model(spec, [(WORDS,)] * 5)
    for weight in model.parameters():
        # Weights of the usual 0.02 leave all sentences alike in so small a model.
        weight.data.mul_(10.0 if weight.ndim > 1 else 1.0)
    return model.to(dtype)
