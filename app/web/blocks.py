"""Gradio's Blocks, laid out without repeated work of Gradio's.

Laying out twenty pages it reads the signature of every component's constructor several times a
component, and writes the configuration of all pages down at each of five steps on the way to a
launch. Together that took as long as the rest of the launch beyond the import of Gradio.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.blocks import Block

if TYPE_CHECKING:
    from gradio.blocks import BlocksConfigDict


class Pages(gr.Blocks):
    """Blocks whose configuration is written down once they are `laid_out`, and not before."""

    laid_out = False

    def get_config_file(self) -> BlocksConfigDict:
        """As Gradio's; until all is laid out, that of the empty Blocks."""
        if self.laid_out or "config" not in vars(self):
            return super().get_config_file()
        return self.config


def keep_signatures() -> None:
    """Have Python keep the signature of every component's constructor instead of reading it anew.

    `inspect` takes what stands in `__signature__`; so it finds what it would have worked out.
    """
    for component in _kinds(Block):
        init: Any = vars(component).get("__init__")
        while init is not None and not hasattr(init, "__signature__"):
            wrapped = getattr(init, "__wrapped__", None)
            init.__signature__ = inspect.signature(init)
            init = wrapped


def _kinds(block: type[Block]) -> Iterator[type[Block]]:
    for kind in block.__subclasses__():
        yield kind
        yield from _kinds(kind)
