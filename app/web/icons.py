"""Our own icons: strokes on a 20 x 20 grid, drawn with `currentColor`."""

from __future__ import annotations

_PATHS = {
    "overview": "M3 3h6v6H3zM11 3h6v6h-6zM3 11h6v6H3zM11 11h6v6h-6z",
    "data": "M4 5c0-3 12-3 12 0s-12 3-12 0v10c0 3 12 3 12 0V5M4 10c0 3 12 3 12 0",
    "encoders": "M2 5h4M2 10h4M2 15h4M6 3l8 4v6l-8 4zM14 10h4",
    "choose": "M3 10l4 4 4-8M13 6h5M13 10h5M13 14h5",
    "evaluate": "M3 14a7 7 0 0 1 14 0M10 14l4-5M2 17h16",
    "judge": "M10 3v14M6 17h8M3 6h14M5 6l-2.500 6h5zM15 6l-2.500 6h5z",
    "compare": "M3 17h14M5 17V9M8 17V5M12 17v-6M15 17V3",
    "board": "M3 17h4v-6H3zM8 17h4V4H8zM13 17h4V9h-4z",
    "search": "M8.500 3a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11M12.500 12.500 17 17",
    "map": "M4 4v13h13M8 12v.010M10 7v.010M12.500 10v.010M15 5v.010M15 13.500v.010",
    "spaces": "M7.500 5a5 5 0 1 0 0 10 5 5 0 0 0 0-10M12.500 5a5 5 0 1 0 0 10 5 5 0 0 0 0-10",
    "geometry": "M3 16h14M3 16 15 5M9 16a6 6 0 0 0-1.500-4",
    "curate": "M3 4h14l-5.500 6.500V16l-3 1.500v-7z",
    "decode": "M17 5h-5M17 10h-5M17 15h-5M2 10h7M6 6l4 4-4 4",
    "train": "M3 3v14h14M5 5c1 7 4 9 11 9",
    "trainings": "M3 5h.010M3 10h.010M3 15h.010M7 5h10M7 10h10M7 15h10",
    "jobs": "M10 3a7 7 0 1 0 7 7M10 6v4l3 2",
    "jump": "M3 6h9M3 10h5M3 14h9M14 6l3.500 4-3.500 4",
    "publish": "M10 13V3M6 7l4-4 4 4M4 12v5h12v-5",
    "theme": "M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14",
    "fold": "M11 5l-5 5 5 5M16 5l-5 5 5 5",
    "menu": "M3 5h14M3 10h14M3 15h14",
    "close": "M5 5l10 10M15 5 5 15",
}
MARK = (
    '<svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true" fill="none" '
    'stroke="currentColor" stroke-width="2" stroke-linecap="round">'
    '<path d="M5 26h22M5 26 21 6M5 26 27 15"/>'
    '<path class="t-arc" d="M15.300 13.100A16.500 16.500 0 0 1 19.800 18.600"/>'
    '<circle cx="5" cy="26" r="2" fill="currentColor" stroke="none"/></svg>'
)
"""The logo of the app."""


def svg(name: str, size: int = 20) -> str:
    """An icon as SVG, hidden from screen readers: its text or its button's label names it."""
    return (
        f'<svg viewBox="0 0 20 20" width="{size}" height="{size}" aria-hidden="true" fill="none" '
        'stroke="currentColor" stroke-width="1.6" stroke-linecap="round" stroke-linejoin="round">'
        f'<path d="{_PATHS[name]}"/></svg>'
    )
