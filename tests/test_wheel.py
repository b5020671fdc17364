"""What is installed: one package, beside any file of a person, and its needs are pinned."""

import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.fakes.started import started

ROOT = Path(__file__).parent.parent
BUILT = ("app", "engine", "store", "theodolite")
START = """
import os, sys
from theodolite.app.__main__ import main
assert main.__code__.co_filename.startswith(os.environ["PYTHONPATH"])
sys.argv = ["theodolite", "--no-browser", "--port", os.environ["PORT"]]
main()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The content of the wheel, built in a copy of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    copy, site = folder / "checkout", folder / "site"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in (*BUILT, "docs"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    build = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=copy, check=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    return site


def test_the_wheel_has_one_top_level_name(site: Path) -> None:
    assert {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")} == {
        "theodolite"
    }
    tracked = subprocess.run(
        ["git", "ls-files", *BUILT], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert (site / "theodolite/docs/encoders.md").is_file()  # the app serves it
    for name in tracked:
        if name.endswith("package.json"):  # tells node, which only tests use, of modules
            continue
        path = name if name.startswith("theodolite/") else f"theodolite/{name}"
        assert (site / path).is_file(), name


@pytest.mark.long
def test_it_starts_beside_files_that_are_called_as_its_parts_are(
    site: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    for name in BUILT[:3]:
        (here / f"{name}.py").write_text(f"raise ImportError('the {name} of a person')\n")
    with started([sys.executable, "-c", START], here, {"PYTHONPATH": str(site)}) as address:
        assert httpx.get(f"{address}/search", timeout=60).status_code == 200


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
