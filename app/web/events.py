"""Events sent by our own HTML, validated before they are handled.

An event can be sent without its page: its data may lack fields that the page would send, or have
other types.
"""

from collections.abc import Container
from typing import Any

import gradio as gr

from theodolite.engine.errors import UserError

MAX_TEXT = 5000


class PageEvent(gr.EventData):
    """The data of an event of our HTML, for a handler in place of `gr.EventData`.

    Reading a field that is missing, or of another type, raises a UserError.
    """

    @property
    def act(self) -> str:
        """The action."""
        return self.text("act")

    @property
    def id(self) -> str:
        """The id of the item it applies to."""
        return self.text("id")

    def text(self, name: str) -> str:
        """A text field."""
        value = self._value(name)
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise UserError(f"Invalid event field {name!r}.", _HINT)
        return value

    def one_of(self, name: str, values: Container[str]) -> str:
        """A text field that has one of these values."""
        value = self.text(name)
        if value not in values:
            raise UserError(f"Invalid event field {name!r}.", _HINT)
        return value

    def number(self, name: str) -> int:
        """A non-negative integer field; a text of digits is accepted."""
        value = self._value(name)
        text = str(value) if isinstance(value, int | str) else ""
        if not (text.isascii() and text.isdecimal() and len(text) <= 15):
            raise UserError(f"Invalid event field {name!r}.", _HINT)
        return int(text)

    def _value(self, name: str) -> Any:
        return self._data.get(name) if isinstance(self._data, dict) else None


_HINT = "Load the page again, and press the button there."
