"""Every package that the project or one of its extras names has a version in constraints.txt."""

from __future__ import annotations

import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def test_every_requirement_is_pinned_and_its_pin_fits() -> None:
    """An extra whose pin is missing or of another major version cannot be installed as tested."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = {canonicalize_name(r.name): r for r in map(Requirement, lines[1:])}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    for wanted in (Requirement(text) for group in groups for text in group):
        pin = pinned.get(canonicalize_name(wanted.name))
        assert pin is not None, wanted.name
        (version,) = (each.version for each in pin.specifier)
        assert wanted.specifier.contains(version), wanted
