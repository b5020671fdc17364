"""How the pages of the site differ from the files in this folder; `properdocs.yml` names it.

- A line `<!-- made: NAME -->` becomes what `docs.reference` has of that name.
- A file elsewhere in the repository that a page links to is a page of the site as well, where its
  links lead to the same files.
"""

import os
import re
import sys
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from properdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # a hook is loaded by its path

from docs import reference  # noqa: E402

MADE = {"verbs": reference.verbs, "protocols": reference.protocols, "names": reference.names}
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "engine/decoding/shipped/minilm/README.md": "cards/minilm.md",
    "engine/decoding/shipped/wordllama/README.md": "cards/wordllama.md",
    "engine/decoding/shipped/random-256/README.md": "cards/random-256.md",
}
"""File in the repository -> page of the site."""
_BACK = {page: file for file, page in ELSEWHERE.items()}


def on_files(files: Files, config: Any) -> Files:
    """Add the files that lie elsewhere."""
    for file, page in ELSEWHERE.items():
        text = (ROOT / file).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put in what is made, and have links and tables mean here what they mean on GitHub."""
    source = page.file.src_uri
    markdown = re.sub(r"<!-- made: (\w+) -->", lambda found: MADE[found[1]](), markdown)
    markdown = re.sub(r"\]\(([^)\s]+)\)", lambda found: f"]({_target(found[1], source)})", markdown)
    # A bar within code of a table: escaped on GitHub, as it stands here.
    rows = re.compile(r"(?m)^\|.*`[^`\n]*\\\|.*$")
    code = re.compile(r"`[^`\n]*`")
    return rows.sub(lambda row: code.sub(lambda c: c[0].replace("\\|", "|"), row[0]), markdown)


def _target(link: str, source: str) -> str:
    """A link of a page as the site has it."""
    parts = urlsplit(link)
    if parts.scheme or not parts.path:
        return link
    here = PurePosixPath(_BACK.get(source, f"docs/{source}")).parent
    file = os.path.normpath(here / parts.path).replace(os.sep, "/")
    page = ELSEWHERE.get(file, file.removeprefix("docs/"))
    relative = os.path.relpath(page, PurePosixPath(source).parent).replace(os.sep, "/")
    return parts._replace(path=relative).geturl()
