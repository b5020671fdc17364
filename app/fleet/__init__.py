"""Work on other machines: the home sends units out, workers of the fleet execute them.

Between them is a queue of `dbos` in a Postgres database. The home's store stays the single source
of truth for runs, units and results; a worker's own store is a cache.
"""
