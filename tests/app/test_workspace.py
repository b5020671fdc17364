"""The workspace: what is evaluated once and kept, what is not, the disk, and endpoints."""

from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from tests.engine.encoders.models import save
from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.folder import files
from tests.fakes.openai import DIM, FakeOpenAI, vector
from theodolite.app import endpoints, sending, vectors
from theodolite.app.pages.decode.answer import (
    ANALOGY,
    DECODE,
    INTERPOLATE,
    AnalogySpec,
    DecodeSpec,
    InterpolateSpec,
)
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.estimate import estimate
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate, queue_evaluation, welcome
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import service as retrieval
from theodolite.app.typed import Typed
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import load
from theodolite.engine.encoders.endpoint import Sending
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreFull

A, B = "random:32", "random:96"


def test_a_spec_that_cannot_be_read_costs_nothing(workspace: Workspace) -> None:
    """It is refused before anything is computed or queued."""
    with pytest.raises(UserError):
        EvaluateJob.of(workspace, [A, "minilmm"], ["StarterSTS"])
    with pytest.raises(UserError):
        queue_evaluation(workspace, [A, "minilmm"])
    assert workspace.store.results.table() == [] and workspace.store.runs.list() == []


def test_a_new_store_is_welcomed_once(workspace: Workspace) -> None:
    """The first runs measure each starter encoder on the starter set; they are not queued twice."""
    runs = [workspace.store.runs.get(run) for run in welcome(workspace)]
    assert [run["spec"]["encoders"] for run in runs] == [[name] for name in STARTER_ENCODERS]
    assert welcome(workspace) == []
    assert len(workspace.store.runs.list()) == len(STARTER_ENCODERS)
    asked = workspace.store.runs.get(queue_evaluation(workspace, [A], ["StarterSTS"]))
    assert all(run["priority"] > asked["priority"] for run in runs)


def test_what_ships_is_listed_before_the_app_was_ever_started(workspace: Workspace) -> None:
    """Verbs that take the listed encoders leave none of them out; one that is removed stays so."""
    evaluate_one(workspace, "wordllama", "StarterSTS")
    encoders.ensure_listed(workspace, ["wordllama"])
    assert set(encoders.names(workspace)) == set(STARTER_ENCODERS)
    encoders.remove(workspace, "random:256")
    assert encoders.names(workspace) == ["wordllama", "minilm"]
    welcome(workspace)
    assert encoders.names(workspace) == ["wordllama", "minilm"]


