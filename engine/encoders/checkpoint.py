"""What a model folder holds, by its files alone: a transformer, modules, or something else.

Refuses what could only be loaded by running code from the folder, what gives no vector for a
sentence, and a configuration that the weights deny, since building such a model could take minutes
or all of the memory. Where the files do not tell something in a form known here, it is None, and
only the loaded model can tell (`engine.encoders.probe`).
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from theodolite.engine.encoders.fingerprint import file_sha256
from theodolite.engine.encoders.modules import (
    Module,
    dim_after,
    every,
    is_inside,
    module_at,
)
from theodolite.engine.errors import UserError
from theodolite.engine.filetypes import refuse_pointer
from theodolite.engine.json_file import json_file

if TYPE_CHECKING:
    import torch

TEXTS = ("*.json", "*.txt", "*.model", "*.codes", "*.jinja", "artifact.metadata")
"""Files that say how a model is built, what its tokens are, and how it is asked."""
WEIGHTS = {".safetensors": "model*.safetensors", ".bin": "pytorch_model*.bin"}
"""Suffix of files of weights -> names of a module's; the first form that a folder has is read."""
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
_CUTS_LEFT = re.compile(rb'"truncation": *\{\s*"direction": *"Left"')
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
        """The entries of sentence-transformers' `modules.json`; empty for a plain transformer."""
        entries = json_file(self.folder / "modules.json", list)
        for entry in entries:
            if not isinstance(entry, dict) or not isinstance(entry.get("type"), str):
                raise UserError(
                    f"modules.json of {self.label} has an entry without a type: {str(entry)[:80]}.",
                    "Get the model again: each entry has idx, name, path and type.",
                    code="damaged",
                )
            if not is_inside(entry.get("path", "")):
                raise UserError(
                    f"modules.json of {self.label} names a folder outside of the model's.",
                    "Get the model again, or from someone you trust.",
                    code="denied",
                )
        return entries

    @cached_property
    def parts(self) -> tuple[Module, ...]:
        """The modules with their configurations, without those inside of Routers."""
        return tuple(
            module_at(self.folder / str(e.get("path", "")), e["type"]) for e in self.modules
        )

    @property
    def is_routed(self) -> bool:
        """Whether queries and documents take modules of their own."""
        return any(part.is_router for part in self.parts)

    @property
    def similarity(self) -> str:
        """How its vectors are compared: cosine, unless its files name another similarity."""
        name = self.sentence_transformers.get("similarity_fn_name")
        return name if name in ("dot", "euclidean", "manhattan") else "cosine"

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
        parts = (part for part in every(self.parts) if part.kind == "Transformer")
        return tuple(Checkpoint(part.folder, self.label) for part in parts)

    @property
    def root(self) -> Path:
        """The transformer's own folder: a subfolder in older sentence-transformers models."""
        return self.folder / str(self.modules[0].get("path", "")) if self.modules else self.folder

    @cached_property
    def config(self) -> dict[str, Any]:
        """`config.json`; empty when the folder has none."""
        return json_file(self.root / "config.json", dict)

    @cached_property
    def trained(self) -> dict[str, Any]:
        """The record of `engine.train` in a folder that it wrote; empty for any other."""
        return json_file(self.folder / "theodolite.json", dict)

    @cached_property
    def sentence_transformers(self) -> dict[str, Any]:
        """Settings of sentence-transformers, prompts included; empty for other folders."""
        return json_file(self.folder / "config_sentence_transformers.json", dict)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Settings of sentence-transformers for the transformer; empty for a plain one."""
        files = (self.root / f"sentence_{name}_config.json" for name in _SETTINGS)
        return next((content for file in files if (content := json_file(file, dict))), {})

    @property
    def max_length(self) -> int | None:
        """Default maximum sequence length, in tokens; None when no file states one.

        Where sentence-transformers' settings state one, it takes the place of the tokenizer's.
        """
        own = self.settings.get("max_seq_length")
        stated = own if _is_length(own) else self._of_tokenizer
        bounds = (stated, None if _is_length(own) and not self._has_table else self.positions)
        return min((n for n in bounds if n is not None), default=None)

    @property
    def most_tokens(self) -> int:
        """Maximum sequence length of the transformer without sentence-transformers' settings."""
        return min((n for n in (self.positions, self._of_tokenizer) if n), default=NO_LIMIT)

    @property
    def _of_tokenizer(self) -> int | None:
        limit = self._tokenizer_config.get("model_max_length")
        return limit if _is_length(limit) else None

    @cached_property
    def _tokenizer_config(self) -> dict[str, Any]:
        return json_file(self.root / "tokenizer_config.json", dict)

    @property
    def truncation_side(self) -> str:
        """Where a text is cut: `right`, unless the files of the tokenizer say `left`."""
        file = self.root / "tokenizer.json"
        with file.open("rb") if file.is_file() else io.BytesIO() as start:
            cuts_left = bool(_CUTS_LEFT.search(start.read(_START)))
        return str(self._tokenizer_config.get("truncation_side", "left" if cuts_left else "right"))

    @property
    def _has_table(self) -> bool:
        """Whether positions are learnt, so that there are none beyond the last."""
        return any(_POSITIONS.search(name) for name in self.shapes)

    @cached_property
    def weights(self) -> tuple[Path, ...]:
        """Files of the transformer's weights: safetensors if there are any, else `.bin`."""
        for pattern in WEIGHTS.values():
            files = tuple(sorted(self.root.glob(pattern)))
            if files:
                return files
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

        read: dict[str, torch.Tensor] = {}
        for file in self.weights:
            if file.suffix == ".safetensors":
                with safe_open(file, "pt") as stream:
                    names_here = set(stream.keys()) & set(names)
                    read |= {name: stream.get_tensor(name) for name in names_here}
            else:
                whole = torch.load(file, map_location="cpu", weights_only=True)
                read |= {name: whole[name] for name in names if name in whole}
        return read

    @property
    def is_decoder(self) -> bool:
        """True when a token attends only to itself and the tokens before it."""
        if self.config.get("is_causal") is False:  # a decoder that was made to read both ways
            return False
        names = self.config.get("architectures") or []
        return bool(self.config.get("is_decoder")) or any(n.endswith(_DECODERS) for n in names)

    @property
    def dim(self) -> int:
        """Length of a hidden state."""
        if self.width is None:
            raise UserError(
                f"{self.label} holds no transformer: config.json does not state a hidden size.",
                "Static vectors take no pooling, and need modules.json, which Model2Vec's "
                "save_pretrained writes.",
                code="missing",
            )
        return self.width

    @property
    def text_config(self) -> dict[str, Any]:
        """Of `config.json` what is said of the transformer for texts: all, or a part of it."""
        config = self.config.get("text_config")
        return config if isinstance(config, dict) else self.config

    @property
    def width(self) -> int | None:
        """As `dim`; None where `config.json` does not state it."""
        config = self.text_config
        # Of the last layer, see `is_projected`.
        keys = (self._last_width, "hidden_size", "d_model", "n_embd", "dim")
        return next((int(config[key]) for key in keys if isinstance(config.get(key), int)), None)

    @property
    def is_projected(self) -> bool:
        """Whether the last layer has a width of its own, by a projection, as in OPT-350M."""
        inner = self.text_config.get("hidden_size")
        return bool(self.text_config.get(self._last_width, inner) != inner)

    @property
    def _last_width(self) -> str:
        gemma = str(self.text_config.get("model_type")).startswith("embedding_gemma2")
        return "embedding_dim" if gemma else "word_embed_proj_dim"

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

    def check(self, *, pooled: bool = False, ranker: str = "") -> None:
        """Refuse a folder that holds no encoder, or one that needs code or pickle.

        Args:
            pooled: the spec gives a pooling, and so takes the hidden states of a transformer,
                whatever the folder is.
            ranker: `rerank`, `splade` or `colbert`: refuse a folder that holds no such model.
        """
        if self.folder.is_file():
            served = "A server that runs it is named api:URL#MODEL. "
            raise UserError(
                f"{self.label} is a file, and a model is a folder.",
                served * (self.folder.suffix == ".gguf")
                + "Give a folder with config.json, the tokenizer and the weights as safetensors.",
                code="wrong-kind",
            )
        if not self.folder.is_dir():
            raise UserError(
                f"There is no folder {self.label}.",
                "Give the folder of a checkpoint, or put it back. In a spec, + is written %2B, "
                "| %7C and ? %3F.",
                code="no-file",
            )
        refuse_pointers(self.folder)
        self._refuse_adapter()
        if not self.modules and not self.config:
            other = other_weights(self.folder)
            # Checkpoints of a training, and what the hub's cache holds of a model.
            inside = [
                file.parent.relative_to(self.folder).as_posix()
                for pattern in ("*/config.json", "snapshots/*/config.json", "*/adapter_config.json")
                for file in self.folder.glob(pattern)
            ]
            raise UserError(
                f"{self.label} holds no model: it has neither config.json nor modules.json"
                + (f", and weights as {other} only." if other else "."),
                f"Folders in it may: {', '.join(sorted(inside)[:4])}."
                if inside
                else "Give the folder that save_pretrained or the hub wrote.",
                code="wrong-kind",
            )
        if ranker or not pooled:
            self._refuse_other_kinds(ranker)
        self._refuse_code()
        if not self.modules:
            self.check_weights()
        for part in every(self.parts):
            its = Checkpoint(part.folder, self.label)
            if part.kind in ("Pooling", "Dense") and not (part.config or pooled):
                raise UserError(
                    f"modules.json of {self.label} names {part.folder.name}, and there is no "
                    f"{part.folder.name}/config.json.",
                    "Get the folders of the modules too, or give a pooling to use the transformer "
                    "alone.",
                    code="missing",
                )
            if part.kind == "Transformer":
                its.check_weights()
            elif part.kind in _SIZED:
                layers, widths = (_numbers(part.config, k) for k in (("num_layers",), _WIDTHS))
                _refuse_denied_sizes(self.label, part.kind, its.shapes, layers, widths)

    def _refuse_adapter(self) -> None:
        """Refuse an adapter of PEFT, which is a change of another model's weights."""
        for one in (self, *self.transformers):
            file = one.folder / "adapter_config.json"
            if file.is_file():
                base = json_file(file, dict).get("base_model_name_or_path")
                of = f" of {base}" if isinstance(base, str) else ""
                raise UserError(
                    f"{self.label} is a PEFT adapter{of} ({file.name}), not a whole model.",
                    "Merge it with peft: model.merge_and_unload().save_pretrained(FOLDER), and add "
                    "that folder.",
                    code="wrong-kind",
                )

    @property
    def kinds(self) -> list[str]:
        """The rankers whose model the folder holds, by what its files name; none for an encoder."""
        names = self._classes
        if self._labels == 1 or "sentence_transformers" in self.config:
            names += ["CrossEncoder" for name in names if name.endswith(_CLASSIFIER)]
        if (self.folder / "artifact.metadata").is_file():
            names.append("MultiVectorEncoder")
        names += [str(self.sentence_transformers.get("model_type"))]
        names += [str(module["type"]) for module in self.modules]
        return [kind for kind, (sign, *_) in _KINDS.items() if any(map(sign.search, names))]

    @property
    def _classes(self) -> list[str]:
        classes = self.config.get("architectures")
        return list(map(str, classes)) if isinstance(classes, list) else []

    @property
    def _labels(self) -> int:
        """Numbers that a classifier gives; transformers writes none for two, its default."""
        labels = self.config.get("id2label")
        return len(labels) if isinstance(labels, dict) else self.config.get("num_labels", 2)

    def _refuse_other_kinds(self, ranker: str) -> None:
        """Refuse a model that is not of a ranker's kind, or, for none, gives no vector."""
        kind = next(iter(self.kinds), "")
        if not ranker and kind:
            _, what, why, instead = _KINDS[kind]
            raise UserError(
                f"{self.label} is {what}: {why}.",
                f"Use {instead}, or name a pooling to take the hidden states of its transformer. "
                f"As a ranker it is written {kind}:MODEL.",
                code="wrong-kind",
            )
        # SPLADE was published as a masked language model, which is all that it consists of.
        masked = ranker == "splade" and "ForMaskedLM" in str(self.config.get("architectures"))
        if ranker and ranker not in self.kinds and not masked:
            what = _KINDS[kind][1] if kind else "an encoder or another kind of model"
            hint = "An encoder is written without it, as hf:ID or dir:FOLDER."
            if ranker == "rerank" and self.is_decoder and not kind:
                what = "a language model"
                hint = (
                    "Those that rank have modules.json, which says which tokens stand for yes and "
                    "no: take a revision or a copy that has it."
                )
            raise UserError(
                f"{self.label} is {what}, where {ranker}: needs {_KINDS[ranker][1]}.",
                hint,
                code="wrong-kind",
            )
        is_classifier = any(name.endswith(_CLASSIFIER) for name in self._classes)
        if ranker == "rerank" and is_classifier and self._labels != 1:
            raise UserError(
                f"{self.label} is a classifier of pairs with {self._labels} labels, where rerank: "
                "needs a cross-encoder with one, its score.",
                "Use a reranker, such as cross-encoder/ms-marco-MiniLM-L6-v2.",
                code="wrong-kind",
            )

    def _refuse_code(self) -> None:
        for name in ("config.json", "tokenizer_config.json"):
            code = json_file(self.root / name, dict).get("auto_map")
            if code and not self._is_adopted(code):
                raise UserError(
                    f"{self.label} needs Python code of its own ({name} has auto_map), and "
                    "code from a model is never run.",
                    "Use a checkpoint whose architecture transformers has.",
                    code="denied",
                )
        for part in every(self.parts):
            # Modules of PyLate's are read as sentence-transformers' own of the same kind.
            known = ("sentence_transformers.", "pylate.models.Dense")
            # For an activation of another package the library would silently take tanh.
            activation = part.config.get("activation_function") if part.kind == "Dense" else None
            for code, own in ((part.type, known), (activation or "torch.", "torch.")):
                if not str(code).startswith(own):
                    raise UserError(
                        f"{self.label} needs code of its own: {code}. It is never run.",
                        code="denied",
                    )

    def _is_adopted(self, code: dict[str, Any]) -> bool:
        """Whether transformers has the architecture by now that a configuration names code for.

        The configurations of either have the same name then, and sizes the same names.
        """
        from transformers import CONFIG_MAPPING

        kind, named = self.config.get("model_type"), str(code.get("AutoConfig"))
        known = kind in CONFIG_MAPPING and CONFIG_MAPPING[kind].__name__ == named.split(".")[-1]
        return known and "hidden_size" in self.config

    def check_weights(self) -> None:
        """Refuse a folder without weights of a transformer that can be read safely."""
        if not self.weights:
            pickled = [f.name for f in self.folder.iterdir() if f.suffix in (".pt", ".pkl", ".pth")]
            other = other_weights(self.folder)
            raise UserError(
                f"{self.label} holds no weights that can be read safely"
                + (f" ({pickled[0]} is a pickle)." if pickled else f": {other}." if other else "."),
                "Expected model.safetensors (or pytorch_model.bin with tensors only).",
                code="wrong-kind",
            )
        inner = self.config.get("text_config") or {}
        layers = [*_numbers(self.config, _LAYERS), *_numbers(inner, _LAYERS)]
        widths = [] if self.width is None else [("hidden size", self.width)]
        _refuse_denied_sizes(self.label, "config.json", self.shapes, layers, widths)


