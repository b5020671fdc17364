"""Prompts of queries, documents and tasks, against sentence-transformers' own and mteb's choice."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.models import SENTENCES, save, save_sentence_transformer
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
from theodolite.engine.encoders.spec import parse

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


def close(ours, expected):
    """Equal but for the noise of two orders of adding."""
    np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_each_side_has_its_prompt_by_name_or_by_text(folder, theirs):
    """`encode` is the side of documents; a name of the model's own and its words are the same."""
    for options in ("prompt=document&query_prompt=query", "prompt=a%20&query_prompt=the cat%20"):
        encoder = load(f"dir:{folder}?{options}", device="cpu")
        close(encoder.encode(SENTENCES), theirs.encode_document(SENTENCES))
        close(query_side(encoder).encode(SENTENCES), theirs.encode_query(SENTENCES))
        assert prompts_of(encoder) == {"prompt": "a ", "query_prompt": "the cat "}


def test_with_a_pooling_both_sides_are_those_of_the_plain_transformer(folder):
    """A prompt's name means its text there too."""
    spec = f"dir:{folder}?pooling=avg"
    encoder = load(f"{spec}&prompt=document&query_prompt=query", device="cpu")
    plain = load(spec, device="cpu")
    close(encoder.encode(SENTENCES), plain.encode(["a " + s for s in SENTENCES]))
    queries = plain.encode(["the cat " + s for s in SENTENCES])
    close(query_side(encoder).encode(SENTENCES), queries)


def test_an_encoder_without_a_query_prompt_is_its_own_query_side(folder):
    """As every encoder was; also where both prompts are one."""
    for spec in ("random:8", f"dir:{folder}", "random:8 + random:4 | normalise"):
        encoder = load(spec)
        assert query_side(encoder) is encoder
    same = load(f"dir:{folder}?prompt=query&query_prompt=query")
    assert query_side(same) is same


def test_documents_share_their_vectors_with_the_plain_spec(folder):
    """And queries with the spec whose prompt is theirs: nothing is encoded anew."""
    cache = MemoryCache()
    for options in ("?prompt=document", "?prompt=query"):
        load(f"dir:{folder}{options}", cache=cache, device="cpu").encode(SENTENCES)
    puts = []
    cache.put = lambda *row: puts.append(row)
    spec = f"dir:{folder}?prompt=document&query_prompt=query"
    encoder = load(spec, cache=cache, device="cpu")
    encoder.encode(SENTENCES)
    query_side(encoder).encode(SENTENCES)
    assert puts == []


def test_the_weights_are_in_memory_once_for_both_sides(folder):
    """However the model is run."""
    for pooling in ("", "pooling=avg&"):
        spec = f"dir:{folder}?{pooling}prompt=document&query_prompt=query"
        encoder = load(spec, device="cpu")
        sides = [encoder.documents.source, encoder.queries.source]
        for side in sides:
            side.encode(["a"])
        assert sides[0]._weights is sides[1]._weights
        assert sides[0]._weights.model is not None


def test_the_fingerprint_is_over_both_sides(folder):
    """What is not said is not hashed."""
    options = ("", "?prompt=query", "?query_prompt=query", "?prompt=document&query_prompt=query")
    prints = [load(f"dir:{folder}{text}").fingerprint for text in options]
    assert len(set(prints)) == 4
    assert load(f"dir:{folder}?query_prompt=query").fingerprint == prints[2]


def test_steps_are_fitted_on_documents_and_applied_to_both_sides(folder):
    """The mean that is taken off queries is that of documents."""
    spec = f"dir:{folder}?prompt=document&query_prompt=query | center:mine"
    encoder = load(spec, datasets=lambda _: (SENTENCES, "h"), device="cpu")
    sides = load(f"dir:{folder}?prompt=document&query_prompt=query", device="cpu")
    mean = sides.encode(SENTENCES).mean(0)
    close(encoder.encode(SENTENCES), sides.encode(SENTENCES) - mean)
    close(query_side(encoder).encode(SENTENCES), query_side(sides).encode(SENTENCES) - mean)
    assert query_side(encoder).fingerprint != encoder.fingerprint


