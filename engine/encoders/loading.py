"""From a spec to an encoder. What needs torch is imported only when it is used."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

from theodolite.engine.encoders.adapter import whole
from theodolite.engine.encoders.averaging import Pooled, make, plain
from theodolite.engine.encoders.base import Encoder, VectorCache
from theodolite.engine.encoders.cached import CachedEncoder, MemoryCache
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.concat import Concatenated
from theodolite.engine.encoders.doctor import chooses_nothing, contradictions, runs_modules
from theodolite.engine.encoders.hub import download
from theodolite.engine.encoders.packaged import MINILM, MINILM_FILES, WordLlama, verified_folder
from theodolite.engine.encoders.prompts import TWO_SIDED, Prompts, PromptTask, Side
from theodolite.engine.encoders.sides import PromptedByTask, RoutedByTask, TwoSided
from theodolite.engine.encoders.source import Source, WordSource
from theodolite.engine.encoders.spec import (
    MODELS,
    TASK_DATA,
    EncoderSpec,
    SourceSpec,
    parse,
    transformer_of,
)
from theodolite.engine.encoders.steps import DatasetSource, SteppedEncoder
from theodolite.engine.encoders.vectors import open_vectors
from theodolite.engine.encoders.words import Borep, RandomWords, WordVectors
from theodolite.engine.encoders.zerogpu import on_zero_gpu
from theodolite.engine.errors import UserError

_live: WeakValueDictionary[tuple[str, str | None, str], Source] = WeakValueDictionary()
"""Sources in use: two encoders with one source share its weights."""


def load(
    spec: str,
    *,
    cache: VectorCache | None = None,
    datasets: DatasetSource | None = None,
    device: str | None = None,
    send_texts: Collection[str] = (),
) -> Encoder:
    """Make the encoder that a spec describes; weights are read at the first `encode`.

    Args:
        spec: see `engine.encoders.spec`.
        cache: keeps the vectors of every source; by default up to 512 MiB in memory.
        datasets: where fitted steps find their data; by default the catalogue of data sets.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; by default a GPU when there is one.
        send_texts: URLs of endpoints that texts may be sent to; on this machine they always may.
    """
    parsed = parse(spec)
    cache = cache if cache is not None else MemoryCache()
    datasets = datasets or _catalogue
    parts = [_part(source, cache, datasets, device, send_texts) for source in parsed.sources]
    sources = str(EncoderSpec(parsed.sources))
    encoder = parts[0] if len(parts) == 1 else Concatenated(sources, parts)
    if not parsed.steps:
        return encoder
    return SteppedEncoder(str(parsed), encoder, parsed.steps, datasets, cache=cache)


def checkpoint_of(source: str) -> tuple[SourceSpec, Checkpoint]:
    """The one source of a spec and its transformer's folder, downloaded if need be."""
    spec = transformer_of(source).sources[0]
    return spec, checkpoint_at(spec)


def _catalogue(name: str) -> tuple[Sequence[str], str]:
    from theodolite.engine.datasets import Catalog

    return Catalog().every_sentence(name)


def _part(
    spec: SourceSpec,
    cache: VectorCache,
    datasets: DatasetSource,
    device: str | None,
    send_texts: Collection[str],
) -> Encoder:
    # Looked up once: for a model of the hub that is a request.
    checkpoint = checkpoint_at(spec) if spec.kind in MODELS else None
    if checkpoint is not None:
        checkpoint.check(pooled=not chooses_nothing(spec))
    warnings = () if checkpoint is None else contradictions(checkpoint, spec)

    def kept(source: Source) -> Encoder:
        key = (source.name, device, source.fingerprint)
        source = _live.get(key) or _live.setdefault(key, on_zero_gpu(source))
        # Vectors from a file need no cache.
        return source if spec.kind == "vectors" else CachedEncoder(source, cache, warnings)

    def one_sided(spec: SourceSpec, side: Side | None = None) -> Encoder:
        if spec.kind == "api":
            from theodolite.engine.encoders import endpoint

            return CachedEncoder(endpoint.make(spec, cache, send_texts), cache)
        return kept(_source(spec, checkpoint, datasets, device, side))

    def two_sided(
        sides: tuple[SourceSpec, SourceSpec], kind: str = "two-sided", *, routed: bool = False
    ) -> TwoSided:
        documents = one_sided(sides[0], "document" if routed else None)
        return TwoSided(
            str(spec), documents, one_sided(sides[1], "query" if routed else None), kind
        )

    if spec.kind == "mteb":
        from theodolite.engine.mteb.source import Model

        return Model(str(spec), spec.value, kept, device)
    routed = checkpoint is not None and checkpoint.is_routed and runs_modules(checkpoint, spec)
    if checkpoint and TASK_DATA in (spec.option("prompt"), spec.option("query_prompt")):
        own = Prompts.of(checkpoint)
        return PromptedByTask(
            str(spec),
            one_sided(spec.with_options(prompt=None, query_prompt=None)),
            lambda task: two_sided(
                _sides(spec, own, task, routed=routed),
                "two-sided by task",
                routed=routed and task.type in TWO_SIDED,
            ),
        )
    if routed:
        return RoutedByTask(
            str(spec),
            lambda: one_sided(spec.with_options(query_prompt=None)),
            lambda: two_sided(_sides(spec), "routes", routed=True),
        )
    if spec.option("query_prompt") is not None:
        return two_sided(_sides(spec))
    return one_sided(spec)


