"""The language of encoder specs: parsed, normalised, stored and shared.

    source[?option=value&...] (+ source)* (| step[:argument,...])*

    hf:bert-base-uncased?pooling=avg_first_last | whiten:nli,256 | normalise
    words:glove.txt?pooling=sif | common:1,@task
    wordllama + wordllama?pooling=max + wordllama?pooling=hier&window=3

Whitespace around `+` and `|` is free. A character of `% ? & = + | ,` that is part of a value is
percent-encoded (`%2B` for a plus in a path). In place of a source may stand the name that a person
gave to one, as in `my-model?pooling=avg | normalise`: `NAMES` know it. This module reads and writes
the text only: it opens no file and loads no model.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import unquote
from weakref import WeakSet

from theodolite.engine.endpoints import Address
from theodolite.engine.errors import UserError
from theodolite.engine.given import text
from theodolite.engine.paths import expand

TASK_DATA = "@task"
"""As a step's data: the sentences of the task being measured. As a prompt: the one that the model
has for that task."""
PROMPTS = ("prompt", "query_prompt")
"""Options whose value may be empty: no prompt, even where the model has a default one."""

POOLINGS = (
    "cls_token",
    "pooler_output",
    "avg",
    "avg_top2",
    "avg_first_last",
    "avg_first_last_2021",
    "max",
    "last",
)
TWO_MEANINGS = (
    "pooling=cls means two things: SimCSE's code and sentence-transformers do not agree.",
    "Write pooling=cls_token for the first token's last hidden state, or pooling=pooler_output for "
    "what the model's head makes of it.",
)
"""Message and hint for `cls`."""
WORD_POOLINGS = ("avg", "max", "sif", "pmean", "gem", "hier")
"""Poolings of word vectors: see `engine.encoders.averaging`."""
DTYPES = ("float32", "float16", "bfloat16", "int8")
MAX_DIM = 16_384
MAX_WINDOW = 1_000

RANKER = re.compile(r"^\s*(bm25\b|(splade|colbert|rerank):|fuse\()|>\s*rerank:")
"""How to tell a ranker that is no encoder, see `engine.rankers.spec`."""

MODELS = ("hf", "dir", "minilm")
"""Sources that are models with files of their own."""

_MODEL_OPTIONS = ("pooling", "layer", "max_length", *PROMPTS, "dtype")
_WORD_OPTIONS = ("pooling", "data", "window")
_NUMBERS_OF_ENDPOINTS = {"dimensions": MAX_DIM, "batch": 2048, "rpm": 10**6, "tpm": 10**9}
"""Option -> maximum of the dimensions, texts per request, requests and tokens per minute."""
_NUMBERS = {
    "layer": (-1000, 1000),
    "max_length": (1, 1_000_000),
    "seed": (0, 2**32 - 1),
    "window": (1, MAX_WINDOW),
    **{name: (1, most) for name, most in _NUMBERS_OF_ENDPOINTS.items()},
}
"""Option that is a whole number -> its least and largest value."""


_NAME = re.compile(r"[^\W_][\w.-]{0,79}")


class Names(Protocol):
    """The names that people gave to encoders."""

    closed: bool
    """Whether no other encoders than those listed can be used, as visitors are told."""

    def labels(self) -> Mapping[str, str]:
        """Spec, a single source -> name."""

    def former(self) -> Mapping[str, str]:
        """Name that one had before -> its spec."""


NAMES: WeakSet[Names] = WeakSet()
"""Where `parse` looks up what is no source: whoever keeps names adds itself."""
LISTED_ONLY = "Visitors can use the listed encoders."
"""Hint where nothing else can be used."""


@dataclass(frozen=True)
class SourceKind:
    """One kind of source: what its value is, and the options it understands."""

    value: str  # what stands after the colon, for messages; empty when nothing may
    options: tuple[str, ...] = ()
    value_is: str = "text"  # text, path, dim or address
    poolings: tuple[str, ...] = POOLINGS


SOURCES = {
    "minilm": SourceKind("", _MODEL_OPTIONS),
    "wordllama": SourceKind("", _WORD_OPTIONS, poolings=WORD_POOLINGS),
    "random": SourceKind("DIM", _WORD_OPTIONS, "dim", WORD_POOLINGS),
    "borep": SourceKind(
        "DIM", ("words", "pooling", "window", "seed"), "dim", ("max", "avg", "pmean", "hier")
    ),
    "words": SourceKind("FILE", _WORD_OPTIONS, "path", WORD_POOLINGS),
    "vectors": SourceKind("FILE", ("text", "vector"), "path"),
    "hf": SourceKind("ID", (*_MODEL_OPTIONS, "revision")),
    "dir": SourceKind("FOLDER", _MODEL_OPTIONS, value_is="path"),
    "mteb": SourceKind("NAME"),
    "api": SourceKind("URL#MODEL", (*PROMPTS, *_NUMBERS_OF_ENDPOINTS), "address"),
}
STEPS = {
    "normalise": "normalise",
    "center": "center:DATA",
    "whiten": "whiten:DATA[,k]",
    "flow": "flow:DATA",
    "dims": "dims:k,first, dims:k,pca,DATA or dims:k,random,SEED",
    "drop": "drop:k,DATA",
    "common": "common:k,DATA",
    "quantise": "quantise:int8,DATA or quantise:binary",
}


@dataclass(frozen=True)
class SourceSpec:
    """One source with its options, both already decoded.

    Attributes:
        kind: a key of `SOURCES`.
        value: the text after the colon; empty when the kind takes none. Paths are absolute.
        options: (name, value) in the order of the kind's option list.
    """

    kind: str
    value: str = ""
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """Value of an option, None when it was not given."""
        return dict(self.options).get(name)

    def number(self, name: str) -> int | None:
        """Value of an option that is a whole number, None when it was not given."""
        value = self.option(name)
        return None if value is None else int(value)

    def with_options(self, **changed: str | None) -> SourceSpec:
        """A copy with other values of some options; None removes one."""
        given = {**dict(self.options), **changed}
        known = SOURCES[self.kind].options
        options = ((name, given[name]) for name in known if given.get(name) is not None)
        return replace(self, options=tuple((name, str(value)) for name, value in options))

    @property
    def paths(self) -> list[str]:
        """Files and folders of this machine that it names."""
        values = [self.value] if SOURCES[self.kind].value_is == "path" else []
        words = self.option("words")
        return values + ([words] if words and words != "wordllama" else [])

    def with_paths(self, places: Mapping[str, str]) -> SourceSpec:
        """A copy with some paths replaced."""
        words, value = self.option("words"), self.value
        if SOURCES[self.kind].value_is == "path":
            value = places.get(value, value)
        moved = replace(self, value=value)
        return moved if words is None else moved.with_options(words=places.get(words, words))

    def __str__(self) -> str:
        text = f"{self.kind}:{_quote(self.value)}" if self.value else self.kind
        if self.options:
            text += "?" + "&".join(f"{name}={_quote(value)}" for name, value in self.options)
        return text


@dataclass(frozen=True)
class StepSpec:
    """One step after pooling.

    Attributes:
        name: a key of `STEPS`.
        k: number of components kept (`whiten`, `dims`) or removed (`drop`, `common`).
        data: name of the data set it is fitted on, `@task`, or empty when it is not fitted; fitted,
            `dims` is PCA and `quantise` is int8.
        seed: of the random projection; None for every other step.
    """

    name: str
    k: int | None = None
    data: str = ""
    seed: int | None = None

    def __str__(self) -> str:
        data = _quote(self.data)
        of_itself = ["first"] if self.seed is None else ["random", str(self.seed)]
        arguments = {
            "normalise": [],
            "center": [data],
            "whiten": [data] if self.k is None else [data, str(self.k)],
            "flow": [data],
            "dims": [str(self.k), *(["pca", data] if self.data else of_itself)],
            "drop": [str(self.k), data],
            "common": [str(self.k), data],
            "quantise": ["int8", data] if self.data else ["binary"],
        }[self.name]
        return f"{self.name}:{','.join(arguments)}" if arguments else self.name


@dataclass(frozen=True)
class EncoderSpec:
    """A whole spec. `str(spec)` is canonical: parsing it gives an equal spec."""

    sources: tuple[SourceSpec, ...]
    steps: tuple[StepSpec, ...] = ()

    @property
    def encoders(self) -> tuple[EncoderSpec, ...]:
        """Itself, as of a ranker."""
        return (self,)

    @property
    def models(self) -> tuple[tuple[str, SourceSpec], ...]:
        """None: it has no other models, as of a ranker."""
        return ()

    @property
    def needs_task(self) -> bool:
        """True when a step is fitted on the sentences of the task, or a prompt taken from it."""
        prompts = (source.option(name) for source in self.sources for name in PROMPTS)
        return TASK_DATA in (*prompts, *(step.data for step in self.steps))

    @property
    def paths(self) -> list[str]:
        """Files and folders of this machine that it names."""
        return [path for source in self.sources for path in source.paths]

    @property
    def data_sets(self) -> list[str]:
        """Names of the data sets that it is fitted on, but for the sentences of the task."""
        names = [source.option("data") for source in self.sources]
        return [
            name for name in [*names, *(s.data for s in self.steps)] if name and name != TASK_DATA
        ]

    def with_paths(self, places: Mapping[str, str]) -> EncoderSpec:
        """A copy with some paths replaced."""
        return replace(self, sources=tuple(source.with_paths(places) for source in self.sources))

    def __str__(self) -> str:
        return " | ".join([" + ".join(map(str, self.sources)), *map(str, self.steps)])


def parse(spec: str) -> EncoderSpec:
    """Read a spec string.

    Relative paths are made absolute, so that a spec means the same in another process.
    """
    text(spec, "encoder", "A folder is written dir:FOLDER, a model of the hub hf:ID.")
    if any("\ud800" <= character <= "\udfff" for character in spec):
        raise UserError(
            "The encoder's text contains an unpaired surrogate, or a byte that is not UTF-8.",
            "Write it again; rename a file whose name is not UTF-8.",
        )
    if not spec.strip():
        raise UserError("The encoder is empty.", _available(), code="missing")
    if RANKER.search(spec):
        raise UserError(
            f"'{spec.strip()}' orders documents for a query, and has no vectors.",
            "Evaluate it on retrieval or reranking, or search with it; here, name an encoder.",
            code="wrong-kind",
        )
    sources, *steps = spec.split("|")
    return EncoderSpec(
        tuple(_source(piece.strip(), spec) for piece in sources.split("+")),
        tuple(_step(piece.strip(), spec) for piece in steps),
    )


def transformer_of(spec: str) -> EncoderSpec:
    """Read a spec that is to be one transformer, as a training or a static encoder starts from."""
    parsed = parse(spec)
    if len(parsed.sources) > 1 or parsed.steps or parsed.sources[0].kind not in MODELS:
        raise UserError(
            f"'{spec}' is not a transformer.",
            "Give one hf:ID, dir:FOLDER or minilm.",
            code="wrong-kind",
        )
    return parsed


def canonical(specs: Iterable[str]) -> tuple[str, ...]:
    """The canonical form of each encoder, in order and without duplicates."""
    return tuple(dict.fromkeys(str(parse(spec)) for spec in specs))


def check_name(name: str) -> None:
    """Refuse what cannot be the name of an encoder."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name[:100]!r} cannot name an encoder.",
            "Use letters, digits and . _ - alone, at most 80 of them, a letter or digit first.",
        )
    if name in SOURCES or name in STEPS or RANKER.search(name):
        raise UserError(
            f"{name!r} has a meaning in specs.", "Choose another name.", code="conflict"
        )


