"""LoRA: adapters of PEFT as encoders, and trainings that make their weights."""

import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.folders import Folders
from tests.engine.encoders.models import close, edit_config
from tests.errors import refused
from tests.fakes.runs import TinyCatalog, tiny_base, tiny_run, tiny_spec
from theodolite.engine.encoders import describe, load
from theodolite.engine.encoders.facts import LATER
from theodolite.engine.encoders.hub import download
from theodolite.engine.threads import one_torch_thread
from theodolite.engine.train import train

peft = pytest.importorskip("peft")
TEXTS = ["a man sits", "", "the old cat sleeps near the red table and eats"]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """Merged folders go there."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def base(tmp_path):
    """A model of sentence-transformers, with mean pooling."""
    return Folders(tmp_path).mean("base")


def config(**changes):
    """Of an adapter whose matrices are not zero."""
    return peft.LoraConfig(**{"r": 4, "lora_alpha": 8, "init_lora_weights": False} | changes)


def adapter(base, folder, **changes):
    """Of peft, over the transformer alone; return it, too, as the vectors' oracle."""
    torch.manual_seed(5)
    model = SentenceTransformer(str(base), device="cpu")
    model[0].model = peft.get_peft_model(model[0].model, config(**changes)).eval()
    model[0].model.save_pretrained(folder)
    return model


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"use_rslora": True, "target_modules": "all-linear", "rank_pattern": {"query": 2}},
        {"use_dora": True, "target_modules": ["dense"], "bias": "lora_only"},
    ],
)
def test_an_adapter_has_the_vectors_of_peft(tmp_path, base, changes):
    oracle = adapter(base, tmp_path / "adapter", **changes)
    encoder = load(f"dir:{tmp_path / 'adapter'}")
    close(encoder.encode(TEXTS), oracle.encode(TEXTS))
    assert np.abs(encoder.encode(TEXTS) - load(f"dir:{base}").encode(TEXTS)).max() > 1e-2
    assert load(f"dir:{tmp_path / 'adapter'}").fingerprint == encoder.fingerprint
    assert len(list((tmp_path / "cache/theodolite/merged").iterdir())) == 1


def test_one_of_sentence_transformers_brings_its_modules(tmp_path, base):
    """Saved by `add_adapter`: its own pooling is taken, not the base's."""
    torch.manual_seed(5)
    model = SentenceTransformer(str(base), device="cpu")
    model.add_adapter(config(task_type="FEATURE_EXTRACTION"))
    model[1].pooling_mode = "max"
    model.save_pretrained(str(tmp_path / "adapter"))
    assert not list((tmp_path / "adapter").glob("model*"))
    oracle = SentenceTransformer(str(tmp_path / "adapter"), device="cpu").encode(TEXTS)
    close(load(f"dir:{tmp_path / 'adapter'}").encode(TEXTS), oracle)


_edit = partial(edit_config, name="adapter_config.json")


@pytest.mark.parametrize(
    ("damage", "code", "named"),
    [
        (lambda f: _edit(f, base_model_name_or_path="/gone/away"), "missing", "/gone/away"),
        (lambda f: _edit(f, base_model_name_or_path=None), "missing", "base_model_name_or_path"),
        (lambda f: _edit(f, peft_type="IA3"), "unsupported", "IA3"),
        (lambda f: _edit(f, megatron_config={"a": 1}), "unsupported", "megatron_config"),
        (lambda f: _edit(f, r=5), "mismatch", "does not fit"),
        (
            lambda f: save_file(
                {f"odd.{n}": t for n, t in load_file(f / "adapter_model.safetensors").items()},
                f / "adapter_model.safetensors",
            ),
            "mismatch",
            "odd.",
        ),
        (
            lambda f: (f / "adapter_model.safetensors").rename(f / "adapter_model.bin"),
            "missing",
            "pickle",
        ),
    ],
)
def test_what_is_no_adapter_of_its_base_is_refused(tmp_path, base, damage, code, named):
    adapter(base, tmp_path / "adapter")
    damage(tmp_path / "adapter")
    with refused(code, named):
        load(f"dir:{tmp_path / 'adapter'}").encode(TEXTS)