def _is_length(stated: object) -> TypeGuard[int]:
    return isinstance(stated, int) and 0 < stated < 10**6


def _header(file: Path) -> dict[str, tuple[int, ...]]:
    """Tensor names and shapes of a safetensors file, of which only the header is read."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, "np") as stream:
            return {name: tuple(stream.get_slice(name).get_shape()) for name in stream.keys()}
    except (OSError, SafetensorError) as error:
        raise UserError(
            f"{file.name} is damaged: {error}.", "Download it again.", code="damaged"
        ) from error


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
            code="denied",
        ) from error
    except (OSError, RuntimeError, EOFError, ValueError) as error:
        raise UserError(
            f"{file.name} is damaged: {error}.", "Download it again.", code="damaged"
        ) from error
    return {name: tuple(t.shape) for name, t in tensors.items() if isinstance(t, torch.Tensor)}


_START = 512
"""Bytes of `tokenizer.json` in which it says how texts are cut."""
_POINTER_BYTES = 1024
"""A Git LFS pointer is shorter."""
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
_SIZED = ("Dense", "CNN", "LSTM", "LayerNorm")
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


def files_read(folder: Path) -> list[Path]:
    """The files of a folder, and of those in it, that a vector may depend on, by name."""
    patterns = (*TEXTS, *(f"*{suffix}" for suffix in WEIGHTS))
    return sorted(f for f in folder.rglob("*") if any(map(f.match, patterns)) and f.is_file())


def refuse_pointers(folder: Path) -> None:
    """Refuse a folder of a model in which a file that would be read is a Git LFS pointer."""
    begins = ("config.json", "modules.json", "adapter_config.json")
    is_model = any((folder / name).is_file() for name in begins)  # and not, say, a disk's root
    for file in files_read(folder) if is_model else ():
        if file.stat().st_size < _POINTER_BYTES:
            refuse_pointer(file)


def other_weights(folder: Path) -> str | None:
    """The format of weights that cannot be used here, with a file as an example; None for none."""
    # Not in folders further down: this may be any folder, such as a disk's root.
    for file in sorted((*folder.glob("*"), *folder.glob("*/*"))):
        if file.suffix == ".xml" and not file.with_suffix(".bin").exists():
            continue
        if file.suffix in _OTHER_WEIGHTS:
            return f"{_OTHER_WEIGHTS[file.suffix]} ({file.relative_to(folder).as_posix()})"
    return None


def _numbers(config: dict[str, Any], keys: Collection[str]) -> list[tuple[str, int]]:
    """The whole numbers that a configuration has under some of its keys."""
    return [(key, config[key]) for key in keys if isinstance(config.get(key), int)]


def _refuse_denied_sizes(
    label: str,
    file: str,
    shapes: dict[str, tuple[int, ...]],
    layers: Sequence[tuple[str, int]],
    widths: Sequence[tuple[str, int]],
) -> None:
    """Refuse sizes in a configuration that its weights, where there are any, do not have.

    Args:
        label: of the model.
        file: the configuration, or the module that has it.
        shapes: of the weights.
        layers: names and numbers of layers, which have a tensor each at least.
        widths: names and lengths of vectors, which some tensor has.
    """
    tensors = f"the weights hold {len(shapes):,} tensors"
    denied = [(*one, tensors) for one in layers if not 0 <= one[1] <= len(shapes)]
    sizes = {size for shape in shapes.values() for size in shape}
    no_tensor = "no tensor of the weights has that size"
    denied += [(*one, no_tensor) for one in widths if one[1] not in sizes]
    if shapes and denied:
        name, stated, actual = denied[0]
        raise UserError(
            f"{file} of {label} and its weights do not belong together: {name} is {stated:,}, and "
            f"{actual}.",
            "Get the folder again, as one.",
            code="mismatch",
        )


_CLASSIFIER = "ForSequenceClassification"
_KINDS = {
    "rerank": (
        re.compile(r"^CrossEncoder$|\.cross_encoder\."),
        "a cross-encoder",
        "it scores two texts together, and has no vector for one",
        "a bi-encoder",
    ),
    "splade": (
        re.compile(r"^SparseEncoder$|\.sparse_encoder\."),
        "a sparse encoder",
        "it weighs the words of its vocabulary, and vectors here are dense",
        "a dense model",
    ),
    "colbert": (
        re.compile(r"^MultiVectorEncoder$|\.multi_vector_encoder\.|pylate\.|ColBERT|ForRetrieval$"),
        "a late-interaction model",
        "it has a vector for each token, and none for a sentence",
        "a model with one vector a sentence",
    ),
}
"""Ranker -> sign of its model, what that is, why it has no vectors, and what encoder to use."""
