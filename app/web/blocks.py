"""Gradio's Blocks, laid out without Gradio's repeated work, and strict about what is sent to them.

To lay out twenty pages, Gradio reads the signature of every component's constructor several times a
component, serialises the configuration of all pages at each of five steps of a launch, and makes
its server at four of them. Together that took longer than the rest of the launch beyond the import
of Gradio.
"""

import inspect
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import gradio as gr
from gradio.blocks import Block, BlockFunction, BlocksConfigDict
from gradio.routes import App

from theodolite.app.spec import bounds
from theodolite.engine.errors import first_line

log = logging.getLogger(__name__)


class Pages(gr.Blocks):
    """Blocks whose components are serialised once, when everything is laid out."""

    laid_out = False

    def finish(self) -> None:
        """Everything is laid out."""
        self.laid_out = True
        self.default_config.get_config = cache(self.default_config.get_config)

    def get_config_file(self) -> BlocksConfigDict:
        """Gradio's configuration; until everything is laid out, that of the empty Blocks."""
        if self.laid_out or "config" not in vars(self):
            return super().get_config_file()
        return self.config

    async def preprocess_data(
        self, block_fn: BlockFunction, inputs: list[Any], *rest: Any, **named: Any
    ) -> list[Any]:
        """The values of an event's controls.

        Gradio prints a traceback for what no page sends, and passes some of it on to handlers.

        Raises:
            gr.Error: a value is not of its control's type, or not among its choices; or a number,
                which people type, is out of bounds.
        """
        boxes = block_fn.inputs
        for box, one in zip(boxes, inputs, strict=False):
            _check_bounds(box, one)
        inputs = [
            _empty(box) if one is None else one for box, one in zip(boxes, inputs, strict=False)
        ]
        try:
            values: list[Any] = await super().preprocess_data(block_fn, inputs, *rest, **named)
            for box, value in zip(boxes, values, strict=False):
                if not _fits(box, value):
                    raise ValueError(f"{box.get_block_name()} was sent {value!r}")
        except Exception as error:
            log.warning("Values that no page sends: %s", first_line(error, 200))
            raise gr.Error(
                "A control cannot have the value that was sent. Load the page again.",
                print_exception=False,
            ) from None
        return values


def _check_bounds(box: Any, value: Any) -> None:
    """Refuse a number that people can type and the box does not take: Gradio would not name it."""
    if isinstance(box, gr.Number) and isinstance(value, int | float):
        low = -math.inf if box.minimum is None else box.minimum
        high = math.inf if box.maximum is None else box.maximum
        if not low <= value <= high:
            raise gr.Error(
                f"{box.label} cannot be {value:,g}. Give a number{bounds(low, high)}.",
                print_exception=False,
            )


def _empty(box: Any) -> Any:
    """What the browser sends of a control that is empty, or not changed yet in case of a radio."""
    if isinstance(box, gr.Radio):
        return box.value
    if isinstance(box, gr.Textbox):
        return ""
    if isinstance(box, gr.Checkbox):
        return False
    several = isinstance(box, gr.CheckboxGroup) or getattr(box, "multiselect", False)
    return [] if several else None


def _fits(box: Any, value: Any) -> bool:
    """Whether a value has the type of its control; Gradio has checked that of the others."""
    if isinstance(box, gr.Checkbox):
        return isinstance(value, bool)
    if isinstance(box, gr.Number) or (isinstance(box, gr.Dropdown) and not box.multiselect):
        kinds = (int, float) if isinstance(box, gr.Number) else (int, float, str)
        return value is None or (
            isinstance(value, kinds)
            and not isinstance(value, bool)
            and not (isinstance(value, float) and not math.isfinite(value))
        )
    if isinstance(box, gr.Dropdown):
        return isinstance(value, list) and all(isinstance(one, str | int | float) for one in value)
    return True


@contextmanager
def without_a_server() -> Iterator[None]:
    """Lay out Blocks without the server that Gradio makes at each step; the launch makes its own.

    With all its routes, each takes a tenth of a second.
    """
    create_app = vars(App)["create_app"]
    App.create_app = staticmethod(_note_config)
    try:
        yield
    finally:
        App.create_app = create_app


def _note_config(blocks: gr.Blocks, **_: object) -> None:
    """What of `App.create_app` the next steps need."""
    blocks.config = blocks.get_config_file()


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
