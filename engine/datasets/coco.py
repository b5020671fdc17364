"""COCO as in SentEval: images as ResNet-101 features, with five captions each.

The official files are pickles, `COCO/{train,valid,test}.pkl`. `convert` turns each once into
`x.npy` (float32, memory-mapped on use) and `x.json`; only these are read afterwards.

Source: facebookresearch/SentEval, `senteval/rank.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.datasets import pickles
from theodolite.engine.datasets.files import DatasetSource, existing, shorten, where
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.senteval import downstream, joined
from theodolite.engine.datasets.types import CAPTIONS, CaptionPart, Captions, DatasetInfo
from theodolite.engine.errors import UserError

NAME = "COCO"
SPLITS = {"train": "train", "dev": "valid", "test": "test"}
"""Split -> stem of its files."""

_ROWS = 1024
"""Images converted at a time."""

FileProgress = Callable[[float, str], None]
"""Called with the share of work done, 0 to 1, and the file's name."""


def sources(root: Path) -> list[DatasetSource]:
    """List COCO if any of its files are under a data folder, converted or not."""
    base = downstream(root)
    if base is None:
        return []
    folder = base / NAME
    names = [f"{stem}{ending}" for stem in SPLITS.values() for ending in (".json", ".npy", ".pkl")]
    if not any((folder / name).is_file() for name in names):
        return []
    about = "Photographs as ResNet-101 features, with five captions each."
    info = DatasetInfo(
        NAME,
        "captions",
        "folder",
        about,
        "captions CC BY 4.0",
        task="ImageCaptionRetrieval",
        languages=ENGLISH,
        splits=tuple(SPLITS),
    )
    return [DatasetSource(info, partial(read, folder))]


def read(folder: Path) -> Captions:
    """Read the converted files; features are memory-mapped."""
    for stem in SPLITS.values():
        pickled, made = folder / f"{stem}.pkl", folder / f"{stem}.json"
        if pickled.is_file() and not made.is_file():
            raise UserError(
                f"{where(pickled)} is a pickle, which is not read while measuring.",
                f"Convert the files once: theodolite data import-coco {folder}",
                code="wrong-kind",
            )
    return Captions(NAME, {split: _part(folder, stem) for split, stem in SPLITS.items()})


