"""A diagnosis of a shipped decoder, shown until something has been diagnosed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.app import decoders
from theodolite.app.examples import shipped
from theodolite.app.pages.diagnose import service
from theodolite.engine.decoding.diagnosis import Diagnosis
from theodolite.engine.progress import nobody

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

ENCODER = "minilm"
TEXT = "starter-topics"
SENTENCES = 300


def make(workspace: Workspace) -> None:
    """Diagnose the shipped decoder, and write the answer."""
    job = service.DiagnoseJob.of(workspace, ENCODER, TEXT, SENTENCES)
    found = service.diagnosed(workspace, job, nobody)
    answer = {"decoder": decoders.mark_of(workspace, ENCODER), "diagnosis": found.to_dict()}
    shipped.write_answer(workspace, "diagnose", answer, [ENCODER], [TEXT])


def read(workspace: Workspace) -> Diagnosis | None:
    """The shipped diagnosis; None if the encoder or decoder differs from the one diagnosed."""
    example = shipped.read("diagnose")
    if example is None or not example.is_of(workspace, ENCODER):
        return None
    if decoders.mark_of(workspace, ENCODER) != example.answer["decoder"]:
        return None
    return Diagnosis.from_dict(example.answer["diagnosis"])
