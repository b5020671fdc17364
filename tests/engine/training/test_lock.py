"""One process at a time in a folder, in truth: the other one here is another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from theodolite.engine.errors import UserError
from theodolite.engine.training.lock import lock

HOLDER = """
import sys
from pathlib import Path
from theodolite.engine.training.lock import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    """Killed without a chance to tidy up, it holds nothing any more; its file is no hindrance."""
    folder = tmp_path / "encoder.training"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    with pytest.raises(UserError, match="Another process is at work in"), lock(folder):
        pass
    holder.kill()
    holder.communicate(timeout=30)
    with lock(folder):
        assert folder.is_dir()


def test_what_is_in_it_stays_and_an_empty_one_goes(tmp_path: Path) -> None:
    """No litter beside a training that was stopped before it had anything to keep."""
    with lock(tmp_path / "empty"):
        pass
    with lock(tmp_path / "kept"):
        (tmp_path / "kept" / "step-4").mkdir()
    assert [found.name for found in tmp_path.iterdir()] == ["kept"]


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With what was given and what to do."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written") as caught, lock(tmp_path / "file"):
        pass
    assert "another folder" in caught.value.hint
