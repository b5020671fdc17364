"""Reads pickles of numpy arrays and plain containers without unpickling anything else.

A pickle is a program that may call any importable function. This reader admits only the names
needed for arrays and containers; any other name stops it before anything is imported. Used for the
one data set that is only available as pickles (see `engine.datasets.coco`).
"""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np

from theodolite.engine.datasets.files import shorten, where
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.progress import Progress


class _Refused(Exception):
    """The pickle asks for a name that no array needs."""


class _Function:
    """A function that a pickle may call but, unlike a plain function, not modify."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setstate__(self, state: object) -> None:
        raise _Refused("a change of a function")


def _encoded(text: str, encoding: str) -> bytes:
    """Rebuild bytes as written by protocols before 3, which is always latin-1 text."""
    if encoding != "latin1":
        raise _Refused(f"the encoding {encoding!r}")
    return text.encode("latin-1")


def _from_buffer(buffer: bytes | bytearray, dtype: Any, shape: Any, order: str) -> np.ndarray:
    """Rebuild an array as written by protocol 5."""
    return np.frombuffer(buffer, dtype).reshape(shape, order="F" if order == "F" else "C")


def _defaults(factory: object = None) -> dict[Any, Any]:
    """Replace a defaultdict by a plain dict: missing keys are never read."""
    return {}


def _admitted() -> dict[tuple[str, str], object]:
    reconstruct, scalar = (x.__reduce__()[0] for x in (np.zeros(0), np.float32(0)))
    found: dict[tuple[str, str], object] = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("_codecs", "encode"): _Function(_encoded),
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "defaultdict"): _Function(_defaults),
    }
    for package in ("numpy.core", "numpy._core"):  # before and since numpy 2
        found[f"{package}.multiarray", "_reconstruct"] = reconstruct
        found[f"{package}.multiarray", "scalar"] = scalar
        found[f"{package}.numeric", "_frombuffer"] = _Function(_from_buffer)
    for builtins in ("builtins", "__builtin__"):  # of Python 3 and 2
        for kind in (dict, list, tuple, str, int, float, bool, bytes):
            found[builtins, kind.__name__] = kind
    found["__builtin__", "unicode"], found["__builtin__", "long"] = str, int
    return found


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, encoding="latin1")  # for pickles from Python 2
        self._admitted = _admitted()

    def find_class(self, module: str, name: str) -> Any:
        """Return an admitted name. Imports nothing."""
        if (module, name) not in self._admitted:
            raise _Refused(shorten(f"{module}.{name}", 80))
        return self._admitted[module, name]


class _ProgressFile(io.FileIO):
    """A file that reports the bytes read."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        super().__init__(path)
        self._progress = progress
        self._size = path.stat().st_size
        self._done = 0

    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        self._done += n or 0
        if self._progress is not None:
            self._progress(self._done, self._size)
        return n


def load(path: Path, progress: Progress | None = None) -> Any:
    """Read a pickle that holds nothing but numpy arrays and plain containers.

    Text that Python 2 wrote as bytes is read as latin-1.
    """
    with io.BufferedReader(_ProgressFile(path, progress), 1 << 20) as file:
        try:
            return _Unpickler(cast("BinaryIO", file)).load()
        except _Refused as refused:
            raise UserError(
                f"{where(path)} asks for {refused}, which no file of arrays and captions needs. "
                "It was refused; nothing in it was executed.",
                "Do not open it with another program. Download the file from where it was "
                "published.",
                code="denied",
            ) from None
        except MemoryError:
            raise UserError(
                f"{where(path)} does not fit in memory.",
                "Close other programs and try again.",
                code="too-large",
            ) from None
        except OSError:
            raise
        except Exception as error:  # a broken pickle can raise nearly anything
            raise UserError(
                f"{where(path)} cannot be read as a pickle: {first_line(error, 200)}.",
                "It may have been cut short: copy or download it again.",
                code="damaged",
            ) from error
