"""SimCSE's released checkpoints, and those its code writes: read safely, pooled rightly.

Tiny stand-ins with the files, tensor names and configurations of `princeton-nlp/unsup-simcse-*`
and `sup-simcse-*`, and of a folder of SimCSE's `train.py` before `simcse_to_huggingface.py`.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from transformers import BertConfig, BertModel, BertTokenizer

from tests.errors import refused
from tests.fakes.pickles import Calls
from theodolite.engine.encoders import describe, load
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.model import open_model

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"a cat dog sat ran the mat ##s .".split()]
SENTENCES = ["A cat sat .", "The dogs ran", "the mat", ""]
SMALL = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}


def a_bert(folder):
    """Model with a pooler; its folder gets the tokenizer files of the released models."""
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"do_lower_case": True, "tokenizer_class": "BertTokenizer"})
    )
    torch.manual_seed(0)
    return BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=20, **SMALL)).eval()


def write(folder, model, tensors, kind, architecture="BertModel"):
    """`config.json` and the weights, as safetensors or as a `.bin` of tensors."""
    config = model.config.to_dict() | {"architectures": [architecture]}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {name: tensor.clone() for name, tensor in tensors.items()}
    if kind == "bin":
        torch.save(tensors, folder / "pytorch_model.bin")
    else:
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def by_hand(model, folder, head):
    """First token's state of each sentence, and the head over it."""
    words = BertTokenizer.from_pretrained(folder)
    ids = [words(sentence, return_tensors="pt") for sentence in SENTENCES]
    states = torch.cat([model(**each).last_hidden_state[:, 0] for each in ids])
    return (torch.tanh(head(states)) if head else states).detach().numpy()


@pytest.mark.parametrize("kind", ["bin", "safetensors"])
@pytest.mark.parametrize(
    ("name", "converted", "kept"),
    [
        ("unsup-simcse-bert-base-uncased", True, False),
        ("sup-simcse-bert-base-uncased", True, True),
        ("my-unsup-simcse-bert-base-uncased", False, False),
        ("my-sup-simcse-bert-base-uncased", False, True),
        ("result", False, False),
    ],
)
def test_they_have_their_own_pooling(tmp_path, name, kept, converted, kind):
    """Converted, the head is the pooler, which unsupervised models leave out.

    Unconverted (`BertForCL`) there is no pooler, but a head called mlp, which conversion makes it.
    Training goes on from the transformer alone.
    """
    model = a_bert(tmp_path / name)
    head = model.pooler.dense
    if converted:
        # Their files hold the position numbers too, as older versions of transformers wrote them.
        tensors = model.state_dict() | {"embeddings.position_ids": torch.arange(20)[None]}
    else:
        own = {f"bert.{k}": v for k, v in model.state_dict().items() if "pooler" not in k}
        tensors = own | {f"mlp.dense.{k}": v for k, v in head.state_dict().items()}
    architecture = "BertModel" if converted else "BertForCL"
    spec = f"dir:{write(tmp_path / name, model, tensors, kind, architecture)}"
    encoder = load(spec, device="cpu")
    assert describe(spec)["pooling"] == ("pooler_output" if kept else "cls_token")
    assert encoder.warnings == ()
    expected = by_hand(model, tmp_path / name, head if kept else None)
    np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-5)
    opened = open_model(TrainSpec("unsup", spec, "x", "y", max_length=20), [])
    expected = by_hand(model, tmp_path / name, None)
    np.testing.assert_allclose(opened.encode(SENTENCES), expected, atol=1e-5)
    if not converted:
        pooled = load(f"{spec}?pooling=pooler_output", device="cpu")
        expected = by_hand(model, tmp_path / name, head)
        np.testing.assert_allclose(pooled.encode(SENTENCES), expected, atol=1e-5)
        assert bool(pooled.warnings) == (not kept)


def test_a_bin_that_would_run_code_is_not_read(tmp_path):
    """Tensors alone are taken from a pickle."""
    model = a_bert(tmp_path / "sup-simcse-x")
    folder = write(tmp_path / "sup-simcse-x", model, {}, "bin")
    torch.save(
        model.state_dict() | {"mlp": Calls(Path.touch, tmp_path / "ran")},
        folder / "pytorch_model.bin",
    )
    spec = TrainSpec("unsup", f"dir:{folder}", "x", "y", max_length=20)
    for attempt in (lambda: load(spec.base, device="cpu"), lambda: open_model(spec, [])):
        with refused("denied", "tensors"):
            attempt()
    assert not (tmp_path / "ran").exists()