def _sides(
    spec: SourceSpec,
    prompts: Prompts | None = None,
    task: PromptTask | None = None,
    *,
    routed: bool = False,
) -> tuple[SourceSpec, SourceSpec]:
    """The source as it encodes documents and as it encodes queries.

    Args:
        spec: with a prompt for queries, or with prompts that depend on the task.
        prompts: the model's own, if they depend on the task.
        task: the task that they depend on.
        routed: a side without a prompt has one of its own, other than the model's default.
    """
    prompt, query = spec.option("prompt"), spec.option("query_prompt")
    if prompts is not None and task is not None:
        side: Side | None = "document" if task.type in TWO_SIDED else None
        own = prompts.of_task(task, side)
        of_queries = prompts.of_task(task, "query") if side else own
        names = prompts.as_option if routed else prompts.shortest
        query = names(of_queries) if query in (TASK_DATA, None) else query
        prompt = names(own) if prompt == TASK_DATA else prompt
    elif query is None:
        query = prompt
    plain = spec.with_options(query_prompt=None)
    return plain.with_options(prompt=prompt), plain.with_options(prompt=query)


def _source(
    spec: SourceSpec,
    checkpoint: Checkpoint | None,
    datasets: DatasetSource,
    device: str | None,
    side: Side | None,
) -> Source:
    if checkpoint is not None:
        return _model(spec, checkpoint, device, side)
    if spec.kind == "vectors":
        return open_vectors(spec)
    return _borep(spec) if spec.kind == "borep" else _words(spec, datasets)


def _words(spec: SourceSpec, datasets: DatasetSource) -> Source:
    base = _word_source(str(spec), spec.kind, spec.value)
    pooling = spec.option("pooling")
    if pooling in (None, "avg"):
        return base
    data = spec.option("data")
    learnt_on = None if data is None else datasets(data)
    return Pooled(str(spec), base, make(str(pooling), base, learnt_on, spec.number("window")))


def _word_source(name: str, kind: str, value: str) -> WordSource:
    if kind == "wordllama":
        return WordLlama(name)
    return RandomWords(name, int(value)) if kind == "random" else WordVectors(name, value)


def _borep(spec: SourceSpec) -> Source:
    words = spec.option("words") or "wordllama"
    base = _word_source(words, "wordllama" if words == "wordllama" else "words", words)
    pooling = spec.option("pooling") or "max"
    pool = None if pooling == "avg" else plain(pooling, spec.number("window"))
    return Borep(str(spec), int(spec.value), base, pool, spec.number("seed") or 0)


def _model(
    spec: SourceSpec, checkpoint: Checkpoint, device: str | None, side: Side | None
) -> Source:
    from theodolite.engine.encoders import transformer
    from theodolite.engine.encoders.sentence_transformer import SentenceTransformerSource

    name, prompt, max_length = str(spec), spec.option("prompt"), spec.number("max_length")
    dtype = spec.option("dtype")
    if dtype == "int8":
        if device not in (None, "cpu"):
            raise UserError(
                f"'{name}' runs on the CPU only, not on {device}.",
                "Leave out dtype or the device.",
                code="conflict",
            )
        device = "cpu"
    if runs_modules(checkpoint, spec):
        return SentenceTransformerSource(
            name,
            checkpoint,
            side=side,
            prompt=prompt,
            max_length=max_length,
            dtype=dtype,
            device=device,
        )
    if spec.kind == "minilm" and chooses_nothing(spec):
        # As its modules.json says: the mean over at most 256 tokens, scaled to unit length.
        settings = transformer.TransformerSettings(
            "avg", -1, max_length or 256, prompt or "", normalise=True
        )
        return transformer.TransformerSource(name, checkpoint, settings, dtype=dtype, device=device)
    return transformer.make(
        name,
        checkpoint,
        pooling=spec.option("pooling"),
        layer=spec.number("layer"),
        max_length=max_length,
        prompt=Prompts.of(checkpoint).own.get(prompt or "", prompt or ""),
        dtype=dtype,
        device=device,
    )


def checkpoint_at(
    spec: SourceSpec, fetch: Callable[[str, str | None], Path] = download
) -> Checkpoint:
    """The folder of a source that is a model; an adapter with its base.

    Args:
        spec: of the source.
        fetch: gives the folder of a model of the hub, see `download`.
    """
    return whole(_folder_of(spec, fetch), lambda base: _folder_of(parse(base).sources[0], fetch))


def _folder_of(spec: SourceSpec, fetch: Callable[[str, str | None], Path]) -> Checkpoint:
    if spec.kind == "minilm":
        return Checkpoint(verified_folder(MINILM, MINILM_FILES), "minilm")
    if spec.kind == "dir":
        return Checkpoint(Path(spec.value), spec.value)
    return Checkpoint(fetch(spec.value, spec.option("revision")), spec.value)
