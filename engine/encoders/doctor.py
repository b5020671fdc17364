"""The pooling that fits a model, and settings of a spec that its files contradict.

A wrong pooling is the commonest cause of SimCSE numbers that cannot be reproduced. This reads the
files only; `engine.encoders.audit` measures.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.modules import every
from theodolite.engine.encoders.pooling import MEANING
from theodolite.engine.encoders.prompts import Prompts
from theodolite.engine.encoders.spec import PROMPTS, TASK_DATA, SourceSpec
from theodolite.engine.errors import UserError

OURS = {"cls": "cls_token", "mean": "avg", "max": "max", "lasttoken": "last"}
"""Poolings of sentence-transformers that have a name here."""


@dataclass(frozen=True)
class PoolingDiagnosis:
    """The pooling of a checkpoint, by its files.

    Attributes:
        pooling: the one that fits best, used when the spec gives none.
        reasons: for that pooling, as sentences.
        warnings: problems with the pooling that the spec gives, as sentences.
    """

    pooling: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...] = ()


def examine(checkpoint: Checkpoint, chosen: str | None = None) -> PoolingDiagnosis:
    """Diagnose a checkpoint; `chosen` is the pooling that the spec gives."""
    pooling, reason = _recommend(checkpoint)
    if (chosen or pooling) == "pooler_output" and not checkpoint.has_pooler:
        raise UserError(
            f"{checkpoint.label} has no pooler weights: pooler_output would use random ones.",
            "Use pooling=cls_token for the first token without the pooler.",
            code="unsupported",
        )
    if chosen is None:
        return PoolingDiagnosis(pooling, (reason,))
    warnings = []
    if chosen != pooling:
        warnings.append(f"pooling={chosen}, but {checkpoint.label} expects {pooling}: {reason}")
    if chosen != pooling and chosen in ("cls_token", "pooler_output") and checkpoint.is_decoder:
        warnings.append("The first token of a decoder sees nothing of the text after it.")
    # In a folder that we trained, the modules after the transformer are that pooling and its head.
    if checkpoint.modules and not (checkpoint.trained and chosen == pooling):
        left_out = [part.kind for part in checkpoint.parts[1:] if part.kind != "Pooling"]
        cut = checkpoint.sentence_transformers.get("truncate_dim")
        left_out += [f"cut to {cut} dimensions"] * bool(cut)
        if left_out:
            warnings.append(f"With a pooling given, the model's {', '.join(left_out)} is left out.")
    return PoolingDiagnosis(pooling, (reason,), tuple(warnings))


def _recommend(checkpoint: Checkpoint) -> tuple[str, str]:
    """Pooling and reason, the strongest evidence first."""
    own = own_pooling(checkpoint)
    if own:
        return own, f"its sentence-transformers files name it ({own})."
    name = f"{checkpoint.label} {checkpoint.config.get('_name_or_path', '')}".lower()
    if checkpoint.is_decoder:
        return "last", "it is a decoder, and only the last token has seen the whole text."
    if any(tensor.startswith("mlp.dense") for tensor in checkpoint.shapes):
        return _of_training_code(checkpoint, name)
    if "simcse" in name and "unsup" in name:
        return "cls_token", (
            "it is an unsupervised SimCSE model, whose head was used in training only."
        )
    if "simcse" in name:
        if checkpoint.has_pooler:
            return "pooler_output", "it is a SimCSE model, whose trained head is its pooler."
        return "cls_token", "it is a SimCSE model without a head."
    architectures = checkpoint.config.get("architectures") or []
    if any(name.endswith(("ForMaskedLM", "ForPreTraining")) for name in architectures):
        return "avg_first_last", (
            "it is a language model not tuned for sentences, where the mean of the first and last "
            "layer does best of the plain poolings (SimCSE, table 6)."
        )
    return "avg", "nothing in its files names a pooling, and the mean is the common choice."


def _of_training_code(checkpoint: Checkpoint, name: str) -> tuple[str, str]:
    what = "it is a SimCSE training checkpoint that was not converted, with a head called mlp"
    if checkpoint.has_simcse_head and re.search(r"(^|[^a-z])sup[-_]", name):
        return "pooler_output", f"{what}, which a supervised one keeps."
    return (
        "cls_token",
        f"{what}; only a supervised one, which its name would say, keeps it.",
    )


def own_pooling(checkpoint: Checkpoint) -> str | None:
    """Our name for the pooling of a sentence-transformers folder; None when we have no such one.

    A folder that we trained names it itself, since a mean over two layers takes several modules.
    """
    own = str(checkpoint.trained.get("pooling"))
    if checkpoint.modules and own in MEANING:
        return own
    modes = [mode for part in checkpoint.parts for mode in part.poolings]
    return OURS.get(modes[0]) if len(modes) == 1 else None


def own_poolings(checkpoint: Checkpoint) -> str | None:
    """The poolings that a sentence-transformers folder concatenates; None where it has none."""
    modes = [mode for part in every(checkpoint.parts) for mode in part.poolings]
    return " + ".join(OURS.get(mode, mode) for mode in dict.fromkeys(modes)) or None


_NAME = re.compile(r"[\w-]+")
_NAMED = 4
"""Prompts listed in a warning."""


def contradictions(checkpoint: Checkpoint, spec: SourceSpec) -> tuple[str, ...]:
    """Warnings on prompts and lengths, as sentences to read before trusting a score."""
    return tuple(
        [*_prompts(checkpoint, spec), *_length(checkpoint, spec), *_similarity(checkpoint, spec)]
    )


def runs_modules(checkpoint: Checkpoint, spec: SourceSpec) -> bool:
    """Whether sentence-transformers runs the model, with all of its modules."""
    return bool(checkpoint.modules) and spec.kind != "minilm" and chooses_nothing(spec)


def chooses_nothing(spec: SourceSpec) -> bool:
    """Whether a source leaves the pooling to the model."""
    return not any(spec.option(name) for name in ("pooling", "layer"))


def _prompts(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[str]:
    prompts = Prompts.of(checkpoint)
    texts = [spec.option(name) for name in PROMPTS]
    if texts == [None, None]:
        yield from _warn_of_prompts(checkpoint, spec, prompts)
    if TASK_DATA in texts and not prompts.own:
        yield f"The files of {checkpoint.label} name no prompts: @task puts none before sentences."
    for text in dict.fromkeys(texts):
        if text and text != TASK_DATA and text not in prompts.own:
            yield from _unknown(checkpoint, text, prompts)


def _warn_of_prompts(checkpoint: Checkpoint, spec: SourceSpec, prompts: Prompts) -> Iterator[str]:
    """Warn where the model was trained with prompts, and the spec gives none."""
    # Only sentence-transformers itself applies a default prompt unasked.
    own = runs_modules(checkpoint, spec)
    if own and checkpoint.is_routed:  # each route takes its own prompt
        return
    default = prompts.text(None) if own else ""
    for side, who, options in (
        ("query", "Queries", "query_prompt=query"),
        ("document", "Documents", "prompt=document&query_prompt=query"),
    ):
        text = prompts.own.get(side)
        if default and text and text != default:
            yield (
                f"{who} get the default prompt of {checkpoint.label}, {default!r}; its files have "
                f"{text!r} for them: add {options}."
            )
    if prompts.own and not default:
        sides = {"query", "document"} & prompts.own.keys()
        more = len(prompts.own) - _NAMED
        names = ", ".join(f"{name} ({text!r})" for name, text in [*prompts.own.items()][:_NAMED])
        yield (
            f"{checkpoint.label} has prompts, and none is asked for: {names}"
            f"{f' and {more} more' if more > 0 else ''}. "
            f"Add prompt={TASK_DATA if sides else next(iter(prompts.own))}."
        )


def _unknown(checkpoint: Checkpoint, text: str, prompts: Prompts) -> Iterator[str]:
    """Warn where a prompt looks like a name that the model lacks, or like a text cut short."""
    own = next((own for own in prompts.own.values() if own != text and own.strip() == text), None)
    if own is not None:
        yield (
            f"{checkpoint.label} has the prompt {own!r}, and {text!r} is asked for: a space at "
            "the end is written %20."
        )
    elif _NAME.fullmatch(text) and (prompts.own or text in prompts.named):
        has = f"; it has {', '.join(prompts.own)}" if prompts.own else ""
        yield f"{checkpoint.label} has no prompt named {text!r}{has}."


def _length(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[str]:
    option, stated = spec.option("max_length"), checkpoint.max_length
    if option is not None and stated is not None and int(option) > stated:
        yield (
            f"max_length={option} is more than the {stated} tokens that the files of "
            f"{checkpoint.label} say."
        )


def _similarity(checkpoint: Checkpoint, spec: SourceSpec) -> Iterator[str]:
    if runs_modules(checkpoint, spec) and checkpoint.similarity != "cosine":
        by = {
            "dot": "dot product",
            "euclidean": "Euclidean distance",
            "manhattan": "Manhattan distance",
        }[checkpoint.similarity]
        yield (
            f"{checkpoint.label} compares its vectors by the {by}. Retrieval and reranking do so "
            "too; searches, maps and all else compare them by the cosine."
        )