def by_name(name: str) -> SourceSpec | None:
    """The source that has a name; None if there is none."""
    specs = {spec for one in list(NAMES) for spec, label in one.labels().items() if label == name}
    if len(specs) > 1:
        raise UserError(
            f"Stores that are open have different encoders named '{name}'.",
            f"Write one of {_list(sorted(specs))}.",
            code="ambiguous",
        )
    return parse(specs.pop()).sources[0] if specs else None


def _named_now(former: str) -> str:
    """The name, or the spec, of what had another name before; empty if nothing had it."""
    for name in list(NAMES):
        if spec := name.former().get(former):
            return name.labels().get(spec, spec)
    return ""


_SIGNS = "In a name + is written %2B, | %7C and ? %3F."


def _source(piece: str, spec: str) -> SourceSpec:
    head, mark, tail = piece.partition("?")
    kind, _, value = head.partition(":")
    kind, value = kind.strip(), unquote(value.strip())
    if not piece:
        raise UserError(
            f"A source is missing in '{spec}'.",
            _SIGNS,
            code="missing",
        )
    if kind not in SOURCES and (source := by_name(head.strip())):
        return source.with_options(**dict(_options(source.kind, tail, piece)))
    if kind not in SOURCES and (now := _named_now(head.strip())):
        raise UserError(f"'{head.strip()}' is named {now} now.", f"Write {now}.", code="unknown")
    if kind not in SOURCES:
        raise UserError(
            f"Unknown source '{piece}'" + (f" in '{spec}'." if piece != spec else "."),
            f"{_SIGNS} " * (piece != spec) + _source_hint(head, kind),
            code="unknown",
        )
    known = SOURCES[kind]
    if bool(known.value) != bool(value):
        wants = f"{kind}:{known.value}" if known.value else kind
        raise UserError(f"'{piece}' is incomplete or has too much.", f"Write it as {wants}.")
    if known.value_is == "dim":
        value = str(number(value, f"{kind}:{value}", 1, MAX_DIM))
    if known.value_is == "path":
        value = _absolute(value)
    if known.value_is == "address":
        value = str(Address.parse(value))
    return SourceSpec(kind, value, tuple(_options(kind, tail, piece)) if mark else ())


