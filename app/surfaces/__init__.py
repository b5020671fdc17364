"""The places where answers are read: one renderer of blocks each, none of which knows a page."""
