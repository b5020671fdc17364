"""A person's terminal, for processes that a test starts."""

import signal


def heed_interrupts() -> None:
    """As `preexec_fn`: Ctrl+C is heard, though a shell has its background jobs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
