"""A decoder as a folder: weights in safetensors, vocabulary and facts in JSON.

model.safetensors   float16, or int8 with a scale a row (`NAME.scale`)
vocabulary.json     of the `tokenizers` library
decoder.json        architecture, sizes, the encoder it belongs to, how it was trained
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from engine.decoding.lstm import ConditionedLSTM
from engine.decoding.prefix import PrefixTransformer
from engine.decoding.vocabulary import Vocabulary
from engine.errors import UserError

FORMAT = 1
DecoderModel = PrefixTransformer | ConditionedLSTM


def build(architecture: str, dim: int, vocabulary: int, sizes: dict[str, Any]) -> DecoderModel:
    """A decoder with fresh weights.

    Args:
        architecture: `prefix`, `lstm` or `lstm-mos`.
        dim: of the vectors.
        vocabulary: pieces.
        sizes: what differs from the architecture's own: `width`, `layers`, `dropout`, `positions`.
    """
    given = {name: value for name, value in sizes.items() if value is not None}
    if architecture == "prefix":
        return PrefixTransformer(dim, vocabulary, **given)
    if "width" in given:
        given["hidden"] = given.pop("width")
    if architecture == "lstm":
        simple = {"embedding": 256, "hidden": 512, "layers": 1, "experts": 1, "dropout": 0.2}
        return ConditionedLSTM(dim, vocabulary, **simple | given)
    return ConditionedLSTM(dim, vocabulary, **given)


def write(
    folder: Path, model: nn.Module, vocabulary: Vocabulary, facts: dict[str, Any], *,
    small: bool = False,
) -> None:  # fmt: skip
    """Write a decoder; `small` keeps matrices as int8, else everything is float16.

    Raises:
        OSError: when the disk refuses.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, tensor in model.state_dict().items():
        if small and tensor.ndim == 2:
            scale = tensor.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
            tensors[name] = (tensor / scale).round().to(torch.int8)
            tensors[f"{name}.scale"] = scale.half()
        else:
            tensors[name] = tensor.half().contiguous()
    save_file(tensors, folder / "model.safetensors")
    (folder / "vocabulary.json").write_text(vocabulary.to_json(), "utf-8")
    text = json.dumps({"format": FORMAT} | facts, indent=1, ensure_ascii=False)
    (folder / "decoder.json").write_text(text, "utf-8")


def read(folder: Path) -> tuple[DecoderModel, Vocabulary, dict[str, Any]]:
    """A decoder in evaluation mode, its vocabulary, and its facts.

    Raises:
        UserError: the folder holds no decoder, or a damaged one.
    """
    try:
        facts = json.loads((folder / "decoder.json").read_text("utf-8"))
        vocabulary = Vocabulary.from_json((folder / "vocabulary.json").read_text("utf-8"))
        model = build(facts["architecture"], facts["dim"], len(vocabulary), facts["sizes"])
        tensors = load_file(folder / "model.safetensors")
        model.load_state_dict(_whole(tensors))
    except FileNotFoundError as error:
        raise UserError(
            f"{folder.name} holds no decoder: {Path(error.filename).name} is missing.",
            "Give a folder that `theodolite train-decoder` wrote.",
        ) from error
    except Exception as error:  # a damaged file can be wrong in every way
        raise UserError(
            f"The decoder {folder.name} cannot be read: {str(error).splitlines()[0][:200]}",
            "Train it again, or get the folder again.",
        ) from error
    return model.eval(), vocabulary, facts


def _whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """float32, the scales multiplied in."""
    found = {}
    for name, tensor in tensors.items():
        if name.endswith(".scale"):
            continue
        scale = tensors.get(f"{name}.scale")
        if tensor.dtype == torch.int8:
            if scale is None:
                raise SafetensorError(f"{name} has no scale")
            found[name] = tensor.float() * scale.float()
        else:
            found[name] = tensor.float()
    return found
