"""What each process of the test of several does: `torchrun -m tests.fakes.ranks FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

from engine.training import TrainSpec
from engine.training.distributed import (
    Ranks,
    begin,
    copy_from_first,
    end,
    gathered,
    sum_gradients,
    summed,
)
from engine.training.gradients import backward
from engine.training.objectives import Column, Objective, mlm, objective_of
from tests.fakes.training import TinyModel

EXAMPLES = [
    ("a man sits on the mat", "the man sits", "nobody sits"),
    ("a red cat sleeps", "the small cat sleeps near the table", "the dog runs"),
    ("they leave quietly", "then they leave", "the rain falls and falls"),
    ("the old woman eats", "a woman eats on the street", "nobody eats"),
    ("a dog runs", "the happy dog runs and runs", "a dog sleeps"),
]
CASES: dict[str, tuple[str, dict[str, object], int | None]] = {
    "unsup": ("unsup", {}, None),
    "sup": ("sup", {"hard_negative_weight": 0.5}, None),
    "sup in micro-batches": ("sup", {}, 2),
    "dual": ("unsup", {"dual": True}, 1),
}
"""Objective, changes to its settings, examples in a micro-batch."""


def case(name: str, ranks: Ranks) -> tuple[TinyModel, torch.Tensor]:
    """The model with the gradients of all ranks, and the loss, of one case."""
    kind, changes, size = CASES[name]
    model = TinyModel(dual="dual" in name)
    objective = objective_of(TrainSpec(kind, "base", "t", "out", **changes))  # type: ignore[arg-type]
    loss = backward(model, objective, shared(objective, model, ranks), size, draws())
    sum_gradients(model.parameters())
    return model, loss


def shared(objective: Objective, model: TinyModel, ranks: Ranks) -> list[Column]:
    """The columns of this rank's part of the examples."""
    own = ranks.share(np.arange(len(EXAMPLES)))
    return objective.columns([EXAMPLES[row] for row in own], model, draws())


def masked_case(ranks: Ranks) -> tuple[TinyModel, torch.Tensor]:
    """MLM where the last rank has no token to predict and so no gradients of its own."""
    model = TinyModel()
    ids = model.ids([EXAMPLES[0][0], EXAMPLES[1][0]])
    hidden = mlm.Masked(ids, [[mlm.IGNORED, *ids[0][1:4]], [mlm.IGNORED] * 6])
    hidden.labels[0] += [mlm.IGNORED] * (len(ids[0]) - 4)
    own = ranks.share(np.arange(2))
    part = hidden.part(int(own[0]), int(own[-1]) + 1)
    chosen = summed(torch.tensor(float(part.chosen)))
    loss = torch.zeros((), dtype=torch.float64)
    if part.chosen:
        loss = mlm.mlm_loss(model, part) / chosen
        loss.backward()
    sum_gradients(model.parameters())
    return model, summed(loss)


def draws() -> np.random.Generator:
    return np.random.default_rng(0)


def main(folder: Path) -> None:
    """Write what rank 0 found of each case, and how it went on every rank."""
    ranks = begin(torch.device("cpu"))
    found = {name: case(name, ranks) for name in CASES} | {"mlm": masked_case(ranks)}
    for name, (model, loss) in found.items():
        gradients = {k: p.grad for k, p in model.named_parameters() if p.grad is not None}
        save_file(gradients | {"loss": loss}, folder / f"{name} {ranks.rank}.safetensors")

    rows = gathered(torch.full((ranks.rank + 1, 2), float(ranks.rank), requires_grad=True))
    rows.sum().backward()
    weights = torch.nn.Linear(2, 2)
    torch.nn.init.constant_(weights.weight, float(ranks.rank + 5))
    copy_from_first(weights)
    save_file(
        {"rows": rows.detach().contiguous(), "weight": weights.weight.detach()},
        folder / f"tools {ranks.rank}.safetensors",
    )
    end()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