def test_an_adapter_is_here_once_its_base_is(tmp_path, base, served):
    """Downloaded or in a folder; nothing is downloaded to tell so."""
    adapter(base, tmp_path / "hub/models/owner/adapter")
    _edit(tmp_path / "hub/models/owner/adapter", base_model_name_or_path="owner/base")
    own = shutil.copytree(tmp_path / "hub/models/owner/adapter", tmp_path / "apart/own")
    shutil.copytree(base, tmp_path / "hub/models/owner/base")
    specs = ("hf:owner/adapter", f"dir:{own}")
    for lacking in ("owner/adapter", "owner/base"):
        for told in map(describe, specs):
            assert (told["available"], told["problem"]) == (False, LATER)
        download(lacking)
    for told in map(describe, specs):
        assert (told["available"], told["dim"]) == (True, load(specs[0]).dim)
    _edit(own, base_model_name_or_path="/gone/away")
    assert "/gone/away" in describe(specs[1])["problem"]


def test_a_base_beside_the_adapter_is_found(tmp_path, base):
    """Where the two were moved together."""
    oracle = adapter(base, tmp_path / "adapter").encode(TEXTS)
    (tmp_path / "moved").mkdir()
    for name in ("base", "adapter"):
        shutil.move(tmp_path / name, tmp_path / "moved" / name)
    close(load(f"dir:{tmp_path / 'moved/adapter'}").encode(TEXTS), oracle)


def lora_spec(folder, objective="unsup", **changes):
    """A training of LoRA on a small base."""
    settings = {"base": tiny_base(folder), "lora": 4, "lora_alpha": 8, "head": "none"}
    return tiny_spec(folder, objective, **settings | changes)


@pytest.mark.parametrize(
    ("objective", "own"),
    [
        ("unsup", {}),
        ("sup", {}),
        ("st", {"loss": "CoSENTLoss", "train": "graded", "batch_size": 4}),
        ("mlm", {}),
    ],
)
def test_a_training_moves_the_weights_that_peft_would_and_resumes(tmp_path, objective, own):
    """Queries and values alone differ from the base; a run broken off ends with equal weights."""
    spec = lora_spec(tmp_path, objective, **own)
    with one_torch_thread():
        first = tiny_run(spec)
        next(event for event in first.events() if event.kind == "stepped" and event.step == 1)
        first.save()  # and never came back
        small, large = first.folder / "step-00000001/model.safetensors", tmp_path / "base"
        if objective != "mlm":
            assert small.stat().st_size < (large / "model.safetensors").stat().st_size
        begun, *_ = train(spec, TinyCatalog())
        assert begun.step == 1
        list(train(replace(spec, out=str(tmp_path / "unbroken")), TinyCatalog()))
    files = [tmp_path / name / "model.safetensors" for name in ("base", "encoder", "unbroken")]
    before, after, unbroken = (
        {name.removeprefix("bert."): t for name, t in load_file(file).items()} for file in files
    )
    torch.testing.assert_close(after, unbroken, rtol=0, atol=0)
    moved = {n for n, t in after.items() if not torch.equal(t, before[n])}
    assert moved and all(".query." in n or ".value." in n or "cls." in n for n in moved)
    ranks = [torch.linalg.matrix_rank(after[n] - before[n], atol=1e-6) for n in moved if "qu" in n]
    assert max(ranks) <= 4
    oracle = SentenceTransformer(str(tmp_path / "encoder"), device="cpu").encode(TEXTS[::2])
    close(load(f"dir:{tmp_path / 'encoder'}").encode(TEXTS[::2]), oracle)


def test_vectors_in_training_are_those_of_peft(tmp_path):
    """Without padding, too: the packed layers run the matrices of keys and values."""
    model = tiny_run(lora_spec(tmp_path)).model
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight)
    ids = model.ids(TEXTS[::2])
    model.eval()
    padded = torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in ids], batch_first=True)
    states = model.encoder()(input_ids=padded, attention_mask=padded != 0).last_hidden_state
    torch.testing.assert_close(model.vectors(ids), states[:, 0], rtol=0, atol=1e-5)
    with torch.no_grad():
        before = model.vectors(ids)
        model.merge()
        torch.testing.assert_close(model.vectors(ids), before, rtol=0, atol=1e-4)


def test_lora_of_random_weights_is_refused(tmp_path):
    with refused("conflict", "random"):
        tiny_spec(tmp_path, lora=4)
