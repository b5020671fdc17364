"""Models in memory, shared by all sources that run them.

Two sources often differ in the prompt or in the pooling, and not in the model: the sides of one
encoder, or the settings that an audit compares.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

M = TypeVar("M")

_cache: WeakValueDictionary[tuple[object, ...], Weights[Any]] = WeakValueDictionary()


class Weights(Generic[M]):
    """A model that is read at first use, and freed with the last source that uses it.

    Attributes:
        lock: held while the model is read, and by users that cannot share it at the same time.
        model: None before it is read.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.model: M | None = None

    def get(self, read: Callable[[], M]) -> M:
        """The model, read by the first call."""
        with self.lock:
            if self.model is None:
                self.model = read()
            return self.model


def weights(*key: object) -> Weights[Any]:
    """The weights of a key, which holds everything that determines the model."""
    return _cache.setdefault(key, Weights())
