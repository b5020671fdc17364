"""A page of a few sentences without the rail: a question about a link, the login, no such page."""

from html import escape

from theodolite.app.web import theme
from theodolite.app.web.frame import MARK

_COLOURS = "; ".join(
    f"--t-{name}: light-dark({light}, {dark})" for name, (light, dark) in theme.PALETTE.items()
)
"""As the system has it: the switch of the app is in the rail, which is not here."""
_STYLE = """
:root { color-scheme: light dark; }
body.t-plain { margin: 0; font: 16px/1.5 system-ui, sans-serif; }
body.t-plain { background: var(--t-paper); color: var(--t-ink); }
.t-plain main { max-width: 40rem; margin: 10vh auto; padding: 0 1.5rem; }
.t-plain header { display: flex; align-items: center; gap: .6rem; font-weight: 700; }
.t-plain h1 { font-size: 1.5rem; }
.t-plain li, .t-plain p { overflow-wrap: anywhere; }
.t-plain form { display: grid; gap: 1rem; max-width: 22rem; }
.t-plain label { display: grid; gap: .25rem; }
.t-plain input, .t-plain button { font: inherit; padding: .5rem .75rem; border-radius: 5px; }
.t-plain input { border: 1px solid var(--t-edge); background: var(--t-surface); color: inherit; }
.t-plain button { border: 0; background: var(--t-accent); color: var(--t-on-accent); }
.t-plain button { font-weight: 700; cursor: pointer; }
.t-plain :focus-visible { outline: 2px solid var(--t-accent); outline-offset: 2px; }
.t-plain [role="alert"] { min-height: 1.5em; margin: 0; color: var(--t-bad); }
.t-plain small { display: block; margin-top: 1rem; color: var(--t-muted); }
"""


def plain_page(title: str, html: str, css: str = "", head: str = "") -> str:
    """The whole document."""
    return (
        '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="origin"><title>{escape(title)} · Theodolite'
        f"</title><style>{theme.css()}\n:root {{ {_COLOURS} }}{_STYLE}</style>"
        f'{head}</head><body class="t-plain {css}"><main><header>{MARK}Theodolite</header>'
        f"<h1>{escape(title)}</h1>{html}</main></body></html>"
    )
