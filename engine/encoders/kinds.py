"""What a model folder is, by its files, where that is something else than an encoder of sentences.

Also refuses a configuration that its weights deny, since building such a model could take minutes
or all of the memory. Loads no model.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import refuse_pointer

if TYPE_CHECKING:
    from theodolite.engine.encoders.checkpoint import Checkpoint

_POINTER_BYTES = 1024
"""A Git LFS pointer is shorter."""
_READ = (".json", ".txt", ".model", ".safetensors", ".bin")
_OTHER_WEIGHTS = {
    ".onnx": "ONNX",
    ".xml": "OpenVINO",
    ".gguf": "GGUF",
    ".h5": "TensorFlow",
    ".msgpack": "Flax",
    ".ot": "Rust",
    ".mlpackage": "Core ML",
    ".tflite": "TensorFlow Lite",
}
_LAYERS = (
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
    "encoder_layers",
    "decoder_layers",
    "num_decoder_layers",
    "layers",
)
SIZED = ("Dense", "CNN", "LSTM", "LayerNorm")
"""Modules of sentence-transformers whose configuration says how large they are built."""
_WIDTHS = (
    "in_features",
    "out_features",
    "hidden_dim",
    "out_channels",
    "in_embedding_dimension",
    "in_word_embedding_dimension",
    "dimension",
)
"""Sizes in their configurations, each of which their weights have."""


def refuse_pointers(folder: Path) -> None:
    """Refuse a folder in which a file that would be read is a Git LFS pointer."""
    for file in folder.rglob("*"):
        if file.suffix in _READ and file.is_file() and file.stat().st_size < _POINTER_BYTES:
            refuse_pointer(file)


def refuse_adapter(folder: Path, label: str) -> None:
    """Refuse an adapter of PEFT, which is a change of another model's weights."""
    for file in (folder / "adapter_config.json", *folder.glob("*/adapter_config.json")):
        if file.is_file():
            base = _read(file).get("base_model_name_or_path")
            of = f" of {base}" if isinstance(base, str) else ""
            raise UserError(
                f"{label} is a PEFT adapter{of} ({file.name}), not a whole model.",
                "Merge it with peft: model.merge_and_unload().save_pretrained(FOLDER), and add "
                "that folder.",
            )


def refuse_other_models(checkpoint: Checkpoint) -> None:
    """Refuse a model that gives no vector for a sentence."""
    what = _other(checkpoint)
    if what is not None:
        name, why, instead = what
        raise UserError(
            f"{checkpoint.label} is {name}: {why}.",
            f"Use {instead}, or name a pooling to take the hidden states of its transformer.",
        )


def other_weights(folder: Path) -> str | None:
    """The format of weights that cannot be used here, with a file as an example; None for none."""
    for file in sorted(folder.rglob("*")):
        if file.suffix in _OTHER_WEIGHTS:
            return f"{_OTHER_WEIGHTS[file.suffix]} ({file.relative_to(folder).as_posix()})"
    return None


def refuse_denied_sizes(checkpoint: Checkpoint) -> None:
    """Refuse sizes in the configuration of the transformer that its weights do not have."""
    shapes = checkpoint.shapes
    if not shapes:
        return
    for config in (checkpoint.config, checkpoint.config.get("text_config") or {}):
        for key in _LAYERS:
            if isinstance(config.get(key), int) and not 0 <= config[key] <= len(shapes):
                raise _denied(
                    checkpoint.label,
                    "config.json",
                    f"{key} is {config[key]:,}",
                    f"the weights hold {len(shapes):,} tensors",
                )
    if checkpoint.width is not None:
        _check_width(checkpoint.label, "config.json", "hidden size", checkpoint.width, shapes)


def refuse_denied_module(label: str, name: str, config: Any, shapes: dict[str, Any]) -> None:
    """Refuse sizes in the configuration of another module that its weights do not have."""
    if not shapes or not isinstance(config, dict):
        return
    for key in _WIDTHS:
        if isinstance(config.get(key), int):
            _check_width(label, name, key, config[key], shapes)
    layers = config.get("num_layers")
    if isinstance(layers, int) and not 0 <= layers <= len(shapes):
        raise _denied(
            label, name, f"num_layers is {layers:,}", f"its weights hold {len(shapes):,} tensors"
        )


def _check_width(label: str, file: str, what: str, width: int, shapes: dict[str, Any]) -> None:
    if not any(width in shape for shape in shapes.values()):
        raise _denied(label, file, f"{what} is {width:,}", "no tensor of the weights has that size")


def _denied(label: str, file: str, stated: str, found: str) -> UserError:
    return UserError(
        f"{file} of {label} and its weights do not belong together: {stated}, and {found}.",
        "Get the folder again, as one.",
    )


def _other(checkpoint: Checkpoint) -> tuple[str, str, str] | None:
    """What a folder is instead of an encoder, why it has no vectors, and what to use."""
    saved = checkpoint.sentence_transformers.get("model_type")
    types = [str(module["type"]) for module in checkpoint.modules]
    names = checkpoint.config.get("architectures")
    names = [str(name) for name in names] if isinstance(names, list) else []

    def has(part: str) -> bool:
        return any(part in one for one in types)

    if saved == "CrossEncoder" or has(".cross_encoder.") or _scores_pairs(checkpoint, names):
        return (
            "a cross-encoder",
            "it scores two texts together, and has no vector for one",
            "a bi-encoder",
        )
    if saved == "SparseEncoder" or has(".sparse_encoder."):
        return (
            "a sparse encoder",
            "it weighs the words of its vocabulary, and vectors here are dense",
            "a dense model",
        )
    late = any("ColBERT" in name or name.endswith("ForRetrieval") for name in names)
    late = late or (checkpoint.folder / "artifact.metadata").is_file()
    if saved == "MultiVectorEncoder" or has(".multi_vector_encoder.") or has("pylate.") or late:
        return (
            "a late-interaction model",
            "it has a vector for each token, and none for a sentence",
            "a model with one vector a sentence",
        )
    return None


def _scores_pairs(checkpoint: Checkpoint, architectures: list[str]) -> bool:
    """Whether a plain folder is a classifier with one output, or was saved as a cross-encoder."""
    labels = checkpoint.config.get("id2label")
    one = isinstance(labels, dict) and len(labels) == 1
    return any(name.endswith("ForSequenceClassification") for name in architectures) and (
        one or "sentence_transformers" in checkpoint.config
    )


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
