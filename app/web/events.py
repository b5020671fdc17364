"""Events sent by our own HTML, validated before anything is done with them.

An event can be sent without its page: its data may lack what the page would say, or be of another
kind altogether.
"""

from __future__ import annotations

from typing import Any

import gradio as gr

from engine.errors import UserError

LONGEST = 5000


class PageEvent(gr.EventData):
    """The data of an event of ours, for a handler in place of `gr.EventData`.

    Reading what is not there, or is not of its kind, raises a UserError.
    """

    @property
    def act(self) -> str:
        """What is to be done."""
        return self.text("act")

    @property
    def id(self) -> str:
        """To what."""
        return self.text("id")

    def text(self, name: str) -> str:
        """A text.

        Raises:
            UserError: there is none, or one that no page of ours sends.
        """
        value = self._value(name)
        if not isinstance(value, str) or len(value) > LONGEST:
            raise UserError(f"This page does not say {name!r} like that.", _HINT)
        return value

    def number(self, name: str) -> int:
        """A whole number, not below zero; a text of digits counts.

        Raises:
            UserError: there is none.
        """
        value = self._value(name)
        text = str(value) if isinstance(value, int | str) else ""
        if not (text.isascii() and text.isdecimal() and len(text) <= 15):
            raise UserError(f"This page does not say {name!r} like that.", _HINT)
        return int(text)

    def _value(self, name: str) -> Any:
        return self._data.get(name) if isinstance(self._data, dict) else None


_HINT = "Load the page again, and press the button there."
