"""Background work: its kinds, the worker that takes it, the child process that executes it."""
