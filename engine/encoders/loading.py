"""From a spec to an encoder. Each kind of source is imported only when it is asked for."""

from __future__ import annotations

from engine.encoders.base import Encoder, VectorCache
from engine.encoders.cached import CachedEncoder, MemoryCache
from engine.encoders.concat import Concatenated
from engine.encoders.source import Source
from engine.encoders.spec import SourceSpec, parse


def load(
    spec: str,
    *,
    cache: VectorCache | None = None,
    device: str | None = None,
) -> Encoder:
    """Make the encoder that a spec describes; weights are read at the first `encode`.

    Args:
        spec: see `engine.encoders.spec`.
        cache: remembers the vectors of every source; by default up to 512 MiB in memory.
        device: `cpu`, `cuda`, `cuda:1`, `mps`; by default a GPU when there is one.

    Raises:
        UserError: the spec cannot be read, or what it names cannot be loaded.
    """
    parsed = parse(spec)
    cache = cache if cache is not None else MemoryCache()
    parts: list[Encoder] = [CachedEncoder(_source(s, device), cache) for s in parsed.sources]
    return parts[0] if len(parts) == 1 else Concatenated(str(parsed), parts)


def _source(spec: SourceSpec, device: str | None) -> Source:
    name = str(spec)
    match spec.kind:
        case "wordllama":
            from engine.encoders.packaged import WordLlama

            return WordLlama(name)
        case "random":
            from engine.encoders.random_words import RandomWords

            return RandomWords(name, int(spec.value))
    raise NotImplementedError(spec.kind)
