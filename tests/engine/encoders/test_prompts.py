"""Prompts of queries, documents and tasks, against sentence-transformers' own and mteb's choice."""

from itertools import compress, product

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.models import SENTENCES, close, save, save_sentence_transformer
from tests.errors import refused
from theodolite.engine.encoders import (
    MemoryCache,
    PromptTask,
    bind_task,
    load,
    prompts_of,
    query_side,
)
from theodolite.engine.encoders.prompts import Prompts

PROMPTS = {"query": "the cat ", "document": "a ", "STS": "dog ", "CatSearch-query": "mat "}
RETRIEVAL = PromptTask("DogSearch", "Retrieval")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with prompts for both sides, for a type and for a task, and none by default."""
    return save_sentence_transformer(tmp_path_factory.mktemp("st") / "model", prompts=PROMPTS)


@pytest.fixture(scope="module")
def theirs(folder):
    """The same, in the library that wrote it."""
    return SentenceTransformer(str(folder), device="cpu")


def mine(name):
    """A data set to fit steps on."""
    return SENTENCES, "hash"


BOTH = "prompt=document&query_prompt=query"


@pytest.mark.parametrize("options", [BOTH, "prompt=a%20&query_prompt=the cat%20"])
def test_each_side_has_its_prompt_by_name_or_by_text(folder, theirs, options):
    """`encode` is the side of documents; a name of the model's own and its words are the same.

    With a pooling both sides are those of the plain transformer.
    """
    encoder = load(f"dir:{folder}?{options}", device="cpu")
    close(encoder.encode(SENTENCES), theirs.encode_document(SENTENCES))
    close(query_side(encoder).encode(SENTENCES), theirs.encode_query(SENTENCES))
    assert prompts_of(encoder) == {"prompt": "a ", "query_prompt": "the cat "}
    plain, pooled = (
        load(f"dir:{folder}?pooling=avg{more}", device="cpu") for more in ("", f"&{options}")
    )
    for side, prompt in ((pooled, "a "), (query_side(pooled), "the cat ")):
        close(side.encode(SENTENCES), plain.encode([prompt + s for s in SENTENCES]))


def test_an_encoder_without_a_query_prompt_is_its_own_query_side(folder):
    """As every encoder was; also where both prompts are one."""
    own = (f"dir:{folder}", f"dir:{folder}?prompt=query&query_prompt=query")
    for spec in ("random:8", "random:8 + random:4 | normalise", *own):
        encoder = load(spec)
        assert query_side(encoder) is encoder


@pytest.mark.parametrize(
    ("known", "asked"),
    [
        (("?prompt=document", "?prompt=query"), f"?{BOTH}"),
        (("",), " | whiten:mine,4 | normalise"),
    ],
)
def test_vectors_are_shared_with_the_plain_spec(folder, known, asked):
    """And those of queries with the spec whose prompt is theirs: nothing is encoded anew."""
    cache = MemoryCache()
    for options in known:
        load(f"dir:{folder}{options}", cache=cache, device="cpu").encode(SENTENCES)
    cache.put = None  # nothing is kept, or it fails
    encoder = load(f"dir:{folder}{asked}", cache=cache, datasets=mine, device="cpu")
    for side in (encoder, query_side(encoder)):
        side.encode(SENTENCES)


@pytest.mark.parametrize("pooling", ["", "pooling=avg&"])
def test_the_weights_are_in_memory_once_for_both_sides(folder, pooling):
    """However the model is run."""
    encoder = load(f"dir:{folder}?{pooling}{BOTH}", device="cpu")
    sides = [encoder.documents.source, encoder.queries.source]
    for side in sides:
        side.encode(["a"])
    assert sides[0]._weights is sides[1]._weights and sides[0]._weights.model is not None


def test_steps_are_fitted_on_documents_and_applied_to_both_sides(folder):
    """The mean that is taken off queries is that of documents."""
    spec = f"dir:{folder}?{BOTH}"
    plain = load(spec, device="cpu")
    steps = load(f"{spec} | center:mine", datasets=mine, device="cpu")
    mean = plain.encode(SENTENCES).mean(0)
    for ours, side in ((steps, plain), (query_side(steps), query_side(plain))):
        close(ours.encode(SENTENCES), side.encode(SENTENCES) - mean)
    assert query_side(steps).fingerprint != steps.fingerprint


def test_one_of_several_parts_may_have_sides(folder):
    """The vectors lie side by side; the other part is the same on both."""
    encoder = load(f"dir:{folder}?query_prompt=query + random:4", device="cpu")
    queries = query_side(encoder).encode(SENTENCES)
    np.testing.assert_array_equal(queries[:, 8:], encoder.encode(SENTENCES)[:, 8:])
    expected = load(f"dir:{folder}?prompt=query", device="cpu").encode(SENTENCES)
    np.testing.assert_array_equal(queries[:, :8], expected)


@pytest.mark.parametrize(
    ("task", "documents", "queries"),
    [
        (RETRIEVAL, "document", "query"),
        (PromptTask("CatSearch", "Reranking"), "document", "CatSearch-query"),
        (PromptTask("AnySTS", "STS"), "STS", "STS"),
        (PromptTask("Topics", "Classification"), None, None),
        (PromptTask(), None, None),
    ],
)
def test_a_task_takes_the_prompts_that_the_model_has_for_it(
    folder, theirs, task, documents, queries
):
    """Its sides only where the task has any."""
    encoder = bind_task(load(f"dir:{folder}?prompt=@task", device="cpu"), (), "", task)
    for side, name in ((encoder, documents), (query_side(encoder), queries)):
        close(side.encode(SENTENCES), theirs.encode(SENTENCES, prompt=PROMPTS.get(name, "")))


def test_what_the_task_decides_completes_the_fingerprint(folder):
    """Bound alike it is alike; and never that of a spec which says a prompt itself, or another."""
    loaded = load(f"dir:{folder}?prompt=@task")
    bound, other = (
        bind_task(loaded, (), "", task) for task in (RETRIEVAL, PromptTask("Other", "Retrieval"))
    )
    assert bound.fingerprint == other.fingerprint
    assert bound.name == loaded.name == f"dir:{folder}?prompt=@task"
    options = ("", "?prompt=query", "?query_prompt=query", f"?{BOTH}")
    said = [load(f"dir:{folder}{text}").fingerprint for text in options]
    assert len({loaded.fingerprint, bound.fingerprint, *said}) == 6
    assert load(f"dir:{folder}?query_prompt=query").fingerprint == said[2]


def test_one_side_may_be_said_and_the_other_left_to_the_task(folder):
    """In either order, also before steps and beside other sources."""
    for options, expected in (
        ("prompt=@task&query_prompt=dog ", {"prompt": "a ", "query_prompt": "dog"}),
        ("query_prompt=@task", {"query_prompt": "the cat "}),
    ):
        encoder = load(f"dir:{folder}?{options} | normalise", device="cpu")
        assert encoder.needs_task
        assert prompts_of(bind_task(encoder, (), "", RETRIEVAL)) == expected
    joined = bind_task(load(f"dir:{folder}?prompt=@task + random:4"), (), "", RETRIEVAL)
    assert prompts_of(joined)["prompt"] == "a  + "


def test_no_prompt_can_be_asked_for(tmp_path):
    """Where a model would take one by default, or by the task."""
    folder = save_sentence_transformer(
        tmp_path / "st", prompts={"query": "the cat "}, default_prompt_name="query"
    )
    theirs = SentenceTransformer(str(folder), device="cpu")
    for options, text in (("", "the cat "), ("?prompt=", "")):
        rows = load(f"dir:{folder}{options}", device="cpu").encode(SENTENCES)
        close(rows, theirs.encode(SENTENCES, prompt=text))
    # A side without a prompt of its own takes none, not the default, as in that library.
    loaded = load(f"dir:{folder}?prompt=@task", device="cpu")
    documents = bind_task(loaded, (), "", RETRIEVAL).encode(SENTENCES)
    close(documents, theirs.encode_document(SENTENCES))
    with refused("missing", "@task"):  # outside a task
        loaded.encode(["a"])
    # A model without prompts is the plain transformer.
    plain = save(tmp_path / "bert")
    bound = bind_task(load(f"dir:{plain}?prompt=@task", device="cpu"), (), "", RETRIEVAL)
    assert bound.documents.fingerprint == load(f"dir:{plain}", device="cpu").fingerprint
    assert query_side(bound) is bound and prompts_of(bound) == {}


@pytest.mark.parametrize("side", [None, "query", "document"])
def test_names_are_chosen_as_mteb_chooses_them(side):
    """Every combination of names that a model may have, against mteb's own function."""
    import mteb
    from mteb.models.abs_encoder import get_prompt_name

    metadata = mteb.get_task("NFCorpus").metadata
    task, kind = PromptTask(metadata.name, metadata.type), side and mteb.types.PromptType(side)
    names = ("NFCorpus-query", "NFCorpus", "Retrieval-document", "Retrieval")
    for there in product((True, False), repeat=len(names)):
        named = {"query": "", "document": "", **dict.fromkeys(compress(names, there), "x ")}
        assert Prompts(named).of_task(task, side) == get_prompt_name(named, metadata, kind)
