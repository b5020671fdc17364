"""The folder for uploads: of this process alone, and gone with it."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

from filelock import FileLock

from tests.fakes.launched import launched
from theodolite.app.web import scratch
from theodolite.app.workspace import Workspace


def test_what_another_gradio_app_holds_is_not_served(workspace: Workspace) -> None:
    """Its folder is the default of all of them; ours can be read by this user only."""
    shared = Path(tempfile.gettempdir()) / "gradio"
    shared.mkdir(exist_ok=True)
    with launched(workspace) as client, tempfile.TemporaryDirectory(dir=shared) as others:
        secret = Path(others) / "secret.csv"
        secret.write_text("of another app")
        assert client.get(f"/gradio_api/file={secret}").status_code == 403
        files = {"files": ("a.csv", b"text\nours\n")}
        (uploaded,) = client.post("/gradio_api/upload", files=files).json()
        assert client.get(f"/gradio_api/file={uploaded}").text == "text\nours\n"
    folder = scratch.folder()
    assert Path(uploaded).is_relative_to(folder)
    if os.name == "posix":
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_nothing_is_left_when_the_process_is_gone(tmp_path: Path) -> None:
    """At its end, or at the start of the next; never that of a process that still runs."""
    code = (
        "import os, sys; from theodolite.app.web import scratch\n"
        "print(scratch.folder(), flush=True); 'killed' in sys.argv and os._exit(1)"
    )

    def run(*how: str) -> Path:
        done = subprocess.run(
            [sys.executable, "-c", code, *how],
            env=os.environ | {"GRADIO_TEMP_DIR": str(tmp_path)},
            text=True,
            stdout=subprocess.PIPE,
        )
        return Path(done.stdout.strip())

    ended, left = run(), run("killed")
    assert ended.parent == left.parent == tmp_path
    assert left.exists() and not ended.exists()
    busy, unknown, new = (tmp_path / f"theodolite-{name}" for name in ("busy", "unknown", "new"))
    for folder in (busy, unknown, new):
        folder.mkdir()
    (new / ".in-use").touch()
    with FileLock(busy / ".in-use"):
        for folder in (left, busy, unknown):
            os.utime(folder, (0, 0))
        run()
    assert not left.exists()
    assert busy.exists() and unknown.exists() and new.exists()
