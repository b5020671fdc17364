"""The command line, called in this process; and how one calls it in another."""

import json
import signal

from typer.testing import CliRunner

from theodolite.app.cli import app


def theodolite(*arguments: str, code: int = 0, given: str | bytes | None = None) -> list[str]:
    """Run the command in this process, check its exit code and return the lines of its output."""
    done = CliRunner().invoke(app, list(arguments), input=given)
    assert done.exit_code == code, (done.stderr, done.exception)
    assert "Traceback" not in done.stderr
    lines = done.stdout.split("\n")[:-1]
    return lines if code == 0 else [*lines, done.stderr]


def said(*arguments: str) -> str:
    """What a command that succeeds says beside its output, without line breaks."""
    done = CliRunner().invoke(app, list(arguments))
    assert done.exit_code == 0, (done.stderr, done.exception)
    return " ".join(done.stderr.split())


def objects(lines: list[str]) -> list[dict]:
    """One JSON object a line, nothing else."""
    return [json.loads(line) for line in lines]


def heed_interrupts() -> None:
    """As `preexec_fn`: Ctrl+C is heard, though a shell has its background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
