import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def used():
    return []

@pytest.fixture
def late(used, request):
    assert not used
    tried = Path(request.node.name)
    used.append(not tried.exists())
    tried.touch()
    yield used[0]
    assert not (used.pop() and "left" in request.node.name), "not left as it was"
"""
GOOD = "def test_good(): pass\n"
BROKEN = "def test_broken(): assert 0\n"
FLAKY = "def test_late_{}(late): assert not late\n"
LEFT = "def test_left(late): pass\n"


@pytest.mark.parametrize("workers", [[], ["-n2", "--dist=loadfile"]], ids=["one", "two"])
@pytest.mark.parametrize(
    ("tests", "flaky", "failed"),
    [
        ([FLAKY.format(0), LEFT, GOOD], ["test_late_0", "test_left"], 0),
        ([BROKEN, *map(FLAKY.format, range(3))], [f"test_late_{i}" for i in range(3)], 2),
    ],
    ids=["allowed", "too many"],
)
def test_a_test_is_tried_once_more_and_said_to_be_flaky(tmp_path, workers, tests, flaky, failed):
    for number, text in enumerate(tests):
        (tmp_path / f"test_{number}.py").write_text(HEAD + text)
    command = [sys.executable, "-m", "pytest", "-p", "tests.flaky", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *workers, str(tmp_path), "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == bool(failed), done.stdout
    assert f"{len(tests) - failed} passed" in done.stdout
    assert (f"{failed} failed" in done.stdout) == bool(failed)
    assert f"{len(flaky)} flaky" in done.stdout
    report = (tmp_path / "artifacts" / "flaky.txt").read_text()
    assert [name for name in ("test_broken", *flaky) if name in report] == flaky
