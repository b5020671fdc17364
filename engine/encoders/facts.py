"""What is known of an encoder from its spec and its files. Downloads nothing, loads no model."""

from __future__ import annotations

from typing import Any

from engine.encoders.checkpoint import Checkpoint
from engine.encoders.contradictions import contradictions
from engine.encoders.loading import checkpoint_at
from engine.encoders.pooling_choice import examine
from engine.encoders.prompts import Prompts
from engine.encoders.spec import MODELS, PROMPTS, SourceSpec, parse
from engine.errors import UserError

_ADDED = ("dim", "parameters", "embedding_parameters", "bytes")
"""Facts of which a concatenation has the sum."""


def describe(spec: str) -> dict[str, Any]:
    """Facts about an encoder for a list, from files alone: nothing is downloaded or loaded.

    Returns:
        JSON-able: `spec`, `kind`, `dim`, `parameters`, `bytes`, `pooling`, `why` (reasons for the
        pooling), `warnings`, `available` and, when it is not, `problem`. Unknown facts are None.
        Of a model also `prompts` (its own), and `prompt` and `query_prompt` where they are said,
        `embedding_parameters`, `max_tokens`, and of its card `licence` and `trained_on`.

    Raises:
        UserError: the spec cannot be read.
    """
    parsed = parse(spec)
    facts = [_facts(source) for source in parsed.sources]
    whole = facts[0] if len(facts) == 1 else {
        "kind": "concatenation",
        **{key: _sum([f[key] for f in facts]) for key in _ADDED},
        "pooling": None,
        "why": [],
        "warnings": [w for f in facts for w in f["warnings"]],
        "available": all(f["available"] for f in facts),
        "problem": next((f["problem"] for f in facts if f["problem"]), None),
    }  # fmt: skip
    for step in parsed.steps:
        if step.k is not None and step.name not in ("drop", "common"):
            whole["dim"] = step.k
    return {"spec": str(parsed), **whole}


def warnings_of(spec: str) -> list[str]:
    """What a person should read before a run: what the spec asks and the files of a model deny.

    Nothing for what cannot be used; whoever uses it is told why.
    """
    found: list[str] = []
    try:
        for source in parse(spec).sources:
            checkpoint = _here(source) if source.kind in MODELS else None
            if checkpoint is not None:
                found += examine(checkpoint, source.option("pooling")).warnings
                found += contradictions(checkpoint, source)
    except UserError:
        return []
    return found


def _facts(spec: SourceSpec) -> dict[str, Any]:
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
            facts |= _checkpoint_facts(spec)
        elif spec.kind == "vectors":
            from engine.encoders.vectors import VectorFile

            file = VectorFile(str(spec), spec.value, spec.option("text"), spec.option("vector"))
            facts |= {"dim": file.dim, "bytes": file.path.stat().st_size}
        else:
            facts |= _word_facts(spec)
    except UserError as error:
        facts |= {"available": False, "problem": str(error)}
    return facts


def _word_facts(spec: SourceSpec) -> dict[str, Any]:
    pooling = spec.option("pooling")
    facts: dict[str, Any] = {"pooling": pooling or "avg"}
    if spec.kind == "wordllama":
        from engine.encoders.packaged import WORDLLAMA_WEIGHTS, WordLlama

        size = (WordLlama("wordllama").folder / WORDLLAMA_WEIGHTS).stat().st_size
        table = 32_000 * 256
        facts |= {"dim": 256, "parameters": table, "embedding_parameters": table, "bytes": size}
    elif spec.kind == "words":
        from engine.encoders.words import WordVectors

        vectors = WordVectors(spec.value, spec.value)
        facts |= {"dim": vectors.dim, "bytes": vectors.path.stat().st_size}
    else:
        facts |= {"dim": int(spec.value), "pooling": pooling}
    if pooling == "pmean":
        facts["dim"] *= 4
    return facts


def _checkpoint_facts(spec: SourceSpec) -> dict[str, Any]:
    checkpoint = _here(spec)
    if checkpoint is None:
        return {"available": False, "problem": "It is downloaded when it is first used."}
    checkpoint.check()
    diagnosis = examine(checkpoint, spec.option("pooling"))
    prompts = Prompts.of(checkpoint)
    return {
        "dim": checkpoint.dim if checkpoint.config else None,
        "parameters": checkpoint.parameters or None,
        "embedding_parameters": checkpoint.embedding_parameters or None,
        "bytes": sum(f.stat().st_size for f in checkpoint.weights) or None,
        "max_tokens": int(spec.option("max_length") or 0) or checkpoint.most_tokens,
        "licence": _text(checkpoint.card.get("license")),
        "trained_on": _texts(checkpoint.card.get("datasets")),
        "pooling": spec.option("pooling") or diagnosis.pooling,
        "why": list(diagnosis.reasons),
        "warnings": [*diagnosis.warnings, *contradictions(checkpoint, spec)],
        "prompts": prompts.own,
        **_said(prompts, spec),
    }


def _text(said: Any) -> str | None:
    return said if isinstance(said, str) else None


def _texts(said: Any) -> list[str]:
    listed = said if isinstance(said, list) else [said]
    return [one for one in listed if isinstance(one, str)]


def _said(prompts: Prompts, spec: SourceSpec) -> dict[str, str]:
    """The prompts of a spec as texts; `@task` stays what it is."""
    said = {name: spec.option(name) for name in PROMPTS}
    return {name: prompts.own.get(text, text) for name, text in said.items() if text is not None}


def _here(spec: SourceSpec) -> Checkpoint | None:
    """The folder of a model; None for one that is not downloaded yet."""
    if spec.kind != "hf":
        return checkpoint_at(spec)
    from engine.encoders.hub import cached

    folder = cached(spec.value, spec.option("revision"))
    return None if folder is None else Checkpoint(folder, spec.value)


def _sum(values: list[int | None]) -> int | None:
    return None if None in values else sum(v for v in values if v is not None)
