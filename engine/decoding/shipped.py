"""The decoders shipped with the package: folders in `shipped/`, each with its card."""

from __future__ import annotations

import json
from pathlib import Path

_FOLDER = Path(__file__).with_suffix("")


def shipped(folder: Path = _FOLDER) -> dict[str, Path]:
    """Return the folders of shipped decoders, by the spec string of their encoder.

    Fast, and without torch: only `engine.decode.open_decoder` checks that a decoder is complete.

    Args:
        folder: holds them; may be empty or missing.
    """
    found: dict[str, Path] = {}
    for file in sorted(folder.glob("*/decoder.json")):
        try:
            found[str(json.loads(file.read_text("utf-8"))["encoder"])] = file.parent
        except (OSError, ValueError, KeyError, TypeError):
            continue  # skip a damaged one
    return found
