"""A page of a few sentences without the rail: a question about a link, the login, no such page."""

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
.t-plain form { display: grid; gap: 1rem; max-width: 22rem; }
.t-plain label { display: grid; gap: .25rem; }
.t-plain input, .t-plain button { font: inherit; padding: .5rem .75rem; border-radius: 5px; }
.t-plain input { border: 1px solid GrayText; background: Field; color: FieldText; }
.t-plain [role="alert"] { min-height: 1.5em; margin: 0; color: light-dark(#a3302c, #f0958d); }
.t-plain small { display: block; margin-top: 1rem; opacity: .8; }
"""


def plain_page(title: str, html: str, css: str = "", head: str = "") -> str:
    """The whole document."""
    return (
        '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="origin"><title>{escape(title)} · Theodolite'
        f"</title><style>{theme.css()}\n{_STYLE}</style>{head}</head>"
        f'<body class="t-plain {css}"><main><h1>{escape(title)}</h1>{html}</main></body></html>'
    )