def _options(kind: str, text: str, piece: str) -> Iterator[tuple[str, str]]:
    known = SOURCES[kind].options
    options: dict[str, str] = {}
    for pair in filter(None, text.split("&")):
        name, _, value = (part.strip() for part in pair.partition("="))
        if name not in known:
            hint = f"Available: {_list(known)}." if known else f"{kind} takes no options."
            raise UserError(
                f"Unknown option '{name}' in '{piece}'.",
                _closest(name, known) + hint,
                code="unknown",
            )
        if (not value and name not in PROMPTS) or name in options:
            problem = "is given twice" if name in options else "has no value"
            raise UserError(f"Option '{name}' {problem} in '{piece}'.", f"Write {name}=VALUE once.")
        options[name] = _option_value(kind, name, unquote(value))
    if "pooling" in known and SOURCES[kind].poolings != POOLINGS:
        _check_word_pooling(kind, options, piece)
    if kind == "api" and TASK_DATA in options.values():
        raise UserError(f"'{piece}' has no prompts of its own for a task.", "Write them out.")
    for name in known:  # in one order, so that two ways of writing give one name
        if name in options:
            yield name, options[name]


def _option_value(kind: str, name: str, value: str) -> str:
    allowed = {"pooling": SOURCES[kind].poolings, "dtype": DTYPES}
    if name == "pooling" and value == "cls" and SOURCES[kind].poolings is POOLINGS:
        raise UserError(*TWO_MEANINGS, code="ambiguous")
    if name in allowed and value not in allowed[name]:
        raise UserError(
            f"Unknown {name} '{value}'.",
            _closest(value, allowed[name]) + f"Available: {_list(allowed[name])}.",
            code="unknown",
        )
    if name in _NUMBERS:
        return str(number(value, name, *_NUMBERS[name]))
    return _absolute(value) if name == "words" and value != "wordllama" else value


