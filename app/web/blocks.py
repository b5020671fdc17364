"""Gradio's Blocks, laid out without Gradio's repeated work.

To lay out twenty pages, Gradio reads the signature of every component's constructor several times a
component, and serialises the configuration of all pages at each of five steps of a launch. Together
that took as long as the rest of the launch beyond the import of Gradio.
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
    """Blocks whose configuration is serialised only once they are `laid_out`."""

    laid_out = False

    def get_config_file(self) -> BlocksConfigDict:
        """Gradio's configuration; until everything is laid out, that of the empty Blocks."""
        if self.laid_out or "config" not in vars(self):
            return super().get_config_file()
        return self.config


def keep_signatures() -> None:
    """Cache the signature of every component's constructor in `__signature__`.

    `inspect.signature` returns that attribute where it is set instead of working it out anew.
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
