"""A page of a few sentences without the rail: a question about a link, or that there is no page."""

from html import escape

from theodolite.app.web import theme

_STYLE = """
:root { color-scheme: light dark; }
body.t-plain { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
body.t-plain { background: Canvas; color: CanvasText; }
.t-plain main { max-width: 40rem; margin: 12vh auto; padding: 0 1.5rem; }
.t-plain h1 { font-size: 1.5rem; }
.t-plain a.t-button, .t-plain a.t-link { background: none !important; color: inherit !important; }
.t-plain li, .t-plain p { overflow-wrap: anywhere; }
"""


def plain_page(title: str, html: str, css: str = "") -> str:
    """The whole document."""
    return (
        '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="origin"><title>{escape(title)} · Theodolite'
        f"</title><style>{theme.css()}\n{_STYLE}</style></head>"
        f'<body class="t-plain {css}"><main><h1>{escape(title)}</h1>{html}</main></body></html>'
    )
