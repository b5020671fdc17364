"""Search in a collection."""

QUESTIONS = {"search": "answer:SEARCH"}
JOBS = {"encode": "service:EncodeJob", "index": "service:IndexJob"}
