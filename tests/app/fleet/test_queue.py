"""What the queue's library says, and what of it a person reads."""

from __future__ import annotations

import logging

import pytest
from dbos._error import DBOSException, DBOSNonExistentWorkflowError

from theodolite.app.fleet import queue


@pytest.mark.parametrize(
    ("error", "printed"),
    [
        (None, True),
        (DBOSException("the disk is full"), True),
        (DBOSNonExistentWorkflowError("target", "1"), False),
    ],
)
def test_that_a_unit_has_gone_is_no_news(error: Exception | None, printed: bool) -> None:
    """All other errors are printed."""
    record = logging.LogRecord(
        "dbos",
        logging.ERROR,
        "",
        0,
        "an error",
        None,
        (type(error), error, None) if error else None,
    )
    assert queue.is_news(record) is printed
