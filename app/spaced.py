"""Which rows of many are shown."""


def evenly_spaced(total: int, most: int) -> range | list[int]:
    """At most `most` evenly spaced indices below `total`."""
    return range(total) if total <= most else [number * total // most for number in range(most)]
