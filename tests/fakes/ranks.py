"""What each process of the test of several does: `torchrun -m tests.fakes.ranks FOLDER`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import nn

from theodolite.engine.training import TrainSpec
from theodolite.engine.training.distributed import (
    Ranks,
    all_gather,
    begin,
    copy_from_first,
    end,
    sum_gradients,
    summed,
)
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.objectives import Column, Objective, mlm, objective_of

EXAMPLES = [
    ("a man sits on the mat", "the man sits", "nobody sits"),
    ("a red cat sleeps", "the small cat sleeps near the table", "the dog runs"),
    ("they leave quietly", "then they leave", "the rain falls and falls"),
    ("the old woman eats", "a woman eats on the street", "nobody eats"),
    ("a dog runs", "the happy dog runs and runs", "a dog sleeps"),
]
WORDS = 50
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


class Numbers:
    """What MLM asks of a tokenizer."""

    mask_token_id = 0
    all_special_ids = (0,)

    def __len__(self) -> int:
        return WORDS


class BagModel(nn.Module):
    """The interface of a model without transformers, whose import takes longer than the test.

    A token's state is its embedding through a dense layer, a sentence's vector their mean.
    """

    def __init__(self, dual: bool = False) -> None:
        super().__init__()
        torch.manual_seed(7)
        sides = 2 if dual else 1
        self.embeddings = nn.ModuleList(nn.Embedding(WORDS, 16) for _ in range(sides))
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(sides))
        self.scores = nn.Linear(16, WORDS)
        self.tokenizer = Numbers()
        self.double()

    def ids(self, sentences: Sequence[str]) -> list[list[int]]:
        """A number for each word: its letters' sum."""
        return [[sum(map(ord, w)) % WORDS for w in sentence.split()] for sentence in sentences]

    def vectors(
        self, ids: Sequence[Sequence[int]], *, side: int = 0, head: bool = True
    ) -> torch.Tensor:
        """(n, 16)."""
        return torch.stack([self._states(row, side).mean(0) for row in ids])

    def token_states(self, ids: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """(tokens, 16) and their ids."""
        flat = [token for row in ids for token in row]
        return self._states(flat, 0), torch.tensor(flat)

    def mlm_logits(self, states: torch.Tensor) -> torch.Tensor:
        """(m, vocabulary)."""
        return self.scores(states)

    def _states(self, row: Sequence[int], side: int) -> torch.Tensor:
        return torch.tanh(self.layers[side](self.embeddings[side](torch.tensor(row))))


def case(name: str, ranks: Ranks) -> tuple[BagModel, torch.Tensor]:
    """The model with the gradients of all ranks, and the loss, of one case."""
    kind, changes, size, n = CASES[name]
    model = BagModel(dual="dual" in name)
    objective = objective_of(TrainSpec(kind, "base", "t", "out", **changes))  # type: ignore[arg-type]
    columns = shard(objective, model, ranks, n)
    loss = backward(model, objective, columns, size, draws(), counts=ranks.counts(n))
    sum_gradients(model.parameters())
    return model, loss


def shard(objective: Objective, model: BagModel, ranks: Ranks, n: int) -> list[Column]:
    """The columns of this rank's part of the first n examples."""
    return objective.columns([EXAMPLES[row] for row in ranks.shard(np.arange(n))], model, draws())


def masked_case(ranks: Ranks) -> tuple[BagModel, torch.Tensor]:
    """MLM where the last rank has no token to predict and so no gradients of its own."""
    model = BagModel()
    ids = model.ids(["a man sits", "a red cat sleeps"])
    hidden = mlm.Masked(ids, [[mlm.IGNORED, *ids[0][1:]], [mlm.IGNORED] * 4])
    own = ranks.shard(np.arange(2))
    part = hidden.part(int(own[0]), int(own[-1]) + 1)
    chosen = summed(torch.tensor(float(part.chosen)))
    loss = torch.zeros((), dtype=torch.float64)
    if part.chosen:
        loss = mlm.mlm_loss(model, part) / chosen
        loss.backward()
    sum_gradients(model.parameters())
    return model, summed(loss)


def draws() -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(0)


def main(folder: Path) -> None:
    """Write what rank 0 found of each case, and how it went on every rank."""
    ranks = begin(torch.device("cpu"))
    found = {name: case(name, ranks) for name in CASES} | {"mlm": masked_case(ranks)}
    for name, (model, loss) in found.items():
        gradients = {k: p.grad for k, p in model.named_parameters() if p.grad is not None}
        save_file(gradients | {"loss": loss}, folder / f"{name} {ranks.rank}.safetensors")

    own = torch.full((ranks.rank + 1, 2), float(ranks.rank), requires_grad=True)
    rows = all_gather(own, [1, 2])
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
