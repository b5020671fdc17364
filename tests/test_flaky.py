import os
import subprocess
import sys
from pathlib import Path

COMMAND = "-m pytest -p tests.flaky -p no:cacheprovider -n2 --dist=loadfile"
FIXTURE = """
import pytest

@pytest.fixture(scope="module")
def used():
    return []

@pytest.fixture
def late(used, request, tmp_path_factory):
    assert not used
    tried = tmp_path_factory.getbasetemp() / request.node.name
    used.append(not tried.exists())
    tried.touch()
    yield used[0]
    assert not (used.pop() and "left" in request.node.name), "not left as it was"
"""
TESTS = {
    "good": "def test_good(): pass",
    "broken": "def test_broken(): assert 0",
    "left": f"{FIXTURE}\ndef test_left(late): pass",
    **{name: f"{FIXTURE}\ndef test_{name}(late): assert not late" for name in ("one", "two")},
}


def test_a_test_is_tried_once_more_and_two_may_be_flaky(tmp_path):
    """By whichever worker it is done, and where only what comes after it fails."""
    for name, text in TESTS.items():
        (tmp_path / f"test_{name}.py").write_text(text)
    done = subprocess.run(
        [sys.executable, *COMMAND.split(), str(tmp_path), "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "2 failed, 3 passed" in done.stdout
    assert "3 flaky, 2 allowed" in done.stdout
    report = (tmp_path / "artifacts" / "flaky.txt").read_text()
    assert [name for name in TESTS if f"test_{name}" in report] == ["left", "one", "two"]
