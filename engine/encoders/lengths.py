"""Which texts a model would cut, by its files and its tokenizer, before any is encoded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.contradictions import chooses_nothing, runs_modules
from theodolite.engine.encoders.prompts import Prompts
from theodolite.engine.encoders.source import clean
from theodolite.engine.encoders.spec import TASK_DATA, SourceSpec
from theodolite.engine.errors import UserError
from theodolite.engine.stamps import Stamp, stamp

COUNTED = 1000
"""Texts that are tokenized; of more, these are a sample."""
_CHARACTERS = 12
"""Characters of a text that are tokenized first, for each token of the maximum."""


def limit_of(part: Checkpoint, spec: SourceSpec, *, settings: bool) -> int | None:
    """Maximum tokens of a text, the rest of which is cut; None for no maximum.

    Args:
        part: the transformer.
        spec: its source, with its options.
        settings: the settings of sentence-transformers hold, since no pooling is chosen.
    """
    given = int(spec.option("max_length") or 0)
    return given or (part.max_length if settings else part.most_tokens)


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
    own = runs_modules(checkpoint, spec)
    prompt = spec.option("prompt") if own else spec.option("prompt") or ""
    before = "" if prompt == TASK_DATA else Prompts.of(checkpoint).text(prompt)
    given = [before + text for text in texts] if before and texts else texts
    for part in checkpoint.transformers if own else (checkpoint,):
        limit = limit_of(part, spec, settings=chooses_nothing(spec))
        n, exact = _longer(part, given, limit) if limit is not None else (0, True)
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
        tokens = _tokens(part, stamp(part.root))
    except UserError:  # using the model raises the reason
        return 0, True
    start = tokens([text[: _CHARACTERS * limit] for text in some])
    rest = [t for t, n in zip(some, start, strict=True) if n <= limit < len(t) / _CHARACTERS]
    n = sum(n > limit for n in [*start, *tokens(rest)])
    return round(n * len(long) / len(some)), len(some) == len(long)


@lru_cache(maxsize=4)
def _tokens(part: Checkpoint, _: Stamp) -> Callable[[list[str]], list[int]]:
    """What counts the tokens of texts, those around them included."""
    file = part.root / "tokenizer.json"
    if file.is_file():
        from tokenizers import Tokenizer

        try:
            core = Tokenizer.from_file(str(file))
        except Exception:  # tokenizers raises nothing narrower
            return lambda texts: [0 for _ in texts]
        core.no_truncation()
        core.no_padding()
        return lambda texts: [len(one) for one in core.encode_batch_fast([*map(clean, texts)])]
    from theodolite.engine.encoders.transformer import quiet, read_tokenizer

    with quiet():
        slow = read_tokenizer(part)
    return lambda texts: [len(slow(text, verbose=False)["input_ids"]) for text in texts]
