"""What a hostile pickle holds."""


class Calls:
    """Pickles as a call of any function."""

    def __init__(self, function, *arguments) -> None:
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call
