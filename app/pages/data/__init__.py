"""Data sets: what is available, adding your own, MTEB's suites, and how similar they are."""

JOBS = {"fetch": "suites:FetchJob", "dataset-similarity": "similarity:SimilarityJob"}
