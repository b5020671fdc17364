"""An encoder at other sizes, and whether it is one of the baselines for comparisons.

After Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings. Specs in,
specs out: nothing is loaded.
"""

from dataclasses import replace
from typing import Literal

from theodolite.engine.encoders.spec import MODELS, EncoderSpec, SourceSpec, StepSpec, parse
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse as parse_ranker


def ladder(dim: int) -> list[int]:
    """Sizes of a score-against-size curve: 16, 32, 64, … below `dim`, then `dim` itself."""
    steps = [16 << place for place in range(dim.bit_length())]
    return [size for size in steps if size < dim] + [dim]


def at_size(spec: str, dim: int, k: int, method: Literal["pca", "random"], seed: int = 1111) -> str:
    """The encoder brought to k dimensions; itself when it has k already.

    PCA is fitted on the sentences of the task being measured; the random projection depends on the
    seed alone, and is the same for every encoder of that size.
    """
    name = str(parse(spec))
    if k > dim:
        raise UserError(
            f"{name} has {dim} dimensions, {k} were asked for.",
            f"Give at most {dim}.",
            code="too-large",
        )
    if k == dim:
        return name
    return str(parse(f"{name} | dims:{k},{'pca,@task' if method == 'pca' else f'random,{seed}'}"))


def smaller(spec: str, dim: int | None, dtype: Literal["int8", "binary"], data: str) -> str:
    """The encoder with its first dimensions, None for all of them, in fewer bits.

    Args:
        spec: of the encoder.
        dim: number of dimensions kept.
        dtype: precision of the vectors.
        data: name of the data set whose largest values scale int8.
    """
    parsed = parse(spec)
    steps = [StepSpec("dims", dim)] if dim else []
    steps.append(StepSpec("quantise", data=data if dtype == "int8" else ""))
    return str(replace(parsed, steps=(*parsed.steps, *steps)))


def in_int8(spec: str) -> str | None:
    """The encoder with its transformers in int8; None where there is none, or a dtype is given."""
    parsed = parse(spec)
    variant = replace(parsed, sources=tuple(map(_source_in_int8, parsed.sources)))
    return None if variant == parsed else str(variant)


def _source_in_int8(source: SourceSpec) -> SourceSpec:
    if source.kind not in MODELS or source.option("dtype"):
        return source
    return source.with_options(dtype="int8")


Baseline = Literal["random", "bag-of-words", ""]


def baseline(spec: str) -> Baseline:
    """Which of the paper's baselines an encoder is: random, an average of word vectors, or none.

    BM25, a ranker, is a bag of words as well.
    """
    parsed = parse_ranker(spec)
    sources = parsed.sources  # none of BM25
    is_encoder = isinstance(parsed, EncoderSpec)
    if is_encoder and all(source.kind in ("random", "borep") for source in sources):
        return "random"
    words = ("wordllama", "words", "random")
    # Hierarchical pooling looks at neighbouring words, so it is no bag.
    if all(s.kind in words and s.option("pooling") not in ("hier", "gem") for s in sources):
        return "bag-of-words"
    return ""
