"""A page opened without a browser: laid out by itself, its events answered by its own handlers.

What is frozen is the page as a person sees it after opening it and after pressing its controls. The
events that a browser would fire after an answer, `then` and `change`, are fired here.
"""

from __future__ import annotations

import inspect
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import gradio as gr
from gradio.blocks import Block
from starlette.requests import Request

from theodolite.app.web import frame
from theodolite.app.web.blocks import keep_signatures
from theodolite.app.web.events import PageEvent
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from gradio.block_function import BlockFunction

    from theodolite.app.web.frame import Entry
    from theodolite.app.workspace import Workspace

Props = dict[str, Any]
"""Properties of a component, by Gradio's names: `value`, `choices`, `visible`, `label`."""
SESSION = "published"
NOTICE = "t-notice-place"


class OpenedPage:
    """A page that was opened at an address.

    Attributes:
        blocks: the layout.
        shown: id of a component -> what it shows now.
    """

    def __init__(
        self,
        entry: Entry,
        page: ModuleType,
        workspace: Workspace,
        query: Sequence[tuple[str, str]],
    ) -> None:
        keep_signatures()
        with gr.Blocks(analytics_enabled=False) as self.blocks:
            frame.lay_out(entry, page, workspace, page.FROZEN.build)
        self._functions = list(self.blocks.fns.values())
        self._title = page.TITLE
        self.shown: dict[int, Props] = {}
        self.open(query)

    def open(self, query: Sequence[tuple[str, str]]) -> None:
        """Open the page at an address, from its initial state."""
        self._request = gr.Request(
            Request({"type": "http", "query_string": urlencode(query).encode(), "headers": []}),
            session_hash=SESSION,
        )
        names = ("value", "choices", "visible", "label")
        self.shown = {
            number: {name: getattr(block, name, None) for name in names}
            for number, block in self.blocks.blocks.items()
        }
        self.fire(self.blocks._id, "load")
        for number, block in self.blocks.blocks.items():
            wrong = NOTICE in (block.elem_classes or []) and self.shown[number]["value"]
            if wrong:
                words = unescape(re.sub(r"<[^>]*>", " ", str(wrong)))
                raise UserError(
                    f"{self._title} has nothing to publish: {' '.join(words.split())}",
                    "Leave the page out with --pages.",
                    code="no-result",
                )

    def by_id(self, elem_id: str) -> Block:
        """The component of that id.

        Raises:
            LookupError: the page has none.
        """
        for block in self.blocks.blocks.values():
            if getattr(block, "elem_id", None) == elem_id:
                return block
        raise LookupError(f"the page has no {elem_id!r}")

    def after(
        self, block: Block, event: str, data: Mapping[str, Any] | None = None, **props: Any
    ) -> dict[int, Props]:
        """What an event would change on the page; the page itself stays as it is.

        Args:
            block: the component of the event.
            event: its name.
            data: what the browser sends along.
            **props: properties of the component that a person has set.

        Returns:
            Id of each component that would change -> what it would show.
        """
        before = self.shown
        self.shown = {number: dict(held) for number, held in before.items()}
        self.shown[block._id] |= props
        self.fire(block._id, event, data)
        then, self.shown = self.shown, before
        return {n: held for n, held in then.items() if n != block._id and held != before[n]}

    def reached(self, block: Block, event: str) -> set[int]:
        """Ids of the parts of the page that an event may change."""
        waiting, seen = self._listening(block._id, event), []
        while waiting:
            seen.append(function := waiting.pop())
            then = [f for f in self._functions if f.trigger_after == function._id]
            for output in function.outputs:
                then += self._listening(output._id, "change")
            waiting += [f for f in then if f not in seen and f.fn]
        return {
            part._id
            for function in seen
            if function.fn
            for part in function.outputs
            if is_part(part)
        }

    def fire(self, target: int, event: str, data: Mapping[str, Any] | None = None) -> None:
        """Handle an event, and the events that follow from it."""
        waiting = deque(self._listening(target, event))
        while waiting:
            function = waiting.popleft()
            changed = self._answer(function, data) if function.fn else []
            then = [f for f in self._functions if f.trigger_after == function._id]
            for number in changed:
                then += self._listening(number, "change")
            waiting.extend(f for f in dict.fromkeys(then) if f not in waiting)

    def _listening(self, target: int, event: str) -> list[BlockFunction]:
        return [f for f in self._functions if (target, event) in f.targets]

    def _answer(self, function: BlockFunction, data: Mapping[str, Any] | None) -> list[int]:
        """Call a handler; return the components whose value it changed."""
        answers = function.fn(*self._arguments(function, data))
        changed: dict[int, None] = {}
        for answer in answers if inspect.isgenerator(answers) else [answers]:
            for block, new in _by_component(function, answer):
                before = self.shown[block._id]["value"]
                self.shown[block._id] |= _props(new)
                if self.shown[block._id]["value"] != before:
                    changed[block._id] = None
        return list(changed)

    def _arguments(self, function: BlockFunction, data: Mapping[str, Any] | None) -> Iterator[Any]:
        """Values of the inputs, and in their places the request and the event."""
        values = iter([self.shown[block._id]["value"] for block in function.inputs])
        for parameter in inspect.signature(function.fn or (lambda: None)).parameters.values():
            kind = parameter.annotation
            if kind is gr.Request:
                yield self._request
            elif kind is PageEvent:
                yield PageEvent(None, dict(data or {}))
            else:
                yield next(values)


def is_part(block: Any) -> bool:
    """Whether a component shows content of the page, not an error or more settings."""
    return isinstance(block, gr.HTML) and not {"t-more-place", NOTICE} & set(block.elem_classes)


def _by_component(function: BlockFunction, answer: Any) -> Iterator[tuple[Block, Any]]:
    if isinstance(answer, Mapping) and all(isinstance(key, Block) for key in answer):
        yield from answer.items()
    elif len(function.outputs) == 1:
        yield function.outputs[0], answer
    else:
        yield from zip(function.outputs, answer or (), strict=False)


def _props(new: Any) -> Props:
    """The properties that an answer sets on a component: its value, or those of an update."""
    if isinstance(new, Block):
        new = {"__type__": "update", **new.constructor_args}
    if isinstance(new, Mapping) and new.get("__type__") == "update":
        return {name: new[name] for name in ("value", "choices", "visible", "label") if name in new}
    return {"value": new}
