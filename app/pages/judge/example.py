"""The example session of the page: judged by a script, on the starter set."""

from __future__ import annotations

from typing import Any

from theodolite.app.examples import shipped
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.judge.answer import board_of
from theodolite.app.pages.judge.session import JudgeSpec, Question, open_session
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
    session = judging.begin(workspace, JudgeSpec(COLLECTION, ENCODERS, draw=QUERIES))
    judging.play(workspace, session, by_label(workspace, COLLECTION))
    facts = board_of(open_session(workspace, session)) | {"id": ""}
    shipped.write_answer(workspace, "judge", facts, ENCODERS, [COLLECTION])
