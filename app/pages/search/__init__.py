"""Search in a collection."""

QUESTIONS = {"search": "answer:SEARCH"}
JOBS = {"encode": "job:EncodeJob", "index": "job:IndexJob"}
