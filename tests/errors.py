"""Asserts that something is refused: by its code and what the message names, not by its words."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from theodolite.engine.errors import Code, UserError
from theodolite.store import StoreError


@contextmanager
def refused(code: Code, *named: object) -> Iterator[pytest.ExceptionInfo[UserError | StoreError]]:
    """Expect an error of this kind whose message or hint names all of these."""
    with pytest.raises((UserError, StoreError)) as caught:
        yield caught
    assert caught.value.code == code, str(caught.value)
    assert [one for one in named if str(one) not in str(caught.value)] == [], str(caught.value)
