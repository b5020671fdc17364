"""A collection, searched."""

JOBS = {"encode": "job:EncodeJob", "index": "job:IndexJob"}
