"""Background work: its kinds, the worker that takes it, the child that does it."""
