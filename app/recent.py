"""A small LRU cache of objects that take long to load."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """An LRU cache whose values are loaded once, also under concurrent requests.

    Requests for other keys, or for cached ones, do not wait for a load.

    Args:
        most: values in memory; the least recently used is dropped first. One is always kept.
        size: of a value, where `most` limits the sum of their sizes; None for their number.
    """

    def __init__(self, most: int, size: Callable[[Value], int] | None = None) -> None:
        self._most, self._size = most, size or (lambda value: 1)
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._loading: dict[Key, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Key, load: Callable[[], Value]) -> Value:
        """The value of a key, loaded now if it is not cached.

        Raises:
            Exception: the exception of `load`; the next request tries again.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            loading = self._loading.setdefault(key, threading.Lock())
        with loading:
            with self._lock:
                if key in self._values:  # loaded by another thread meanwhile
                    return self._values[key]
            try:
                value = load()
            except BaseException:
                with self._lock:
                    self._loading.pop(key, None)
                raise
            with self._lock:  # atomically: otherwise another thread could load it a second time
                self._values[key] = value
                self._loading.pop(key, None)
                while (
                    len(self._values) > 1
                    and sum(map(self._size, self._values.values())) > self._most
                ):
                    self._values.popitem(last=False)
            return value

    def __contains__(self, key: Key) -> bool:
        return key in self._values

    def forget(self, matches: Callable[[Key], bool]) -> None:
        """Drop the values of some keys."""
        with self._lock:
            for key in [key for key in self._values if matches(key)]:
                del self._values[key]
