"""What the tests of the map share: opening it, where its points are, what Save gives."""

import io

import numpy as np
import pandas as pd
from playwright.sync_api import expect

ENCODER = "random:64"
QUERY = f"map?encoder={ENCODER}&method=pca"


def drawn(visit, query=QUERY, points="2,040"):
    """Open the page and wait until its map is there."""
    page = visit.open(query)
    expect(said(page)).to_contain_text(f"{points} points")
    over(page).scroll_into_view_if_needed()
    return page


def said(page):
    """What the map says of itself."""
    return page.locator(".t-map-said")


def over(page):
    """The canvas that takes pointer and keys."""
    return page.locator(".t-map-over")


def on_screen(page, points):
    """Where points lie on the screen when all are seen, worked out from the canvas alone."""
    box = over(page).bounding_box()
    size = over(page).evaluate("(canvas) => [canvas.clientWidth, canvas.clientHeight]")
    box |= dict(zip(("width", "height"), size, strict=True))  # whole pixels, as it draws
    low, high = points.min(axis=0), points.max(axis=0)
    unit = min(box["width"], box["height"]) / (float((high - low).max()) * 1.08)
    middle = (low + high) / 2
    x = box["x"] + box["width"] / 2 + (points[:, 0] - middle[0]) * unit
    y = box["y"] + box["height"] / 2 - (points[:, 1] - middle[1]) * unit
    return np.stack([x, y], axis=1)


def table(page, kind="CSV"):
    """What Save gives."""
    with page.expect_download() as waiting:
        page.get_by_label("Save", exact=True).select_option(kind)
    data = open(waiting.value.path(), "rb").read()  # noqa: PTH123
    return pd.read_csv(io.BytesIO(data)) if kind == "CSV" else data
