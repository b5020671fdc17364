"""The section of the page Judge that counts unjudged documents of another encoder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.pages.judge import report, service, views
from theodolite.app.pages.judge.job import is_begun
from theodolite.app.web import background_call, parts
from theodolite.app.web.background_call import TooSlow
from theodolite.app.web.controls import Answer, Control, Controls, Values, on
from theodolite.app.web.parts import ALWAYS_LAST
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

OTHER = Control("other", "Encoder", gr.Dropdown, options={"choices": [], "min_width": 220})


class Section:
    """A list of encoders, and the counts for the chosen one.

    Attributes:
        place: the column that holds the section.
    """

    def __init__(self, workspace: Workspace, controls: Controls) -> None:
        self._workspace = workspace
        with gr.Column(visible=False, elem_id="unjudged") as self.place:
            parts.section("Another encoder", "How much of what it returns is already judged.")
            controls.render("other")
            self._notice = parts.notice()
            self._said = parts.static("", elem_id="unjudged-said")

    def connect(self, controls: Controls, marked: Sequence[Any]) -> None:
        """Count when an encoder is chosen, and after each event that may change the marks."""
        inputs = {name: controls[name] for name in ("other", "session")}
        for event in (controls["other"].change, *(one.then for one in marked)):
            on(event, self._count, inputs, [self._said], self._notice, **ALWAYS_LAST)

    def shown(self, session: str) -> dict[Any, Any]:
        """Show the section if the session has judged documents."""
        return {self.place: gr.update(visible=_countable(self._workspace, session))}

    def _count(self, values: Values, request: gr.Request) -> Iterator[Answer]:
        session, encoder = values.session or "", values.other
        if not encoder or not _countable(self._workspace, session):
            yield {self._said: ""}
            return
        found = service.opened(self._workspace, session)

        def count(say: background_call.Say) -> dict[str, int]:
            background_call.encode(self._workspace, encoder, found.spec.collection, say)
            return report.unjudged(found, self._workspace, encoder)

        first = f"Asking {encoder} the queries"
        try:
            for progress, counts in background_call.followed(count, first, request.session_hash):
                yield {
                    self._said: views.unjudged(found.spec, encoder, counts) if counts else progress
                }
        except TooSlow as slow:
            verb = f"theodolite judge unjudged {session} -e '{encoder}'"
            raise UserError(
                f"{encoder} has much left to encode: {formats.time_left(slow.left)}.",
                f"Encoded vectors are kept; choose it again, or run in a terminal: {verb}",
                code="too-large",
            ) from slow


def _countable(workspace: Workspace, session: str) -> bool:
    """Whether a session has marks on documents rather than on lists."""
    if not is_begun(workspace, session):
        return False
    row = workspace.store.judgements.get(session)
    return bool(row["marks"]) and row["spec"]["mode"] == "relevance"
