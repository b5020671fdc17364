"""Charts and maps as PNG files, rendered by an installed browser."""

from __future__ import annotations

import io
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.app.publish.standalone import CHART_HEIGHT, document
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.publish.standalone import Piece

WIDTH = 960
ROOM = 90
"""Pixels below a chart, for its legend and table."""
SECONDS = 120
ALONE = (
    "<style>.modebar, .t-twin, .t-map-bar, .t-map-finder, .t-map-said, .t-map-colours, "
    ".t-map-options, .t-map-key summary { display: none !important; }</style>"
)
"""Hides what is of no use in a picture: buttons, controls, and the table below."""
OPTIONS = (
    "--headless=new",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-device-scale-factor=2",
    "--virtual-time-budget=20000",
)
"""The browser reads one local file, and has no network."""


def drawn(piece: Piece, command: tuple[str, ...]) -> bytes:
    """A chart or a map as a PNG, in the light theme.

    Args:
        piece: the chart or the map.
        command: that starts the browser.
    """
    size = f"{WIDTH},{piece.props.get('height', CHART_HEIGHT) + ROOM}"
    root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    with tempfile.TemporaryDirectory() as folder:
        page, out = Path(folder) / "chart.html", Path(folder) / "chart.png"
        page.write_text(document([ALONE, piece]), encoding="utf-8")
        arguments = [
            *command,
            *OPTIONS,
            *root,
            f"--user-data-dir={folder}/profile",
            f"--window-size={size}",
            f"--screenshot={out}",
            page.as_uri(),
        ]
        try:
            subprocess.run(  # noqa: S603 - a browser, which reads a page of ours
                arguments, check=True, capture_output=True, timeout=SECONDS
            )
            return _trimmed(out.read_bytes())
        except (OSError, subprocess.SubprocessError) as error:
            raise UserError(
                f"{Path(command[0]).name} could not draw a picture.",
                "Leave pictures out with --no-pictures, or write FILE.html, which needs none.",
            ) from error


def _trimmed(png: bytes) -> bytes:
    """A PNG without the empty rows at its bottom.

    Raises:
        OSError: the picture is blank.
    """
    from PIL import Image, ImageChops

    with Image.open(io.BytesIO(png)) as image:
        picture = image.convert("RGB")
    paper = Image.new("RGB", picture.size, picture.getpixel((0, picture.height - 1)))
    box = ImageChops.difference(picture, paper).getbbox()
    if box is None:
        raise OSError("the picture is blank")
    file = io.BytesIO()
    picture.crop((0, 0, picture.width, box[3] + 16)).save(file, "PNG")
    return file.getvalue()
