"""The modules of a model of sentence-transformers, by the JSON files that configure them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from theodolite.engine.json_file import json_file

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


def every(modules: tuple[Module, ...]) -> Iterator[Module]:
    """All modules, those inside of Routers after them."""
    for module in modules:
        yield module
        types = module.config.get("types") if module.is_router else None
        if isinstance(types, dict):
            inside = {name: str(kind) for name, kind in types.items() if is_inside(name)}
            yield from every(tuple(module_at(module.folder / n, t) for n, t in inside.items()))


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


def module_at(folder: Path, kind: str) -> Module:
    """The module of a class in a folder of its own."""
    configs = (json_file(folder / name, dict) for name in _CONFIGS)
    config = next(filter(None, configs), {})
    return Module(kind.rsplit(".", 1)[-1], kind, folder, config)


def is_inside(path: object) -> bool:
    """Whether a path that a file names stays in the folder of the file."""
    parts = PurePosixPath(str(path))
    return not parts.is_absolute() and ".." not in parts.parts
