"""What each of two processes that train together does: `python -m tests.fakes.ranks FOLDER`.

They are forks of one process, so that all is imported once.
"""

import os
import socket
import sys
from pathlib import Path

import numpy as np
import torch
from numpy.random import default_rng
from safetensors.torch import save_file

from tests.fakes.runs import tiny_run, tiny_spec
from theodolite.engine.training import TrainSpec, mlm
from theodolite.engine.training.devices import (
    Ranks,
    begin,
    copy_from_first,
    end,
    sum_gradients,
    sum_over_ranks,
)
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.model import TrainingModel, open_model
from theodolite.engine.training.objectives import objective_of

WORDS = (
    "a the man woman cat dog sits runs sleeps eats on under near mat table street red old "
    "small happy nobody sings while rain falls and then they leave quietly"
)
BASE = "new:layers=2,hidden=32,heads=2,vocab=300,positions=40"
"""Each of the words is one token."""
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
EXAMPLES = [
    ("a man sits on the mat", "the man sits", "nobody sits"),
    ("a red cat sleeps", "the small cat sleeps near the table", "the dog runs"),
    ("they leave quietly", "then they leave", "the rain falls and falls"),
    ("the old woman eats", "a woman eats on the street", "nobody eats"),
    ("a dog runs", "the happy dog runs and runs", "a dog sleeps"),
]
CASES: dict[str, tuple[str, dict[str, object], int | None, int]] = {
    "unsup": ("unsup", {}, None, 5),
    "sup": ("sup", {"hard_negative_weight": 0.5}, None, 5),
    "sup in micro-batches": ("sup", {}, 2, 5),
    "dual": ("unsup", {"dual": True}, 1, 5),
    "one example": ("sup", {}, None, 1),
    "one example, dual": ("sup", {"dual": True}, 1, 1),
    "one example, mlm": ("sup", {"mlm_weight": 0.5, "mlm_probability": 0.9}, 1, 1),
}
"""Objective, changes to its settings, examples in a micro-batch and in all."""


def tiny_model(spec: TrainSpec, dtype: torch.dtype = torch.float64) -> TrainingModel:
    """The model of a spec whose base is `BASE`."""
    model = open_model(spec, [(WORDS,)] * 5)
    for weight in model.parameters():
        # Weights of the usual 0.02 leave all sentences alike in so small a model.
        weight.data.mul_(10.0 if weight.ndim > 1 else 1.0)
    return model.to(dtype)


def case(name: str, ranks: Ranks) -> tuple[TrainingModel, torch.Tensor]:
    """The model with the gradients of all ranks, and the loss, of one case."""
    kind, changes, size, n = CASES[name]
    spec = TrainSpec(kind, BASE, "t", "out", dropout=0.0, **changes)
    model, objective = tiny_model(spec), objective_of(spec)
    own = [EXAMPLES[row] for row in ranks.shard(np.arange(n))]
    columns = objective.columns(own, model, default_rng(0))
    loss = backward(model, objective, columns, size, default_rng(0), counts=ranks.counts(n))
    sum_gradients(model.parameters())
    return model, loss


def masked_case(ranks: Ranks) -> tuple[TrainingModel, torch.Tensor]:
    """MLM where the last rank has no token to predict and so no gradients of its own."""
    model = tiny_model(TrainSpec("mlm", BASE, "t", "out", dropout=0.0))
    ids = model.ids(["a man sits", "a red cat sleeps"])
    hidden = mlm.Masked(ids, [[mlm.IGNORED, *ids[0][1:]], [mlm.IGNORED] * len(ids[1])])
    own = ranks.shard(np.arange(2))
    part = hidden.part(int(own[0]), int(own[-1]) + 1)
    chosen = sum_over_ranks(torch.tensor(float(part.count)))
    loss = torch.zeros((), dtype=torch.float64)
    if part.count:
        loss = mlm.mlm_loss(model, part) / chosen
        loss.backward()
    sum_gradients(model.parameters())
    return model, sum_over_ranks(loss)


def main(folder: Path, spec: TrainSpec) -> None:
    """Write what each rank found of each case, and train one encoder by both."""
    ranks = Ranks.of_environment()
    begin(ranks, torch.device("cpu"))
    found = {name: case(name, ranks) for name in CASES} | {"mlm": masked_case(ranks)}
    for name, (model, loss) in found.items():
        gradients = {k: p.grad for k, p in model.named_parameters() if p.grad is not None}
        save_file(gradients | {"loss": loss}, folder / f"{name} {ranks.rank}.safetensors")

    weights = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(weights.weight, float(ranks.rank + 5))
    copy_from_first(weights)
    save_file({"weight": weights.weight.detach()}, folder / f"first {ranks.rank}.safetensors")
    list(tiny_run(spec, ranks).events())
    end()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    os.environ["WORLD_SIZE"] = "2"
    tiny_model(TrainSpec("mlm", BASE, "t", "out"))  # imports what a model needs
    place = Path(sys.argv[1])
    whole = tiny_spec(place, dropout=0.0)  # with its sentences, before both would write them
    child = os.fork()
    os.environ["RANK"] = "0" if child else "1"
    main(place, whole)
    if child:
        sys.exit(os.waitpid(child, 0)[1])
