"""Where a published folder can run, and the files that each place requires.

What the hub requires in a Space's front matter, and who may host what there, is from its
documentation and the answers of its server, last read on 24 November 2026.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal

import yaml

from theodolite.app.publish import source

Name = Literal["static", "zerogpu", "docker"]
SOURCE, STORE, DATA = "source", "demo/store", "demo/data"
"""Folders of a published app. None has the name of our package, which it would shadow."""
SCRIPT = "start.py"
PORT = 7860
GPU_SECONDS = 30
"""Announced duration of a GPU call: a visitor's daily quota is charged for the time that the call
takes, but the call waits until the announced time is available."""
FRAMES = "https://huggingface.co https://*.hf.space"
PROXIES = "127.0.0.1,10.0.0.0/8,100.64.0.0/10,172.16.0.0/12,192.168.0.0/16"
"""Addresses of the proxies before a container: they alone are trusted to say who a visitor is."""
MAX_DESCRIPTION = 60


@dataclass(frozen=True)
class Target:
    """A place where a published folder is shown.

    Attributes:
        name: as in `--target`.
        sdk: its name on the hub.
        hardware: requested for a new Space; None for the hub's default.
        managed: packages that the hub installs, at versions of its own.
        hosting: who may host it on the hub, in words.
    """

    name: Name
    sdk: Literal["static", "gradio", "docker"]
    hardware: str | None = None
    managed: frozenset[str] = frozenset()
    hosting: str = "Container Spaces need a paid plan of the hub."

    @property
    def live(self) -> bool:
        """Whether Python runs there."""
        return self.sdk != "static"


TARGETS: Mapping[Name, Target] = {
    target.name: target
    for target in (
        Target("static", "static", hosting="Static Spaces are free."),
        Target(
            "zerogpu",
            "gradio",
            "zero-a10g",
            frozenset({"gradio", "gradio-client", "hf-gradio", "huggingface-hub", "torch"}),
            "A free account, its address verified and older than 30 days, may host two Spaces on "
            "ZeroGPU, a paid one ten.",
        ),
        Target("docker", "docker"),
    )
}


def front_matter(target: Target, title: str, about: str, models: Sequence[str] = ()) -> str:
    """The YAML block at the top of README.md that configures a Space.

    Args:
        target: where it is shown.
        title: of the Space.
        about: one line; the hub takes 60 characters.
        models: of the hub, which a Gradio Space downloads while it is built.
    """
    fields: dict[str, Any] = {
        "title": title,
        "emoji": "📐",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": target.sdk,
    }
    if target.sdk == "gradio":
        fields |= {
            "sdk_version": version("gradio"),
            "python_version": source.PYTHON,
            "app_file": SCRIPT,
        }
    elif target.sdk == "docker":
        fields["app_port"] = PORT
    else:
        fields["app_file"] = "index.html"
    if target.live:
        fields["startup_duration_timeout"] = "1h"
    if target.hardware:
        fields["suggested_hardware"] = target.hardware
    fields |= {
        "fullWidth": True,
        "header": "mini",
        "pinned": False,
        "short_description": about[:MAX_DESCRIPTION],
        "tags": ["sentence-embeddings", "theodolite"],
    }
    if models:
        fields["models"] = list(models)
    if models and target.sdk == "gradio":
        fields["preload_from_hub"] = list(models)
    block = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{block}---\n"


def files(target: Target, models: Sequence[str]) -> dict[str, bytes]:
    """The script that starts the app and what installs its requirements; none if it is static."""
    if not target.live:
        return {}
    lent = target.name == "zerogpu"
    script = _START.format(
        first=_FIRST if lent else "", gpu=_GPU if lent else "", read=_READ if lent else ""
    )
    found = {SCRIPT: script, "requirements.txt": source.requirements(target.managed)}
    if target.sdk == "docker":
        found |= {"Dockerfile": _dockerfile(models), ".dockerignore": _DOCKERIGNORE}
    return {name: text.encode() for name, text in found.items()}


_START = f'''\
"""Starts the demonstration in this folder, for looking only: `theodolite --demo`."""

import os
import sys
from pathlib import Path
{{first}}
HERE = Path(__file__).resolve().parent
STORE, DATA = HERE / "{STORE}", HERE / "{DATA}"
sys.path.insert(0, str(HERE / "{SOURCE}"))
os.environ["HF_HUB_OFFLINE"] = "1"  # what is needed was downloaded before
os.environ.setdefault("FORWARDED_ALLOW_IPS", "{PROXIES}")
{{gpu}}

if __name__ == "__main__":
    from theodolite.app.cli import main
{{read}}
    sys.argv[1:] = [
        *("--demo", "--store", str(STORE), "--no-browser"),
        *(("--data", str(DATA)) if DATA.is_dir() else ()),
        *("--host", "0.0.0.0", "--port", os.environ.get("PORT", "{PORT}")),
        *("--frame-ancestors", "{FRAMES}"),
    ]
    main()
'''
_FIRST = """
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when it is imported, as the next line does
import spaces  # before torch, in front of which it stands
"""
_GPU = f'''

@spaces.GPU(duration={GPU_SECONDS})
def encode(number, sentences):
    """What runs on a GPU: the model of this number turns sentences into vectors."""
    from theodolite.engine.encoders import zerogpu

    return zerogpu.encode(number, sentences)
'''
_READ = """    from theodolite.app.publish.started import lend

    lend(encode, STORE)
"""

_DOCKERIGNORE = """\
.git
.gitattributes
.cache
**/__pycache__
README.md
Dockerfile
.dockerignore
theodolite/published.json
"""


def _dockerfile(models: Sequence[str]) -> str:
    download = ""
    if models:
        calls = "; ".join(f"get({model!r})" for model in models)
        download = (
            f'RUN python -c "from huggingface_hub import snapshot_download as get; {calls}"\n'
        )
    return f"""\
FROM python:{source.PYTHON}-slim

# A Space runs as this user, and so may any other machine.
RUN useradd --create-home --uid 1000 user
USER user
ENV HOME=/home/user PATH=/home/user/.local/bin:$PATH PYTHONUNBUFFERED=1
WORKDIR /home/user/app

# First what others made: it stays as it is when only the rest has changed.
COPY --chown=user requirements.txt .
RUN pip install --no-cache-dir --user -r requirements.txt
{download}COPY --chown=user {SOURCE} {SOURCE}
COPY --chown=user demo demo
COPY --chown=user {SCRIPT} .

EXPOSE {PORT}
HEALTHCHECK --start-period=2m CMD python -c \\
    "from urllib.request import urlopen; urlopen('http://127.0.0.1:{PORT}/healthz', timeout=5)"
CMD ["python", "{SCRIPT}"]
"""
