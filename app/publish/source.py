"""What a published app runs on: our own source, and the packages that it needs, at their versions.

Our package is on no index, and a Space installs its requirements before the rest of its folder is
there: the source is part of the folder, and only packages of others are installed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from importlib import import_module, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import theodolite

DATA = {
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


def files() -> dict[str, bytes]:
    """Path below the folder of the source -> content."""
    found = {"theodolite/__init__.py": Path(theodolite.__file__).read_bytes()}
    for package, data in DATA.items():
        folder = Path(import_module(f"theodolite.{package}").__path__[0])
        for path in _belonging(folder, ("**/*.py", *data)):
            name = path.relative_to(folder).as_posix()
            found[f"theodolite/{package}/{name}"] = path.read_bytes()
    version = metadata.version("theodolite")
    about = f"Metadata-Version: 2.1\nName: theodolite\nVersion: {version}\n"
    return found | {f"theodolite-{version}.dist-info/METADATA": about.encode()}


def licence() -> dict[str, bytes]:
    """Our licence, as a file."""
    text = metadata.distribution("theodolite").read_text("licenses/LICENSE")
    return {"LICENSE": text.encode()} if text else {}


def _belonging(folder: Path, patterns: Collection[str]) -> list[Path]:
    found = {path for pattern in patterns for path in folder.glob(pattern)}
    return sorted(path for path in found if path.is_file() and "__pycache__" not in path.parts)


def requirements(leave_out: Collection[str] = ()) -> str:
    """The text of a requirements file: all that is needed, at the versions that are installed here.

    Args:
        leave_out: normalised names of packages that the host installs itself.
    """
    pinned = _needed("theodolite", frozenset({EXTRA}))
    lines = [
        f"{name}=={Version(version).public}"
        for name, version in sorted(pinned.items())
        if name not in {"theodolite", *INSTALLERS, *leave_out}
    ]
    head = [] if "torch" in leave_out else [f"--extra-index-url {CPU_INDEX}"]
    return "\n".join([*head, *lines]) + "\n"


def _needed(name: str, extras: frozenset[str]) -> dict[str, str]:
    """Normalised name -> version of a package and its transitive requirements."""
    found: dict[str, str] = {}
    waiting = [(name, extras)]
    seen = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen or name.startswith(GPU_ONLY):
            continue
        seen.add((name, extras))
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another machine than this: pip finds it there
            continue
        found[canonicalize_name(name)] = package.version
        waiting += _needs(package, extras)
    return found


def _needs(
    package: metadata.Distribution, extras: frozenset[str]
) -> Iterator[tuple[str, frozenset[str]]]:
    for text in package.requires or ():
        wanted = Requirement(text)
        environments = [LINUX | {"extra": extra} for extra in ("", *extras)]
        if wanted.marker is None or any(map(wanted.marker.evaluate, environments)):
            yield canonicalize_name(wanted.name), frozenset(wanted.extras)
