"""The exception whose message is shown to users, and how other exceptions are described."""

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


class PlacedError(UserError):
    """Something written cannot be read, and it is known where.

    Args:
        message: as of `UserError`; it says the place in words.
        hint: as of `UserError`.
        text: all that was written, one line.
        place: where it stands, counted from 1; one behind the last character is the end.
        length: characters that it has.
    """

    AROUND = 40
    """Characters shown on either side; what is cut is told by an ellipsis."""

    def __init__(self, message: str, hint: str, text: str, place: int, length: int = 1) -> None:
        super().__init__(message, hint)
        self.text = text
        self.place = place
        self.length = length

    def __reduce__(self) -> tuple[type[UserError], tuple[str, str, str, int, int]]:  # type: ignore[override]
        return type(self), (self.message, self.hint, self.text, self.place, self.length)

    def marked(self) -> tuple[str, str, str]:
        """What stands before, at and behind the place; every character is one that can be seen."""
        text = "".join(
            c if c.isprintable() else " " if c.isspace() else "\ufffd" for c in self.text
        )
        start, end = self.place - 1, self.place - 1 + self.length
        before, at, behind = text[:start], text[start:end], text[end:]
        if len(before) > self.AROUND:
            before = f"…{before[1 - self.AROUND :]}"
        if len(at) > self.AROUND:
            at = f"{at[: self.AROUND - 1]}…"
        if len(behind) > self.AROUND:
            behind = f"{behind[: self.AROUND - 1]}…"
        return before, at or " ", behind


def first_line(error: BaseException, limit: int = 300) -> str:
    """What a library says of its trouble: the first line, cut; its kind where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:limit]
