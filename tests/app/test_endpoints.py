"""Endpoints in the app: nobody is sent a text unless a person has said so, and visitors never."""

from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.openai import DIM, FakeOpenAI, vector
from theodolite.app import endpoints, sending
from theodolite.app.pages.encoders import service
from theodolite.app.pages.evaluate.estimate import estimate
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.endpoint import Sending
from theodolite.engine.errors import UserError

AWAY = "api:https://api.invalid/v1#m"


def test_what_is_allowed_holds_until_the_encoder_is_removed(workspace: Workspace) -> None:
    """For all encoders of that address, and for no other one."""
    spec = f"{AWAY}?dimensions=4"
    with pytest.raises(UserError, match=r"api\.invalid"):
        workspace.load(spec).encode(["a boat"])
    assert service.would_send_to(workspace, f"{spec} + minilm | normalise") == ["api.invalid"]
    service.add(workspace, spec, send_texts=True)
    service.add(workspace, f"{spec} | normalise")
    assert service.would_send_to(workspace, AWAY) == []
    assert service.would_send_to(workspace, "api:https://api.invalid/v2#m") == ["api.invalid"]
    assert workspace.load(spec).source.endpoint.may_send  # type: ignore[attr-defined]
    service.remove(workspace, f"{spec} | normalise")
    assert endpoints.allowed_urls(workspace.store) == ["https://api.invalid/v1"]
    service.remove(workspace, spec)
    assert endpoints.allowed_urls(workspace.store) == []
    assert not workspace.load(spec).source.endpoint.may_send  # type: ignore[attr-defined]


def test_visitors_send_nothing(workspace: Workspace, server: FakeOpenAI) -> None:
    """Not what they ask, not even to a server on this machine, and they allow nothing."""
    spec = service.add(workspace, f"api:{server.url}#fake")["name"]
    requests_before = len(server.requests)
    hosted = Workspace(workspace.store.folder, read_only=True)
    with refused("denied", spec):
        hosted.load(spec)
    with refused("denied"):
        service.add(hosted, AWAY, send_texts=True)
    assert (len(server.requests), endpoints.allowed_urls(workspace.store)) == (requests_before, [])


def test_an_endpoint_is_an_encoder_like_any_other(workspace: Workspace, server: FakeOpenAI) -> None:
    """Listed with its dimension, estimated without a request, and measured."""
    row = service.add(workspace, f"api:{server.url}#fake")
    assert row["dim"] == DIM and "unknown" in row["warnings"][0]
    job = EvaluateJob.of(workspace, [row["name"]], ["StarterSTS"])
    requests_before = len(server.requests)
    *_, answer = estimate(workspace, job)
    (made,) = answer.estimates
    (sending,) = made.sending
    assert (sending.texts, len(server.requests)) == (made.new, requests_before)
    assert f"{made.encoder} would send {sending.texts} texts" in answer.notes()[0]
    (result,) = evaluate(workspace, job)
    assert result["error"] is None
    assert len(server.texts) == sending.texts + 1
    assert len(server.requests) == sending.requests + requests_before


def test_one_that_does_not_answer_is_not_listed(workspace: Workspace, server: FakeOpenAI) -> None:
    """It is said at once, not in the middle of an evaluation."""
    server.close()
    with pytest.raises(UserError, match=r"127\.0\.0\.1"):
        service.add(workspace, f"api:{server.url}#fake")
    assert service.names(workspace) == list(service.STARTERS)


def test_the_command_line_says_what_is_sent(home: Path, server: FakeOpenAI) -> None:
    """Before it is, and with --estimate in its place."""
    spec = f"api:{server.url}#fake"
    (counted,) = objects(theodolite("encode", spec, "a boat", "a", "--estimate", "--json"))
    assert (counted["texts"], counted["characters"], counted["requests"]) == (2, 7, 1)
    assert server.texts == ["theodolite"]
    (text,) = sending.in_words([Sending(**counted)], price=100_000)
    assert text.startswith("2 texts (7 characters, about 3 tokens) to 127.0.0.1")
    assert text.endswith("about 0.3000 at that price")
    (row,) = objects(theodolite("encode", spec, "a boat", "--json"))
    np.testing.assert_array_equal(row["vector"], vector("a boat"))
    refused = "\n".join(theodolite("encoders", "add", AWAY, code=2))
    assert "Nothing leaves this machine" in refused and "--send-texts" in refused
