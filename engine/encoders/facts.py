"""Facts about an encoder from its spec and files. Downloads nothing, loads no model."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.doctor import (
    PoolingDiagnosis,
    chooses_nothing,
    contradictions,
    examine,
    own_poolings,
    runs_modules,
)
from theodolite.engine.encoders.hub import cached
from theodolite.engine.encoders.loading import checkpoint_at, checkpoint_of, load
from theodolite.engine.encoders.packaged import (
    WORDLLAMA_LICENCE,
    WORDLLAMA_WEIGHTS,
    WordLlama,
    untrimmed,
)
from theodolite.engine.encoders.probe import TEXTS
from theodolite.engine.encoders.prompts import Prompts
from theodolite.engine.encoders.source import clean
from theodolite.engine.encoders.spec import (
    MODELS,
    PROMPTS,
    TASK_DATA,
    EncoderSpec,
    SourceSpec,
    parse,
    transformer_of,
)
from theodolite.engine.encoders.vectors import open_vectors
from theodolite.engine.encoders.words import WordVectors
from theodolite.engine.endpoints import Address
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.hub import NO_ID
from theodolite.engine.rankers.spec import parse as parse_ranker
from theodolite.engine.stamps import Stamp, stamp

LATER = "It is downloaded when it is first used."
"""The `problem` of a hub model that is not downloaded yet, which is no error."""
RANKER_KIND = "ranker"
"""The `kind` of a ranker that is no encoder."""
_ADDED = ("dim", "parameters", "embedding_parameters", "bytes")
"""Facts that are summed over the parts of a concatenation."""


def describe(spec: str, *, read: bool = False) -> dict[str, Any]:
    """Facts about an encoder or ranker for a list, from files alone: nothing is loaded.

    Args:
        spec: of the encoder.
        read: also read its files of vectors and the weights of its models that are here, and try
            these out.

    Returns:
        JSON-able: `spec`, `kind`, `dim`, `parameters`, `bytes`, `pooling`, `why` (reasons for the
        pooling), `warnings`, `available` and, when it is not, `problem`. Unknown facts are None.
        For a model also `prompts` (its own), and `prompt` and `query_prompt` where they are given,
        `embedding_parameters`, `max_tokens`, and, from its files, `licence` and `trained_on`; with
        `similarity` where it is not the cosine, `routed` where queries and documents take routes
        of their own, and `fingerprint` if it was read.
    """
    parsed = parse_ranker(spec)
    facts = [_facts(source, read=read) for part in parsed.encoders for source in part.sources]
    facts += [_facts(source, read=read, ranker=how) for how, source in parsed.models]
    whole = (
        facts[0]
        if len(facts) == 1 and isinstance(parsed, EncoderSpec)
        else {
            "kind": "concatenation",
            **{key: _sum([f[key] for f in facts]) for key in _ADDED},
            "pooling": None,
            "why": [],
            "warnings": [w for f in facts for w in f["warnings"]],
            "available": all(f["available"] for f in facts),
            "problem": next((f["problem"] for f in facts if f["problem"]), None),
        }
    )
    if not isinstance(parsed, EncoderSpec):
        return {
            "spec": str(parsed),
            **whole,
            "kind": RANKER_KIND,
            "dim": None,
            "parameters": whole["parameters"] or None,
        }
    for step in parsed.steps:
        if step.k is not None and step.name not in ("drop", "common"):
            whole["dim"] = step.k
    return {"spec": str(parsed), **whole}


def warnings_of(spec: str) -> list[str]:
    """Warnings to read before a run, such as settings that the files of a model contradict.

    None for an encoder that cannot be used, since using it raises the reason.
    """
    warnings: list[str] = []
    try:
        for source in (one for part in parse_ranker(spec).encoders for one in part.sources):
            checkpoint = _here(source) if source.kind in MODELS else None
            if source.kind == "api":
                warnings += _cautions(source)
            if checkpoint is not None:
                warnings += examine(checkpoint, source.option("pooling")).warnings
                warnings += contradictions(checkpoint, source)
    except UserError:
        return []
    return warnings


def cuts_of(spec: str, texts: Sequence[str], data: str = "") -> list[str]:
    """Warnings on texts that are longer than a model takes; none for one that cannot be used.

    Args:
        spec: of the encoder.
        texts: what is to be encoded; of more than 1,000 long ones, a sample is counted.
        data: name of the data set that they are of, for the message.
    """
    cuts: list[str] = []
    try:
        for source in parse_ranker(spec).sources:
            checkpoint = _here(source) if source.kind in MODELS else None
            if checkpoint is not None:
                cuts += too_long(checkpoint, source, texts, data)
    except UserError:
        return []
    return cuts


def cut_off(spec: str, texts: Sequence[str], *, late: bool = False) -> float:
    """Return what share of the tokens of texts is beyond the length that a ranker's models take.

    Of several models, the one that cuts off most counts; of more than 1,000 texts, a sample.
    Encoders read all of `late` chunks.
    """
    shares, some = [0.0], texts[:: -(-len(texts) // COUNTED) or 1]
    parsed = parse_ranker(spec)
    read = {source for one in parsed.encoders for source in one.sources} if late else ()
    for source in (one for one in parsed.sources if one not in read):
        checkpoint = _here(source) if source.kind in MODELS else None
        for part, limit in _limits(checkpoint, source) if checkpoint else ():
            counts = [] if limit is None else token_counts(part, some)
            beyond = sum(max(0, n - (limit or 0)) for n in counts)
            shares.append(beyond / max(sum(counts), 1))
    return max(shares)


def _facts(spec: SourceSpec, *, read: bool, ranker: str = "") -> dict[str, Any]:
    """Facts about a source, or about the model of a ranker."""
    facts: dict[str, Any] = {
        "kind": spec.kind,
        "dim": None,
        "parameters": None,
        "embedding_parameters": None,
        "bytes": None,
        "pooling": spec.option("pooling"),
        "why": [],
        "warnings": [],
        "available": True,
        "problem": None,
    }
    try:
        if spec.kind in MODELS:
            facts |= _checkpoint_facts(spec, ranker)
            if read and facts["available"] and not ranker:
                facts |= _read(spec, facts["warnings"])
        elif spec.kind == "mteb":
            facts |= _mteb_facts(spec.value)
        elif spec.kind == "api":
            dim = int(spec.option("dimensions") or 0) or None
            facts |= {"dim": dim, "warnings": _cautions(spec), **_prompt_texts({}, spec)}
        elif spec.kind == "vectors":
            known = open_vectors(spec)
            if read:
                known.read()
            facts |= {"dim": known.dim, "bytes": known.bytes}
        else:
            facts |= _word_facts(spec, read=read)
    except UserError as error:
        facts |= {"available": False, "problem": str(error)}
    return facts


def _mteb_facts(model: str) -> dict[str, Any]:
    from theodolite.engine.mteb import models

    known = models.facts(model)
    here = Path(model).is_dir() or cached(model) is not None
    return known if here else known | {"available": False, "problem": LATER}


def _word_facts(spec: SourceSpec, *, read: bool) -> dict[str, Any]:
    pooling = spec.option("pooling")
    facts: dict[str, Any] = {"pooling": pooling or "avg"}
    if spec.kind == "wordllama":
        size = (WordLlama("wordllama").folder / WORDLLAMA_WEIGHTS).stat().st_size
        table = 32_000 * 256
        facts |= {
            "dim": 256,
            "parameters": table,
            "embedding_parameters": table,
            "bytes": size,
            "licence": WORDLLAMA_LICENCE,
        }
    elif spec.kind == "words":
        vectors = WordVectors(spec.value, spec.value)
        if read:
            vectors.read()
        facts |= {"dim": vectors.dim, "bytes": vectors.path.stat().st_size}
    else:
        facts |= {"dim": int(spec.value), "pooling": pooling}
    if pooling == "pmean":
        facts["dim"] *= 4
    return facts


def _checkpoint_facts(spec: SourceSpec, ranker: str) -> dict[str, Any]:
    checkpoint = _here(spec)
    if checkpoint is None:
        return {"available": False, "problem": LATER}
    own, pooling = runs_modules(checkpoint, spec), spec.option("pooling")
    checkpoint.check(pooled=not chooses_nothing(spec), ranker=ranker)
    diagnosis = examine(checkpoint, pooling)
    # A folder that we trained names a pooling that takes several modules.
    poolings = own_poolings(checkpoint) if own and not checkpoint.trained else diagnosis.pooling
    prompts = Prompts.of(checkpoint)
    facts = {
        "dim": checkpoint.vector_dim if own else checkpoint.width,
        "parameters": checkpoint.parameters or None,
        "embedding_parameters": checkpoint.embedding_parameters or None,
        "bytes": sum(f.stat().st_size for f in checkpoint.weights) or None,
        "max_tokens": min((n for _, n in _limits(checkpoint, spec) if n), default=None),
        "licence": licence if isinstance(licence := checkpoint.card.get("license"), str) else None,
        "trained_on": _training_data(checkpoint),
        "pooling": pooling or poolings,
        "why": list(diagnosis.reasons) if poolings == diagnosis.pooling else [],
        "warnings": [] if ranker else [*diagnosis.warnings, *contradictions(checkpoint, spec)],
        "prompts": prompts.own,
        **_prompt_texts(prompts.own, spec),
    }
    if own and checkpoint.similarity != "cosine":
        facts["similarity"] = checkpoint.similarity
    return facts | ({"routed": True} if own and checkpoint.is_routed else {})


def _read(spec: SourceSpec, warnings: list[str]) -> dict[str, Any]:
    """What the loaded model shows, in place of what its files say."""
    encoder = load(str(spec.with_options(prompt=None, query_prompt=None)))
    encoder.encode(TEXTS[:1])  # the shorter: a text that is cut would be counted
    known = {"dim": encoder.dim, "fingerprint": encoder.fingerprint}
    return known | {"warnings": list(dict.fromkeys([*warnings, *encoder.warnings]))}


def _cautions(spec: SourceSpec) -> list[str]:
    from theodolite.engine.encoders.endpoint import cautions

    return list(cautions(Address.parse(spec.value)))


def _training_data(checkpoint: Checkpoint) -> list[str]:
    """The data sets that its card names; if trained here, its own after those of its base."""
    spec = checkpoint.trained.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("train"), str):
        return _texts(checkpoint.card.get("datasets"))
    try:
        (source,) = parse(str(spec.get("base"))).sources
        base = _here(source) if source.kind in MODELS else None
    except (UserError, ValueError):  # such as one with random weights
        base = None
    train = str(spec["train"])
    own = Path(train).name if Path(train).is_absolute() else train
    return [*(_texts(base.card.get("datasets")) if base else ()), own]


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


def column_prompts(spec: str, *, sided: bool) -> tuple[str, ...]:
    """The texts that a training from a model has before its columns, see `Prompts.columns`.

    Empty for a model that is not downloaded yet.
    """
    source = transformer_of(spec).sources[0]
    checkpoint = _here(source)
    return Prompts.of(checkpoint).with_options(source).columns(sided=sided) if checkpoint else ()


def _prompt_texts(own: Mapping[str, str], spec: SourceSpec) -> dict[str, str]:
    """The prompts of a spec as texts; `@task` is left as it is."""
    options = {name: spec.option(name) for name in PROMPTS}
    return {name: own.get(text, text) for name, text in options.items() if text is not None}


class _NotHere(Exception):
    """A model, or the base of an adapter, is not downloaded yet."""


def _here(spec: SourceSpec) -> Checkpoint | None:
    """The folder of a model; None for one that is not downloaded yet, or whose base is not."""
    try:
        return checkpoint_at(spec, _downloaded)
    except _NotHere:
        return None


def _downloaded(model: str, revision: str | None) -> Path:
    folder = cached(model, revision)
    if folder is not None:
        return folder
    if not re.fullmatch(r"(?!.{97})[\w.-]+(/[\w.-]+)?", model, re.ASCII):
        raise UserError(
            NO_ID.format(what=f"model '{model}'"),
            "An id is NAME or OWNER/NAME, of letters, digits and . _ - alone.",
        )
    raise _NotHere


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(v for v in values if v is not None)


def diagnose(source: str) -> PoolingDiagnosis:
    """Diagnose a source as a spec has it, e.g. `hf:ID?pooling=cls_token` or `dir:FOLDER`."""
    spec, checkpoint = checkpoint_of(source)
    checkpoint.check()
    return examine(checkpoint, spec.option("pooling"))


COUNTED = 1000
"""Texts that are tokenized; of more, these are a sample."""
_CHARACTERS = 12
"""Characters of a text that are tokenized first, for each token of the maximum."""


def _limits(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[tuple[Checkpoint, int | None]]:
    """The transformers of a source, each with its maximum tokens of a text; None for no maximum."""
    option = int(spec.option("max_length") or 0)
    for part in checkpoint.transformers if runs_modules(checkpoint, spec) else (checkpoint,):
        own = part.max_length if chooses_nothing(spec) else part.most_tokens
        yield part, option or own


def too_long(
    checkpoint: Checkpoint, spec: SourceSpec, texts: Sequence[str], data: str = ""
) -> Iterator[str]:
    """Say how many texts are longer than a model takes, as a sentence for each maximum.

    Args:
        checkpoint: of the model.
        spec: its source, with its options.
        texts: what is to be encoded.
        data: name of the data set that the texts are of, for the message.
    """
    prompt = spec.option("prompt")
    if prompt is None and not runs_modules(checkpoint, spec):
        prompt = ""
    before = "" if prompt == TASK_DATA else Prompts.of(checkpoint).text(prompt)
    prompted = [before + text for text in texts] if before and texts else texts
    for part, limit in _limits(checkpoint, spec):
        n, exact = _longer(part, prompted, limit) if limit is not None else (0, True)
        if n:
            of = f"texts of {data}" if data else "texts"
            number = f"{'' if exact else 'about '}{n:,} of {len(texts):,} {of}"
            yield (
                f"{number} {'is' if n == 1 else 'are'} longer than the {limit:,} tokens that "
                f"{checkpoint.label} takes: what is beyond is cut."
            )


def _longer(part: Checkpoint, texts: Sequence[str], limit: int) -> tuple[int, bool]:
    """Number of texts of more tokens than the limit, and whether all were counted."""
    # A token is a byte at least, and few models put more than two around a text.
    least = limit - 2
    long = [t for t in texts if 4 * len(t) > least and len(t.encode("utf-8", "replace")) > least]
    some = long[:: -(-len(long) // COUNTED) or 1]
    if not some:
        return 0, True
    try:
        start = token_counts(part, (text[: _CHARACTERS * limit] for text in some))
    except UserError:  # using the model raises the reason
        return 0, True
    rest = [t for t, n in zip(some, start, strict=True) if n <= limit < len(t) / _CHARACTERS]
    n = sum(n > limit for n in [*start, *token_counts(part, rest)])
    return round(n * len(long) / len(some)), len(some) == len(long)


def token_counts(part: Checkpoint, texts: Iterable[str]) -> list[int]:
    """The number of tokens of each text, those around it included, before any is cut."""
    return _counter(part, stamp(part.root))([*map(clean, texts)])


@lru_cache(maxsize=4)
def _counter(part: Checkpoint, _: Stamp) -> Callable[[list[str]], list[int]]:
    file = part.root / "tokenizer.json"
    if file.is_file():
        from tokenizers import Tokenizer

        try:
            core = untrimmed(Tokenizer.from_file(str(file)))
        except Exception as error:  # tokenizers raises nothing narrower
            raise UserError(
                f"The tokenizer of {part.label} cannot be loaded: {first_line(error)}",
                "Get its tokenizer.json again.",
                code="damaged",
            ) from error
        return lambda texts: [len(one) for one in core.encode_batch_fast(texts)]
    from theodolite.engine.encoders.transformer import quiet, read_tokenizer

    with quiet():
        slow = read_tokenizer(part)
    return lambda texts: [len(slow(text, verbose=False)["input_ids"]) for text in texts]


def stamp_of(sources: Iterable[SourceSpec], data: Iterable[object]) -> Stamp:
    """Stamp of an encoder's or ranker's files, with the stamps of the data that it learns from."""
    return (*(stamp(*_paths(source)) for source in sources), *data)


def _paths(source: SourceSpec) -> Iterator[Path]:
    path = Path(source.value)
    words = source.option("words")
    if source.kind in ("words", "dir"):
        yield path
    if source.kind == "vectors":  # a folder's manifest has the hashes of all its files
        yield path / "manifest.json" if path.is_dir() else path
        # The sentences of an array lie beside it.
        yield from (path.with_suffix(".txt"), path.with_suffix(".txt.gz"))
    if words and words != "wordllama":
        yield Path(words)
    if source.kind == "hf":
        folder = cached(source.value, source.option("revision"))
        if folder is not None:  # the folder of one commit, whose files never change
            yield folder
