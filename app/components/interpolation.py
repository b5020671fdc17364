"""Steps between two sentences: a slider, the current step, and the list of all steps.

The slider works in the browser only; everything it shows is in the value. The component does not
know how the steps were made.
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
        sentence: the sentence decoded at the step.
        cosine: cosine of the sentence to the step.
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
    """Make the component; its value comes from `value_of`, or is None for an empty component."""
    return gr.HTML(None, html_template="", js_on_load=_JS, apply_default_css=False, **kwargs)


def value_of(
    stops: Sequence[Stop], ends: tuple[str, str], *, at: int | None = None, collection: str = ""
) -> dict[str, Any]:
    """Make the value.

    Args:
        stops: at least two, from the first sentence to the second.
        ends: the two sentences as entered.
        at: index of the slider's step; None for the middle.
        collection: the collection of the real sentences.
    """
    middle = len(stops) // 2
    return {
        "stops": [asdict(stop) for stop in stops],
        "ends": list(ends),
        "collection": collection,
        "at": middle if at is None or not 0 <= at < len(stops) else at,
        "middle": middle,
    }
