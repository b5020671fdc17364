"""The language of ranker specs. Every encoder's spec is one: it ranks by its vectors.

    bm25[?stemmer=LANGUAGE&stopwords=LANGUAGE]      words
    splade:MODEL                                    weights of a vocabulary
    colbert:MODEL                                   a vector a token
    fuse(RANKER, RANKER[, ...][, weight=WEIGHT])    several together
    RANKER > rerank:MODEL[,DEPTH]                   its first documents, each read with the query

MODEL is an id of the hub or `dir:FOLDER`, with `?max_length=` and `?revision=` as of an encoder.
Commas within parentheses separate no list. Reads and writes the text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TypeAlias

from theodolite.engine.encoders import spec as encoders
from theodolite.engine.encoders.spec import RANKER, SOURCES, EncoderSpec, SourceSpec
from theodolite.engine.errors import UserError

Spec: TypeAlias = "EncoderSpec | RankerSpec"

DEPTH, MAX_DEPTH = 100, 1000
"""Documents that a reranker orders, by default and at most."""
AUTO = "auto"
"""The weight that is chosen on judged queries."""
STOPWORDS = (
    "none",
    "english",
    "german",
    "dutch",
    "french",
    "spanish",
    "portuguese",
    "italian",
    "russian",
    "swedish",
    "norwegian",
    "chinese",
    "turkish",
    "korean",
    "danish",
)
"""Languages of which bm25s has a list."""
_OF_MODELS = ("max_length", "revision")
_BARE = re.compile(r"[\w.\-]+(/[\w.\-]+)?(\?.*)?")
_BM25 = re.compile(r"bm25\s*(?:\?(?P<options>.*))?")
_MODEL = re.compile(r"(?P<how>splade|colbert):(?P<model>.*)")
_RERANK = re.compile(r"(?P<first>.*)>\s*rerank:(?P<model>[^,]*)(?:,(?P<depth>.*))?")
_WEIGHT = re.compile(r"\s*weight\s*=(?P<weight>.*)")


@dataclass(frozen=True)
class RankerSpec:
    """A ranker that is no encoder. `str(spec)` is canonical: parsing it gives an equal spec.

    Attributes:
        how: `bm25`, `splade`, `colbert`, `fuse` or `rerank`.
        parts: the rankers of `fuse`; the one before `rerank`.
        model: of `splade`, `colbert` and `rerank`.
        options: (name, value): `stemmer` and `stopwords`, `weight`, `depth`.
    """

    how: str
    parts: tuple[Spec, ...] = ()
    model: SourceSpec | None = None
    options: tuple[tuple[str, str], ...] = ()

    def option(self, name: str) -> str | None:
        """Value of an option, None when it was not given."""
        return dict(self.options).get(name)

    @property
    def encoders(self) -> tuple[EncoderSpec, ...]:
        """The encoders in it."""
        return tuple(encoder for part in self.parts for encoder in part.encoders)

    @property
    def models(self) -> tuple[tuple[str, SourceSpec], ...]:
        """The models in it that are no encoders, each after the `how` that it serves."""
        own = ((self.how, self.model),) if self.model else ()
        return (*(model for part in self.parts for model in part.models), *own)

    @property
    def sources(self) -> tuple[SourceSpec, ...]:
        """The sources of the encoders in it, and its other models."""
        of_encoders = (source for encoder in self.encoders for source in encoder.sources)
        return (*of_encoders, *(model for _, model in self.models))

    @property
    def needs_task(self) -> bool:
        """See `EncoderSpec`."""
        return any(encoder.needs_task for encoder in self.encoders)

    @property
    def paths(self) -> list[str]:
        """Files and folders of this machine that it names."""
        return [path for source in self.sources for path in source.paths]

    @property
    def data_sets(self) -> list[str]:
        """See `EncoderSpec`."""
        return [name for encoder in self.encoders for name in encoder.data_sets]

    @property
    def needs_judgements(self) -> bool:
        """Whether a weight in it is chosen on judged queries."""
        return self.weighed() != self

    def weighed(self) -> RankerSpec:
        """A copy with a number for the weight `auto`, which takes judgements; it costs the same."""
        parts = tuple(p.weighed() if isinstance(p, RankerSpec) else p for p in self.parts)
        options = tuple((name, "0.5" if value == AUTO else value) for name, value in self.options)
        return replace(self, parts=parts, options=options)

    def with_paths(self, places: Mapping[str, str]) -> RankerSpec:
        """A copy with some paths replaced."""
        model = self.model and self.model.with_paths(places)
        return replace(self, parts=tuple(p.with_paths(places) for p in self.parts), model=model)

    def __str__(self) -> str:
        model = str(self.model).removeprefix("hf:")
        parts = [_inside(part) for part in self.parts]
        options = [f"{name}={value}" for name, value in self.options]
        match self.how:
            case "bm25":
                return "?".join(filter(None, ["bm25", "&".join(options)]))
            case "fuse":
                return f"fuse({', '.join([*parts, *options])})"
            case "rerank":
                depth = self.option("depth")
                return f"{parts[0]} > rerank:{model}" + (f",{depth}" if depth else "")
        return f"{self.how}:{model}"


def parse(spec: str) -> Spec:
    """Read the spec of a ranker, which may be an encoder's."""
    if not isinstance(spec, str) or not RANKER.search(spec):
        return encoders.parse(spec)
    text = spec.strip()
    if match := _BM25.fullmatch(text):
        return RankerSpec("bm25", options=_of_bm25(match["options"] or "", text))
    depths = _depths(text)
    if text.startswith("fuse(") and depths[-1] == 0 and 0 not in depths[4:-1]:
        return _fusion(text)
    if match := _RERANK.fullmatch(text):
        depth = (match["depth"] or str(DEPTH)).strip()
        number = encoders.number(depth, f"the depth of '{text}'", 1, MAX_DEPTH)
        options = () if number == DEPTH else (("depth", str(number)),)
        return RankerSpec("rerank", (parse(match["first"]),), _model(match["model"], text), options)
    if match := _MODEL.fullmatch(text):
        return RankerSpec(match["how"], model=_model(match["model"], text))
    raise UserError(
        f"The ranker '{text}' cannot be read.",
        "Write fuse(bm25, minilm), bm25 > rerank:MODEL, splade:MODEL or colbert:MODEL; steps and "
        "sums belong to encoders.",
    )


