"""What the folder of a decoder says of it, `decoder.json`, and which decoders ship.

Read without torch: only `engine.decode.open_decoder` checks that a decoder is complete.
"""

import json
import math
from contextlib import suppress
from pathlib import Path
from typing import Any

from theodolite.engine.errors import UserError, first_line

FORMAT = 1
NEEDED = {"architecture", "dim", "encoder", "format", "mean", "scale", "sizes"}
"""What `decoder.json` has to say."""
WORDS = "words.txt.gz"
FILES = ("decoder.json", "vocabulary.json", "model.safetensors", WORDS)
SHIPPED = Path(__file__).with_name("shipped")


def facts_of(folder: Path) -> dict[str, Any]:
    """Read `decoder.json` of a folder."""
    try:
        facts: dict[str, Any] = json.loads((folder / "decoder.json").read_text("utf-8"))
        if missing := NEEDED - facts.keys():
            raise ValueError(f"it has no {min(missing)}")
        if facts["format"] != FORMAT:
            raise ValueError(f"it is of format {facts['format']}, not {FORMAT}")
        numbers = [*facts["mean"], facts["scale"]]
        if len(facts["mean"]) != facts["dim"] or not all(map(math.isfinite, numbers)):
            raise ValueError("its mean does not have as many numbers as its vectors")
    except Exception as error:  # a damaged file can fail in any way
        raise unreadable(folder, error) from error
    return facts


def unreadable(folder: Path, error: Exception) -> UserError:
    """The error for people of one while a decoder was read."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        missing = next((name for name in FILES if not (folder / name).exists()), FILES[0])
        return UserError(
            f"{folder.name} holds no decoder: {missing} is missing.",
            "Give a folder written by `theodolite train-decoder`.",
            code="no-file",
        )
    return UserError(
        f"The decoder {folder.name} cannot be read: {first_line(error, 200)}",
        "Train it again, or get the folder again.",
        code="damaged",
    )


def shipped_decoders(folder: Path = SHIPPED) -> dict[str, Path]:
    """Return the folders of shipped decoders, by the spec string of their encoder.

    Args:
        folder: holds them; may be empty or missing. A damaged one is left out.
    """
    folders: dict[str, Path] = {}
    for file in sorted(folder.glob("*/decoder.json")):
        with suppress(UserError):
            folders[str(facts_of(file.parent)["encoder"])] = file.parent
    return folders
