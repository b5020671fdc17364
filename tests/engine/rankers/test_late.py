"""Late chunking against transformers' own states of tokens."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.engine.encoders.folders import Folders
from tests.engine.encoders.models import WORDS
from tests.errors import refused
from theodolite.engine import rankers
from theodolite.engine.datasets.chunks import Splitter, cut
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.encoders import MemoryCache, query_side
from theodolite.engine.rankers.late import LateSource, late

RNG = np.random.default_rng(3)
DOCUMENTS = {
    f"d{i}": ". ".join(" ".join(RNG.choice(WORDS, 6)).capitalize() for _ in range(n)) + "."
    for i, n in enumerate((9, 1, 3))  # the first is longer than the model takes
}
WHOLE = Retrieval("x", {"q": "the cat"}, DOCUMENTS, {"test": {"q": {"d1": 1}}})
DATA = cut(WHOLE, Splitter.parse("sentences,40,late"), "x|chunk:sentences,40,late")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Writes small random models."""
    return Folders(tmp_path_factory.mktemp("late"))


@pytest.fixture(scope="module")
def folder(folders: Folders) -> Path:
    """A transformer."""
    return folders.plain("mine")


def by_hand(folder: Path, prompt: str, length: int, layers: tuple[int, ...]) -> np.ndarray:
    """The mean over the tokens of each chunk, of windows that transformers cuts."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model, found = AutoModel.from_pretrained(folder).eval(), []
    for place in DATA.places.values():
        windows = tokenizer(
            prompt + DOCUMENTS[place.document],
            truncation=True,
            max_length=length,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        tokens = []
        for ids, offsets in zip(windows["input_ids"], windows["offset_mapping"], strict=True):
            with torch.inference_mode():
                hidden = model(torch.tensor([ids]), output_hidden_states=True).hidden_states
            states = sum(hidden[i][0] for i in layers) / len(layers)
            for (start, stop), state in zip(offsets, states, strict=True):
                start, stop = start - len(prompt), stop - len(prompt)
                if start >= place.start and start < stop <= place.stop:
                    tokens.append(state.numpy())
        found.append(np.mean(tokens, axis=0))
    return np.array(found)


@pytest.mark.parametrize(
    ("options", "prompt", "layers"),
    [
        ("pooling=avg&max_length=16", "", (-1,)),
        ("pooling=avg_first_last&prompt=dog: &max_length=20", "dog: ", (1, -1)),
        ("pooling=avg&query_prompt=cat: &max_length=16", "", (-1,)),
    ],
)
def test_chunks_have_the_mean_of_their_tokens(
    folder: Path, options: str, prompt: str, layers: tuple[int, ...]
) -> None:
    """Of a document that has several windows too; queries are encoded as ever."""
    spec = f"dir:{folder}?{options}"
    plain = rankers.load(spec)
    made = late(plain, DATA)
    texts = list(DATA.documents.values())
    length = int(options.rpartition("=")[2])
    assert made.encode(texts) == pytest.approx(by_hand(folder, prompt, length, layers), abs=1e-5)
    asked = query_side(made).encode(["the cat"])
    assert np.array_equal(asked, query_side(plain).encode(["the cat"]))
    assert made.fingerprint != plain.fingerprint and made.name == plain.name


def test_vectors_are_cached_and_rank_documents(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an evaluation are those of a fusion; neither it nor new marks make them again."""
    cache, spec = MemoryCache(), f"dir:{folder}?pooling=avg"
    texts = list(DATA.documents.values())
    vectors = late(rankers.load(spec, cache=cache), DATA).encode([*texts, "another text"])
    assert np.array_equal(vectors[-1], rankers.load(spec).encode(["another text"])[0])
    monkeypatch.setattr(LateSource, "_pool", None)
    marked = replace(DATA, judgements={"test": {"q": {"d": 1}}})
    fused = late(rankers.load(f"fuse(bm25, {spec})", cache=cache), marked)
    own = rankers.rank(late(rankers.load(spec, cache=cache), DATA), ["the cat"], texts)
    assert late(rankers.load("bm25"), DATA).fingerprint == rankers.load("bm25").fingerprint
    assert len(rankers.rank(fused, ["the cat"], texts)[0][0]) == len(own[0][0]) == len(texts)


@pytest.mark.parametrize(
    "spec",
    ["wordllama", "fuse(bm25, random:8)", "dir:{}?pooling=cls_token", "minilm | normalise"],
)
def test_what_has_no_means_of_tokens_is_refused(folder: Path, spec: str) -> None:
    """With what can."""
    loaded = rankers.load(spec.format(folder))
    with refused("unsupported", "late", "pooling=avg"):
        late(loaded, DATA)