def test_one_of_several_parts_may_have_sides(folder):
    """The other one is the same on both."""
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
    """Bound alike it is alike; and never that of a spec which says a prompt itself."""
    spec = f"dir:{folder}?prompt=@task"
    loaded = load(spec)
    other = bind_task(loaded, (), "", PromptTask("Other", "Retrieval"))
    bound = bind_task(loaded, (), "", RETRIEVAL)
    encoder = load(f"dir:{folder}?prompt=document&query_prompt=query")
    assert bound.fingerprint == other.fingerprint
    assert len({loaded.fingerprint, bound.fingerprint, encoder.fingerprint}) == 3
    assert bound.name == loaded.name == spec


def test_one_side_may_be_said_and_the_other_left_to_the_task(folder):
    """In either order, also before steps and beside other sources."""
    for options, expected in (
        ("prompt=@task&query_prompt=dog ", {"prompt": "a ", "query_prompt": "dog"}),
        ("query_prompt=@task", {"query_prompt": "the cat "}),
    ):
        encoder = load(f"dir:{folder}?{options} | normalise", device="cpu")
        assert encoder.needs_task
        assert prompts_of(bind_task(encoder, (), "", RETRIEVAL)) == expected
    joined = load(f"dir:{folder}?prompt=@task + random:4", device="cpu")
    assert prompts_of(bind_task(joined, (), "", RETRIEVAL))["prompt"] == "a  + "


def test_outside_a_task_there_is_no_prompt_of_the_task(folder):
    """The message says what to do."""
    with refused("missing", "@task"):
        load(f"dir:{folder}?prompt=@task").encode(["a"])


def test_no_prompt_can_be_asked_for(tmp_path):
    """Where a model would take one by default."""
    folder = save_sentence_transformer(
        tmp_path / "st", prompts=PROMPTS, default_prompt_name="query"
    )
    theirs = SentenceTransformer(str(folder), device="cpu")
    assert str(parse("hf:a/b?query_prompt=&prompt=")) == "hf:a/b?prompt=&query_prompt="
    for options, text in (("", "the cat "), ("?prompt=", "")):
        rows = load(f"dir:{folder}{options}", device="cpu").encode(SENTENCES)
        close(rows, theirs.encode(SENTENCES, prompt=text))
    # A side without a prompt of its own takes none, not the default, as in that library.
    bare = save_sentence_transformer(
        tmp_path / "bare", prompts={"query": "the cat "}, default_prompt_name="query"
    )
    encoder = bind_task(load(f"dir:{bare}?prompt=@task", device="cpu"), (), "", RETRIEVAL)
    rows = SentenceTransformer(str(bare), device="cpu").encode_document(SENTENCES)
    close(encoder.encode(SENTENCES), rows)


def test_a_model_without_prompts_takes_none_from_a_task(tmp_path):
    """A plain transformer: its vectors are those of the plain spec."""
    folder = save(tmp_path / "bert")
    encoder = bind_task(load(f"dir:{folder}?prompt=@task", device="cpu"), (), "", RETRIEVAL)
    plain = load(f"dir:{folder}", device="cpu")
    assert encoder.documents.fingerprint == plain.fingerprint
    assert query_side(encoder) is encoder and prompts_of(encoder) == {}


def test_names_are_chosen_as_mteb_chooses_them():
    """Every combination of names that a model may have, each side, against mteb's own function."""
    from itertools import combinations

    import mteb
    from mteb.models.abs_encoder import get_prompt_name
    from mteb.types import PromptType

    metadata = mteb.get_task("NFCorpus").metadata
    task = PromptTask(metadata.name, metadata.type)
    names = ["NFCorpus-query", "NFCorpus", "Retrieval-document", "Retrieval"]
    for count in range(len(names) + 1):
        for chosen in combinations(names, count):
            named = {"query": "", "document": "", **dict.fromkeys(chosen, "x ")}
            for side in (None, "query", "document"):
                kind = None if side is None else PromptType(side)
                ours = Prompts(named).of_task(task, side)
                assert ours == get_prompt_name(named, metadata, kind)
