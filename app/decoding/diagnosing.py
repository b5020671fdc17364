"""The kind of run `diagnose`: what a decoder gives back of sentences that it never saw."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace

KIND = "diagnose"


def asked(
    workspace: Workspace, encoder: str, text: str | None, sentences: int | None
) -> dict[str, Any]:
    raise NotImplementedError


def units(spec: Any) -> list[str]:
    """One unit."""
    return [label(spec)]


def label(spec: Any) -> str:
    return f"diagnosis of {spec['encoder']}"


def work(workspace: Workspace, spec: Any, position: int, reporter: Reporter) -> None:
    raise NotImplementedError
