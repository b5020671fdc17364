"""Folders of sentence-transformers of every kind: its own vectors, or a sentence why not."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.folders import LIKE_THEIRS, REFUSED, WIDTH, Folders
from tests.engine.encoders.models import SENTENCES, edit_config
from tests.errors import refused
from tests.fakes.allocation import Allocation
from theodolite.engine.encoders import (
    PromptTask,
    bind_task,
    cuts_of,
    describe,
    load,
    prompts_of,
    query_side,
    similarity_of,
)
from theodolite.engine.encoders.facts import token_counts
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.sentence_transformer import SentenceTransformerSource

LONG = " ".join(["a cat sat"] * 30)
TEXTS = [*SENTENCES, "Unknown Cat", "", LONG, "the dog slept"]
RETRIEVAL = PromptTask("mine", "Retrieval")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Writes folders."""
    return Folders(tmp_path)


def theirs(folder: Path, **options: object) -> SentenceTransformer:
    """The model as the library loads it, in float32."""
    return SentenceTransformer(
        str(folder),
        device="cpu",
        local_files_only=True,
        model_kwargs={"dtype": "float32"},
        **options,
    )


@pytest.mark.parametrize("kind", LIKE_THEIRS)
def test_the_vectors_are_those_of_sentence_transformers(folders, kind):
    """Whatever the modules, the weights' format and the settings; the dimension too."""
    folder = LIKE_THEIRS[kind](folders, kind.replace(" ", "-"))
    model, spec = theirs(folder), f"dir:{folder}"
    encoder = load(spec, device="cpu")
    rows = encoder.encode(TEXTS)
    np.testing.assert_allclose(rows, model.encode(TEXTS), atol=1e-5)
    facts = describe(spec, read=True)
    assert rows.shape[1] == encoder.dim == facts["dim"]
    assert describe(spec)["dim"] in (None, encoder.dim)
    assert similarity_of(encoder) == model.similarity_fn_name
    # A convolution sees the padding.
    assert any("depends on the texts" in one for one in facts["warnings"]) == (kind == "cnn")


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_a_tokenizer_without_a_padding_token_gets_one(folders, kind):
    """As the library's users do by hand; the mask leaves it out."""
    folder = folders.mean("nopad", kind)
    file = folder / "tokenizer_config.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({k: v for k, v in settings.items() if k != "pad_token"}))
    expected = theirs(folder)
    assert expected.tokenizer.pad_token is None
    expected.tokenizer.pad_token = expected.tokenizer.convert_ids_to_tokens(0)
    encoder = load(f"dir:{folder}", device="cpu")
    np.testing.assert_allclose(encoder.encode(TEXTS), expected.encode(TEXTS), atol=1e-5)
    np.testing.assert_allclose(encoder.encode([""]), encoder.encode(["", "a"])[:1], atol=1e-5)


def test_a_text_without_a_vector_is_named(folders):
    """The largest value of no token is minus infinity, in the library as well."""
    folder = folders.save(
        "max", folders.words(), folders.m.LSTM(16, 8), folders.m.Pooling(16, "max")
    )
    assert not np.isfinite(theirs(folder).encode([""])).all()
    encoder = load(f"dir:{folder}", device="cpu")
    with refused("not-finite", "''"):
        encoder.encode(["the cat", ""])


def test_texts_that_will_be_cut_are_counted_before_a_run(folders):
    """From the files: special tokens and prompts count, and a text of just the maximum is whole."""
    spec = f"dir:{folders.mean('st', prompts={'query': 'the dog '})}"
    whole, longer = " ".join(["cat"] * 22), " ".join(["cat"] * 23)
    texts = [*SENTENCES, whole, longer]
    for options, some, said in (
        ("", texts, "1 of 9 texts of mine is longer than the 24 tokens"),
        ("?prompt=query", texts, "2 of 9 texts of mine are longer"),
        ("?max_length=3", [longer] * 9, "9 of 9 texts of mine are longer than the 3 tokens"),
        ("", [longer] * 2000, "2,000 of 2,000"),
    ):
        (cut,) = cuts_of(f"{spec}{options}", some, "mine")
        assert said in cut
    assert cuts_of(spec, texts[:-1]) == cuts_of("wordllama", texts) == []
    encoder = load(spec, device="cpu")
    encoder.encode(texts)
    assert "1 text was cut to 24 tokens." in encoder.warnings
    # Of a damaged tokenizer a list says nothing, and who counts its tokens gets a sentence.
    (folders.root / "st" / "tokenizer.json").write_text("{")
    assert cuts_of(spec, texts) == []
    with refused("damaged", "tokenizer of"):
        token_counts(checkpoint_of(spec)[1], texts)


def test_queries_and_documents_take_their_own_routes(folders):
    """In tasks with sides, by encode_query and encode_document, whose prompts come with them."""
    folder = folders.router("router", prompts={"query": "the cat ", "document": "a "})
    model, encoder = theirs(folder), load(f"dir:{folder}", device="cpu")
    np.testing.assert_allclose(encoder.encode(TEXTS), model.encode(TEXTS), atol=1e-5)
    bound = bind_task(encoder, (), "", RETRIEVAL)
    np.testing.assert_allclose(bound.encode(TEXTS), model.encode_document(TEXTS), atol=1e-5)
    for one in (bound, encoder):
        queries = query_side(one).encode(TEXTS)
        np.testing.assert_allclose(queries, model.encode_query(TEXTS), atol=1e-5)
    assert prompts_of(bound) == {"prompt": "a ", "query_prompt": "the cat "}
    similar = bind_task(encoder, (), "", PromptTask("mine", "STS"))
    np.testing.assert_allclose(similar.encode(TEXTS), model.encode(TEXTS), atol=1e-5)
    assert len({one.fingerprint for one in (encoder, bound, query_side(bound))}) == 3
    facts = describe(f"dir:{folder}")
    assert (facts["routed"], facts["max_tokens"]) == (True, 24)


