"""Steps between two sentences: a slider, the current step, and the list of all steps.

The slider moves in the browser alone; everything it shows came with the value. Knows nothing of how
the steps were made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import gradio as gr

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Near:
    """A real sentence near a step, and its cosine to it."""

    sentence: str
    cosine: float


@dataclass(frozen=True)
class Stop:
    """One step.

    Attributes:
        share: 0 at the first sentence, 1 at the second.
        sentence: what was decoded there.
        cosine: of the sentence to the step.
        first, second: cosine of the sentence to the two ends.
        near: real sentences, nearest first.
    """

    share: float
    sentence: str
    cosine: float
    first: float
    second: float
    near: Sequence[Near] = ()


def interpolation(**kwargs: Any) -> gr.HTML:
    """Make the component; its value is what `value_of` returns, or None for nothing."""
    return gr.HTML(None, html_template="", js_on_load=_JS, apply_default_css=False, **kwargs)


def value_of(
    stops: Sequence[Stop], ends: tuple[str, str], *, at: int | None = None, collection: str = ""
) -> dict[str, Any]:
    """Make the value.

    Args:
        stops: at least two, from the first sentence to the second.
        ends: the two sentences as they were written.
        at: where the slider stands; None for the middle.
        collection: where the real sentences are from.
    """
    middle = len(stops) // 2
    return {
        "stops": [asdict(stop) for stop in stops], "ends": list(ends), "collection": collection,
        "at": middle if at is None or not 0 <= at < len(stops) else at, "middle": middle,
    }  # fmt: skip
