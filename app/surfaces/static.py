"""Published pages: answers in files, which a browser shows without a server."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode
from zlib import compress

from markupsafe import Markup

from theodolite.app import formats
from theodolite.app.names import labelled
from theodolite.app.published import Published, Query, Static, hashed_name
from theodolite.app.spec import Spec, parameters, query
from theodolite.app.surfaces import document
from theodolite.app.web import parts
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'self'; form-action 'none'; "
    "worker-src blob:"
)
"""Content security policy of every page: nothing from outside the folder is run or fetched. Styles
may be inline, as widths are attributes and Plotly writes a style sheet. A worker of ours, from a
`blob:`, matches patterns."""


class StaticPage:
    """The files of a published page.

    Args:
        page: its module.
        tabs: links to the pages beside it, as HTML; empty for none.
        published: what is published.
        views: (label, spec) of each of its answers.

    Attributes:
        files: address of a file beside it, relative to the first page -> content; deflated where
            our own scripts fetch it later.
    """

    def __init__(
        self, page: Any, tabs: str, published: Published, views: Sequence[tuple[str, Spec]]
    ) -> None:
        self._page, self._tabs, self._static = page, tabs, page.PUBLISHED
        self.files: dict[str, bytes] = {}
        self._views = [self._view(published.workspace, *view) for view in views]

    def _view(self, workspace: Workspace, label: str, spec: Spec) -> dict[str, Any]:
        """Put the answer of a view into a file; return its label, file and query."""
        blocks = self._static.answer(workspace, spec)
        pieces = [
            piece for piece in (self._words(spec, label), *document.nested(blocks)) if piece != ""
        ]
        content = document.as_json(pieces).encode()
        file = hashed_name("answers", content) + ".json"
        self.files[file] = content
        for piece in document.flat(pieces):
            for folder, make in {} if isinstance(piece, str) else piece.folders.items():
                if not any(name.startswith(f"{folder}/") for name in self.files):
                    view = make()
                    self.files |= {f"{folder}/{n}": compress(data) for n, data in view.items()}
        pairs = [
            (name, one)
            for name, many in query(spec).items()
            for one in ([many] if isinstance(many, str) else many)
        ]
        return {"label": label, "file": file, "query": pairs}

    def _words(self, spec: Spec, label: str) -> str:
        """The values that were chosen and that the label of the view does not tell."""
        parts = []
        for parameter in parameters(type(spec)):
            value = getattr(spec, parameter.name)
            values = [str(one) for one in (value if parameter.many else [value])]
            usual = value == parameter.default and not parameter.field.names
            is_clear = parameter.key in dict(self._static.asked) or all(
                one in label for one in values
            )
            if usual or is_clear or value in (None, ()):
                continue
            specs = Markup().join(
                Markup('<span class="t-spec">{}</span>').format(v) for v in labelled(values)
            )
            head = Markup('<p class="t-chosen"><span>{}</span>{}</p>')
            parts.append(head.format(parameter.field.label, specs))
        return Markup().join(parts)

    def html(self, frame_data: Mapping[str, Any], shared: Mapping[str, str]) -> bytes:
        """The HTML of the page.

        Args:
            frame_data: data for the script of every page: `rail` and `titles`.
            shared: addresses of what all pages load: `style`, `script`, `answer`, `static`, `mark`.
        """
        page = self._page
        question = self._static.question
        about = getattr(page, "DESCRIPTION", question.about if question else "")
        data = {
            "pages": list(frame_data["titles"]),
            "views": self._views,
            "asked": list(dict(self._static.asked)),
            "usual": dict(self._static.usual),
            "answer": shared["answer"],
        }
        path = escape(page.PATH or "overview")
        tabs = f'<div class="t-tabs">{self._tabs}</div>' if self._tabs else ""
        return _document(
            page.TITLE,
            Markup('<base href="{}"><link rel="stylesheet" href="{}">').format(
                "../" if page.PATH else "./", shared["style"]
            ),
            shared,
            formats.json_script("t-frame", frame_data)
            + f'<script src="{shared["script"]}"></script><div class="gradio-container"><main>'
            f'<div id="t-main" class="column t-page p-{path}">{tabs}<div class="row t-first">'
            f'<div class="block">{parts.header(page.TITLE, about)}</div>{self._choice()}</div>'
            f'<div id="answer" class="t-answer"></div></div></main></div>'
            f"{formats.json_script('t-held', data)}"
            f'<script type="module" src="{shared["static"]}"></script>',
        )

    def _choice(self) -> Markup:
        """A list to choose a view from; empty for a single view."""
        if len(self._views) < 2:
            return Markup()
        options = Markup().join(
            Markup('<option value="{}">{}</option>').format(place, labelled(view["label"]))
            for place, view in enumerate(self._views)
        )
        return Markup(
            '<fieldset class="block t-pick t-views"><label><span>Shown</span>'
            "<select>{}</select></label></fieldset>"
        ).format(options)

    def opening(self, shared: Mapping[str, str]) -> bytes:
        """A first page that redirects to this one, for a folder without Home.

        To its file, as from a disk a browser would list the folder.
        """
        query_ = self._views[0]["query"]
        address = f"./{self._page.PATH}/index.html" + (f"?{urlencode(query_)}" if query_ else "")
        head = Markup('<meta http-equiv="refresh" content="0; url={}">').format(address)
        link = Markup('<a href="{}">{}</a>').format(address, self._page.TITLE)
        return _document("Theodolite", head, shared, link)


def _document(title: str, head: str, shared: Mapping[str, str], body: str) -> bytes:
    """A document; without an icon, a browser would request the default one."""
    return (
        '<!doctype html><html lang="en-GB"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)} · Theodolite</title>{head}"
        f'<link rel="icon" type="image/svg+xml" href="{shared["mark"]}"></head>'
        f"<body>{body}</body></html>\n"
    ).encode()


def of_address(static: Static, published: Published, address: Query) -> tuple[str, Spec]:
    """The view of a page at an address, with the published names in it."""
    public = tuple((name, str(published.renamed(one))) for name, one in address)
    try:
        return label_of(published, address), static.at(published, public)
    except TypeError as error:  # a value that must be given is missing
        raise UserError(
            "The address does not say what to publish.",
            "Copy it from the browser after the page has answered.",
            code="missing",
        ) from error


def label_of(published: Published, address: Query) -> str:
    """The values of an address, by the published names, as the label of its view."""
    return " · ".join(str(published.renamed(one)) for _, one in address)
