"""Adapter for the package mteb: its tasks, models, suites and results, by its own code.

No other package of the engine imports `mteb`; this one imports it lazily, since it is an extra.
"""
