"""Facts about a checkpoint folder, read from its files without loading the model.

Refuses what could only be loaded by running code from the folder.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from theodolite.engine.encoders import kinds
from theodolite.engine.encoders.fingerprint import file_sha256
from theodolite.engine.encoders.modules import Module, dim_after, every, listed, modules_of
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import torch

T = TypeVar("T", dict[str, Any], list[Any])

_TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
)
_DECODERS = ("ForCausalLM", "LMHeadModel")
# Their positions start after the padding id, so the table holds that many fewer tokens.
_OFFSET_POSITIONS = (
    "roberta",
    "xlm-roberta",
    "camembert",
    "mpnet",
    "longformer",
    "xlm-roberta-xl",
    "xmod",
    "luke",
    "roberta-prelayernorm",
    "data2vec-text",
    "esm",
)
_POSITIONS = re.compile(r"(^|\.)(position_embeddings|wpe)\.weight$")
NO_LIMIT = 8192
"""Tokens kept of a text when neither model nor tokenizer states a limit."""
_SETTINGS = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
"""`sentence_NAME_config.json`: where sentence-transformers looks for a transformer's settings."""


@dataclass(frozen=True)
class Checkpoint:
    """A folder with a transformer, or with a sentence-transformers model.

    Attributes:
        folder: where `config.json` (or `modules.json`) lies.
        label: for messages: the hub's id, or the folder.
    """

    folder: Path
    label: str

    @cached_property
    def modules(self) -> list[dict[str, Any]]:
        """`modules.json` of sentence-transformers; empty for a plain transformer."""
        return listed(self.folder, self.label)

    @cached_property
    def parts(self) -> tuple[Module, ...]:
        """The modules with their configurations, without those inside of Routers."""
        return modules_of(self.folder, self.modules)

    @property
    def is_routed(self) -> bool:
        """Whether queries and documents take modules of their own."""
        return any(part.is_router for part in self.parts)

    @property
    def similarity(self) -> str:
        """How its vectors are compared: cosine, unless its files name another similarity."""
        named = self.sentence_transformers.get("similarity_fn_name")
        return named if named in ("dot", "euclidean", "manhattan") else "cosine"

    @property
    def vector_dim(self) -> int | None:
        """Length of a vector after all modules; None where only the loaded model can tell."""
        output = self.settings.get("module_output_name")
        cut = self.sentence_transformers.get("truncate_dim")
        return dim_after(self.parts, self.width, output, cut)

    @property
    def transformers(self) -> tuple[Checkpoint, ...]:
        """The transformers in the folder, those inside of Routers included."""
        if not self.modules:
            return (self,)
        found = (part for part in every(self.parts) if part.kind == "Transformer")
        return tuple(Checkpoint(part.folder, self.label) for part in found)

    @property
    def root(self) -> Path:
        """The transformer's own folder: a subfolder in older sentence-transformers models."""
        return self.folder / str(self.modules[0].get("path", "")) if self.modules else self.folder

    @cached_property
    def config(self) -> dict[str, Any]:
        """`config.json`; empty when the folder has none."""
        return self._json(self.root / "config.json", dict)

    @cached_property
    def trained(self) -> dict[str, Any]:
        """The record of `engine.train` in a folder that it wrote; empty for any other."""
        return self._json(self.folder / "theodolite.json", dict)

    @cached_property
    def sentence_transformers(self) -> dict[str, Any]:
        """Settings of sentence-transformers, prompts included; empty for other folders."""
        return self._json(self.folder / "config_sentence_transformers.json", dict)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Settings of sentence-transformers for the transformer; empty for a plain one."""
        files = (self.root / f"sentence_{name}_config.json" for name in _SETTINGS)
        return next((found for file in files if (found := self._json(file, dict))), {})

    @property
    def max_length(self) -> int | None:
        """Default maximum sequence length, in tokens; None when no file states one.

        Where sentence-transformers' settings state one, it takes the place of the tokenizer's.
        """
        own = self.settings.get("max_seq_length")
        stated = own if _is_length(own) else self._of_tokenizer
        bounds = (stated, self.positions if stated is None or self._has_table else None)
        return min((n for n in bounds if n is not None), default=None)

    @property
    def most_tokens(self) -> int:
        """Maximum sequence length of the transformer without sentence-transformers' settings."""
        return min((n for n in (self.positions, self._of_tokenizer) if n), default=NO_LIMIT)

    @property
    def _of_tokenizer(self) -> int | None:
        limit = self._json(self.root / "tokenizer_config.json", dict).get("model_max_length")
        return limit if _is_length(limit) else None

    @property
    def _has_table(self) -> bool:
        """Whether positions are learnt, so that there are none beyond the last."""
        return any(_POSITIONS.search(name) for name in self.shapes)

    @cached_property
    def weights(self) -> tuple[Path, ...]:
        """Files of the transformer's weights: safetensors if there are any, else `.bin`."""
        for pattern in ("model*.safetensors", "pytorch_model*.bin"):
            found = tuple(sorted(self.root.glob(pattern)))
            if found:
                return found
        return ()

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name and shape of every tensor, from the headers of the weight files."""
        shapes: dict[str, tuple[int, ...]] = {}
        for file in self.weights:
            shapes |= _header(file) if file.suffix == ".safetensors" else _bin_shapes(file)
        return shapes

    @property
    def parameters(self) -> int:
        """Number of parameters; stored position ids are not counted."""
        return sum(math.prod(s) for n, s in self.shapes.items() if not n.endswith("position_ids"))

    @property
    def embedding_parameters(self) -> int:
        """Number of parameters that are looked up, by token, position or token type."""
        tables = ("embeddings.weight", "embed_tokens.weight", "wte.weight", "shared.weight")
        return sum(math.prod(s) for n, s in self.shapes.items() if n.endswith(tables))

    @cached_property
    def card(self) -> dict[str, Any]:
        """The metadata in the header of its model card; empty without one that can be read."""
        import yaml

        file = self.folder / "README.md"
        text = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
        head = text.split("---", 2)[1] if text.startswith("---") and text.count("---") > 1 else ""
        try:
            metadata = yaml.safe_load(head)
        except yaml.YAMLError:
            return {}
        return metadata if isinstance(metadata, dict) else {}

    @property
    def has_pooler(self) -> bool:
        """True when the weights have a pooler; otherwise transformers adds a random one."""
        return any(".pooler." in f".{name}" for name in self.shapes) or self.has_simcse_head

    @property
    def has_simcse_head(self) -> bool:
        """True for a checkpoint of SimCSE's training code: its head is called `mlp`, not pooler."""
        return {"mlp.dense.weight", "mlp.dense.bias"} <= self.shapes.keys()

    def tensors(self, names: Collection[str]) -> dict[str, torch.Tensor]:
        """Some of the tensors in the weight files, on the CPU."""
        import torch
        from safetensors import safe_open

        found: dict[str, torch.Tensor] = {}
        for file in self.weights:
            if file.suffix == ".safetensors":
                with safe_open(file, "pt") as stream:
                    held = set(stream.keys()) & set(names)
                    found |= {name: stream.get_tensor(name) for name in held}
            else:
                whole = torch.load(file, map_location="cpu", weights_only=True)
                found |= {name: whole[name] for name in names if name in whole}
        return found

    @property
    def is_decoder(self) -> bool:
        """True when a token attends only to itself and the tokens before it."""
        names = self.config.get("architectures") or []
        return bool(self.config.get("is_decoder")) or any(n.endswith(_DECODERS) for n in names)

    @property
    def dim(self) -> int:
        """Length of a hidden state."""
        if self.width is None:
            raise UserError(f"{self.label}: config.json does not state the hidden size.")
        return self.width

    @property
    def width(self) -> int | None:
        """As `dim`; None where `config.json` does not state it."""
        config = self.config.get("text_config")
        config = config if isinstance(config, dict) else self.config
        keys = ("hidden_size", "d_model", "n_embd", "dim")
        return next((int(config[key]) for key in keys if isinstance(config.get(key), int)), None)

    @property
    def positions(self) -> int | None:
        """Number of tokens that the model has positions for; None when it states none."""
        config = self.config
        for key in ("max_position_embeddings", "n_positions", "max_seq_len"):
            if isinstance(config.get(key), int) and config[key] > 0:
                offset = config.get("model_type") in _OFFSET_POSITIONS
                pad = config.get("pad_token_id", 1)  # these models' own default
                return int(config[key]) - ((pad if isinstance(pad, int) else 0) + 1) * offset
        return None

    @property
    def hashes(self) -> list[str]:
        """Name and SHA-256 of every file that determines a vector."""
        files = [self.root / name for name in ("config.json", *_TOKENIZER)]
        files = [f for f in files if f.is_file()] + list(self.weights)
        return [f"{f.name}:{file_sha256(f)}" for f in files]

    def check(self, *, pooled: bool = False) -> None:
        """Refuse a folder that holds no encoder, or one that needs code or pickle.

        Args:
            pooled: the spec gives a pooling, and so takes the hidden states of a transformer,
                whatever the folder is.
        """
        if not self.folder.is_dir():
            raise UserError(f"There is no folder {self.label}.", "Give the folder of a checkpoint.")
        kinds.refuse_pointers(self.folder)
        kinds.refuse_adapter(self.folder, self.label)
        if not self.modules and not self.config:
            other = kinds.other_weights(self.folder)
            raise UserError(
                f"{self.label} holds no model: it has neither config.json nor modules.json"
                + (f", and weights as {other} only." if other else "."),
                "Give the folder that save_pretrained or the hub wrote.",
            )
        if not pooled:
            kinds.refuse_other_models(self)
        self._refuse_code()
        if not self.modules:
            self.check_weights()
        for part in every(self.parts):
            its = Checkpoint(part.folder, self.label)
            if part.kind == "Transformer":
                its.check_weights()
            elif part.kind in kinds.SIZED:
                kinds.refuse_denied_module(self.label, part.kind, part.config, its.shapes)

    def _refuse_code(self) -> None:
        for name in ("config.json", "tokenizer_config.json"):
            if "auto_map" in self._json(self.root / name, dict):
                raise UserError(
                    f"{self.label} needs Python code of its own ({name} has auto_map), and "
                    "code from a model is never run.",
                    "Use a checkpoint whose architecture transformers has.",
                )
        for part in every(self.parts):
            if not part.type.startswith("sentence_transformers."):
                raise UserError(
                    f"{self.label} needs code of its own: {part.type}. It is never run."
                )

    def check_weights(self) -> None:
        """Refuse a folder without weights of a transformer that can be read safely."""
        if not self.weights:
            pickled = [f.name for f in self.folder.iterdir() if f.suffix in (".pt", ".pkl", ".pth")]
            other = kinds.other_weights(self.folder)
            raise UserError(
                f"{self.label} holds no weights that can be read safely"
                + (f" ({pickled[0]} is a pickle)." if pickled else f": {other}." if other else "."),
                "Expected model.safetensors (or pytorch_model.bin with tensors only).",
            )
        kinds.refuse_denied_sizes(self)

    @staticmethod
    def _json(file: Path, shape: type[T]) -> T:
        """The content of a JSON file; empty when the file is missing."""
        if not file.is_file():
            return shape()
        try:
            found = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{file} cannot be read: {error}.", "Get the file again.") from error
        if not isinstance(found, shape):
            raise UserError(
                f"{file} holds a JSON {type(found).__name__} where a {shape.__name__} belongs.",
                "Get the file again.",
            )
        return found


