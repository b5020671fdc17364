"""The one exception a person is meant to read, and what can be told of others."""

from __future__ import annotations


class UserError(ValueError):
    """Something the person gave cannot be used.

    Args:
        message: what was given and what was expected, one sentence.
        hint: what to do about it, one sentence; may be empty.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str]]:
        return type(self), (self.message, self.hint)


def first_line(error: BaseException, limit: int = 300) -> str:
    """What a library says of its trouble: the first line, cut; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:limit]