def canonical(specs: Iterable[str]) -> tuple[str, ...]:
    """The canonical form of each ranker, in order and without duplicates."""
    return tuple(dict.fromkeys(str(parse(spec)) for spec in specs))


def split(text: str) -> list[str]:
    """The rankers of a list: separated by commas outside of parentheses, steps and rerankers.

    In `minilm | whiten:nli,256, bm25` a number is an argument of the step before it.
    """
    depth = _depths(text)
    commas = [i for i, character in enumerate(text) if character == "," and depth[i] <= 0]
    pieces = [text[a + 1 : b] for a, b in pairwise([-1, *commas, len(text)])]
    parts: list[str] = []
    for piece in pieces:
        if parts and re.search(r"[|>]", parts[-1]) and not _begins(piece.strip()):
            parts[-1] += f",{piece}"
        else:
            parts.append(piece)
    return [piece.strip() for piece in parts if piece.strip()]


def _begins(piece: str) -> bool:
    """Whether a ranker may begin so, or it is an option of a fusion."""
    kind, colon, _ = re.split(r"[?|+>]", piece)[0].partition(":")
    source = SOURCES.get(kind.strip())
    own = source is not None and bool(source.value) == bool(colon)
    own = own or (not colon and encoders.by_name(kind.strip()) is not None)
    return own or bool(RANKER.match(piece) or _WEIGHT.match(piece))


def _inside(part: Spec) -> str:
    """An encoder within a ranker: what has a meaning there is percent-encoded."""
    if isinstance(part, RankerSpec):
        return str(part)
    return re.sub(r"[()>]", lambda match: f"%{ord(match.group()):02X}", str(part))


def _depths(text: str) -> list[int]:
    """After each character the number of parentheses that are open."""
    return list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in text))


def _of_bm25(text: str, spec: str) -> tuple[tuple[str, str], ...]:
    options: dict[str, str] = {}
    for pair in filter(None, text.split("&")):
        name, _, value = (part.strip() for part in pair.partition("="))
        known = {"stemmer": None, "stopwords": STOPWORDS}
        if name not in known or name in options or not re.fullmatch(r"[a-z]+", value):
            raise UserError(
                f"'{pair}' in '{spec}' cannot be read.",
                "Write bm25?stemmer=LANGUAGE&stopwords=LANGUAGE, such as english.",
                code="unknown",
            )
        if known[name] and value not in STOPWORDS:
            raise UserError(
                f"There is no list of {value} stop words.",
                f"Available: {', '.join(STOPWORDS)}.",
                code="unknown",
            )
        options[name] = value
    return tuple((name, options[name]) for name in ("stemmer", "stopwords") if name in options)


def _fusion(text: str) -> RankerSpec:
    pieces = split(text[len("fuse(") : -1])
    weights = [match["weight"].strip() for piece in pieces if (match := _WEIGHT.match(piece))]
    parts = tuple(parse(piece) for piece in pieces if not _WEIGHT.match(piece))
    if len(parts) < 2 or len(weights) > 1 or (weights and len(parts) != 2):
        raise UserError(
            f"'{text}' fuses {len(parts)} ranker{'s' * (len(parts) != 1)}"
            + (" with a weight." if weights else "."),
            "Write fuse(a, b), fuse(a, b, c), or, of two, fuse(a, b, weight=0.3): the first counts "
            "0.3, the second 0.7.",
            code="too-few" if len(parts) < 2 else "conflict",
        )
    if any(isinstance(part, RankerSpec) and part.needs_judgements for part in parts):
        raise UserError(
            f"In '{text}' a weight is chosen inside of another fusion.",
            "weight=auto has to be the outermost: write a number inside.",
            code="conflict",
        )
    return RankerSpec("fuse", parts, options=tuple(("weight", _weight(w, text)) for w in weights))


def _weight(text: str, spec: str) -> str:
    if text == AUTO:
        return AUTO
    if not re.fullmatch(r"0?\.[0-9]+|[01](\.0*)?", text):
        raise UserError(
            f"The weight '{text}' in '{spec}' is not a number from 0 to 1.",
            "Or write weight=auto, which is chosen on judged queries.",
        )
    return f"{float(text):g}"


def _model(text: str, spec: str) -> SourceSpec:
    text = text.strip()
    read = encoders.parse(f"hf:{text}" if _BARE.fullmatch(text) else text) if text else None
    source = read.sources[0] if read and len(read.sources) == 1 and not read.steps else None
    if source is None or source.kind not in ("hf", "dir"):
        raise UserError(
            f"'{text}' in '{spec}' names no model.",
            "Write an id of the hub, such as owner/name, or dir:FOLDER.",
            code="missing",
        )
    if other := [name for name, _ in source.options if name not in _OF_MODELS]:
        raise UserError(
            f"'{spec}' has no {other[0]}.", f"Available: {', '.join(_OF_MODELS)}.", code="unknown"
        )
    return source
