"""Start-up of a published app on ZeroGPU, before its first visitor."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.engine.encoders.zerogpu import Encode

_TAG = re.compile(r"<[^>]*>")


def lend(decorated: Encode, store: Path) -> None:
    """Run models through a decorated function, and load the available encoders of a store.

    Args:
        decorated: a function that calls `zerogpu.encode`, decorated by the package `spaces`.
        store: whose encoders stay in memory from now on.
    """
    import gradio as gr

    from theodolite.app.workspace import Workspace
    from theodolite.engine.encoders import zerogpu

    def ask(number: int, sentences: list[str]) -> list[np.ndarray]:
        try:
            return decorated(number, sentences)
        except gr.Error as error:  # a quota is used up, no GPU is free: it says which
            text = " ".join(_TAG.sub(" ", str(error.message)).split())
            advice = "Try it again later, or with an encoder that needs none."
            raise UserError(
                f"No GPU was lent for this: {text}.", advice, code="unreachable"
            ) from error

    zerogpu.use(ask)
    workspace = Workspace(store, demo=True)
    for row in workspace.store.encoders.list():
        try:
            workspace.ranker(row["name"])
        except UserError:  # its results were published, its weights were not
            continue
    workspace.close()
