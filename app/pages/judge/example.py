"""The example session of the page: judged by a script, on the starter set."""

from __future__ import annotations

from typing import Any

from theodolite.app.examples import shipped
from theodolite.app.pages.judge import report, service
from theodolite.app.pages.judge.service import Question
from theodolite.app.workspace import Workspace

COLLECTION, ENCODERS, QUERIES = "starter-topics", ("minilm", "wordllama"), 100


def by_label(workspace: Workspace, collection: str) -> Any:
    """A judge that marks documents with the query's label as relevant."""
    data: Any = workspace.catalog.load(collection)
    labels = dict(zip(data.sentences, data.labels, strict=True))

    def answer(question: Question) -> str:
        return "relevant" if labels[question.texts[0][0]] == labels[question.query] else "not"

    return answer


def make(workspace: Workspace) -> None:
    """Play the example session to its end and write it."""
    session = service.begin(workspace, service.spec(COLLECTION, ENCODERS, draw=QUERIES))
    service.play(workspace, session, by_label(workspace, COLLECTION))
    facts = report.board(service.opened(workspace, session)) | {"id": ""}
    shipped.write_answer(workspace, "judge", facts, ENCODERS, [COLLECTION])


def board() -> dict[str, Any] | None:
    """The board of the example session; None if it was not made."""
    kept = shipped.read("judge")
    return kept.answer if kept else None
