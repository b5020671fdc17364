"""The command line that measures the same as a plan or a piece of advice."""

from __future__ import annotations

import shlex
from collections.abc import Sequence


def evaluate(
    encoders: Sequence[str],
    tasks: Sequence[str],
    protocol: str | None = None,
    seed: int | None = None,
    seeds: int = 1,
    *,
    listed: bool = True,
) -> str:
    """`theodolite evaluate …`, to be pasted into a terminal; what is usual is left out."""
    words = ["theodolite", "evaluate", *encoders, "--tasks", ",".join(tasks)]
    if protocol:
        words += ["--protocol", protocol]
    if seed is not None:
        words += ["--seed", str(seed)]
    if seeds > 1:
        words += ["--seeds", str(seeds)]
    if not listed:
        words.append("--unlisted")
    return shlex.join(words)
