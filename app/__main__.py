"""The command `theodolite`, from its first moment: interrupts, and an output that ends or is full.

It hears interrupts before it imports the command line, which ends that once a command is imported.
"""

import contextlib
import errno
import os
import signal
import sys


def main() -> None:
    """Run the command line, and exit."""
    signal.signal(signal.SIGINT, _stop)
    from theodolite.app.cli import main as run

    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the shell
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123
        else:  # a locale without some character
            stream.reconfigure(errors="replace")
    try:
        try:
            run()
        finally:
            sys.stdout.flush()
    except OSError as error:
        # What could not be written is written again at exit, and would fail again.
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:
            sys.stderr.write(f"error: The output cannot be written: {error.strerror}.\n")
        raise SystemExit(1) from None


def _stop(*_: object) -> None:
    sys.stderr.write("Stopped.\n")
    raise SystemExit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
