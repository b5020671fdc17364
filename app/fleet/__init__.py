"""Work on other machines: the coordinator at home sends units out, workers execute them.

Between them are a Postgres database, for units, answers and reports, and an address for files. The
home's store stays the single source of truth for runs, units and results; a worker's own store is a
cache.
"""
