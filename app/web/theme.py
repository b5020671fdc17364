"""The look of everything: one palette, light and dark, for Gradio, our CSS and the charts.

The colours live here and nowhere else; `static/theodolite.css` and the components use them as css
variables (`--t-ink`, `--t-accent`, …), figures take `SERIES`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio as gr

APP = Path(__file__).parents[1]
STATIC = Path(__file__).parent / "static"

# name -> (light, dark). Text on its background meets WCAG AA in both.
PALETTE = {
    "paper": ("#faf9f6", "#14171a"),  # the page
    "surface": ("#ffffff", "#1b1f23"),  # cards, inputs
    "sunken": ("#f1f0eb", "#101315"),  # wells, table heads
    "line": ("#e2e0d8", "#2d3338"),  # hairlines
    "edge": ("#8b8f8c", "#6d767d"),  # borders of controls
    "ink": ("#1b2024", "#ebe9e4"),
    "muted": ("#596168", "#a3abb1"),
    "accent": ("#0f5f73", "#6fc3d6"),
    "accent-strong": ("#0a4858", "#98d8e6"),
    "on-accent": ("#ffffff", "#0c1a1e"),
    "accent-soft": ("#e3eff1", "#1d3037"),
    "brass": ("#8a5a0b", "#dcae5c"),
    "brass-soft": ("#f8eed9", "#322a1b"),
    "good": ("#1d6b45", "#7fcfa3"),
    "bad": ("#a3302c", "#f0958d"),
    "bad-soft": ("#fbeae8", "#38211f"),
    "heat-low": ("#f3f6f4", "#20272b"),  # both ends keep ink readable, so text never flips
    "heat-high": ("#58abba", "#1b6a7d"),
}

# For lines and marks: contrast of at least 3:1 on both papers, distinct under the common colour
# vision deficiencies.
SERIES = ("#1783a8", "#cb7a17", "#12936f", "#b8578f", "#7371cf", "#7d8790")

# Gradio ships these two weights in full; its semi-bold file holds a few letters only.
WEIGHTS = (400, 700)

# Gradio's variable -> our colour.
_COLOURS = {
    "body_text_color": "ink",
    "body_text_color_subdued": "muted",
    "background_fill_primary": "surface",
    "background_fill_secondary": "sunken",
    "border_color_accent": "accent",
    "border_color_accent_subdued": "line",
    "border_color_primary": "line",
    "color_accent_soft": "accent-soft",
    "link_text_color": "accent",
    "link_text_color_active": "accent",
    "link_text_color_hover": "accent-strong",
    "link_text_color_visited": "accent",
    "code_background_fill": "sunken",
    "block_background_fill": "surface",
    "block_border_color": "line",
    "block_info_text_color": "muted",
    "block_label_background_fill": "surface",
    "block_label_border_color": "line",
    "block_label_text_color": "muted",
    "block_title_text_color": "ink",
    "panel_background_fill": "surface",
    "panel_border_color": "line",
    "accordion_text_color": "ink",
    "table_text_color": "ink",
    "checkbox_background_color": "surface",
    "checkbox_background_color_focus": "surface",
    "checkbox_background_color_hover": "accent-soft",
    "checkbox_background_color_selected": "accent",
    "checkbox_border_color": "edge",
    "checkbox_border_color_focus": "accent",
    "checkbox_border_color_hover": "accent",
    "checkbox_border_color_selected": "accent",
    "checkbox_label_background_fill": "surface",
    "checkbox_label_background_fill_hover": "sunken",
    "checkbox_label_background_fill_selected": "accent-soft",
    "checkbox_label_border_color": "line",
    "checkbox_label_border_color_hover": "edge",
    "checkbox_label_border_color_selected": "accent",
    "checkbox_label_text_color": "ink",
    "checkbox_label_text_color_selected": "ink",
    "error_background_fill": "bad-soft",
    "error_border_color": "bad",
    "error_text_color": "bad",
    "error_icon_color": "bad",
    "input_background_fill": "surface",
    "input_background_fill_focus": "surface",
    "input_background_fill_hover": "surface",
    "input_border_color": "edge",
    "input_border_color_focus": "accent",
    "input_border_color_hover": "accent",
    "input_placeholder_color": "muted",
    "loader_color": "accent",
    "slider_color": "accent",
    "stat_background_fill": "accent-soft",
    "table_border_color": "line",
    "table_even_background_fill": "surface",
    "table_odd_background_fill": "surface",
    "table_row_focus": "accent-soft",
    "button_primary_background_fill": "accent",
    "button_primary_background_fill_hover": "accent-strong",
    "button_primary_border_color": "accent",
    "button_primary_border_color_hover": "accent-strong",
    "button_primary_text_color": "on-accent",
    "button_primary_text_color_hover": "on-accent",
    "button_secondary_background_fill": "surface",
    "button_secondary_background_fill_hover": "sunken",
    "button_secondary_border_color": "edge",
    "button_secondary_border_color_hover": "accent",
    "button_secondary_text_color": "ink",
    "button_secondary_text_color_hover": "ink",
    "button_cancel_background_fill": "surface",
    "button_cancel_background_fill_hover": "bad-soft",
    "button_cancel_border_color": "bad",
    "button_cancel_border_color_hover": "bad",
    "button_cancel_text_color": "bad",
    "button_cancel_text_color_hover": "bad",
}

_NO_SHADOW = (
    "block_shadow",
    "button_primary_shadow",
    "button_primary_shadow_hover",
    "button_secondary_shadow",
    "button_secondary_shadow_hover",
    "button_cancel_shadow",
    "button_cancel_shadow_hover",
    "checkbox_label_shadow",
    "input_shadow",
)


def theme() -> gr.themes.Base:
    """Return the Gradio theme. Its fonts ship with Gradio: no page loads any from elsewhere."""
    import gradio as gr
    from gradio.themes.utils import fonts, sizes

    base = gr.themes.Base(
        primary_hue=gr.themes.colors.cyan,
        neutral_hue=gr.themes.colors.stone,
        text_size=sizes.text_md,
        radius_size=sizes.radius_sm,
        font=(
            fonts.LocalFont("IBM Plex Sans", WEIGHTS),
            "ui-sans-serif",
            "system-ui",
            "sans-serif",
        ),
        font_mono=(
            fonts.LocalFont("IBM Plex Mono", WEIGHTS),
            "ui-monospace",
            "Consolas",
            "monospace",
        ),
    )
    values = {name: f"var(--t-{colour})" for name, colour in _COLOURS.items()}
    values |= {f"{name}_dark": value for name, value in values.items()}
    values |= dict.fromkeys(_NO_SHADOW, "none")
    values |= {f"{name}_dark": "none" for name in ("block_shadow", "button_primary_shadow")}
    # The page's own background is literal: it is painted before any style sheet of ours has loaded.
    light, dark = PALETTE["paper"]
    return base.set(
        body_background_fill=light,
        body_background_fill_dark=dark,
        block_border_width="1px",
        block_border_width_dark="1px",
        block_radius="8px",
        container_radius="8px",
        input_radius="5px",
        button_large_radius="5px",
        button_medium_radius="5px",
        button_small_radius="5px",
        block_label_text_weight="400",
        block_title_text_weight="700",
        block_title_text_size="*text_sm",
        button_large_text_weight="700",
        button_medium_text_weight="700",
        button_small_text_weight="400",
        button_border_width="1px",
        button_border_width_dark="1px",
        button_transition="background-color .12s, border-color .12s, color .12s",
        checkbox_label_border_width="1px",
        checkbox_label_border_width_dark="1px",
        input_border_width="1px",
        input_border_width_dark="1px",
        shadow_drop="none",
        **values,
    )


def frame_css() -> str:
    """Return the palette and the style sheet of the rail, which is painted before the page."""
    light = "".join(f"--t-{name}:{pair[0]};" for name, pair in PALETTE.items())
    dark = "".join(f"--t-{name}:{pair[1]};" for name, pair in PALETTE.items())
    rail = (STATIC / "rail.css").read_text(encoding="utf-8")
    return f":root{{{light}color-scheme:light}}.dark{{{dark}color-scheme:dark}}\n{rail}"


def script() -> str:
    """Return our script for every page: the building blocks, Gradio's queue, the frame."""
    files = (STATIC / name for name in ("pieces.js", "queue.js", "theodolite.js"))
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


@cache  # a stranger who opens the login has no file read
def css() -> str:
    """Return the palette as CSS variables, followed by all our style sheets."""
    sheets = [
        STATIC / "theodolite.css",
        STATIC / "bar.css",
        *sorted((APP / "components").glob("*.css")),
        *sorted((APP / "pages").glob("*/*.css")),
    ]
    return "\n".join([frame_css(), *(sheet.read_text(encoding="utf-8") for sheet in sheets)])