def _check_word_pooling(kind: str, options: dict[str, str], piece: str) -> None:
    """Refuse an option that the pooling would ignore, and a pooling that lacks its data."""
    pooling = options.get("pooling")
    for name, poolings in (("data", ("sif", "gem")), ("window", ("hier", "gem"))):
        if name in options and pooling not in poolings:
            raise UserError(
                f"Option '{name}' in '{piece}' belongs to pooling={' or '.join(poolings)}.",
                "Leave it out, or choose one of these.",
                code="conflict",
            )
    # A file of word vectors is sorted by frequency, which is enough for sif.
    if "data" not in options and (pooling == "gem" or (pooling == "sif" and kind != "words")):
        raise UserError(
            f"'{piece}' needs a data set to learn from.",
            f"Name one: …?pooling={pooling}&data=DATA; `theodolite data` lists what is here.",
            code="missing",
        )
    if options.get("data") == TASK_DATA:
        raise UserError(
            f"'{piece}' cannot learn from {TASK_DATA}: word vectors are pooled before any task.",
            f"Name a data set; a step, such as common:1,{TASK_DATA}, can.",
        )


def _step(piece: str, spec: str) -> StepSpec:
    name, _, text = piece.partition(":")
    name = name.strip()
    if name not in STEPS:
        raise UserError(
            f"Unknown step '{piece}' in '{spec}'.",
            _closest(name, STEPS) + f"Available: {_list(STEPS.values())}.",
            code="unknown",
        )
    arguments = [unquote(a.strip()) for a in text.split(",")] if text.strip() else []
    if "" not in arguments:
        match name, arguments:
            case ("normalise", []) | ("quantise", ["binary"]):
                return StepSpec(name)
            case ("center" | "whiten" | "flow", [data]) | ("quantise", ["int8", data]):
                return StepSpec(name, data=data)
            case "whiten", [data, k]:
                return StepSpec(name, number(k, piece, 1, MAX_DIM), data)
            case "dims", [k, "first"]:
                return StepSpec(name, number(k, piece, 1, MAX_DIM))
            case "dims", [k, "pca", data]:
                return StepSpec(name, number(k, piece, 1, MAX_DIM), data)
            case "dims", [k, "random", seed]:
                of_draw = number(seed, f"the seed in {piece}", 0, 2**32 - 1)
                return StepSpec(name, number(k, piece, 1, MAX_DIM), seed=of_draw)
            case "drop" | "common", [k, data]:
                return StepSpec(name, number(k, piece, 1, MAX_DIM), data)
    raise UserError(
        f"The step '{piece}' cannot be read.",
        f"Write it as {STEPS[name]}; DATA is a data set's name or {TASK_DATA}.",
    )


