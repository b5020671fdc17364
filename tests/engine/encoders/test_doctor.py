"""The pooling doctor: what it reads from files."""

import numpy as np
import pytest

from tests.engine.encoders.models import SENTENCES, edit_config, save, save_sentence_transformer
from theodolite.engine.encoders import describe, load
from theodolite.engine.encoders.doctor import diagnose
from theodolite.engine.errors import UserError


@pytest.mark.parametrize(
    ("name", "kind", "head", "pooling", "because"),
    [
        ("unsup-simcse-bert", "bert", "Model", "cls_token", "training only"),
        ("sup-simcse-bert", "bert", "Model", "pooler_output", "trained head is its pooler"),
        ("my-bert", "bert", "ForMaskedLM", "avg_first_last", "not tuned"),
        ("my-encoder", "bert", "Model", "avg", "common choice"),
        ("my-gpt", "gpt2", "LMHeadModel", "last", "decoder"),
    ],
)
def test_files_and_names_tell_the_pooling(tmp_path, name, kind, head, pooling, because):
    """And it is the one used when the spec names none."""
    folder = save(tmp_path / name, kind, head)
    diagnosis = diagnose(f"dir:{folder}")
    assert diagnosis.pooling == pooling and because in diagnosis.reasons[0]
    assert diagnosis.warnings == ()
    given = load(f"dir:{folder}?pooling={pooling}", device="cpu").fingerprint
    assert load(f"dir:{folder}", device="cpu").fingerprint == given
    assert describe(f"dir:{folder}")["pooling"] == pooling


def test_a_checkpoint_that_was_not_converted_is_recognised(tmp_path):
    """SimCSE's training code calls its head mlp; transformers would ignore it silently."""
    from safetensors.torch import load_file, save_file

    folder = save(tmp_path / "my-result", add_pooling_layer=False)
    tensors = {f"bert.{k}": v for k, v in load_file(folder / "model.safetensors").items()}
    tensors |= {"mlp.dense.weight": tensors["bert.pooler.dense.weight"].clone()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    diagnosis = diagnose(f"dir:{folder}?pooling=pooler_output")
    assert diagnosis.pooling == "cls_token"
    assert "mlp" in diagnosis.warnings[0]


@pytest.mark.parametrize(
    ("name", "kind", "pooling", "words"),
    [
        ("unsup-simcse-x", "bert", "pooler_output", "expects cls_token"),
        ("sup-simcse-x", "bert", "avg", "expects pooler_output"),
        ("gpt", "gpt2", "cls_token", "first token of a decoder sees nothing"),
    ],
)
def test_a_wrong_pooling_is_warned_of_before_the_run(tmp_path, name, kind, pooling, words):
    """The encoder carries it."""
    head = "LMHeadModel" if kind == "gpt2" else "Model"
    folder = save(tmp_path / name, kind, head)
    encoder = load(f"dir:{folder}?pooling={pooling}", device="cpu")
    assert any(words in warning for warning in encoder.warnings)
    assert load(f"dir:{folder}", device="cpu").warnings == ()


def test_a_pooler_that_is_not_there_is_never_made_up(tmp_path):
    """Transformers would add a random one."""
    folder = save(tmp_path / "mlm", head="ForMaskedLM")
    with pytest.raises(UserError, match=r"no pooler weights.*cls_token"):
        load(f"dir:{folder}?pooling=pooler_output")
    decoder = save(tmp_path / "gpt", "gpt2")
    with pytest.raises(UserError, match="no pooler weights"):
        load(f"dir:{decoder}?pooling=pooler_output")


@pytest.mark.parametrize(("mode", "pooling"), [("mean", "avg"), ("lasttoken", "last")])
def test_a_sentence_transformer_names_its_own(tmp_path, mode, pooling):
    """Read from its Pooling module."""
    folder = save_sentence_transformer(tmp_path / "st", mode)
    assert diagnose(f"dir:{folder}").pooling == pooling
    assert diagnose("minilm?pooling=pooler_output").pooling == "avg"


def test_only_a_transformer_can_be_diagnosed(tmp_path):
    """One source, and one with a checkpoint."""
    for spec in ("wordllama", "minilm + wordllama", "minilm | normalise"):
        with pytest.raises(UserError, match="not a transformer"):
            diagnose(spec)
    with pytest.raises(UserError, match=r"config\.json"):
        diagnose(f"dir:{tmp_path}")


def test_old_models_with_their_transformer_in_a_folder_beneath(tmp_path):
    """sentence-transformers once wrote `0_Transformer/`."""
    folder = tmp_path / "old"
    save(folder / "0_Transformer")
    (folder / "modules.json").write_text(
        '[{"idx": 0, "name": "0", "path": "0_Transformer",'
        ' "type": "sentence_transformers.models.Transformer"}]'
    )
    rows = load(f"dir:{folder}?pooling=avg", device="cpu").encode(SENTENCES)
    plain = load(f"dir:{folder / '0_Transformer'}?pooling=avg", device="cpu").encode(SENTENCES)
    np.testing.assert_array_equal(rows, plain)


def test_hints_in_the_config_count_as_the_name(tmp_path):
    """A copy in a folder of another name still says what it was."""
    folder = edit_config(save(tmp_path / "copy"), _name_or_path="x/unsup-simcse-bert-base")
    assert diagnose(f"dir:{folder}").pooling == "cls_token"
