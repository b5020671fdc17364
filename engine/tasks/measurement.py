"""What scoring a task gives, before it is known whose score it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.results import Score


@dataclass(frozen=True, eq=False)
class Measurement:
    """Scores, per-example values and details, as `engine.results.Result` carries them."""

    scores: tuple[Score, ...]
    examples: Mapping[str, np.ndarray]
    details: Mapping[str, Any] = field(default_factory=dict)
