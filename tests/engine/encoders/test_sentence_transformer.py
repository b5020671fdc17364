"""Models of sentence-transformers, against that library's own `encode`."""

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.models import SENTENCES, edit_config, save_sentence_transformer
from tests.fakes.allocation import Allocation
from theodolite.engine.encoders import load
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.sentence_transformer import SentenceTransformerSource
from theodolite.engine.errors import UserError

PROMPTS = {"query": "the cat ", "document": "a "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A transformer, first-token pooling and a dense layer to 8 dimensions, with prompts."""
    return save_sentence_transformer(
        tmp_path_factory.mktemp("st") / "model", prompts=PROMPTS, default_prompt_name="document"
    )


def test_its_own_modules_and_default_prompt_are_respected(folder):
    """Without options the vectors are those of the library."""
    theirs = SentenceTransformer(str(folder), device="cpu")
    encoder = load(f"dir:{folder}", device="cpu")
    assert encoder.dim == 8
    np.testing.assert_allclose(encoder.encode(SENTENCES), theirs.encode(SENTENCES), atol=1e-5)
    assert not np.allclose(encoder.encode(SENTENCES), theirs.encode(SENTENCES, prompt=""))


@pytest.mark.parametrize("prompt", ["query", "the%20dog%20"])
def test_a_prompt_is_a_name_or_a_text(folder, prompt):
    """A name of the model's own prompts, or the words themselves."""
    theirs = SentenceTransformer(str(folder), device="cpu")
    text = PROMPTS.get(prompt, prompt.replace("%20", " "))
    rows = load(f"dir:{folder}?prompt={prompt}", device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(rows, theirs.encode(SENTENCES, prompt=text), atol=1e-5)


def test_a_pooling_means_the_plain_transformer(folder):
    """With a warning, since the model was made for another, and its dense layer is left out."""
    encoder = load(f"dir:{folder}?pooling=avg", device="cpu")
    assert encoder.dim == 32 and encoder.encode(SENTENCES).shape == (len(SENTENCES), 32)
    assert any("expects cls_token" in w for w in encoder.warnings)
    assert any("Dense is left out" in w for w in encoder.warnings)


def test_the_fingerprint_follows_every_module(folder, tmp_path):
    """Another dense layer, pooling or prompt is another encoder."""
    same = save_sentence_transformer(
        tmp_path / "same", prompts=PROMPTS, default_prompt_name="document"
    )
    other = save_sentence_transformer(tmp_path / "other", "mean")
    prints = [load(f"dir:{f}", device="cpu").fingerprint for f in (folder, same, other)]
    assert prints[0] == prints[1] != prints[2]
    assert load(f"dir:{folder}?prompt=query", device="cpu").fingerprint != prints[0]


def test_a_module_from_elsewhere_is_refused(folder, tmp_path):
    """It would be imported and run."""
    copy = save_sentence_transformer(tmp_path / "copy")
    modules = (copy / "modules.json").read_text().replace("sentence_transformers.", "evil.", 1)
    (copy / "modules.json").write_text(modules)
    with pytest.raises(UserError, match="never run"):
        load(f"dir:{copy}")
    coded = edit_config(save_sentence_transformer(tmp_path / "coded"), auto_map={"AutoModel": "m"})
    with pytest.raises(UserError, match="never run"):
        load(f"dir:{coded}")


def test_a_damaged_model_gets_a_sentence(tmp_path):
    """Rather than the library's traceback."""
    folder = save_sentence_transformer(tmp_path / "cut")
    (folder / "model.safetensors").write_bytes(b"\x08")
    with pytest.raises(UserError, match=r"model\.safetensors is damaged"):
        load(f"dir:{folder}", device="cpu").encode(["a"])
    other = edit_config(save_sentence_transformer(tmp_path / "other"), vocab_size=10**11)
    with pytest.raises(UserError, match="cannot be loaded by sentence-transformers: its weights"):
        load(f"dir:{other}", device="cpu").encode(["a"])


def test_a_batch_that_does_not_fit_the_memory_is_halved(folder):
    """Until it does, down to a single text."""
    lines = ["the cat sees a dog"] * 100
    checkpoint = checkpoint_of(f"dir:{folder}")[1]
    expected = SentenceTransformer(str(folder), device="cpu").encode(lines)
    source = SentenceTransformerSource("tiny", checkpoint, device="cpu")
    memory = Allocation(source._loaded.model[0], most=150)
    np.testing.assert_allclose(np.concatenate(list(source.chunks(lines))), expected, atol=1e-5)
    assert 1 <= memory.failures <= 3
    memory.most = 1
    with pytest.raises(UserError, match="A text does not fit the memory of cpu"):
        list(source.chunks(lines))
