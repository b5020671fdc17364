"""The output of a run: an ordinary encoder folder.

sentence-transformers, transformers and our own encoders read it as it is:

    config.json, model.safetensors, tokenizer...   for transformers
    modules.json, 1_Pooling/, 2_Dense/ ...         for sentence-transformers, in the form that its
                                                   older versions read too
    README.md                                      the model card
    theodolite.json                                the settings, the data's hash, the curve

A head that was kept is a dense layer with tanh for sentence-transformers and, over the first token
of a BERT, the pooler for transformers. A training-only head is left out (Gao et al. 2021, section
6.3).
"""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import save_file

from theodolite.engine.encoders.pooling import ALL_LAYERS
from theodolite.engine.errors import UserError
from theodolite.engine.training.checkpoint import flush_all, why_unwritten
from theodolite.engine.training.model import TrainingModel, trains_mlm
from theodolite.engine.training.packed import FAMILIES
from theodolite.engine.training.record import RECORD, Record, card, earlier, encoder_of
from theodolite.engine.training.spec import Pooling

_ST_POOLING = {"cls_token": "cls_token", "max": "max_tokens"}


def write(model: TrainingModel, record: Record) -> str:
    """Write the encoder with the weights to be kept; see `whole`."""

    def files(folder: Path) -> None:
        _write_transformer(model, folder)
        _write_modules(model, folder)

    model.merge()
    return whole(record, files, model.dim, model.pooling, pooling_of(model))


def whole(
    record: Record,
    files: Callable[[Path], None],
    dim: int,
    pooling: Pooling = "base",
    name: str | None = None,
) -> str:
    """Write an encoder, completely or not at all.

    Args:
        record: goes into the card and `theodolite.json`. The folder of its spec is created with
            its parents; one that holds the encoder of the same run is replaced.
        files: writes what libraries read into a folder.
        dim: length of a vector.
        pooling: as a training names it; `base` where there is no transformer.
        name: as an encoder's spec names it; None for the modules of the folder.

    Returns:
        The spec string that loads the encoder.
    """
    folder = record.spec.out_folder
    earlier(folder, record.spec.hash)
    part = folder.with_name(folder.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed while it wrote
        part.mkdir(parents=True)
        files(part)
        _write_json(part / RECORD, record.to_dict() | {"pooling": name})
        (part / "README.md").write_text(card(record, dim, pooling), "utf-8")
        flush_all(part)
        if folder.exists():
            shutil.rmtree(folder)
        part.rename(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise UserError(
            f"The encoder cannot be written to {folder}: {why_unwritten(error)}.",
            "Make room or choose another folder; the run goes on from its checkpoint.",
            code="no-file",
        ) from error
    return encoder_of(folder)


def pooling_of(model: TrainingModel) -> str | None:
    """The encoder's pooling as `engine.encoders` names it; None when it needs a dense layer."""
    pooling = str(model.pooling)
    if _keeps_head(model):
        return "pooler_output" if _has_place_for_head(model) else None
    return pooling


def _keeps_head(model: TrainingModel) -> bool:
    return model.spec.head == "mlp" and len(model.heads) > 0


def _has_place_for_head(model: TrainingModel) -> bool:
    """Whether transformers can hold the head as the pooler."""
    kind = model.encoder().config.model_type
    return model.pooling == "cls_token" and kind in FAMILIES


def _write_transformer(model: TrainingModel, folder: Path) -> None:
    from theodolite.engine.encoders.transformer import quiet

    first: Any = model.encoders[0]
    whole = first if trains_mlm(model.spec) else first.base_model
    state = {name: tensor.detach().cpu() for name, tensor in whole.state_dict().items()}
    if _keeps_head(model) and _has_place_for_head(model):
        prefix = "" if whole is whole.base_model else f"{whole.base_model_prefix}."
        for name, tensor in model.heads[0].state_dict().items():
            state[f"{prefix}pooler.{name}"] = tensor.detach().cpu()
    with quiet():
        whole.save_pretrained(folder, state_dict=state)
        tokenizer = copy.deepcopy(model.tokenizer)
        if getattr(tokenizer, "backend_tokenizer", None) is not None:
            tokenizer.backend_tokenizer.no_truncation()
        tokenizer.model_max_length = model.limit
        tokenizer.save_pretrained(folder)
    # A later run from this encoder starts with the dropout of the base, not of this run.
    config = json.loads((folder / "config.json").read_text("utf-8")) | model.base.dropouts
    if model.pooling in ALL_LAYERS:
        config["output_hidden_states"] = True
    _write_json(folder / "config.json", config)


def _write_modules(model: TrainingModel, folder: Path) -> None:
    """`modules.json` and the modules' folders."""
    dim, pooling = model.dim, str(model.pooling)
    modules = [("", "Transformer")]

    def add(kind: str, config: dict[str, Any], weights: dict[str, torch.Tensor]) -> None:
        place = folder / f"{len(modules)}_{kind}"
        place.mkdir()
        modules.append((place.name, kind))
        _write_json(place / "config.json", config)
        if weights:
            save_file(weights, place / "model.safetensors", {"format": "pt"})

    if pooling in ALL_LAYERS:
        layers = int(model.encoder().config.num_hidden_layers)
        weights = _layer_weights(pooling, layers)
        start = layers + 1 - len(weights)
        add(
            "WeightedLayerPooling",
            {"word_embedding_dimension": dim, "layer_start": start, "num_hidden_layers": layers},
            {"layer_weights": weights},
        )
    modes = ("cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens")
    mode = _ST_POOLING.get(pooling, "mean_tokens")
    add(
        "Pooling",
        {"word_embedding_dimension": dim} | {f"pooling_mode_{m}": m == mode for m in modes},
        {},
    )
    if _keeps_head(model):
        head = {
            f"linear.{name.removeprefix('dense.')}": tensor.detach().cpu().contiguous()
            for name, tensor in model.heads[0].state_dict().items()
        }
        tanh = "torch.nn.modules.activation.Tanh"
        config = {"in_features": dim, "out_features": dim, "bias": True}
        add("Dense", config | {"activation_function": tanh}, head)
    if model.normalises:
        add("Normalize", {}, {})
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules)
    ]
    _write_json(folder / "modules.json", listed)
    limit = {"max_seq_length": model.limit, "do_lower_case": False}
    _write_json(folder / "sentence_bert_config.json", limit)
    own = model.prompts.own
    prompted: dict[str, Any] = {
        "prompts": own,
        "default_prompt_name": model.prompts.default if model.prompts.default in own else None,
        "similarity_fn_name": "cosine",
    }
    _write_json(folder / "config_sentence_transformers.json", prompted)


def _layer_weights(pooling: str, layers: int) -> torch.Tensor:
    """Weights of the last layers whose mean is the pooling: (1, 0, ..., 0, 1) or (1, 1)."""
    if pooling == "avg_top2":
        return torch.ones(2)
    weights = torch.zeros(layers)  # from the first layer after the embeddings
    weights[0] = weights[-1] = 1.0
    return weights


def _write_json(file: Path, content: Any) -> None:
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
