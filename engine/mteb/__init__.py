"""The adapter for the package mteb: its tasks, models, suites and results, with its own code.

Nothing else here imports `mteb`, and this only when it is used: it is the extra `mteb`.
"""