def test_a_full_disk_does_not_hide_what_is_listed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is shown without what could not be added."""
    workspace.store.encoders.add(A, {"dim": 32})
    monkeypatch.setattr(workspace.store.database, "change", Mock(side_effect=StoreFull("Full.")))
    assert encoders.names(workspace) == [A]


def words(path: Path, seed: int) -> Path:
    """A file of word vectors, always of one size."""
    known = "a the of in and on is to sea boat planet game court film".split()
    rows = np.random.default_rng(seed).uniform(0.1, 0.9, (len(known), 4))
    lines = [f"{w} {' '.join(f'{x:.6f}' for x in row)}" for w, row in zip(known, rows, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def vector_file(path: Path, seed: int) -> Path:
    """A file of vectors for the sentences of StarterSTS."""
    from theodolite.engine.encoders.vectors import save as save_vectors

    sentences = list(dict.fromkeys(Catalog().load("starter-pairs").sentences))
    save_vectors(path, sentences, np.random.default_rng(seed).standard_normal((len(sentences), 8)))
    return path


def checkpoint(path: Path, seed: int) -> Path:
    """A random transformer."""
    return save(path, initializer_range=0.02 * (seed + 1))


KINDS = pytest.mark.parametrize(
    ("kind", "name", "write"),
    [("words", "w.txt", words), ("vectors", "v.parquet", vector_file), ("dir", "bert", checkpoint)],
)


@KINDS
def test_a_changed_file_is_another_encoder_at_once(
    workspace: Workspace,
    tmp_path: Path,
    kind: str,
    name: str,
    write: Callable[[Path, int], Path],
) -> None:
    """It is evaluated anew though the encoder was in memory; unchanged, it stays there."""
    spec = f"{kind}:{write(tmp_path / name, 0)}"
    first = evaluate_one(workspace, spec, "StarterSTS")
    assert first["error"] is None
    assert workspace.load(spec) is workspace.load(spec)
    write(tmp_path / name, 1)
    second = evaluate_one(workspace, spec, "StarterSTS")
    assert (second["id"], second["fingerprint"]) != (first["id"], first["fingerprint"])
    assert second["score"] != first["score"]


def with_text(folder: Path, text: str) -> tuple[Workspace, Path]:
    """A workspace with the data set `unlabelled/mine`, and its file."""
    root = files(folder / "data", {"unlabelled/mine.txt": text})
    return Workspace(folder / "store", root), root / "unlabelled" / "mine.txt"


def test_changed_data_fit_a_step_anew(tmp_path: Path) -> None:
    """The data set is read again too, though it was in memory."""
    workspace, file = with_text(tmp_path, "One boat.\nTwo boats.\nA sea.\n")
    spec = "random:8 | center:unlabelled/mine"
    before = workspace.load(spec).encode(["a boat"])
    file.write_text("One game.\nTwo games.\nA court.\n")
    assert not np.allclose(workspace.load(spec).encode(["a boat"]), before)


@KINDS
def test_weights_that_change_before_they_are_read_are_refused(
    tmp_path: Path, kind: str, name: str, write: Callable[[Path, int], Path]
) -> None:
    """They would be cached under the fingerprint of those before."""
    encoder = load(f"{kind}:{write(tmp_path / name, 0)}", device="cpu")
    assert encoder.fingerprint
    write(tmp_path / name, 1)
    with refused("stale"):
        encoder.encode(Catalog().load("starter-pairs").sentences[:1])


def test_a_fitted_step_counts_every_sentence_the_same_everywhere(tmp_path: Path) -> None:
    """By the name of the data, as `@task` of an evaluation, and as `@task` of a map."""
    workspace, _ = with_text(tmp_path, "One boat.\nA sea.\nOne boat.\nTwo games.\nOne boat.\n")
    named = workspace.load("random:8 | center:unlabelled/mine")
    every = load("random:8").encode(workspace.catalog.load("unlabelled/mine").sentences)
    centred = load("random:8").encode(["a boat"]) - every.mean(0)
    np.testing.assert_allclose(named.encode(["a boat"]), centred, atol=1e-6)
    task = workspace.bound("random:8 | center:@task", "unlabelled/mine")
    np.testing.assert_allclose(task.encode(["a boat"]), centred, atol=1e-6)
    row = evaluate_one(workspace, "random:8 | whiten:@task", "StarterSTS")
    mapped = workspace.bound("random:8 | whiten:@task", "starter-pairs")
    assert row["fingerprint"] == mapped.fingerprint


# What people type is not kept on disk for ever; what data sets hold is.

ENCODER = "random:64"
COLLECTION = "starter-topics"


def kept(workspace: Workspace) -> int:
    """Bytes of vectors on disk."""
    return sum(workspace.store.vectors.usage().values())


def test_what_is_decoded_is_not_kept(decoding: Workspace) -> None:
    """Neither sentences that are typed nor candidates of the decoder."""
    decoding.load(ENCODER).encode(["One sentence of a data set."])
    before = kept(decoding)
    named, encoders = ("a = Nine lives.", "b = Ten lives."), (ENCODER,)
    ends = {"first": "A first end here.", "second": "A second end there."}
    for question, spec in (
        (DECODE, DecodeSpec(sentences=("Some words that nobody wrote.",), encoders=encoders)),
        (INTERPOLATE, InterpolateSpec(**ends, encoder=ENCODER, steps=3)),
        (ANALOGY, AnalogySpec(expression="a - b", named=named, encoders=encoders)),
    ):
        assert question.last(decoding, spec, lambda job: False).rows()
    assert kept(decoding) == before > 0


@pytest.mark.parametrize("spec", [ENCODER, "random:32 + random:64"])
def test_what_is_searched_for_is_not_kept(workspace: Workspace, spec: str) -> None:
    """The collection is, and a query that is one of its sentences is not encoded again."""
    sentences, _ = workspace.catalog.sentences(COLLECTION)
    retrieval.nearest(workspace, spec, COLLECTION, [sentences[0]], retrieval.Limits(1))
    before = kept(workspace)
    assert before > 4 * 64 * len(sentences)
    retrieval.nearest(workspace, spec, COLLECTION, ["A query of mine."], retrieval.Limits(1))
    opened = retrieval.open_collection(workspace, spec, COLLECTION)
    opened.alike(["Like this one."], ["Not like it."], retrieval.Limits(1))
    found = MapSpec(spec, COLLECTION, "quick").make(workspace)
    maps.place(workspace, found, "A sentence that is placed.", 3)
    assert kept(workspace) == before


def test_what_a_step_is_fitted_on_is_kept(workspace: Workspace) -> None:
    """Though it is encoded because of a typed sentence."""
    sentences, _ = workspace.catalog.sentences("starter")
    Typed(workspace.load(f"{ENCODER} | center:starter")).encode(["A typed one."])
    assert vectors.missing(workspace, ENCODER, "starter-topics") == 0
    assert kept(workspace) < (4 * 64 + 200) * (len(sentences) + 1)
    (source,) = vectors.sources(workspace.load(ENCODER))
    assert vectors.uncached(source, ["A typed one."]) == ["A typed one."]


def test_vectors_are_those_of_the_encoder(workspace: Workspace) -> None:
    """Typed before, typed now, of a data set, twice, or none at all."""
    encoder = workspace.load(ENCODER)
    typed = Typed(encoder)
    encoder.encode(["kept"])
    typed.encode(["typed"])
    texts = ["typed", "kept", "new", "typed"]
    assert np.array_equal(typed.encode(texts), workspace.load(ENCODER).encode(texts))
    assert typed.encode([]).shape == (0, 64)
    assert (typed.name, typed.dim, typed.fingerprint) == (ENCODER, 64, encoder.fingerprint)


# Endpoints: nobody is sent a text unless a person has said so, and visitors never.


AWAY = "api:https://api.invalid/v1#m"


def test_what_is_allowed_holds_until_the_encoder_is_removed(workspace: Workspace) -> None:
    """For all encoders of that address, and for no other one."""
    spec = f"{AWAY}?dimensions=4"
    with pytest.raises(UserError, match=r"api\.invalid"):
        workspace.load(spec).encode(["a boat"])
    assert encoders.would_send_to(workspace, f"{spec} + minilm | normalise") == ["api.invalid"]
    encoders.add(workspace, spec, send_texts=True)
    encoders.add(workspace, f"{spec} | normalise")
    assert encoders.would_send_to(workspace, AWAY) == []
    assert encoders.would_send_to(workspace, "api:https://api.invalid/v2#m") == ["api.invalid"]
    assert workspace.load(spec).source.endpoint.may_send
    encoders.remove(workspace, f"{spec} | normalise")
    assert endpoints.allowed_urls(workspace.store) == ["https://api.invalid/v1"]
    encoders.remove(workspace, spec)
    assert endpoints.allowed_urls(workspace.store) == []
    assert not workspace.load(spec).source.endpoint.may_send


def test_visitors_send_nothing(workspace: Workspace, server: FakeOpenAI) -> None:
    """Not what they ask, not even to a server on this machine, and they allow nothing."""
    spec = encoders.add(workspace, f"api:{server.url}#fake")["name"]
    requests_before = len(server.requests)
    hosted = Workspace(workspace.store.folder, read_only=True)
    with refused("denied", spec):
        hosted.load(spec)
    with refused("denied"):
        encoders.add(hosted, AWAY, send_texts=True)
    assert (len(server.requests), endpoints.allowed_urls(workspace.store)) == (requests_before, [])


def test_an_endpoint_is_an_encoder_like_any_other(workspace: Workspace, server: FakeOpenAI) -> None:
    """Listed with its dimension, estimated without a request, and measured."""
    row = encoders.add(workspace, f"api:{server.url}#fake")
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
        encoders.add(workspace, f"api:{server.url}#fake")
    assert encoders.names(workspace) == list(encoders.STARTERS)


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
