"""Maps of a collection, pairs of them, and the shape of a space: what the pages draw them from."""
