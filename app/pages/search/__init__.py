"""Search in a collection."""

JOBS = {"encode": "job:EncodeJob", "index": "job:IndexJob"}