def _part(folder: Path, stem: str) -> CaptionPart:
    text, array = existing(folder / f"{stem}.json"), existing(folder / f"{stem}.npy")
    again = f"Convert the files again: theodolite data import-coco {folder}"
    try:
        groups = json.loads(text.read_text("utf-8"))["captions"]
        captions = tuple(caption for five in groups for caption in five)
        whole = all(len(five) == CAPTIONS for five in groups)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{where(text)} is not as it was converted.", again, code="damaged"
        ) from error
    try:
        images = np.load(array, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise UserError(
            f"{where(array)} is not a complete .npy file.", again, code="damaged"
        ) from error
    if images.dtype != np.float32 or images.ndim != 2:
        raise UserError(
            f"{where(array)} holds {images.dtype} of shape {images.shape}; expected float32 of "
            "(images, features).",
            again,
            code="wrong-kind",
        )
    if not whole or len(captions) != CAPTIONS * len(images) or not len(images):
        raise UserError(
            f"{where(text)} has {len(captions):,} captions and {where(array)} has "
            f"{len(images):,} images.",
            f"There should be {CAPTIONS} captions for every image. {again}",
            code="mismatch",
        )
    return CaptionPart(captions, images)


# --- the one-time conversion -----------------------------------------------------------------


def convert(folder: Path, progress: FileProgress | None = None) -> list[tuple[str, int, bool]]:
    """Convert the official pickles of a folder; converted files are skipped.

    Each file is written under a temporary name and then renamed, the captions last, so that an
    interrupted conversion leaves no partial files to be read.

    Args:
        folder: holds train.pkl, valid.pkl and test.pkl.
        progress: see `FileProgress`.

    Returns:
        Per split: name, number of images, and whether it was converted now.
    """
    pickled = {split: folder / f"{stem}.pkl" for split, stem in SPLITS.items()}
    missing = [
        path.name for path in pickled.values() if not path.is_file() and _converted(path) is None
    ]
    if missing:
        raise UserError(
            f"{folder} has no {' and no '.join(missing)}.",
            "Name the folder that holds COCO's train.pkl, valid.pkl and test.pkl.",
            code="no-file",
        )
    sizes = {path: path.stat().st_size if path.is_file() else 0 for path in pickled.values()}
    before, found = 0, []
    for split, path in pickled.items():

        def move(share: float, path: Path = path, before: int = before) -> None:
            if progress is not None:
                progress((before + share * sizes[path]) / max(sum(sizes.values()), 1), path.name)

        images = _converted(path)
        found.append((split, images or _convert(path, move), images is None))
        before += sizes[path]
    return found


def _stamp(path: Path) -> dict[str, int]:
    """Return size and modification time, to detect a replaced file."""
    stat = path.stat()
    return {"bytes": stat.st_size, "modified_ns": stat.st_mtime_ns}


def _converted(path: Path) -> int | None:
    """Return the number of images if this pickle, or a deleted one, was converted; else None."""
    try:
        stored = json.loads(path.with_suffix(".json").read_text("utf-8"))
        if path.is_file() and stored["source"] != _stamp(path):
            return None
        return len(_part(path.parent, path.stem).images)
    except (OSError, ValueError, KeyError, TypeError):  # UserError is a ValueError
        return None


def _convert(path: Path, move: Callable[[float], None]) -> int:
    """Write the array, then the captions; returns the number of images."""
    data = pickles.load(path, lambda at, size: move(0.7 * at / max(size, 1)))
    groups = list(_captions(path, data))
    features = data["features"]
    array, text = path.with_suffix(".npy"), path.with_suffix(".json")
    text.unlink(missing_ok=True)  # an old pickle's captions must not be read with the new array
    with _replacing(array) as new:
        _write_features(path, features, new, lambda share: move(0.7 + 0.3 * share))
    with _replacing(text) as new:
        stored = {"source": _stamp(path), "captions": groups}
        new.write_text(json.dumps(stored, ensure_ascii=False), "utf-8")
    return len(groups)


def _captions(path: Path, data: Any) -> Iterator[list[str]]:
    """Check the layout of a pickle and yield the first five captions of every image."""
    keys = ("features", "image_to_caption_ids", "captions")
    if not isinstance(data, dict) or not set(keys) <= set(data):
        raise UserError(
            f"{where(path)} has no {', '.join(keys[:2])} and {keys[2]}.",
            "Is it the file that SentEval's script downloads?",
            code="wrong-kind",
        )
    features, ids, captions = (data[key] for key in keys)
    if not len(features):
        raise UserError(f"{where(path)} holds no image.", "Download it again.", code="too-few")
    for image in range(len(features)):
        try:
            of_image = list(ids[image])[:CAPTIONS]
            five = [captions[each]["cleaned_caption"] for each in of_image]
            # SentEval appends a full stop to every caption.
            texts = [joined(f"{_text(caption)} .") for caption in five]
        except (KeyError, IndexError, TypeError) as error:
            raise UserError(
                f"{where(path)}, image {image}: its captions cannot be found "
                f"({type(error).__name__}: {shorten(str(error))}).",
                "Is it the file that SentEval's script downloads?",
                code="damaged",
            ) from error
        if len(texts) < CAPTIONS:
            raise UserError(
                f"{where(path)}, image {image} has {len(texts)} captions; expected {CAPTIONS}.",
                "Is it the file that SentEval's script downloads?",
                code="too-few",
            )
        yield texts


def _text(caption: object) -> str:
    if isinstance(caption, bytes):
        return caption.decode("latin-1")
    if not isinstance(caption, str):
        raise TypeError(f"a caption of type {type(caption).__name__}")
    return caption


def _write_features(path: Path, features: Any, new: Path, move: Callable[[float], None]) -> None:
    """Write features, an array or a list of arrays of any precision, as float32 in chunks."""
    first = np.asarray(features[0])
    shape = (len(features), first.size)
    with new.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for start in range(0, len(features), _ROWS):
            rows = _rows(path, features, start, first.size)
            file.write(rows.tobytes())
            move(min(start + _ROWS, len(features)) / len(features))


def _rows(path: Path, features: Any, start: int, width: int) -> np.ndarray:
    """Return some rows as float32, checked."""
    rows = [np.asarray(row) for row in features[start : start + _ROWS]]
    for i, row in enumerate(rows, start=start):
        if row.dtype.kind not in "fiu" or row.shape != (width,) or not np.isfinite(row).all():
            raise UserError(
                f"{where(path)}, image {i} has no {width} finite numbers as features, but "
                f"{row.dtype} of shape {row.shape}.",
                "Is it the file that SentEval's script downloads?",
                code="damaged",
            )
    return np.stack(rows).astype("<f4")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file beside `path` that replaces it on success."""
    new = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield new
        new.replace(path)
    except OSError as error:
        raise UserError(
            f"{where(path)} cannot be written: {error.strerror or error}.",
            "Make room, or make the folder writable, and run the command again.",
            code="no-file",
        ) from error
    finally:
        new.unlink(missing_ok=True)