def number(text: str, what: str, low: int, high: int) -> int:
    """A whole number within bounds; `what` says where it stands."""
    if not re.fullmatch(r"-?[0-9]{1,10}", text) or not low <= int(text) <= high:
        raise UserError(f"'{text}' in {what} is not a whole number from {low} to {high}.")
    return int(text)


def _absolute(path: str) -> str:
    return os.path.abspath(expand(path))  # noqa: PTH100 - no Path: keeps `..` textual


def _quote(text: str) -> str:
    """Percent-encode what has a meaning in a spec, control characters, and spaces at the ends."""

    def encoded(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match.group().encode())

    return re.sub(r"[%?&=+|,\x00-\x1f\x7f]|^\s|\s$", encoded, text)


def _available() -> str:
    """Which sources there are, as a hint."""
    if NAMES and all(names.closed for names in list(NAMES)):
        return LISTED_ONLY
    shapes = (f"{name}:{kind.value}" if kind.value else name for name, kind in SOURCES.items())
    return f"Available: {_list(shapes)}."


def _source_hint(head: str, kind: str) -> str:
    known = _available()
    if known == LISTED_ONLY:
        return known
    close = _closest(kind, (*SOURCES, "bm25", "splade:", "colbert:"))
    if close or not re.search(r"^[\w.\-]+$|[/\\]", head):
        return close + known
    of_hub = re.fullmatch(r"[\w.\-]+(/[\w.\-]+)?", head)
    also = f"A model of the hub is written hf:{head}, a folder" if of_hub else "A folder is written"
    return f"{also} dir:{head}. {known}"


def _closest(word: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f"Did you mean '{close[0]}'? " if close else ""


def _list(words: Iterable[str]) -> str:
    return ", ".join(words)