def nested(folders, **options):
    """A router inside of a router."""
    documents = [folders.inner("nested"), folders.m.Pooling(WIDTH, "mean")]
    inner = folders.m.Router.for_query_document([folders.static()], documents)
    outer = folders.m.Router({"text": [inner]}, default_route="text")
    return folders.save("nested", outer, **options)


@pytest.mark.parametrize("write", [partial(Folders.router, name="router"), nested])
@pytest.mark.parametrize(
    ("options", "query"),
    [
        ("?query_prompt=a%20dog%20", "a dog "),
        ("?prompt=a%20dog%20", "a dog "),
        ("?prompt=@task", "the cat "),
        ("", "the cat "),
    ],
)
def test_a_prompt_of_the_spec_takes_the_place_of_a_route_s_own(folders, write, options, query):
    """For one side or both, by text or by task; the task reaches a router inside of a router."""
    folder = write(folders, prompts={"query": "the cat ", "STS": "a dog "})
    encoder = bind_task(load(f"dir:{folder}{options}", device="cpu"), (), "", RETRIEVAL)
    expected = theirs(folder).encode_query(TEXTS, prompt=query)
    np.testing.assert_allclose(query_side(encoder).encode(TEXTS), expected, atol=1e-5)


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_encode_is_said_to_be_what_it_is(folders, kind):
    """In the facts and when it is loaded; nothing is built that its weights deny."""
    write, code, named = REFUSED[kind]
    spec = f"dir:{write(folders, kind.replace(' ', '-'))}"
    with refused(code, *named) as caught:
        load(spec, device="cpu").encode(SENTENCES)
    assert describe(spec, read=True)["problem"] == str(caught.value)
    if kind == "plain cross-encoder":  # with a pooling, it is a transformer like any other
        assert load(f"{spec}?pooling=avg", device="cpu").encode(SENTENCES).shape[1] == WIDTH


def test_a_text_is_cut_where_the_positions_end(folders):
    """RoBERTa's begin after the padding: no file states that maximum; a larger one is not used."""
    folder, gpt = folders.mean("roberta", "roberta"), folders.mean("gpt", "gpt2")
    plain, plain_gpt = (folders.root / f"{of}-plain?pooling=avg" for of in ("roberta", "gpt"))
    long = edit_config(folders.mean("long"), "sentence_bert_config.json", max_seq_length=512)
    for path, peer in ((folder, folder), (plain, folder), (long, long), (plain_gpt, gpt)):
        expected = theirs(peer)
        expected.max_seq_length = 24
        encoder = load(f"dir:{path}", device="cpu")
        np.testing.assert_allclose(encoder.encode(TEXTS), expected.encode(TEXTS), atol=1e-5)
        assert "1 text was cut to 24 tokens." in encoder.warnings
    assert describe(f"dir:{folder}")["max_tokens"] == 24
    with refused("too-large", "max_length=30", 24):
        load(f"dir:{long}?max_length=30", device="cpu").encode(TEXTS)


def test_the_fingerprint_follows_every_module(folders):
    """Another pooling, dense layer or prompt is another encoder; another folder is not."""
    dense = LIKE_THEIRS["dense"](folders, "dense")
    copy = shutil.copytree(dense, folders.root / "copy")
    edit_config(shutil.copytree(dense, folders.root / "other"), "2_Dense/config.json", bias=False)
    specs = (f"{copy}", f"{dense}?prompt=a", f"{folders.root / 'other'}")
    first, *others = (load(f"dir:{f}", device="cpu").fingerprint for f in (dense, *specs))
    assert [one == first for one in others] == [True, False, False]


def test_a_batch_that_does_not_fit_the_memory_is_halved(folders):
    """Until it does, down to a single text."""
    lines, folder = ["the cat sees a dog"] * 100, folders.mean("tiny")
    source = SentenceTransformerSource("tiny", checkpoint_of(f"dir:{folder}")[1], device="cpu")
    memory = Allocation(source._loaded.model[0], most=150)
    rows = np.concatenate(list(source.chunks(lines)))
    np.testing.assert_allclose(rows, theirs(folder).encode(lines), atol=1e-5)
    assert 1 <= memory.failures <= 3
    memory.most = 1
    with refused("too-large", "cpu"):
        list(source.chunks(lines))


def test_routes_that_do_not_fit_get_a_sentence(folders):
    """No default route is no reason against a search, nor a lacking route against all else."""
    static, router = folders.static, folders.m.Router
    two = {"query": [static()], "document": [static()]}
    folder = folders.save("none", router(two, allow_empty_key=False))
    encoder = load(f"dir:{folder}", device="cpu")
    with refused("unsupported", folder):
        encoder.encode(TEXTS)
    rows = bind_task(encoder, (), "", RETRIEVAL).encode(TEXTS)
    np.testing.assert_allclose(rows, theirs(folder).encode_document(TEXTS), atol=1e-5)
    asym = folders.save("asym", router({"query": [static()], "doc": [static()]}))
    encoder = load(f"dir:{asym}", device="cpu")
    np.testing.assert_allclose(encoder.encode(TEXTS), theirs(asym).encode(TEXTS), atol=1e-5)
    with refused("unsupported", "'document'"):
        bind_task(encoder, (), "", RETRIEVAL)
    unequal = folders.router("unequal", dim=16)
    with refused("mismatch", 16, 32):
        bind_task(load(f"dir:{unequal}", device="cpu"), (), "", RETRIEVAL)
