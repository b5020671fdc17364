"""A decoder as a folder: weights in safetensors, vocabulary and facts in JSON.

model.safetensors   float16, or int8 with a scale a row (`NAME.scale`)
vocabulary.json     of the `tokenizers` library
decoder.json        architecture, sizes, the encoder it belongs to, how it was trained
README.md           the same for people
words.txt.gz        the words that decoding is restricted to, one a line; optional
"""

import gzip
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from theodolite.engine.decoding.causal import CausalDecoder
from theodolite.engine.decoding.facts import FORMAT, WORDS, facts_of, unreadable
from theodolite.engine.decoding.generate import Steps
from theodolite.engine.decoding.models import ConditionedLSTM, Incremental, PrefixTransformer
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.vocabulary import SHIFT, Vocabulary
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import short
from theodolite.engine.training.events import Finished
from theodolite.engine.training.record import WHY, code, code_block, plain, settings, table

MAX_WORDS_BYTES = 1 << 26
"""Most bytes of the unpacked list; a larger one is damaged."""
LSTMS: dict[str, dict[str, Any]] = {
    "lstm": {"embedding": 256, "hidden": 512, "layers": 1, "experts": 1, "dropout": 0.2},
    "lstm-mos": {},
}
"""Sizes of the paper's decoders, where they are not those of `ConditionedLSTM`."""
DecoderModel = PrefixTransformer | ConditionedLSTM | CausalDecoder


def steps_of(model: DecoderModel) -> Steps:
    """Return the model in the form that `generate` takes, with its current weights."""
    return Incremental(model) if isinstance(model, PrefixTransformer) else model


def build_untrained(
    spec: DecoderSpec, dim: int, positions: int, vocabulary: int
) -> tuple[DecoderModel, dict[str, Any]]:
    """Build an untrained decoder; return it and the sizes with which `build` makes another.

    Args:
        spec: of its training.
        dim: of the vectors.
        positions: the most tokens of a sentence, BEGIN or END included.
        vocabulary: tokens.
    """
    if spec.base is not None:
        model = CausalDecoder.of(spec.base, dim, positions)
        return model, model.sizes
    sizes = {
        "width": spec.width,
        "layers": spec.layers,
        "dropout": spec.dropout,
        "positions": positions,
    }
    return build(spec.architecture, dim, vocabulary, sizes), sizes


def build(architecture: str, dim: int, vocabulary: int, sizes: dict[str, Any]) -> DecoderModel:
    """Build a decoder with newly initialised weights.

    Args:
        architecture: `prefix`, `lstm`, `lstm-mos` or `causal`.
        dim: of the vectors.
        vocabulary: tokens.
        sizes: values that replace the architecture's own: `width`, `layers`, `dropout`,
            `positions`; for `causal`, all arguments of its constructor.
    """
    known = {name: value for name, value in sizes.items() if value is not None}
    if architecture == "causal":
        return CausalDecoder(dim, **known)
    if architecture == "prefix":
        return PrefixTransformer(dim, vocabulary, **known)
    if architecture not in LSTMS:
        raise UserError(f"There is no architecture {architecture!r} for decoders.", code="unknown")
    if "width" in known:
        known["hidden"] = known.pop("width")
    return ConditionedLSTM(dim, vocabulary, **LSTMS[architecture] | known)


def write(
    folder: Path,
    model: nn.Module,
    vocabulary: Vocabulary,
    facts: dict[str, Any],
    *,
    small: bool = False,
) -> None:
    """Write a decoder; `small` keeps matrices as int8, else everything is float16.

    Raises:
        OSError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, Tensor] = {}
    for name, tensor in _tensors_of(model).items():
        if small and tensor.ndim == 2:
            scale = tensor.abs().amax(1, keepdim=True).clamp_min(1e-12) / 127
            tensors[name] = (tensor / scale).round().to(torch.int8)
            tensors[f"{name}.scale"] = scale
        else:
            tensors[name] = tensor.half().contiguous()
    (folder / "vocabulary.json").write_text(vocabulary.to_json(), "utf-8")
    parameters = sum(p.numel() for p in model.parameters())
    facts = {"format": FORMAT, "parameters": parameters, "pieces": len(vocabulary)} | facts
    facts |= {"int8": small}
    (folder / "decoder.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), "utf-8")
    if vocabulary.known_words:
        facts = write_words(folder, facts, vocabulary.known_words.words)
    (folder / "README.md").write_text(card(facts), "utf-8")
    try:
        save_file(tensors, folder / "model.safetensors")
    except Exception as error:  # safetensors raises its own kind, also for a full disk
        raise OSError(str(error)) from error


def write_words(folder: Path, facts: dict[str, Any], words: Sequence[str]) -> dict[str, Any]:
    """Store known words beside a decoder, new or existing; return the updated `decoder.json`."""
    (folder / WORDS).write_bytes(gzip.compress("\n".join(words).encode(), mtime=0))
    facts = facts | {"known_words": len(words)}
    (folder / "decoder.json").write_text(json.dumps(facts, indent=1, ensure_ascii=False), "utf-8")
    return facts


def read(folder: Path) -> tuple[DecoderModel, Vocabulary, dict[str, Any]]:
    """Read a decoder: the model in evaluation mode, its vocabulary, and its facts."""
    facts = facts_of(folder)
    try:
        vocabulary = _vocabulary(folder, facts)
        model = build(facts["architecture"], facts["dim"], len(vocabulary), facts["sizes"])
        own, tensors = _tensors_of(model), _whole(load_file(folder / "model.safetensors"))
        if {n: t.shape for n, t in own.items()} != {n: t.shape for n, t in tensors.items()}:
            raise ValueError("its weights are not those of the model that decoder.json describes")
        model.load_state_dict(tensors, strict=False)
    except UserError:
        raise
    except Exception as error:  # a damaged file can fail in any way
        raise unreadable(folder, error) from error
    return model.eval(), vocabulary, facts


def _vocabulary(folder: Path, facts: dict[str, Any]) -> Vocabulary:
    tokenizer = Tokenizer.from_str((folder / "vocabulary.json").read_text("utf-8"))
    words: list[str] | None = None
    if known := facts.get("known_words"):
        with gzip.open(folder / WORDS) as file:
            words = file.read(MAX_WORDS_BYTES).decode("utf-8").split("\n")
        if len(words) != known:
            raise ValueError(f"{WORDS} has {len(words):,} words, not {known:,}")
    return Vocabulary(tokenizer, words, SHIFT if facts["architecture"] == "causal" else 0)


def _tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """The tensors of a model on the CPU, each once however many names it has."""
    tensors: dict[str, Tensor] = {}
    pointers: set[int] = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in pointers:
            pointers.add(tensor.data_ptr())
            tensors[name] = tensor.detach().cpu()
    return tensors


def _whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert tensors to float32, and multiply int8 ones by their scales."""
    return {
        name: tensor.float() * tensors[f"{name}.scale"]
        if tensor.dtype == torch.int8
        else tensor.float()
        for name, tensor in tensors.items()
        if not name.endswith(".scale")
    }


