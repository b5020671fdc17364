"""Models in memory, shared by all sources that run them.

Two sources often differ in what stands before a sentence or in what is made of the hidden states,
and not in the model: the sides of one encoder, or the settings that an audit compares.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

M = TypeVar("M")

_held: WeakValueDictionary[tuple[object, ...], Weights[Any]] = WeakValueDictionary()


class Weights(Generic[M]):
    """A model that is read the first time it is asked for, and gone with the last source of it.

    Attributes:
        lock: held while it is read, and by those who may not use it at the same time.
        model: None before it was read.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.model: M | None = None

    def get(self, read: Callable[[], M]) -> M:
        """The model, read by the first who asks."""
        with self.lock:
            if self.model is None:
                self.model = read()
            return self.model


def weights(*key: object) -> Weights[Any]:
    """Those of a key, which holds all that decides the model."""
    return _held.setdefault(key, Weights())
