"""Gradio's state of every open tab, without the parts that are not needed.

For deep links, which restore a page as somebody left it, Gradio keeps the configuration of every
component of every page for each tab, and each answer sent to it: 1.6 MB a tab and 0.05 s of work
before its first answer. Our pages are restored from their addresses.
"""

from __future__ import annotations

from copy import copy
from typing import Any

from gradio.blocks import Blocks
from gradio.state_holder import SessionState, StateHolder


class Session(SessionState):
    """The state of a tab that Python needs: values of `gr.State`, changed choices."""

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
        """Do nothing: pages are not restored from it."""

    def _update_value_in_config(self, key: int, value: Any) -> None:
        """Do nothing: answers are not kept."""


class Sessions(StateHolder):
    """Sessions by id; beyond Gradio's `state_session_capacity` the oldest is dropped."""

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = Session(self.blocks)
        return super().__getitem__(session_id)
