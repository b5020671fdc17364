"""The ablations of SimCSE's paper as changes to a run, at any scale.

    spec = TrainSpec("unsup", "minilm", "unlabelled/sentences_mix", "dropout", limit=20_000)
    for label, changes in children("dropout", spec):
        run(TrainSpec.from_dict(spec.to_dict() | changes))

Tables are numbered as in the last version of the paper (Gao, Yao and Chen 2021, EMNLP;
arXiv:2104.08821v4). The scores are the paper's: Spearman x 100 on the dev set of STS-B, BERT base,
a million sentences or 275,601 triplets. Rows whose data or method are not available here are named
in `left_out`.
"""

import math
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec


@dataclass(frozen=True)
class AblationRow:
    """A row of a table.

    Attributes:
        label: what is changed, as the paper says it.
        changes: fields of a TrainSpec; none for the paper's own choice.
        score: the paper's, on the dev set of STS-B.
    """

    label: str
    changes: dict[str, Any]
    score: float


@dataclass(frozen=True)
class Ablation:
    """A table, or the part of one that starts from the same kind of run.

    Attributes:
        name: for addresses and commands.
        table: of the paper's last version.
        title: what is varied.
        objective: of the run that the changes are made to.
        rows: of the table.
        left_out: rows that cannot be run here, and why.
    """

    name: str
    table: str
    title: str
    objective: Literal["unsup", "sup"]
    rows: tuple[AblationRow, ...]
    left_out: str = ""


def _read() -> dict[str, Ablation]:
    tables = tomllib.loads(Path(__file__).with_name("ablations.toml").read_text("utf-8"))
    for table in tables.values():
        table["rows"] = tuple(AblationRow(*row) for row in table["rows"])
    return {name: Ablation(name, **table) for name, table in tables.items()}


ABLATIONS = _read()
"""By name, in the order of the paper."""


@dataclass(frozen=True)
class Scale:
    """How large the runs of an ablation are.

    Attributes:
        label: for people.
        limit: number of training examples; None for all.
    """

    label: str
    limit: int | None


SCALES = {
    "try": Scale("a try: 2,000 examples", 2_000),
    "small": Scale("small: 20,000 examples", 20_000),
    "paper": Scale("as large as the data", None),
}
"""By name, from the smallest. Differences at one scale need not hold at another."""
_EVALS = 10
"""Dev evaluations in a run of known length: enough to find its best weights, and still cheap."""


def at_scale(spec: TrainSpec, scale: str) -> TrainSpec:
    """Return the run at a scale; it is evaluated on the dev set ten times."""
    sizes = SCALES[scale]
    if sizes.limit is None:
        return replace(spec, limit=None)
    updates = math.ceil(spec.epochs * math.ceil(sizes.limit / spec.batch_size))
    return replace(spec, limit=sizes.limit, steps=None, dev_every=max(1, updates // _EVALS))


def children(name: str, spec: TrainSpec) -> list[tuple[str, dict[str, Any]]]:
    """Return label and changes of the rows of an ablation, each checked against a run.

    Args:
        name: of `ABLATIONS`.
        spec: the run that the changes are made to.
    """
    ablation = ABLATIONS[name]
    if spec.objective != ablation.objective:
        raise UserError(
            f"Table {ablation.table} ({ablation.title.lower()}) starts from {ablation.objective}, "
            f"not from {spec.objective}.",
            f"Choose the objective {ablation.objective} and data for it.",
            code="mismatch",
        )
    for row in ablation.rows:
        TrainSpec.from_dict(spec.to_dict() | row.changes)
    return [(row.label, row.changes) for row in ablation.rows]
