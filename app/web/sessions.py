"""Gradio's state of every open tab, without the parts that are not needed.

For links that bring a page back as somebody left it, Gradio writes the configuration of every
component of every page down for each tab, and each answer that the tab was given: 1.6 MB a tab and
0.05 s of work before its first answer. Our pages are brought back by their addresses.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from gradio.blocks import Blocks
from gradio.state_holder import SessionState, StateHolder


class Session(SessionState):
    """What a tab was given that Python needs to know: values of `gr.State`, changed choices."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks_config = copy(blocks.default_config)
        self.config_values: dict[int, Any] = {}
        self.state_data: dict[int, Any] = {}
        self._state_ttl: dict[int, Any] = {}
        self.is_closed = False
        self.STATE_TTL_WHEN_CLOSED = 3600

    def __setitem__(self, key: int, value: Any) -> None:
        super().__setitem__(key, value)
        self.config_values.clear()

    def _update_config(self, key: int) -> None:
        """Nothing is brought back from it."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Likewise: what somebody was answered is not kept."""


class Sessions(StateHolder):
    """Tabs by their key; beyond Gradio's `state_session_capacity` the oldest is forgotten."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)
