"""Cache of loaded encoders: the last few, each valid until the files it was loaded from change.

Old results in a precision chosen by default on a GPU are migrated here, since only a loaded encoder
knows the fingerprint that it had then.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from theodolite.app import corpora, endpoints, typed
from theodolite.app.recent import Recent

if TYPE_CHECKING:
    from theodolite.engine.datasets import Catalog
    from theodolite.engine.encoders import MemoryCache
    from theodolite.engine.encoders.base import Encoder
    from theodolite.store import Store

IN_MEMORY = 4


class Loaded:
    """Canonical spec -> encoder, with the store's vectors as its cache.

    Args:
        store: vectors and results.
        catalog: data of fitted steps.
    """

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self._catalog = catalog
        self._encoders: Recent[tuple[str, object], Encoder] = Recent(IN_MEMORY)

    @cached_property
    def _typed(self) -> MemoryCache:
        """Vectors of typed sentences, of all encoders."""
        from theodolite.engine.encoders import MemoryCache

        return MemoryCache(typed.MEMORY_BYTES)

    def get(self, name: str) -> Encoder:
        """The encoder of a canonical spec, loaded if it is not cached or has changed on disk.

        Concurrent requests for one model share it.
        """
        from theodolite.engine import encoders

        # Read each time: a permission can be revoked.
        urls = {one.url for one in endpoints.addresses(name)}
        send_texts = frozenset(urls.intersection(endpoints.allowed(self._store) if urls else ()))
        stamp = (encoders.stamp_of(name, self._catalog.stamp), send_texts)
        self._encoders.forget(lambda key: key[0] == name and key[1] != stamp)
        return self._encoders.get((name, stamp), lambda: self._load(name, send_texts))

    def _load(self, name: str, send_texts: Collection[str]) -> Encoder:
        from theodolite.engine import encoders

        apart = typed.NothingKept if self._store.reading else typed.TypedApart
        kept = corpora.WithCorpora(self._store.vectors.of(name), self._store)
        cache = apart(kept, self._typed)
        return encoders.load(
            name, cache=cache, datasets=self._catalog.every_sentence, send_texts=send_texts
        )
