"""The one door to MTEB's own package: its tasks, models, suites and results, by its own code.

Nothing else here imports `mteb`, and this only when it is used: it is the extra `mteb`.
"""