MAX_ROWS = 20
"""Most held-out losses listed on the card; `decoder.json` has all."""
ARCHITECTURES = {
    "prefix": "a small Transformer that reads the vector as its first positions",
    "lstm": "an LSTM with the vector joined to every input (Vec2Sent, section 3.3)",
    "lstm-mos": "an LSTM with a mixture of softmaxes, the vector joined to every input (Vec2Sent, "
    "section 2)",
    "causal": "a language model behind a soft prefix that the vector becomes",
}
TERMS = (
    "To be filled in by whoever passes this folder on. A decoder can write out what it learned "
    "from: the terms of its training text, of the encoder and of a base hold for it too."
)


def card(facts: Mapping[str, Any], *, source: str = "", terms: str = TERMS, proof: str = "") -> str:
    """The text of `README.md`.

    Args:
        facts: the content of `decoder.json`.
        source: description of the training text, Markdown; by default the names of its files.
        terms: terms of use, Markdown.
        proof: the decoder's scores, Markdown.
    """
    spec = DecoderSpec.from_dict(facts["spec"])
    sources = ", ".join(code(short(name)) for name in spec.train)
    stored = "matrices as int8 with a scale a row" if facts["int8"] else "float16"
    parts = [
        f"# A decoder for {code(short(spec.encoder))}",
        f"It turns a vector of {facts['dim']} dimensions of this encoder back into a sentence: "
        f"{ARCHITECTURES[spec.architecture]}. {facts['parameters']:,} parameters, {stored}; "
        f"{facts['pieces']:,} tokens. It belongs to vectors of fingerprint "
        f"{code(facts['fingerprint'])}, and to none else.",
        "It knows sentences of the length and kind that it learned from, and writes what is "
        "likely where the vector does not say: a name or number may be made up."
        + _words(facts.get("known_words")),
        "## Training text",
        f"{source or sources}: {facts['sentences']:,} sentences of at most {spec.words} words"
        + (", clauses of longer ones among them" if spec.clauses else "")
        + f". Content hash {code(facts['data_hash'])}.",
        "## Training",
        f"{WHY.get(facts['why'], '')} {facts['steps']:,} updates in {facts['seconds']:,.0f} "
        f"seconds. The weights are those after update {facts['step']:,}, with the lowest loss, "
        f"{facts['loss']:.3f} nats a token, on {facts['held_out']:,} held-out sentences.",
        spec.start
        and f"It began with the weights of the decoder {code(short(spec.start))}, which "
        "may have learned some of the sentences that are held out here.",
        "\n".join(f"- {plain(note)}" for note in facts["notes"]),
        settings(spec, ("encoder", "train", "out", "name")),
        "The same again:",
        code_block(shlex.join(spec.relative_paths().command()), "sh"),
        table(("update", "held-out loss"), _curve(facts["curve"])),
        proof,
        "## Terms",
        terms,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _words(known: int | None) -> str:
    """The sentence about the words that decoding is restricted to."""
    if not known:
        return ""
    return (
        f" Unless any word is asked for, it writes only the {known:,} words of its training "
        "text (`words.txt.gz`), beside numbers and marks."
    )


def _curve(curve: Sequence[Sequence[float]]) -> list[tuple[str, str]]:
    """Held-out losses, evenly thinned; the first and the last are always among them."""
    every = -(-len(curve) // MAX_ROWS) or 1
    last = len(curve) - 1
    return [
        (f"{step:,.0f}", f"{loss:.3f}")
        for i, (step, loss) in enumerate(curve)
        if i % every == 0 or i == last
    ]


def last_event(facts: Mapping[str, Any], folder: Path) -> Finished:
    """Return the last event of a decoder's training, from the facts in its `decoder.json`."""
    steps, step, seconds, encoder, why = (
        facts[name] for name in ("steps", "step", "seconds", "encoder", "why")
    )
    return Finished(steps, step, None, seconds, str(folder), encoder, why, None, facts["loss"])