def _is_length(stated: object) -> TypeGuard[int]:
    return isinstance(stated, int) and 0 < stated < 10**6


def _header(file: Path) -> dict[str, tuple[int, ...]]:
    """Tensor names and shapes of a safetensors file, of which only the header is read."""
    try:
        with file.open("rb") as stream:
            (size,) = struct.unpack("<Q", stream.read(8))
            if size > 100_000_000:
                raise ValueError("its header is too long")
            header = json.loads(stream.read(size))
        return {name: tuple(t["shape"]) for name, t in header.items() if name != "__metadata__"}
    except (OSError, ValueError, struct.error, AttributeError, KeyError, TypeError) as error:
        raise UserError(f"{file.name} is damaged: {error}.", "Download it again.") from error


def _bin_shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Tensor names and shapes of a `.bin`, refusing one whose pickle holds more than tensors."""
    import pickle

    import torch

    try:
        tensors = torch.load(file, map_location="meta", weights_only=True)
    except pickle.UnpicklingError as error:
        raise UserError(
            f"{file.name} is a pickle with more than tensors in it; it is not loaded.",
            "Convert it to safetensors where you trust it.",
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError) as error:
        raise UserError(f"{file.name} is damaged: {error}.", "Download it again.") from error
    return {name: tuple(t.shape) for name, t in tensors.items() if isinstance(t, torch.Tensor)}
