"""A small cache of objects that take long to load."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """Values by key, each loaded once however many ask for it at the same moment.

    Who asks for another one meanwhile, or for one that is there, does not wait for it.

    Args:
        most: values in memory; the one that was not asked for longest goes first.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._loading: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, load: Callable[[], Value]) -> Value:
        """The value of a key, loaded now if it is not there.

        Raises:
            Exception: what `load` raised; whoever asks next tries again.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            loading = self._loading.setdefault(key, threading.Lock())
        with loading:
            with self._lock:
                if key in self._values:  # somebody else loaded it meanwhile
                    return self._values[key]
            try:
                value = load()
            except BaseException:
                with self._lock:
                    self._loading.pop(key, None)
                raise
            with self._lock:  # at once: in between, somebody would load it a second time
                self._values[key] = value
                self._loading.pop(key, None)
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
            return value

    def forget(self, chosen: Callable[[Key], bool]) -> None:
        """Drop some of them."""
        with self._lock:
            for key in [key for key in self._values if chosen(key)]:
                del self._values[key]
