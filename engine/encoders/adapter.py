"""LoRA adapters of PEFT: made for a training, and merged into the model that they change.

A folder with `adapter_config.json` holds changes of another model's weights (Hu et al. 2021, LoRA:
W + alpha / r * B A). Its base, which that file names by a folder or by its id on the hub, is read,
the changes are added, and the sum is kept in the user's cache as an ordinary model folder, so that
everything else sees a model like any other. Only safetensors are read, and of the configuration
only fields that describe the matrices: none of them names code.
"""

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from theodolite.engine.encoders.checkpoint import TEXTS, Checkpoint
from theodolite.engine.encoders.fingerprint import file_sha256
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.json_file import json_file

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_FIELDS = (
    "r",
    "lora_alpha",
    "target_modules",
    "exclude_modules",
    "fan_in_fan_out",
    "bias",
    "use_rslora",
    "use_dora",
    "modules_to_save",
    "layers_to_transform",
    "layers_pattern",
    "rank_pattern",
    "alpha_pattern",
)
"""Fields of `LoraConfig` that say which matrices there are and how they are added."""
_OTHERS = (
    "alora_invocation_tokens",
    "kasa_config",
    "layer_replication",
    "lora_bias",
    "megatron_config",
    "target_parameters",
    "trainable_token_indices",
    "use_bdlora",
    "use_qalora",
)
"""Fields that would change the sum in ways that are not read here."""
_FORM = "1"
"""Of merged folders: another one when they are written differently."""


def add(encoder: Any, rank: int, alpha: float) -> Any:
    """Put new matrices of LoRA beside the weights of a model, and freeze these.

    Args:
        encoder: a transformer; changed in place. PEFT knows which of its layers are usual (queries
            and values of BERT's); of a model that it does not know, all linear layers.
        rank: of the matrices.
        alpha: they are scaled by alpha / rank.

    Returns:
        PEFT's `LoraModel`, whose `merge_and_unload` gives the encoder with the matrices added.
    """
    peft = _peft()
    known = peft.utils.constants.TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING
    targets = known.get(encoder.config.model_type, "all-linear")
    config = peft.LoraConfig(r=rank, lora_alpha=alpha, target_modules=targets)
    return peft.LoraModel(encoder, config, "default")


def whole(checkpoint: Checkpoint, find: Callable[[str], Checkpoint]) -> Checkpoint:
    """The model that an adapter makes of its base; a checkpoint that is none stays as it is.

    Args:
        checkpoint: a folder.
        find: the checkpoint of a spec.
    """
    place = next((f for f in (checkpoint.folder, checkpoint.root) if (f / CONFIG).is_file()), None)
    if place is None:
        return checkpoint
    label, config = checkpoint.label, json_file(place / CONFIG, dict)
    odd = [name for name in _OTHERS if config.get(name)]
    if config.get("peft_type") != "LORA" or odd:
        raise UserError(
            f"{label} is an adapter of the kind {config.get('peft_type')}"
            + (f" with {odd[0]}" if odd else "")
            + ", and LoRA alone is read.",
            "Merge it with peft: model.merge_and_unload().save_pretrained(FOLDER).",
            code="unsupported",
        )
    base = _base(str(config.get("base_model_name_or_path") or ""), place, label, find)
    if not (place / WEIGHTS).is_file():
        raise UserError(
            f"The adapter {label} has no {WEIGHTS}.",
            "Save it as safetensors: files of pickle are not opened.",
            code="missing",
        )
    own = sorted(f for f in checkpoint.folder.rglob("*") if f.is_file() and _is_read(f))
    parts = [_FORM, *base.hashes, *(f"{f.name}:{file_sha256(f)}" for f in own)]
    key = hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
    import platformdirs

    folder = platformdirs.user_cache_path("theodolite", appauthor=False) / "merged" / key
    if not folder.is_dir():
        _write(base, checkpoint, place, config, folder)
    return Checkpoint(folder, label)


def _base(name: str, place: Path, label: str, find: Callable[[str], Checkpoint]) -> Checkpoint:
    """The model that an adapter changes: a folder, also one beside the adapter, or of the hub."""
    beside = (Path(name), place / name, place.parent / Path(name).name)
    here = next((f for f in beside if name and (f / "config.json").is_file()), None)
    try:
        base = Checkpoint(here, str(here)) if here else find(f"hf:{name}")
        base.check(pooled=True)
    except UserError as error:
        raise UserError(
            f"{label} is a PEFT adapter of {name or 'a model without a name'}, which cannot be "
            f"read: {error.message}",
            f"Put its base there, or write the folder of the base into {CONFIG} "
            "(base_model_name_or_path).",
            code="missing",
        ) from error
    return base


def _is_read(file: Path) -> bool:
    return any(map(file.match, (*TEXTS, "*.safetensors")))


def _write(
    base: Checkpoint, adapter: Checkpoint, place: Path, config: dict[str, Any], folder: Path
) -> None:
    """Write base and adapter as one model, completely or not at all.

    The modules of sentence-transformers are the adapter's, if it has them, else the base's.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            part = Path(temporary) / "model"
            beneath = base.root if adapter.modules else base.folder
            _copy(beneath, part, leaving=base.weights)
            _copy(adapter.folder, part, leaving=(place / CONFIG, place / WEIGHTS))
            inside = adapter.root.relative_to(adapter.folder) if adapter.modules else None
            root = part / (inside if inside is not None else base.root.relative_to(base.folder))
            _merge(base, place, config, adapter.label).save_pretrained(root)
            if not folder.is_dir():  # another process may have been faster
                part.rename(folder)
    except OSError as error:
        raise UserError(
            f"{adapter.label} cannot be merged into its base: {first_line(error)}",
            f"Make room in {folder.parent}.",
            code="no-file",
        ) from error


def _copy(source: Path, target: Path, leaving: tuple[Path, ...]) -> None:
    """Copy the files that a vector may depend on."""
    for file in source.rglob("*"):
        if file.is_file() and _is_read(file) and file not in leaving:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)


def _merge(base: Checkpoint, place: Path, config: dict[str, Any], label: str) -> Any:
    """The base's transformer with the matrices of the adapter added, float32."""
    import torch
    from safetensors.torch import load_file

    from theodolite.engine.encoders.transformer import quiet, read_model

    peft = _peft()
    with quiet():
        model = read_model(base, torch.float32)
        try:
            fields = {name: config[name] for name in _FIELDS if config.get(name) is not None}
            around = peft.PeftModel(model, peft.LoraConfig(**fields))
            tensors = load_file(place / WEIGHTS)
            # Trained under a head, the names begin with that of the model below it.
            under, plain = f"base_model.model.{model.base_model_prefix}.", "base_model.model."
            if all(name.startswith(under) for name in tensors):
                tensors = {plain + name.removeprefix(under): t for name, t in tensors.items()}
            result = peft.set_peft_model_state_dict(around, tensors)
            missing = [name for name in result.missing_keys if "lora_" in name]
            if odd := [*result.unexpected_keys, *missing]:
                raise ValueError(f"its tensor {odd[0]} has no place in the base.")
            return around.merge_and_unload(safe_merge=True)
        except UserError:
            raise
        except Exception as error:  # peft raises every kind for what does not fit
            raise UserError(
                f"The adapter {label} does not fit its base {base.label}: {first_line(error)}",
                "Check that it was trained on this very model.",
                code="mismatch",
            ) from error


def _peft() -> Any:
    try:
        import peft
    except ImportError as error:
        raise UserError(
            "LoRA needs the package peft, which is not installed.",
            "Install it: pip install 'theodolite[train]'.",
            code="missing",
        ) from error
    return peft
