"""The decoders that ship: folders in `shipped/`, each with its card."""

from __future__ import annotations

import json
from pathlib import Path

_FOLDER = Path(__file__).with_suffix("")


def shipped(folder: Path = _FOLDER) -> dict[str, Path]:
    """Where they lie, by the spec string of the encoder that each belongs to.

    Quick, and without torch: only `engine.decode.open_decoder` tells whether one is whole.

    Args:
        folder: holds them; empty or not there, nothing ships.
    """
    found: dict[str, Path] = {}
    for file in sorted(folder.glob("*/decoder.json")):
        try:
            found[str(json.loads(file.read_text("utf-8"))["encoder"])] = file.parent
        except (OSError, ValueError, KeyError, TypeError):
            continue  # a damaged one is none
    return found
