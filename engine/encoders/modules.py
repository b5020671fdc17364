"""The modules of a sentence-transformers folder, by its files: what it does to a text, in order.

Everything here is what can be said before the model is loaded; where the files do not say it in a
form known here, it is None, and only the loaded model can tell (`engine.encoders.probe`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from theodolite.engine.errors import UserError

_CONFIGS = ("config.json", "router_config.json", "lstm_config.json", "cnn_config.json")
_POOLINGS = {
    "cls_token": "cls",
    "mean_tokens": "mean",
    "max_tokens": "max",
    "mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "weightedmean_tokens": "weightedmean",
    "lasttoken": "lasttoken",
}
"""Flags of a Pooling in its old form -> mode in its new one."""
_SAME_WIDTH = ("Normalize", "LayerNorm", "Dropout")


@dataclass(frozen=True)
class Module:
    """A module.

    Attributes:
        kind: name of its class, such as `Pooling`.
        type: its class as `modules.json` or a Router names it.
        folder: its folder.
        config: its configuration; empty where it has none.
    """

    kind: str
    type: str
    folder: Path
    config: dict[str, Any]

    @property
    def is_router(self) -> bool:
        """Whether it chooses other modules by whether a text is a query or a document."""
        return self.kind in ("Router", "Asym")

    @property
    def poolings(self) -> tuple[str, ...]:
        """The modes of a Pooling, in the words of sentence-transformers; empty for another."""
        if self.kind != "Pooling":
            return ()
        mode = self.config.get("pooling_mode")
        modes = [mode] if isinstance(mode, str) else list(mode or [])
        flags = [new for old, new in _POOLINGS.items() if self.config.get(f"pooling_mode_{old}")]
        return tuple(map(str, modes or flags))


def listed(folder: Path, label: str) -> list[dict[str, Any]]:
    """The entries of `modules.json`, checked; empty for a folder without one."""
    file = folder / "modules.json"
    if not file.is_file():
        return []
    entries = _read(file)
    if not isinstance(entries, list):
        raise UserError(
            f"{file} holds a JSON {type(entries).__name__} where a list belongs.",
            "Get the file again.",
        )
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
            raise UserError(
                f"modules.json of {label} has an entry without a type: {str(entry)[:80]}.",
                "Get the model again: each entry has idx, name, path and type.",
            )
        if not _inside(entry.get("path", "")):
            raise UserError(
                f"modules.json of {label} names something that is no folder of its own.",
                "Get the model again, or from someone you trust.",
            )
    return entries


def modules_of(folder: Path, entries: list[dict[str, Any]]) -> tuple[Module, ...]:
    """The modules of `modules.json`, in order, without those inside of Routers."""
    return tuple(_module(folder / str(e.get("path", "")), e["type"]) for e in entries)


def every(modules: tuple[Module, ...]) -> Iterator[Module]:
    """All modules, those inside of Routers after them."""
    for module in modules:
        yield module
        types = module.config.get("types") if module.is_router else None
        if isinstance(types, dict):
            inside = {name: str(kind) for name, kind in types.items() if _inside(name)}
            yield from every(tuple(_module(module.folder / n, t) for n, t in inside.items()))


def dim_after(
    modules: tuple[Module, ...], width: int | None, output: object, truncated: object
) -> int | None:
    """Length of a vector after all modules; None where only the loaded model can tell.

    Args:
        modules: of the folder.
        width: of the transformer's hidden states.
        output: what its settings say that the transformer gives.
        truncated: `truncate_dim` of the model's settings.
    """
    tokens: int | None = None
    vector: int | None = None
    for module in modules:
        if module.kind == "Transformer" and output in (None, "token_embeddings"):
            tokens = width
        elif module.kind == "Pooling" and tokens and module.poolings:
            vector = tokens * len(module.poolings)
        elif module.kind == "Dense":
            put = module.config.get("module_output_name") or module.config.get("module_input_name")
            out = module.config.get("out_features")
            if put == "token_embeddings" and tokens and vector is None:
                tokens = out
            elif put in (None, "sentence_embedding") and vector:
                vector = out
            else:
                return None
        elif module.kind not in _SAME_WIDTH:
            return None
    if vector is None or truncated is None:
        return vector
    return min(vector, truncated) if isinstance(truncated, int) and truncated > 0 else None


def _module(folder: Path, kind: str) -> Module:
    configs = (_read(folder / name) for name in _CONFIGS if (folder / name).is_file())
    config = next((found for found in configs if isinstance(found, dict)), {})
    return Module(kind.rsplit(".", 1)[-1], kind, folder, config)


def _inside(path: object) -> bool:
    parts = PurePosixPath(str(path))
    return not parts.is_absolute() and ".." not in parts.parts


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file} cannot be read: {error}.", "Get the file again.") from error
