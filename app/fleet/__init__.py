"""Work that other machines do: the home gives units away, workers of the fleet do them.

Between them is a queue of `dbos` in a Postgres database. The home's store stays the truth of runs,
units and results; a worker has a store of its own that is a cache.
"""
