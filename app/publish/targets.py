"""Where a published folder can run, and the files that each place requires.

Our package is on no index, and a Space installs its requirements before the rest of its folder is
there: our source is part of the folder of an app, and only packages of others are installed.

What the hub requires in a Space's front matter, and who may host what there, is from its
documentation and the answers of its server, last read on 24 November 2026.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Literal

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import theodolite

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
PACKAGE_DATA = {
    "app": ("**/*.js", "**/*.css", "**/*.svg", "**/*.png", "examples/store/**/*"),
    "engine": (
        "datasets/starter/**/*",
        "datasets/*.json",
        "decoding/shipped/**/*",
        "protocols/*.csv",
        "training/*.toml",
    ),
    "store": (),
    "docs": ("*.md", "pages/*.md"),
}
"""Data files of our packages, as in pyproject.toml."""
PYTHON = "3.12"
EXTRA = "starter"
LINUX = {
    "python_version": PYTHON,
    "python_full_version": f"{PYTHON}.0",
    "os_name": "posix",
    "implementation_name": "cpython",
    "platform_python_implementation": "CPython",
    "sys_platform": "linux",
    "platform_system": "Linux",
    "platform_machine": "x86_64",
}
"""Marker environment of the machine that will run it, whichever machine publishes."""
GPU_ONLY = ("nvidia-", "cuda-", "triton")
"""Prefixes of packages that torch requires for Nvidia GPUs, but not in its CPU builds."""
INSTALLERS = ("pip", "setuptools")
"""Packages that are present before anything is installed."""
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
"""Package index of torch without the gigabytes that only a GPU needs."""


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
    gradio = target.sdk == "gradio"
    fields: dict[str, Any] = {
        "title": title,
        "emoji": "📐",
        "colorFrom": "blue",
        "colorTo": "gray",
        "sdk": target.sdk,
        "sdk_version": metadata.version("gradio") if gradio else None,
        "python_version": PYTHON if gradio else None,
        "app_file": {"static": "index.html", "gradio": SCRIPT}.get(target.sdk),
        "app_port": PORT if target.sdk == "docker" else None,
        "startup_duration_timeout": "1h" if target.live else None,
        "suggested_hardware": target.hardware,
        "fullWidth": True,
        "header": "mini",
        "pinned": False,
        "short_description": about[:MAX_DESCRIPTION],
        "tags": ["sentence-embeddings", "theodolite"],
        "models": list(models) or None,
        "preload_from_hub": list(models) if gradio and models else None,
    }
    present = {name: value for name, value in fields.items() if value is not None}
    block = yaml.safe_dump(present, sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{block}---\n"


def files(target: Target, models: Sequence[str]) -> dict[str, bytes]:
    """The script that starts the app and what installs its requirements; none if it is static."""
    if not target.live:
        return {}
    script = _START.format(**_LENT if target.name == "zerogpu" else dict.fromkeys(_LENT, ""))
    contents = {SCRIPT: script, "requirements.txt": requirements(target.managed)}
    if target.sdk == "docker":
        contents |= {"Dockerfile": _dockerfile(models), ".dockerignore": _DOCKERIGNORE}
    return {name: text.encode() for name, text in contents.items()}


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
_LENT = {
    "first": """
os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when it is imported, as the next line does
import spaces  # before torch, in front of which it stands
""",
    "gpu": f'''

@spaces.GPU(duration={GPU_SECONDS})
def encode(number, sentences):
    """What runs on a GPU: the model of this number turns sentences into vectors."""
    from theodolite.engine.encoders import zerogpu

    return zerogpu.encode(number, sentences)
''',
    "read": """    from theodolite.app.publish.live import lend

    lend(encode, STORE)
""",
}
"""What the script has more where a GPU is lent."""

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
    calls = "; ".join(f"get({model!r})" for model in models)
    fetch = f"from huggingface_hub import snapshot_download as get; {calls}"
    download = f'RUN python -c "{fetch}"\n' if models else ""
    return f"""\
FROM python:{PYTHON}-slim

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


def source() -> dict[str, bytes]:
    """Path below the folder of our source -> content."""
    version = metadata.version("theodolite")
    about = f"Metadata-Version: 2.1\nName: theodolite\nVersion: {version}\n"
    folders = {name: Path(import_module(f"theodolite.{name}").__path__[0]) for name in PACKAGE_DATA}
    return {
        "theodolite/__init__.py": Path(theodolite.__file__).read_bytes(),
        f"theodolite-{version}.dist-info/METADATA": about.encode(),
        **{
            f"theodolite/{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
            for name, folder in folders.items()
            for pattern in ("**/*.py", *PACKAGE_DATA[name])
            for path in sorted(folder.glob(pattern))
            if path.is_file() and "__pycache__" not in path.parts
        },
    }


def licence() -> dict[str, bytes]:
    """Our licence, as a file."""
    text = metadata.distribution("theodolite").read_text("licenses/LICENSE")
    return {"LICENSE": text.encode()} if text else {}


def requirements(leave_out: Collection[str] = ()) -> str:
    """The text of a requirements file: all that is needed, at the versions that are installed here.

    Args:
        leave_out: normalised names of packages that the host installs itself.
    """
    pinned = _requirements("theodolite", frozenset({EXTRA}))
    lines = [
        f"{name}=={Version(version).public}"
        for name, version in sorted(pinned.items())
        if name not in {"theodolite", *INSTALLERS, *leave_out}
    ]
    head = [] if "torch" in leave_out else [f"--extra-index-url {CPU_INDEX}"]
    return "\n".join([*head, *lines]) + "\n"


def _requirements(name: str, extras: frozenset[str]) -> dict[str, str]:
    """Normalised name -> version of a package and its transitive requirements."""
    packages: dict[str, str] = {}
    waiting = [(name, extras)]
    names = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in names or name.startswith(GPU_ONLY):
            continue
        names.add((name, extras))
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another machine than this: pip finds it there
            continue
        packages[canonicalize_name(name)] = package.version
        for requirement in map(Requirement, package.requires or ()):
            places = [LINUX | {"extra": extra} for extra in ("", *extras)]
            if requirement.marker is None or any(map(requirement.marker.evaluate, places)):
                waiting.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return packages
