"""COCO as in SentEval: images as ResNet-101 features, with five captions each.

Each split is `x.npy`, float (images, features), or `x.parquet`, a column of lists, beside `x.json`:
for each image the list of its captions. SentEval's own files are pickles, which are programs and
not read; `docs/pages/data.md` says how to convert them.

Source: facebookresearch/SentEval, `senteval/rank.py`.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np

from theodolite.engine.datasets.files import DatasetSource, existing, where
from theodolite.engine.datasets.languages import ENGLISH
from theodolite.engine.datasets.senteval import downstream
from theodolite.engine.datasets.types import CAPTIONS, CaptionPart, Captions, DatasetInfo
from theodolite.engine.errors import UserError, first_line

NAME = "COCO"
SPLITS = {"train": "train", "dev": "valid", "test": "test"}
"""Split -> stem of its files."""
_ROWS = 4096
"""Images whose features are looked at together."""
_CONVERT = "The page of the documentation on data says how to make them."


def sources(root: Path) -> list[DatasetSource]:
    """List COCO if any of its files are under a data folder."""
    base = downstream(root)
    folder = base and base / NAME
    endings = (".json", ".npy", ".parquet", ".pkl")
    names = [f"{stem}{ending}" for stem in SPLITS.values() for ending in endings]
    if folder is None or not any((folder / name).is_file() for name in names):
        return []
    info = DatasetInfo(
        NAME,
        "captions",
        "folder",
        "Photographs as ResNet-101 features, with five captions each.",
        "captions CC BY 4.0",
        task="ImageCaptionRetrieval",
        languages=ENGLISH,
        splits=tuple(SPLITS),
    )
    return [DatasetSource(info, partial(read, folder))]


def read(folder: Path) -> Captions:
    """Read the files; features in `.npy` are memory-mapped."""
    return Captions(NAME, {split: _part(folder, stem) for split, stem in SPLITS.items()})


def _part(folder: Path, stem: str) -> CaptionPart:
    text = folder / f"{stem}.json"
    if not text.is_file() and (pickled := folder / f"{stem}.pkl").is_file():
        raise UserError(
            f"{where(pickled)} is a pickle, which is a program and not read.",
            f"Convert it once into {stem}.npy and {stem}.json. {_CONVERT}",
            code="wrong-kind",
        )
    images = _features(folder, stem)
    try:
        groups = json.loads(existing(text).read_text("utf-8"))
        captions = tuple(caption for five in groups for caption in five)
        whole = all(isinstance(caption, str) for caption in captions) and all(
            isinstance(five, list) and len(five) == CAPTIONS for five in groups
        )
    except (ValueError, TypeError, RecursionError) as error:
        if isinstance(error, UserError):
            raise
        raise _wrong(text, f"is not a JSON list of lists: {first_line(error)}") from error
    if not whole or len(groups) != len(images) or not groups:
        raise UserError(
            f"{where(text)} has {len(captions):,} captions of {len(groups):,} images, and there "
            f"are features of {len(images):,}.",
            f"There should be {CAPTIONS} captions for every image. {_CONVERT}",
            code="mismatch",
        )
    return CaptionPart(captions, images)


def _features(folder: Path, stem: str) -> np.ndarray:
    """The features of all images of a split, float32 (images, features)."""
    if (table := folder / f"{stem}.parquet").is_file():
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            column = pq.read_table(table).column(0)
            images = column.combine_chunks().flatten().to_numpy().reshape(len(column), -1)
        except (pa.ArrowException, AttributeError, ValueError, IndexError) as error:
            raise _wrong(table, f"has no lists of one length: {first_line(error)}") from error
        images = images.astype(np.float32)
    else:
        table = existing(folder / f"{stem}.npy")
        try:
            images = np.load(table, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise _wrong(table, "is not a complete .npy file") from error
    if images.dtype != np.float32 or images.ndim != 2 or not len(images):
        raise UserError(
            f"{where(table)} holds {images.dtype} of shape {images.shape}; expected float32 of "
            "(images, features).",
            _CONVERT,
            code="wrong-kind",
        )
    if not all(np.isfinite(images[at : at + _ROWS]).all() for at in range(0, len(images), _ROWS)):
        raise _wrong(table, "holds NaN or infinity")
    return images


def _wrong(path: Path, fault: str) -> UserError:
    return UserError(f"{where(path)} {fault}.", _CONVERT, code="damaged")
